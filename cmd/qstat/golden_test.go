package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// TestGoldenQstat holds the displays to Grid Engine's layout: what its qstat printed is
// taken apart into values and printed again. Listings with columns of Grid Engine's own
// policy are not among them.
//
// Some differences are deliberate. prior is a whole number here, JobPrio, in the same
// seven places, so the recorded text is fed for it. The procs stand in ja-task-ID for
// every job, where Grid Engine leaves blanks for a job that is no array. -r says nothing of
// parallel environments and bindings, which there are not, and what a request contributes
// to an urgency is that policy's.
func TestGoldenQstat(t *testing.T) {
	time.Local = time.UTC
	dirs := []string{"testdata/golden"}
	if d := os.Getenv("FAIRSPOOL_GOLDEN"); d != "" {
		dirs = append(dirs, filepath.Join(d, "sge"))
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "qstat-*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("Glob(%s) = %v, %v", dir, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			command, listing, _ := strings.Cut(string(text), "\n")
			g := &golden{t: t, file: filepath.Base(file), prior: map[*row]string{}}
			if got, served := g.printed(command, listing); served {
				g.compare(got, listing)
			}
		}
	}
}

// golden is one recorded display.
type golden struct {
	t       *testing.T
	file    string
	prior   map[*row]string
	tasksAt int // where the procs stand in a line
}

// printed prints a display again; served is false for one of another policy's columns.
func (g *golden) printed(command, listing string) (got string, served bool) {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(" "+command+" ", " "+w+" ") })
	}
	if has("-j", "-ext", "-urg", "-pri", "-t", "-zz", "x") {
		return "", false
	}
	o := options{requests: has("-r"), slotless: has("-f"), master: strings.Contains(command, "-g t")}
	c := columns{o, columnsWith(o), func() int { return 0 }}
	c.shown[1].number = func(b []byte, r *row) []byte { return append(b, g.prior[r]...) }
	for _, k := range c.shown {
		g.tasksAt += k.width + 1
	}
	var b strings.Builder
	switch {
	case strings.Contains(command, "-g c"):
		return g.summary(listing), true
	case has("-xml"):
		g.xml(&b, c, listing)
	case has("-f"):
		g.bySlot(&b, c, listing)
	default:
		if err := c.list(&b, g.rows(c, listing)); err != nil {
			g.t.Fatal(err)
		}
	}
	return b.String(), true
}

var (
	deliberate = regexp.MustCompile(`(?m)^ +(Requested PE|Granted PE|Binding):.*\n|^ +<(requested_pe|granted_pe|binding|tasks)[ >].*\n|^ +[a-z.@0-9]+ +SLAVE +\n`)
	contribute = regexp.MustCompile(` \(\d+\.\d{6}\)| resource_contribution="[^"]*"`)
	jobLine    = regexp.MustCompile(`^ *[0-9]+ [0-9.]{7} `)
)

// alike leaves out of a display what differs deliberately.
func (g *golden) alike(text string) []string {
	lines := strings.Split(contribute.ReplaceAllString(deliberate.ReplaceAllString(text, ""), ""), "\n")
	for i, line := range lines {
		if jobLine.MatchString(line) {
			lines[i] = line[:g.tasksAt]
		}
	}
	return lines
}

func (g *golden) compare(got, want string) {
	g.t.Helper()
	gots, wants := g.alike(got), g.alike(want)
	agree := 0
	for i, want := range wants {
		if i >= len(gots) || gots[i] != want {
			g.t.Errorf("golden %s: line %d of\n%s\nwant %q", g.file, i+1, got, want)
			return
		}
		agree++
	}
	if len(gots) != len(wants) {
		g.t.Errorf("golden %s: %d lines, want %d", g.file, len(gots), len(wants))
	}
	g.t.Logf("golden sge/%s: %d of %d agree", g.file, agree, len(wants))
}

// rows takes the jobs of a listing apart at the columns, with what they ask for.
func (g *golden) rows(c columns, listing string) (rows []*row) {
	for line := range strings.Lines(listing) {
		line = strings.TrimSuffix(line, "\n")
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(line, "       ") {
			rows[len(rows)-1].request(key, strings.TrimSpace(value))
			continue
		}
		if strings.HasPrefix(line, strings.Repeat(" ", 25)) && strings.Contains(line, "=") {
			rows[len(rows)-1].asked.hard += "\n" + contribute.ReplaceAllString(strings.TrimSpace(line), "")
			continue
		}
		if len(line) > 7 && strings.TrimSpace(line[:7]) != "" && strings.Trim(line[:7], " 0123456789") == "" {
			rows = append(rows, g.row(c, line))
		}
	}
	return rows
}

// request notes what a line of -r says.
func (r *row) request(key, value string) {
	value = contribute.ReplaceAllString(value, "")
	switch key {
	case "Full jobname":
		r.name = value
	case "Master Queue":
		r.slot = value
	case "Hard Resources":
		r.asked.hard = value
	case "Soft Resources":
		r.asked.soft = value
	case "Predecessor Jobs (request)":
		r.asked.after = value
	case "Predecessor Jobs":
		r.asked.unmet = value
	}
}

// row takes a line apart.
func (g *golden) row(c columns, line string) *row {
	g.t.Helper()
	r := &row{ranges: []span{{0, 9}}}
	at := 0
	for _, k := range c.shown {
		cell := strings.TrimSpace(line[at : at+k.width])
		at += k.width + 1
		var err error
		switch k.head {
		case "job-ID":
			r.cluster, err = strconv.Atoi(cell)
		case "prior":
			g.prior[r] = cell
		case "name":
			r.name = cell
		case "user":
			r.user = cell
		case "state":
			r.state = cell
		case "submit/start at":
			r.at, err = time.Parse("01/02/2006 15:04:05", cell)
		case "queue":
			r.slot = cell
		case "slots":
			r.slots, err = strconv.ParseInt(cell, 10, 64)
		}
		if err != nil {
			g.t.Fatalf("golden %s: %q: %v", g.file, line, err)
		}
	}
	return r
}

// bySlot prints a listing of -f again.
func (g *golden) bySlot(b *strings.Builder, c columns, listing string) {
	placed, pending, _ := strings.Cut(listing, "####")
	head := strings.Split(placed, "\n")[2] // of the one queue
	cell := func(from, to int) string { return strings.TrimSpace(head[from:min(to, len(head))]) }
	used := strings.Split(cell(37, 52), "/")
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			g.t.Fatalf("golden %s: %v", g.file, err)
		}
		return x
	}
	s := &instance{
		name: cell(0, 30), kind: cell(31, 36), reserved: number(used[0]), used: number(used[1]), total: number(used[2]),
		load: number(cell(52, 60)), loaded: true, arch: cell(61, 74), states: cell(75, 90), jobs: g.rows(c, placed),
	}
	rows := g.rows(c, pending)
	t := c.table(b, rows)
	t.instances([]*instance{s}, slotRule)
	t.block("PENDING", rows, blockRule)
	if err := t.flush(); err != nil {
		g.t.Fatal(err)
	}
}

// summary prints a listing of -g c again.
func (g *golden) summary(listing string) string {
	fields := strings.Fields(strings.Split(listing, "\n")[2])
	var x [7]float64
	for i := range x {
		x[i], _ = strconv.ParseFloat(fields[i+1], 64)
	}
	var b strings.Builder
	m := machine{name: fields[0], load: x[0] * x[4], measured: x[4], used: x[1], reserved: x[2], avail: x[3], total: x[4], resting: x[5], broken: x[6]}
	if err := (columns{line: func() int { return 0 }}).writeMachines(&b, []machine{m}); err != nil {
		g.t.Fatal(err)
	}
	return b.String()
}

var elements = regexp.MustCompile(`(?s)<(\w+)(?: name="([^"]*)")?(?: [^>]*)?>([^<]*)</`)

// xml prints a listing of -xml again.
func (g *golden) xml(b *strings.Builder, c columns, listing string) {
	var s *instance
	var placed, others []*row
	queue, jobs, _ := strings.Cut(listing, "<job_info>\n")
	for i, part := range []string{queue, jobs} {
		for k, text := range strings.Split(part, "<job_list ") {
			if k > 0 && i == 0 {
				placed = append(placed, g.xmlRow(text))
				placed[len(placed)-1].claim = &pool.Claim{}
			} else if k > 0 {
				others = append(others, g.xmlRow(text))
			} else if strings.Contains(text, "<Queue-List>") {
				s = g.xmlInstance(text)
			}
		}
	}
	x := xmlWriter{columns: c, w: b}
	x.b = append(x.b, jobInfo+"  <queue_info>\n"...)
	if s != nil {
		s.jobs = placed
		x.instance(s)
	} else {
		x.jobs(placed)
	}
	x.b = append(x.b, "  </queue_info>\n  <job_info>\n"...)
	x.jobs(others)
	x.b = append(x.b, "  </job_info>\n</job_info>\n"...)
	if err := x.flush(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *golden) xmlRow(text string) *row {
	r := &row{ranges: []span{{0, 9}}}
	for _, e := range elements.FindAllStringSubmatch(text, -1) {
		value := e[3]
		switch e[1] {
		case "JB_job_number":
			r.cluster, _ = strconv.Atoi(value)
		case "JAT_prio":
			g.prior[r] = value
		case "JB_name":
			r.name = value
		case "JB_owner":
			r.user = value
		case "state":
			r.state = value
		case "JAT_start_time", "JB_submission_time":
			r.at, _ = time.Parse("2006-01-02T15:04:05", value)
		case "queue_name":
			r.slot = value
		case "slots":
			r.slots, _ = strconv.ParseInt(value, 10, 64)
		case "hard_request":
			r.asked.hard = strings.TrimPrefix(r.asked.hard+"\n"+e[2]+"="+value, "\n")
		case "soft_request":
			r.asked.soft = e[2] + "=" + value
		case "predecessor_jobs_req":
			r.asked.after = value
		case "predecessor_jobs":
			r.asked.unmet = value
		}
	}
	return r
}

func (g *golden) xmlInstance(text string) *instance {
	s := &instance{loaded: true}
	for _, e := range elements.FindAllStringSubmatch(text, -1) {
		x, _ := strconv.ParseFloat(e[3], 64)
		switch e[1] {
		case "name":
			s.name = e[3]
		case "qtype":
			s.kind = e[3]
		case "slots_used":
			s.used = x
		case "slots_resv":
			s.reserved = x
		case "slots_total":
			s.total = x
		case "load_avg":
			s.load = x
		case "arch":
			s.arch = e[3]
		case "state":
			s.states = e[3]
		}
	}
	return s
}

package queue

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/policy/sge"
	"fairspool/lib/pool"
)

// TestGoldenQstat holds the displays to Grid Engine's layout: what its qstat printed is
// taken apart into values and printed again, with the columns of the policy "sge", and plain
// lists with those of the other policies, too. -j is another form, and -t is refused, since a
// job has one task.
//
// Some differences are deliberate. The procs stand in ja-task-ID for every job, where Grid
// Engine leaves table.Blanks for a job that is no array. -r says nothing of bindings, which there
// are not. A job has one slot, and none of its cores a line of its own. With other policies
// prior is a whole number, JobPrio, in the same seven places, so that the recorded text is fed
// for it.
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
			for _, own := range []bool{true, false} {
				g := &golden{t: t, file: filepath.Base(file), sge: own, prior: map[*row]string{}}
				if got, served := g.printed(command, listing); served {
					g.compare(got, listing)
				}
			}
		}
	}
}

// golden is one recorded display.
type golden struct {
	t       *testing.T
	file    string
	sge     bool            // with the columns of that policy
	prior   map[*row]string // of the others
	tasksAt int             // where the procs stand in a line
}

// printed prints a display again; served is false for one that there is not.
func (g *golden) printed(command, listing string) (got string, served bool) {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(" "+command+" ", " "+w+" ") })
	}
	if has("-j", "-t", "-zz", "x") || !g.sge && has("-ext", "-urg", "-pri", "-r") {
		return "", false
	}
	o := options{Options: Options{Options: policy.Options{Pri: has("-pri"), Urg: has("-urg"), Ext: has("-ext"), XML: has("-xml")}, Requests: has("-r"), BySlot: has("-f"),
		Master: strings.Contains(command, "-g t")}, oneQueue: g.sge}
	if g.sge {
		c := registry.Default()
		o.display = sge.Policy{}.Display(&c)
	}
	c := columns{o, columnsWith(o)}
	if !g.sge {
		c.shown[1].number = func(b []byte, r *row) []byte { return append(b, g.prior[r]...) }
	}
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
	deliberate = regexp.MustCompile(`(?m)^ +Binding:.*\n|^ +<(binding|tasks)[ >].*\n|^ +[a-z.@0-9]+ +SLAVE +\n`)
	contribute = regexp.MustCompile(`^(.*) \((\d+\.\d{6})\)$`)
	jobLine    = regexp.MustCompile(`^ *[0-9]+ [0-9.]{7} `)
)

// alike leaves out of a display what differs deliberately.
func (g *golden) alike(text string) []string {
	lines := strings.Split(deliberate.ReplaceAllString(text, ""), "\n")
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
			rows[len(rows)-1].asked.wants(strings.TrimSpace(line))
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
	switch key {
	case "Full jobname":
		r.name = value
	case "Master Queue":
		r.slot = value
	case "Hard Resources":
		r.asked.wants(value)
	case "Requested PE":
		r.asked.Environment, r.asked.Wanted, _ = strings.Cut(value, " ")
	case "Soft Resources":
		r.asked.soft = value
	case "Predecessor Jobs (request)":
		r.asked.after = value
	case "Predecessor Jobs":
		r.asked.unmet = value
	}
}

// wants notes a line of hard resources.
func (a *asked) wants(line string) {
	if m := contribute.FindStringSubmatch(line); m != nil {
		a.Adds = strings.TrimPrefix(a.Adds+"\n"+m[2], "\n")
		line = m[1]
	}
	a.hard = strings.TrimPrefix(a.hard+"\n"+line, "\n")
}

// row takes a line apart.
func (g *golden) row(c columns, line string) *row {
	g.t.Helper()
	r := newGoldenRow()
	at := 0
	for _, k := range c.shown {
		cell := strings.TrimSpace(line[at : at+k.width])
		at += k.width + 1
		if err := g.cell(r, k.head, cell); err != nil {
			g.t.Fatalf("golden %s: %q: %v", g.file, line, err)
		}
	}
	return r
}

func newGoldenRow() *row {
	return &row{ranges: []pool.Procs{{First: 0, Last: 9}}, shown: &policy.Shown{Cells: &sge.Cells{}}}
}

// cell notes a cell of a column.
func (g *golden) cell(r *row, head, cell string) (err error) {
	const clock = "01/02/2006 15:04:05"
	if of := numberOf(r, head); of != nil {
		g.prior[r] = cmp.Or(g.prior[r], cell) // the first is prior
		if cell != "" {
			*of, err = strconv.ParseFloat(cell, 64)
		}
		return err
	}
	switch head {
	case "job-ID":
		r.cluster, err = strconv.Atoi(cell)
	case "ppri":
		r.prior, err = strconv.ParseInt(cell, 10, 64)
	case "name":
		r.name = cell
	case "user":
		r.user = cell
	case "project":
		r.project = strings.TrimPrefix(cell, "NA")
	case "department":
		r.department = cell
	case "state":
		r.state = cell
	case "submit/start at":
		r.at, err = time.Parse(clock, cell)
	case " deadline":
		if cell != "" {
			var at time.Time
			at, err = time.Parse(clock, cell)
			r.deadline = at.Unix()
		}
	case "cpu":
		var days, hours, minutes, seconds float64
		if cell != "" {
			_, err = fmt.Sscanf(cell, "%g:%g:%g:%g", &days, &hours, &minutes, &seconds)
		}
		r.used.cpu = ((days*24+hours)*60+minutes)*60 + seconds
	case "queue":
		r.slot = cell
	case "slots":
		r.slots, err = strconv.ParseInt(cell, 10, 64)
	}
	return err
}

// numberOf returns where a number of a row is kept, by the heading or the element of its
// column; nil for another column's.
func numberOf(r *row, head string) *float64 {
	cells := r.shown.Cells.(*sge.Cells)
	n := &cells.Numbers
	switch head {
	case "prior", "JAT_prio":
		return &n.Prio
	case "nurg", "JB_nurg":
		return &n.NUrg
	case "npprior", "JB_nppri":
		return &n.NPPrior
	case "ntckts", "JAT_ntix":
		return &n.NTckts
	case "urg":
		return &n.Urg
	case "rrcontr", "JB_rrcontr":
		return &n.RRContr
	case "wtcontr", "JB_wtcontr":
		return &n.WTContr
	case "dlcontr", "JB_dlcontr":
		return &n.DLContr
	case "tckts", "tickets":
		return &n.Tckts
	case "ovrts", "JB_override_tickets":
		return &cells.Override
	case "otckt", "otickets":
		return &n.OTckt
	case "ftckt", "ftickets":
		return &n.FTckt
	case "stckt", "stickets":
		return &n.STckt
	case "share", "JAT_share":
		return &n.Share
	case "JB_jobshare":
		return &cells.JobShare
	case "cpu_usage":
		return &r.used.cpu
	case "mem", "mem_usage":
		return &r.used.mem
	case "io", "io_usage":
		return &r.used.io
	}
	return nil
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
	for _, r := range s.jobs {
		r.slot = s.name
	}
	rows := g.rows(c, pending)
	t := c.writer(b, rows)
	slot, block := t.slotRules()
	t.instances([]*instance{s}, slot)
	t.block("PENDING", rows, block)
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
	m := Machine{Name: fields[0], Load: x[0] * x[4], Measured: x[4], Used: x[1], Reserved: x[2], Avail: x[3], Total: x[4], Resting: x[5], Broken: x[6]}
	if err := (Options{}).writeMachines(&b, []Machine{m}); err != nil {
		g.t.Fatal(err)
	}
	return b.String()
}

var elements = regexp.MustCompile(`(?s)<(\w+)(?: name="([^"]*)")?(?: resource_contribution="([^"]*)")?(?: [^>]*)?>([^<]*)</`)

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
	r := newGoldenRow()
	for _, e := range elements.FindAllStringSubmatch(text, -1) {
		value := e[4]
		if of := numberOf(r, e[1]); of != nil {
			g.prior[r] = cmp.Or(g.prior[r], value) // the first is JAT_prio
			*of, _ = strconv.ParseFloat(value, 64)
			continue
		}
		switch e[1] {
		case "JB_job_number":
			r.cluster, _ = strconv.Atoi(value)
		case "JB_priority":
			r.prior, _ = strconv.ParseInt(value, 10, 64)
		case "JB_project":
			r.project = value
		case "JB_department":
			r.department = value
		case "JB_deadline":
			at, _ := time.Parse("2006-01-02T15:04:05", value)
			r.deadline = at.Unix()
		case "requested_pe":
			r.asked.Environment, r.asked.Wanted = e[2], value
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
			r.asked.wants(e[2] + "=" + value + " (" + e[3] + ")")
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
		x, _ := strconv.ParseFloat(e[4], 64)
		switch e[1] {
		case "name":
			s.name = e[4]
		case "qtype":
			s.kind = e[4]
		case "slots_used":
			s.used = x
		case "slots_resv":
			s.reserved = x
		case "slots_total":
			s.total = x
		case "load_avg":
			s.load = x
		case "arch":
			s.arch = e[4]
		case "state":
			s.states = e[4]
		}
	}
	return s
}

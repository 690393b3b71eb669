package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/history"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/report/accounts"
	"fairspool/lib/report/queue"
)

//go:embed page.html
var source string

// mostRows is how many rows a table has at most, and longest how many characters a cell.
const (
	mostRows = 25
	longest  = 300
)

// page is what page.html writes.
type page struct {
	Title, Version string
	At             string // for people, and Stamp for programs
	Stamp          string
	Figures        []figure
	Sections       []section
}

// figure is a number at the top of the page.
type figure struct {
	Name, Value, Note string
	Bad               bool
}

// section is a part of the page under a heading.
type section struct {
	ID, Title string
	Text      []string
	Findings  []health.Finding
	Tables    []table
	Pictures  []picture
}

// table is one with a caption; the first cell of a row is its heading.
type table struct {
	ID, Caption string
	Columns     []column
	Rows        []row
	More        string // the omitted part; empty: none
}

type column struct {
	Name  string
	Note  string // the direction or the unit
	Class string // how it is set; see the classes number, text and name of page.html
}

type row struct {
	Head  string
	Cells []string
	Sum   bool
}

// picture is a drawing with a caption.
type picture struct {
	Caption string
	SVG     template.HTML // drawn by package chart, which escapes names
}

// page returns the page.
func (o *overview) page() ([]byte, error) {
	p := page{Title: cmp.Or(o.domain, "fairspool"), Version: cmdline.Version, At: o.now.Format("2006-01-02 15:04:05 MST"), Stamp: o.now.Format(time.RFC3339)}
	if o.user != "" {
		p.Title = clean.Line(o.user) + ", " + p.Title
	}
	p.Sections = append(p.Sections, o.wellbeing())
	if !o.damaged {
		p.Figures = o.figures()
		past, err := o.drawn()
		if err != nil {
			return nil, err
		}
		if o.user != "" {
			p.Sections = append(p.Sections, o.own())
		}
		p.Sections = append(p.Sections, o.queue(), o.shares(), o.reasons(), past)
		if o.user == "" {
			p.Sections = append(p.Sections, o.places(), o.cycles())
		}
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"inc": func(i int) int { return i + 1 },
		"breaks": func(name string) template.HTML {
			return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(name), "@", "<wbr>@"))
		},
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// wellbeing is the findings of negotiate -health.
func (o *overview) wellbeing() section {
	s := section{ID: "health", Title: "Health", Findings: o.found}
	for i := range s.Findings {
		f := &s.Findings[i]
		f.What, f.Remedy = clean.Shortened(f.What, longest), clean.Shortened(f.Remedy, longest)
	}
	switch {
	case o.damaged:
		s.Text = append(s.Text, "Nothing else is shown until the spool can be read.")
	case len(o.found) == 0:
		s.Text = append(s.Text, "Nothing is amiss.")
	}
	return s
}

// figures are the numbers at the top.
func (o *overview) figures() []figure {
	jobs := map[string]int{}
	for _, n := range o.counts {
		jobs[n.State] += n.Jobs
	}
	list := []figure{{Name: "Jobs running", Value: count(jobs["running"])}, {Name: "Jobs waiting", Value: count(jobs["waiting"])}}
	if n := jobs["held"]; n > 0 {
		list = append(list, figure{Name: "Jobs held", Value: count(n)})
	}
	_, sum := machinesOf(o.machines)
	list = append(list, figure{Name: "Cores in use", Value: amount(sum.Used), Note: "of " + amount(sum.Total)})
	if o.last != nil {
		list = append(list, figure{Name: "Last cycle", Value: briefly(o.now.Sub(unix(o.last.Time))) + " ago"})
	}
	if d := o.facts.Disk; d.Size > 0 && o.user == "" {
		list = append(list, figure{Name: "Disk free", Value: fmt.Sprintf("%.0f %%", 100*float64(d.Free)/float64(d.Size)), Note: fmt.Sprintf("of %.0f GB", float64(d.Size)/(1<<30))})
	}
	worst := health.Worst(o.found)
	return append(list, figure{Name: "Health", Value: worst.String(), Bad: worst > health.OK})
}

// own lists the jobs of the page's user.
func (o *overview) own() section {
	t := table{ID: "jobs-table", Caption: "Jobs of " + clean.Line(o.user), Columns: []column{
		{Name: "Job"}, {Name: "State"}, {Name: "For"}, {Name: "Slot or reason", Class: "text"}, {Name: "Command", Class: "text"}}}
	for _, l := range o.jobs {
		t.Rows = append(t.Rows, row{Head: l.Jobs, Cells: []string{l.State, l.Since, short(l.Where), short(l.Command)}})
	}
	if o.moreJobs > 0 {
		t.More = fmt.Sprintf("And %s: qstat -u %s shows all.", plural.Count(o.moreJobs, "more line"), clean.Line(o.user))
	}
	s := section{ID: "jobs", Title: "Jobs", Tables: []table{t}}
	if len(o.jobs) == 0 {
		s.Text = []string{"There are no jobs in the queue."}
	}
	return s
}

// queue counts the jobs by submitter and state.
func (o *overview) queue() section {
	type line struct {
		name string
		jobs map[string]int
		all  int
	}
	by := map[string]*line{}
	var list []*line
	sum, others := line{name: "total", jobs: map[string]int{}}, &line{jobs: map[string]int{}}
	for _, n := range o.counts {
		l := by[n.Submitter]
		if l == nil {
			l = &line{name: n.Submitter, jobs: map[string]int{}}
			by[n.Submitter], list = l, append(list, l)
		}
		for _, x := range []*line{l, &sum} {
			x.jobs[n.State] += n.Jobs
			x.all += n.Jobs
		}
	}
	slices.SortStableFunc(list, func(a, b *line) int { return cmp.Or(cmp.Compare(b.all, a.all), strings.Compare(a.name, b.name)) })
	all := len(list)
	list = together(list, mostRows, others, func(sum, x *line) {
		for s, n := range x.jobs {
			sum.jobs[s] += n
		}
		sum.all += x.all
	})
	t := table{ID: "queue-table", Caption: "Jobs by submitter and state", Columns: []column{{Name: "Submitter", Class: "name"}}}
	var states []string
	for _, s := range queue.StateWords() {
		if sum.jobs[s] > 0 {
			states = append(states, s)
			t.Columns = append(t.Columns, column{Name: s, Class: "number"})
		}
	}
	t.Columns = append(t.Columns, column{Name: "all", Class: "number"})
	write := func(l *line, total bool) {
		r := row{Head: short(l.name), Sum: total}
		for _, s := range states {
			r.Cells = append(r.Cells, count(l.jobs[s]))
		}
		t.Rows = append(t.Rows, row{r.Head, append(r.Cells, count(l.all)), total})
	}
	for _, l := range list {
		if l == others {
			l.name = plural.Count(all-mostRows, "other submitter")
		}
		write(l, l == others)
	}
	s := section{ID: "queue", Title: "The queue"}
	if all == 0 {
		s.Text = append(s.Text, "There are no jobs in the queue.")
	} else {
		if all > 1 {
			write(&sum, true)
		}
		s.Tables = append(s.Tables, t)
	}
	if o.kept > 0 {
		s.Text = append(s.Text, plural.Pick(o.kept, "1 job is", "%d jobs are")+" still to come, of clusters with max_materialize or max_idle.")
	}
	return s
}

// activeFor is for how long a submitter is shown that uses and wants nothing.
const activeFor = 24 * time.Hour

// shares shows each submitter's entitlement and use.
func (o *overview) shares() section {
	s := section{ID: "shares", Title: "Shares", Text: []string{"Slots count with their weight. A lower effective priority (EUP) goes first: shares of the pool are inverse to it."}}
	if o.policy != "" {
		s.Text = []string{"Slots count with their weight. The policy " + o.policy + " puts all jobs into one queue: there are no shares."}
	}
	said := map[string]negotiator.Share{}
	if o.last != nil {
		for _, x := range o.last.Submitters {
			said[x.Name] = x
		}
	}
	var rows []*accounts.Row
	place := map[string]int{}
	for i, r := range o.accounts.Rows {
		_, wants := said[r.Name]
		if r.Group || r.InUse == 0 && !wants && r.Last.Before(o.now.Add(-activeFor)) {
			continue
		}
		rows = append(rows, &o.accounts.Rows[i])
	}
	slices.SortStableFunc(rows, func(a, b *accounts.Row) int {
		return cmp.Or(cmp.Compare(a.Effective, b.Effective), strings.Compare(a.Name, b.Name))
	})
	for i, r := range rows {
		place[r.Name] = i + 1
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(r *accounts.Row) bool { return !o.of(r.Name, "") })
	t := table{ID: "shares-table", Caption: "Submitters with slots or idle jobs now or in the last 24 hours", Columns: []column{{Name: "Submitter", Class: "name"}, {Name: "Place", Note: "1 goes first", Class: "number"},
		{Name: "EUP", Note: "lower goes first", Class: "number"}, {Name: "RUP", Note: "lower is better", Class: "number"}, {Name: "Factor", Note: "lower is better", Class: "number"},
		{Name: "In use", Note: "slot weight", Class: "number"}}}
	deals := o.last != nil && o.policy == ""
	if deals {
		t.Columns = append(t.Columns, column{Name: "Entitled to", Note: "last cycle", Class: "number"})
	}
	t.Columns = append(t.Columns, column{Name: "Last day", Note: "share of all use", Class: "number"}, column{Name: "Usage", Note: "slot hours in all", Class: "number"})
	for _, r := range rows[:min(len(rows), mostRows)] {
		cells := []string{count(place[r.Name]), decimal(r.Effective), decimal(r.Priority), decimal(r.Factor), amount(r.InUse)}
		if deals {
			cells = append(cells, amount(said[r.Name].PieSlice))
		}
		day := "unknown"
		if percent, known := r.LastDay(); known {
			day = fmt.Sprintf("%.1f %%", percent)
		}
		t.Rows = append(t.Rows, row{Head: short(r.Name), Cells: append(cells, day, fmt.Sprintf("%.1f", r.Usage/3600))})
	}
	if n := len(rows) - mostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more submitter") + " with a higher EUP: userprio shows all."
	}
	switch {
	case all == 0:
		s.Text = append(s.Text, "Nobody used or asked for anything in the last 24 hours.")
	case o.user != "":
		s.Text = append(s.Text, fmt.Sprintf("Places count the %s that used or asked for something in the last 24 hours.", plural.Count(all, "submitter")))
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if g := o.groups(); len(g.Rows) > 0 {
		s.Tables = append(s.Tables, g)
	}
	return s
}

// groups says what accounting groups are entitled to, and have.
func (o *overview) groups() table {
	t := table{ID: "groups-table", Caption: "Accounting groups", Columns: []column{{Name: "Group", Class: "name"}, {Name: "Quota", Note: "slot weight, last cycle", Class: "number"},
		{Name: "In use", Note: "slot weight", Class: "number"}, {Name: "Requested", Note: "in use and asked for", Class: "number"}, {Name: "Surplus", Note: "use beyond the quota"}}}
	n := 0
	for _, r := range o.accounts.Rows {
		if !r.Group || o.user != "" {
			continue
		}
		if n++; n > mostRows {
			continue
		}
		quota, requested := "unknown", "unknown"
		if r.Part.Negotiated {
			quota, requested = amount(r.Part.Effective), amount(r.Part.Requested)
		}
		t.Rows = append(t.Rows, row{Head: short(r.Name), Cells: []string{quota, amount(r.InUse), requested, cmp.Or(r.Part.Surplus, "unknown")}})
	}
	if n > mostRows {
		t.More = "And " + plural.Count(n-mostRows, "more group") + ": userprio -quotas shows all."
	}
	return t
}

// why is why jobs wait, or are held.
type why struct {
	jobs       int
	submitters map[string]bool
	most       int // jobs of the largest rejection, which the example is from
	first      string
	reason     string
	help       string
}

// reasons says why jobs wait, as the last cycle found, and what would help.
func (o *overview) reasons() section {
	s := section{ID: "waiting", Title: "Why jobs wait"}
	by, counted := map[string]*why{}, 0
	of := func(short string) *why {
		if by[short] == nil {
			by[short] = &why{submitters: map[string]bool{}}
		}
		return by[short]
	}
	if o.last != nil {
		for i := range o.last.Rejections {
			x := &o.last.Rejections[i]
			if !o.of(x.Submitter, "") && o.user != strings.TrimSuffix(x.Submitter, "@"+o.domain) {
				continue
			}
			w := of(queue.InShort(x))
			w.jobs += x.Count
			counted += x.Count
			w.submitters[x.Submitter] = true
			if x.Count > w.most {
				w.most, w.first, w.reason, w.help = x.Count, x.Job, x.Reason, ""
				if x.Cause != "" && x.Autocluster >= 0 && x.Autocluster < len(o.last.Autoclusters) {
					w.help = x.Help(o.last.Autoclusters[x.Autocluster])
				}
			}
		}
		s.Text = append(s.Text, "As the last cycle found at "+unix(o.last.Time).In(o.now.Location()).Format(report.ToSecond)+". The reason and what would help are those of one job of each row; qstat -j JOB says the same of any other.")
	}
	waiting, others := 0, map[string]*why{}
	for _, n := range o.counts {
		switch {
		case n.State == "waiting" && n.Why == "":
			waiting += n.Jobs
		case n.State == "waiting" || n.State == "held":
			to := others
			if n.State == "waiting" {
				to = by
			}
			if to[n.Why] == nil {
				to[n.Why] = &why{submitters: map[string]bool{}}
			}
			to[n.Why].jobs += n.Jobs
			to[n.Why].submitters[n.Submitter] = true
		}
	}
	if n := waiting - counted; n > 0 {
		w := of("next cycle")
		w.jobs, w.reason = w.jobs+n, "the last cycle has not left them without a slot: they are new, or have come back since"
	}
	if len(by) == 0 {
		s.Text = []string{"No job waits."}
	} else {
		s.Tables = append(s.Tables, reasonTable(by))
	}
	if len(others) > 0 {
		s.Tables = append(s.Tables, heldTable(others))
	}
	return s
}

// byJobs returns the reasons by descending number of jobs.
func byJobs(by map[string]*why) []string {
	return slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b].jobs, by[a].jobs), strings.Compare(a, b))
	})
}

func reasonTable(by map[string]*why) table {
	t := table{ID: "waiting-table", Caption: "Waiting jobs by reason", Columns: []column{{Name: "Reason", Class: "name"}, {Name: "Jobs", Class: "number"}, {Name: "Submitters", Class: "number"},
		{Name: "For example"}, {Name: "What the last cycle said", Class: "text"}, {Name: "What would help", Class: "text"}}}
	names := byJobs(by)
	for _, name := range names[:min(len(names), mostRows)] {
		w := by[name]
		submitters := ""
		if len(w.submitters) > 0 {
			submitters = count(len(w.submitters))
		}
		t.Rows = append(t.Rows, row{Head: short(name), Cells: []string{count(w.jobs), submitters, w.first, short(w.reason), short(w.help)}})
	}
	if n := len(names) - mostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more reason") + ": qstat -j shows all."
	}
	return t
}

func heldTable(by map[string]*why) table {
	t := table{ID: "held-table", Caption: "Held jobs by reason", Columns: []column{{Name: "Held", Class: "name"}, {Name: "Jobs", Class: "number"}, {Name: "Submitters", Class: "number"}}}
	names := byJobs(by)
	for _, name := range names[:min(len(names), mostRows)] {
		t.Rows = append(t.Rows, row{Head: short(cmp.Or(name, "without a reason")), Cells: []string{count(by[name].jobs), count(len(by[name].submitters))}})
	}
	if n := len(names) - mostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more reason") + ": qstat -s h shows all."
	}
	return t
}

// drawn shows usage and priorities over time.
func (o *overview) drawn() (section, error) {
	s := section{ID: "past", Title: "Priority and usage over time"}
	used, hours := table{ID: "past-table", Caption: "Usage in slot hours", Columns: []column{{Name: "Submitter", Class: "name"}}}, map[string][]float64{}
	for i, p := range o.periods {
		used.Columns = append(used.Columns, column{Name: "last " + p.name, Class: "number"})
		p.series = slices.DeleteFunc(p.series, func(x history.Series) bool { return !strings.Contains(x.Name, "@") }) // groups
		for _, x := range p.series {
			if hours[x.Name] == nil {
				hours[x.Name] = make([]float64, len(o.periods))
			}
			hours[x.Name][i] = history.Used(x.Points) / 3600
		}
		svg, err := chart.Chart{Series: p.series, Zone: o.now.Location()}.Inline(
			fmt.Sprintf(`role="img" aria-label="Effective priority and slots in use over the last %s; the table of usage has the sums"`, p.name))
		switch {
		case errors.Is(err, chart.ErrNothing):
		case err != nil:
			return s, err
		default:
			s.Pictures = append(s.Pictures, picture{"The last " + p.name, template.HTML(svg)})
		}
	}
	names := slices.SortedFunc(maps.Keys(hours), func(a, b string) int {
		x, y := hours[a], hours[b]
		return cmp.Or(slices.Compare(reversed(y), reversed(x)), strings.Compare(a, b))
	})
	for _, name := range names[:min(len(names), mostRows)] {
		r := row{Head: short(name)}
		for _, h := range hours[name] {
			r.Cells = append(r.Cells, fmt.Sprintf("%.1f", h))
		}
		used.Rows = append(used.Rows, r)
	}
	if n := len(names) - mostRows; n > 0 {
		used.More = "And " + plural.Count(n, "more submitter") + " with less usage."
	}
	if len(s.Pictures) == 0 {
		s.Text = []string{"There is nothing to draw: nobody used or asked for anything since samples are taken, and no EUP changed."}
	}
	if len(used.Rows) > 0 {
		s.Tables = []table{used}
	}
	return s, nil
}

func reversed(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Reverse(x)
	return x
}

// places shows machines and pilots.
func (o *overview) places() section {
	s := section{ID: "machines", Title: "Machines"}
	all, sum := machinesOf(o.machines)
	if len(all) == 0 {
		s.Text = []string{"The pool has no slots."}
	} else {
		s.Tables = append(s.Tables, machineTable(all, sum))
	}
	for _, m := range o.maintenances {
		text := "Slots with " + m.Constraint + " are reserved for maintenance from " + report.Moment(m.Start) + " to " + report.Moment(m.End) + "."
		if m.Reason != "" {
			text = strings.TrimSuffix(text, ".") + ": " + m.Reason
		}
		s.Text = append(s.Text, clean.Line(text))
	}
	if t := o.pilotTable(); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}

func machineTable(all []queue.Machine, sum queue.Machine) table {
	t := table{ID: "machines-table", Caption: "Cores by machine: those out of use first, then the fullest", Columns: []column{{Name: "Machine", Class: "name"}, {Name: "Cores", Class: "number"}, {Name: "In use", Class: "number"},
		{Name: "Reserved", Class: "number"}, {Name: "Free", Class: "number"}, {Name: "Resting", Note: "for a while", Class: "number"}, {Name: "Out of use", Class: "number"}, {Name: "Load", Note: "of a core", Class: "number"}}}
	full := func(m queue.Machine) float64 { return m.Used / max(m.Total, 1) }
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b queue.Machine) int {
		return cmp.Or(cmp.Compare(b.Broken+b.Resting, a.Broken+a.Resting), cmp.Compare(full(b), full(a)))
	})
	write := func(name string, m queue.Machine, total bool) {
		load := "unknown"
		if m.Measured > 0 {
			load = decimal(m.Load / m.Measured)
		}
		t.Rows = append(t.Rows, row{short(name), []string{amount(m.Total), amount(m.Used), amount(m.Reserved), amount(m.Avail), amount(m.Resting), amount(m.Broken), load}, total})
	}
	for _, m := range all[:min(len(all), mostRows)] {
		write(m.Name, m, false)
	}
	if n := len(all) - mostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more machine") + ", which the total has: qstat -g c shows all."
	}
	if len(all) > 1 {
		write("total", sum, true)
	}
	return t
}

// pilotTable counts pilots by engine.
func (o *overview) pilotTable() table {
	t := table{ID: "pilots-table", Caption: "Pilots by engine", Columns: []column{{Name: "Engine", Class: "name"}, {Name: "Asked for", Class: "number"}, {Name: "Live", Class: "number"},
		{Name: "Leaving", Class: "number"}, {Name: "Silent", Note: "not heard of for long", Class: "number"}}}
	by := map[string][5]int{}
	for _, p := range o.pilots {
		if p.State.Over() {
			continue
		}
		n := by[p.Engine]
		n[p.State]++
		if o.silent[p.Machine] && p.State != pool.Asked {
			n[4]++
		}
		by[p.Engine] = n
	}
	names := slices.Sorted(maps.Keys(by))
	for _, name := range names[:min(len(names), mostRows)] {
		n := by[name]
		t.Rows = append(t.Rows, row{Head: short(name), Cells: []string{count(n[1]), count(n[2]), count(n[3]), count(n[4])}})
	}
	if n := len(names) - mostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more engine") + ": slots list -pilots shows all."
	}
	return t
}

// cycles shows the last cycles.
func (o *overview) cycles() section {
	s := section{ID: "cycles", Title: "The last cycles"}
	if o.last == nil || len(o.last.Cycles) == 0 {
		s.Text = []string{"No cycle is known."}
		return s
	}
	t := table{ID: "cycles-table", Caption: "The last cycles, the latest first", Columns: []column{{Name: "Cycle"}, {Name: "Time"}, {Name: "Took", Note: "seconds", Class: "number"},
		{Name: "Matched", Class: "number"}, {Name: "Preempted", Class: "number"}, {Name: "Left waiting", Class: "number"}}}
	for _, c := range o.last.Cycles {
		t.Rows = append(t.Rows, row{Head: count(c.Cycle), Cells: []string{unix(c.Time).In(o.now.Location()).Format(report.ToSecond), fmt.Sprintf("%.3f", c.Took),
			count(c.Matched), count(c.Preempted), count(c.Waiting)}})
	}
	s.Tables = []table{t}
	return s
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }

func count(n int) string { return strconv.Itoa(n) }

// amount writes weights and cores, which may be parts of one.
func amount(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// short makes a text of a user's fit for a cell.
func short(text string) string { return clean.Shortened(clean.Line(text), longest) }

// briefly writes a length of time.
func briefly(d time.Duration) string { return elapsed.Short(max(int64(d.Seconds()), 0), 2) }

package report

import (
	"cmp"
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
	"fairspool/cmd/internal/health"
	"fairspool/cmd/internal/page"
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

// page returns the page.
func (o *overview) page() ([]byte, error) {
	at := o.now.Format("2006-01-02 15:04:05 MST")
	p := page.Page{Title: cmp.Or(o.domain, "fairspool"), Subject: "the pool at " + at, Program: "report",
		Lead: template.HTML(fmt.Sprintf(`The pool as of <time datetime="%s">%s</time>`, o.now.Format(time.RFC3339), at))}
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
	return p.HTML()
}

// wellbeing is the findings of negotiate -health.
func (o *overview) wellbeing() page.Section {
	s := page.Section{ID: "health", Title: "Health"}
	for _, f := range o.found {
		s.Findings = append(s.Findings, page.Finding{Severity: f.Severity.String(), What: page.Short(f.What), Remedy: page.Short(f.Remedy)})
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
func (o *overview) figures() []page.Figure {
	jobs := map[string]int{}
	for _, n := range o.counts {
		jobs[n.State] += n.Jobs
	}
	list := []page.Figure{{Name: "Jobs running", Value: page.Count(jobs["running"])}, {Name: "Jobs waiting", Value: page.Count(jobs["waiting"])}}
	if n := jobs["held"]; n > 0 {
		list = append(list, page.Figure{Name: "Jobs held", Value: page.Count(n)})
	}
	_, sum := machinesOf(o.machines)
	list = append(list, page.Figure{Name: "Cores in use", Value: amount(sum.Used), Note: "of " + amount(sum.Total)})
	if o.last != nil {
		list = append(list, page.Figure{Name: "Last cycle", Value: elapsed.Short(max(int64(o.now.Sub(unix(o.last.Time)).Seconds()), 0), 2) + " ago"})
	}
	if d := o.facts.Disk; d.Size > 0 && o.user == "" {
		list = append(list, page.Figure{Name: "Disk free", Value: fmt.Sprintf("%.0f %%", 100*float64(d.Free)/float64(d.Size)), Note: fmt.Sprintf("of %.0f GB", float64(d.Size)/(1<<30))})
	}
	worst := health.Worst(o.found)
	return append(list, page.Figure{Name: "Health", Value: worst.String(), Bad: worst > health.OK})
}

// own lists the jobs of the page's user.
func (o *overview) own() page.Section {
	t := page.Table{ID: "jobs-table", Caption: "Jobs of " + clean.Line(o.user), Columns: []page.Column{
		{Name: "Job"}, {Name: "State"}, {Name: "For"}, {Name: "Slot or reason", Class: "text"}, {Name: "Command", Class: "text"}}}
	for _, l := range o.jobs {
		t.Rows = append(t.Rows, page.Row{Head: l.Jobs, Cells: []string{l.State, l.Since, page.Short(l.Where), page.Short(l.Command)}})
	}
	if o.moreJobs > 0 {
		t.More = fmt.Sprintf("And %s: qstat -u %s shows all.", plural.Count(o.moreJobs, "more line"), clean.Line(o.user))
	}
	s := page.Section{ID: "jobs", Title: "Jobs", Tables: []page.Table{t}}
	if len(o.jobs) == 0 {
		s.Text = []string{"There are no jobs in the queue."}
	}
	return s
}

// queue counts the jobs by submitter and state.
func (o *overview) queue() page.Section {
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
	list = together(list, page.MostRows, others, func(sum, x *line) {
		for s, n := range x.jobs {
			sum.jobs[s] += n
		}
		sum.all += x.all
	})
	t := page.Table{ID: "queue-table", Caption: "Jobs by submitter and state", Columns: []page.Column{{Name: "Submitter", Class: "name"}}}
	var states []string
	for _, s := range queue.StateWords() {
		if sum.jobs[s] > 0 {
			states = append(states, s)
			t.Columns = append(t.Columns, page.Column{Name: s, Class: "number"})
		}
	}
	t.Columns = append(t.Columns, page.Column{Name: "all", Class: "number"})
	write := func(l *line, total bool) {
		r := page.Row{Head: page.Short(l.name), Sum: total}
		for _, s := range states {
			r.Cells = append(r.Cells, page.Count(l.jobs[s]))
		}
		t.Rows = append(t.Rows, page.Row{Head: r.Head, Cells: append(r.Cells, page.Count(l.all)), Sum: total})
	}
	for _, l := range list {
		if l == others {
			l.name = plural.Count(all-page.MostRows, "other submitter")
		}
		write(l, l == others)
	}
	s := page.Section{ID: "queue", Title: "The queue"}
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
func (o *overview) shares() page.Section {
	s := page.Section{ID: "shares", Title: "Shares", Text: []string{"Slots count with their weight. A lower effective priority (EUP) goes first: shares of the pool are inverse to it."}}
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
	t := page.Table{ID: "shares-table", Caption: "Submitters with slots or idle jobs now or in the last 24 hours", Columns: []page.Column{{Name: "Submitter", Class: "name"}, {Name: "Place", Note: "1 goes first", Class: "number"},
		{Name: "EUP", Note: "lower goes first", Class: "number"}, {Name: "RUP", Note: "lower is better", Class: "number"}, {Name: "Factor", Note: "lower is better", Class: "number"},
		{Name: "In use", Note: "slot weight", Class: "number"}}}
	deals := o.last != nil && o.policy == ""
	if deals {
		t.Columns = append(t.Columns, page.Column{Name: "Entitled to", Note: "last cycle", Class: "number"})
	}
	t.Columns = append(t.Columns, page.Column{Name: "Last day", Note: "share of all use", Class: "number"}, page.Column{Name: "Usage", Note: "slot hours in all", Class: "number"})
	for _, r := range rows[:min(len(rows), page.MostRows)] {
		cells := []string{page.Count(place[r.Name]), decimal(r.Effective), decimal(r.Priority), decimal(r.Factor), amount(r.InUse)}
		if deals {
			cells = append(cells, amount(said[r.Name].PieSlice))
		}
		day := "unknown"
		if percent, known := r.LastDay(); known {
			day = fmt.Sprintf("%.1f %%", percent)
		}
		t.Rows = append(t.Rows, page.Row{Head: page.Short(r.Name), Cells: append(cells, day, fmt.Sprintf("%.1f", r.Usage/3600))})
	}
	if n := len(rows) - page.MostRows; n > 0 {
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
func (o *overview) groups() page.Table {
	t := page.Table{ID: "groups-table", Caption: "Accounting groups", Columns: []page.Column{{Name: "Group", Class: "name"}, {Name: "Quota", Note: "slot weight, last cycle", Class: "number"},
		{Name: "In use", Note: "slot weight", Class: "number"}, {Name: "Requested", Note: "in use and asked for", Class: "number"}, {Name: "Surplus", Note: "use beyond the quota"}}}
	n := 0
	for _, r := range o.accounts.Rows {
		if !r.Group || o.user != "" {
			continue
		}
		if n++; n > page.MostRows {
			continue
		}
		quota, requested := "unknown", "unknown"
		if r.Part.Negotiated {
			quota, requested = amount(r.Part.Effective), amount(r.Part.Requested)
		}
		t.Rows = append(t.Rows, page.Row{Head: page.Short(r.Name), Cells: []string{quota, amount(r.InUse), requested, cmp.Or(r.Part.Surplus, "unknown")}})
	}
	if n > page.MostRows {
		t.More = "And " + plural.Count(n-page.MostRows, "more group") + ": userprio -quotas shows all."
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
func (o *overview) reasons() page.Section {
	s := page.Section{ID: "waiting", Title: "Why jobs wait"}
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

func reasonTable(by map[string]*why) page.Table {
	t := page.Table{ID: "waiting-table", Caption: "Waiting jobs by reason", Columns: []page.Column{{Name: "Reason", Class: "name"}, {Name: "Jobs", Class: "number"}, {Name: "Submitters", Class: "number"},
		{Name: "For example"}, {Name: "What the last cycle said", Class: "text"}, {Name: "What would help", Class: "text"}}}
	names := byJobs(by)
	for _, name := range names[:min(len(names), page.MostRows)] {
		w := by[name]
		submitters := ""
		if len(w.submitters) > 0 {
			submitters = page.Count(len(w.submitters))
		}
		t.Rows = append(t.Rows, page.Row{Head: page.Short(name), Cells: []string{page.Count(w.jobs), submitters, w.first, page.Short(w.reason), page.Short(w.help)}})
	}
	if n := len(names) - page.MostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more reason") + ": qstat -j shows all."
	}
	return t
}

func heldTable(by map[string]*why) page.Table {
	t := page.Table{ID: "held-table", Caption: "Held jobs by reason", Columns: []page.Column{{Name: "Held", Class: "name"}, {Name: "Jobs", Class: "number"}, {Name: "Submitters", Class: "number"}}}
	names := byJobs(by)
	for _, name := range names[:min(len(names), page.MostRows)] {
		t.Rows = append(t.Rows, page.Row{Head: page.Short(cmp.Or(name, "without a reason")), Cells: []string{page.Count(by[name].jobs), page.Count(len(by[name].submitters))}})
	}
	if n := len(names) - page.MostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more reason") + ": qstat -s h shows all."
	}
	return t
}

// drawn shows usage and priorities over time.
func (o *overview) drawn() (page.Section, error) {
	s := page.Section{ID: "past", Title: "Priority and usage over time"}
	used, hours := page.Table{ID: "past-table", Caption: "Usage in slot hours", Columns: []page.Column{{Name: "Submitter", Class: "name"}}}, map[string][]float64{}
	for i, p := range o.periods {
		used.Columns = append(used.Columns, page.Column{Name: "last " + p.name, Class: "number"})
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
			s.Pictures = append(s.Pictures, page.Picture{Caption: "The last " + p.name, SVG: template.HTML(svg)})
		}
	}
	names := slices.SortedFunc(maps.Keys(hours), func(a, b string) int {
		x, y := hours[a], hours[b]
		return cmp.Or(slices.Compare(reversed(y), reversed(x)), strings.Compare(a, b))
	})
	for _, name := range names[:min(len(names), page.MostRows)] {
		r := page.Row{Head: page.Short(name)}
		for _, h := range hours[name] {
			r.Cells = append(r.Cells, fmt.Sprintf("%.1f", h))
		}
		used.Rows = append(used.Rows, r)
	}
	if n := len(names) - page.MostRows; n > 0 {
		used.More = "And " + plural.Count(n, "more submitter") + " with less usage."
	}
	if len(s.Pictures) == 0 {
		s.Text = []string{"There is nothing to draw: nobody used or asked for anything since samples are taken, and no EUP changed."}
	}
	if len(used.Rows) > 0 {
		s.Tables = []page.Table{used}
	}
	return s, nil
}

func reversed(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Reverse(x)
	return x
}

// places shows machines and pilots.
func (o *overview) places() page.Section {
	s := page.Section{ID: "machines", Title: "Machines"}
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

func machineTable(all []queue.Machine, sum queue.Machine) page.Table {
	t := page.Table{ID: "machines-table", Caption: "Cores by machine: those out of use first, then the fullest", Columns: []page.Column{{Name: "Machine", Class: "name"}, {Name: "Cores", Class: "number"}, {Name: "In use", Class: "number"},
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
		t.Rows = append(t.Rows, page.Row{Head: page.Short(name), Cells: []string{amount(m.Total), amount(m.Used), amount(m.Reserved), amount(m.Avail), amount(m.Resting), amount(m.Broken), load}, Sum: total})
	}
	for _, m := range all[:min(len(all), page.MostRows)] {
		write(m.Name, m, false)
	}
	if n := len(all) - page.MostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more machine") + ", which the total has: qstat -g c shows all."
	}
	if len(all) > 1 {
		write("total", sum, true)
	}
	return t
}

// pilotTable counts pilots by engine.
func (o *overview) pilotTable() page.Table {
	t := page.Table{ID: "pilots-table", Caption: "Pilots by engine", Columns: []page.Column{{Name: "Engine", Class: "name"}, {Name: "Asked for", Class: "number"}, {Name: "Live", Class: "number"},
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
	for _, name := range names[:min(len(names), page.MostRows)] {
		n := by[name]
		t.Rows = append(t.Rows, page.Row{Head: page.Short(name), Cells: []string{page.Count(n[1]), page.Count(n[2]), page.Count(n[3]), page.Count(n[4])}})
	}
	if n := len(names) - page.MostRows; n > 0 {
		t.More = "And " + plural.Count(n, "more engine") + ": slots list -pilots shows all."
	}
	return t
}

// cycles shows the last cycles.
func (o *overview) cycles() page.Section {
	s := page.Section{ID: "cycles", Title: "The last cycles"}
	if o.last == nil || len(o.last.Cycles) == 0 {
		s.Text = []string{"No cycle is known."}
		return s
	}
	t := page.Table{ID: "cycles-table", Caption: "The last cycles, the latest first", Columns: []page.Column{{Name: "Cycle"}, {Name: "Time"}, {Name: "Took", Note: "seconds", Class: "number"},
		{Name: "Matched", Class: "number"}, {Name: "Preempted", Class: "number"}, {Name: "Left waiting", Class: "number"}}}
	for _, c := range o.last.Cycles {
		t.Rows = append(t.Rows, page.Row{Head: page.Count(c.Cycle), Cells: []string{unix(c.Time).In(o.now.Location()).Format(report.ToSecond), fmt.Sprintf("%.3f", c.Took),
			page.Count(c.Matched), page.Count(c.Preempted), page.Count(c.Waiting)}})
	}
	s.Tables = []page.Table{t}
	return s
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }

// amount writes weights and cores, which may be parts of one.
func amount(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

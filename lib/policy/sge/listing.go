package sge

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// Listing returns the queue with all that priorities come from.
func (Policy) Listing(c *config.Config, from policy.Sources) policy.Listing {
	return &listing{Queue: queueOf(c, from), config: Settings(c), context: &classad.Context{Now: from.Now}}
}

type listing struct {
	*sge.Queue
	config  *sge.Config
	context *classad.Context
	ranked  *sge.Listing
	idle    []jobprio.Run
	running []jobprio.Running // ascending
	places  []jobprio.Place   // in the order of display
}

// Cells are what columns show of a job.
type Cells struct {
	sge.Numbers
	JobShare, Override float64
}

// alike is the data that the urgency of procs that were submitted together, and so all columns,
// depend on, and the shares if these are shown.
type alike struct {
	requests           float64
	deadline           int64
	jobShare, override float64
}

// List puts jobs in the order of the queue. Without report_pjob_tickets nothing may reveal
// that order, so jobs are in the order of submission, as in Grid Engine.
func (l *listing) List(w jobprio.Waiting) []policy.Listed {
	l.idle, l.running = w.Idle, w.Running
	l.ranked = l.Listing(w)
	l.places = l.ranked.Places()
	if !l.config.ReportPending {
		slices.SortFunc(l.places, func(a, b jobprio.Place) int {
			i, j := l.idle[a.Run].FirstJob(), l.idle[b.Run].FirstJob()
			return cmp.Or(cmp.Compare(l.ranked.Job(a.Run).Submitted, l.ranked.Job(b.Run).Submitted), i.Compare(j), cmp.Compare(a.First, b.First))
		})
	}
	all := make([]policy.Listed, len(l.places))
	for i, place := range l.places {
		all[i] = policy.Listed{Part: place.Part}
	}
	return all
}

// Show returns the numbers of a job, and the policy's view of its ad.
func (l *listing) Show(j policy.Job, o policy.Options) policy.Shown {
	n, facts := l.of(j)
	x := policy.Shown{
		Prior: facts.POSIX, Slots: l.slots(facts, j.Claim != nil), Behind: j.QDate,
		Aside:       l.config.ReportPending && l.later(j), // as one that is held: Grid Engine has both in one order
		Alike:       alike{requests: l.requested(facts), deadline: facts.Deadline},
		Credentials: &policy.Credentials{Project: facts.Project, Department: facts.Department, Deadline: facts.Deadline, JobShare: facts.JobShare, OverrideTickets: facts.OverrideTickets},
		Cells:       &Cells{n, facts.JobShare, facts.OverrideTickets},
	}
	if o.Ext {
		x.Alike = alike{l.requested(facts), facts.Deadline, facts.JobShare, facts.OverrideTickets}
	}
	return x
}

// slots returns how many slots are assumed of a job that waits, and how many one has that
// runs: the least that it asked for. A slot counts as many as the job wants processors there.
func (l *listing) slots(j *sge.Job, runs bool) int64 {
	n := j.Slots
	if runs {
		n = j.LeastSlots
	}
	const most = 1 << 53
	return int64(min(float64(n)*j.CPUs, most))
}

// task returns a job that waits as the ranking knows it: which of the jobs, and which of its procs.
func (l *listing) task(j policy.Job) (job, task int) {
	place := &l.places[j.Number]
	return place.Run, place.First - l.idle[place.Run].First + j.Task
}

// later reports whether a job is to start later, and has no numbers until then.
func (l *listing) later(j policy.Job) bool {
	if !j.Waits {
		return false
	}
	run, _ := l.task(j)
	return l.ranked.Job(run).Count == 0
}

// of returns the shown numbers of a job. Without report_pjob_tickets a waiting job has none.
func (l *listing) of(j policy.Job) (sge.Numbers, *sge.Job) {
	n, facts := l.known(j)
	if j.Waits && !l.config.ReportPending {
		n = sge.Numbers{}
	}
	return n, facts
}

// known returns the known numbers of a job. A job that takes no part has none.
func (l *listing) known(j policy.Job) (sge.Numbers, *sge.Job) {
	if j.Waits {
		run, task := l.task(j)
		return l.ranked.Ranking().Pending(run, task), l.ranked.Job(run)
	}
	if i, facts, ok := l.runs(j.ID); ok {
		return l.ranked.Ranking().Running(i), facts
	}
	facts := l.Job(l.context, j.Run())
	return sge.Numbers{}, &facts
}

// runs returns a job's index among the running ones, and its facts; false if it does not
// run.
func (l *listing) runs(id pool.JobID) (index int, facts *sge.Job, ok bool) {
	i := sort.Search(len(l.running), func(i int) bool { return !l.running[i].FirstJob().Less(id) })
	if i == len(l.running) || l.running[i].FirstJob() != id {
		return 0, nil, false
	}
	return l.ranked.Running(i)
}

// Ranked is the JSON of -pri, -urg and -ext under this policy, and a part of that of -j,
// for Count equal jobs of one cluster, from ProcId on. Names are those of job ads if these
// have the same values, else of columns.
type Ranked struct {
	ClusterID       int `json:"ClusterId"`
	ProcID          int `json:"ProcId"`
	Count           int
	Owner           string
	Project         string `json:",omitempty"`
	Department      string
	State           string
	QDate           int64
	Deadline        int64   `json:",omitempty"`
	JobPrio         int64   // that counts: ppri
	JobShare        float64 `json:",omitempty"`
	OverrideTickets float64 `json:",omitempty"`
	Slots           int64   // assumed of jobs that wait, else had
	Requests        []Adds  // that add to the urgency; slots are among them
	// Place is the first job's place in the queue of all jobs, from 1 on; absent for a
	// job that does not wait, and if report_pjob_tickets hides it.
	Place    int     `json:",omitempty"`
	Priority float64 // prio: the priority that gives that place
	RankedNumbers
}

// Adds is a request, and its contribution to the urgency.
type Adds struct {
	Name         string
	Amount       float64 // of a slot; 1 of a type without amounts
	Contribution float64
}

// RankedNumbers is all that Priority is made of, by the names of the columns.
type RankedNumbers struct {
	NPPrior, NUrg, NTckts          float64
	Urg, RRContr, WTContr, DLContr float64
	Tckts, OTckt, FTckt, STckt     float64
	Share                          float64
	// Uncounted says that so many of the cluster come before that these get no tickets now.
	Uncounted bool `json:",omitempty"`
}

// Own is the numbers of all jobs, in the order of the list. Procs that follow each other and have the
// same numbers are one object, unless each is to be one.
func (l *listing) Own(rows []policy.Row, single bool) policy.OwnForm {
	var all []*Ranked
	for _, r := range rows {
		first := len(all)
		for j := range r.Each {
			n, facts := l.of(j)
			x := l.object(j, n, facts)
			if k := len(all) - 1; k >= first && !single && x.goesOn(all[k]) {
				all[k].Count++
				continue
			}
			all = append(all, x)
		}
	}
	placed := slices.IndexFunc(all, func(x *Ranked) bool { return x.Place > 0 })
	if placed >= 0 {
		end := placed
		for end < len(all) && all[end].Place > 0 {
			end++
		}
		slices.SortFunc(all[placed:end], func(a, b *Ranked) int { return cmp.Compare(a.Place, b.Place) })
	}
	return policy.OwnForm{Count: len(all), Object: func(i int) any { return all[i] }}
}

// goesOn reports whether a job follows others in the queue, and is equal to them.
func (x *Ranked) goesOn(before *Ranked) bool {
	return x.RankedNumbers == before.RankedNumbers && x.Priority == before.Priority &&
		(x.Place == 0 && before.Place == 0 || x.Place == before.Place+before.Count)
}

// object returns the numbers of a job as JSON has them.
func (l *listing) object(j policy.Job, n sge.Numbers, facts *sge.Job) *Ranked {
	x := &Ranked{
		ClusterID: j.ID.Cluster, ProcID: j.ID.Proc, Count: 1, Owner: j.Owner, State: j.State, QDate: j.QDate,
		Project: facts.Project, Department: facts.Department, Deadline: facts.Deadline,
		JobPrio: facts.POSIX, JobShare: facts.JobShare, OverrideTickets: facts.OverrideTickets,
		Slots: l.slots(facts, j.Claim != nil), Requests: l.adds(facts), Priority: n.Prio,
		RankedNumbers: RankedNumbers{n.NPPrior, n.NUrg, n.NTckts, n.Urg, n.RRContr, n.WTContr, n.DLContr,
			n.Tckts, n.OTckt, n.FTckt, n.STckt, n.Share, n.Uncounted},
	}
	if l.config.ReportPending && !l.later(j) {
		x.Place = j.Place
	}
	return x
}

// Explain returns the numbers of a job, and all that they come from, also where lists are not
// to show them.
func (l *listing) Explain(j policy.Job) (numbers, course any) {
	n, facts := l.known(j)
	numbers = l.object(j, n, facts)
	if j.Waits && !l.later(j) {
		run, task := l.task(j)
		course = l.ranked.Ranking().Course(run, task)
	} else if i, _, ok := l.runs(j.ID); ok {
		course = l.ranked.Ranking().RunningCourse(i)
	}
	return numbers, course
}

// adds returns a job's requests that count, with the one for slots, which each has.
func (l *listing) adds(j *sge.Job) []Adds {
	list := []Adds{{sge.SlotsComplex, j.CPUs, l.config.SlotsContribution(j)}}
	for _, r := range j.Requests {
		list = append(list, Adds{l.config.Complexes[r.Complex].Name, r.Amount, l.config.Contribution(r, j.Slots)})
	}
	return list
}

// Sheet has what else the policy knows of a job, by Grid Engine's keys, and what its place in the
// queue comes from.
func (l *listing) Sheet(j policy.Job, alike iter.Seq[policy.Job]) []policy.Line {
	_, facts := l.of(j)
	lines := []policy.Line{{Key: "jobshare", Values: []string{strconv.FormatFloat(facts.JobShare, 'f', 0, 64)}}}
	if facts.OverrideTickets != 0 {
		lines = append(lines, policy.Line{Key: "override_tickets", Values: []string{strconv.FormatFloat(facts.OverrideTickets, 'f', 0, 64)}})
	}
	if name, wanted := l.environment(j); wanted != "" {
		lines = append(lines, policy.Line{Key: "parallel environment", Values: []string{fmt.Sprintf("%s range: %s, %d assumed", name, wanted, facts.Slots)}})
	}
	return append(lines, policy.Line{Key: "dispatch_priority", Values: l.equation(j, alike)})
}

// equation explains the priority of a sheet's first job. One that takes no part has none.
func (l *listing) equation(j policy.Job, alike iter.Seq[policy.Job]) []string {
	var lines []string
	if j.Waits && !l.later(j) {
		lines = l.ranked.Ranking().Equation(l.task(j))
		if l.differ(alike) {
			lines = append(lines, fmt.Sprintf("of %v, which is the first of these jobs; the others' tickets differ", j.ID))
		}
	} else if i, _, ok := l.runs(j.ID); ok {
		lines = l.ranked.Ranking().RunningEquation(i)
	}
	return lines
}

// differ reports whether jobs have different numbers.
func (l *listing) differ(jobs iter.Seq[policy.Job]) bool {
	var first *sge.Numbers
	for j := range jobs {
		if !j.Waits {
			continue
		}
		n := l.ranked.Ranking().Pending(l.task(j))
		if first == nil {
			first = &n
		} else if n != *first {
			return true
		}
	}
	return false
}

// Requests returns what each line of a job's requests adds to its urgency, as Grid Engine writes
// that, and its parallel environment.
func (l *listing) Requests(j policy.Job, hard string) policy.Requests {
	_, facts := l.known(j)
	x := policy.Requests{Adds: l.contributions(hard, facts)}
	if name, wanted := l.environment(j); wanted != "" {
		x.Environment, x.Wanted = clean.Line(name), clean.Line(wanted)
	}
	return x
}

// contributions returns a line for each of a job's requests, with its contribution to the
// urgency, in Grid Engine's notation.
func (l *listing) contributions(hard string, j *sge.Job) string {
	if hard == "" {
		return ""
	}
	var lines []string
	counted := map[string]bool{}
	for line := range strings.SplitSeq(hard, "\n") {
		key, _, _ := strings.Cut(line, "=")
		counted[strings.ToLower(key)] = true
	}
	for line := range strings.SplitSeq(hard, "\n") {
		key, _, _ := strings.Cut(line, "=")
		adds := 0.0
		if name := l.longName(key); strings.EqualFold(name, key) || !counted[strings.ToLower(name)] {
			adds = l.contribution(key, j)
		}
		lines = append(lines, strconv.FormatFloat(adds, 'f', 6, 64))
	}
	return strings.Join(lines, "\n")
}

// longName returns the name of the complex with the shortcut key, beside which the shortcut
// does not count; else key itself.
func (l *listing) longName(key string) string {
	for _, c := range l.config.Complexes {
		if strings.EqualFold(c.Shortcut, key) {
			return c.Name
		}
	}
	return key
}

// contribution returns the contribution of a request by its name in small letters.
// Processors are the implicit request for slots.
func (l *listing) contribution(name string, j *sge.Job) float64 {
	if strings.EqualFold(pool.RequestPrefix+name, pool.AttrRequestCpus) {
		return l.config.SlotsContribution(j)
	}
	for _, r := range j.Requests {
		if c := &l.config.Complexes[r.Complex]; strings.EqualFold(c.Name, name) || strings.EqualFold(c.Shortcut, name) {
			return l.config.Contribution(r, j.Slots)
		}
	}
	return 0
}

// requested returns what all requests of a job add to its urgency.
func (l *listing) requested(j *sge.Job) float64 {
	sum := l.config.SlotsContribution(j)
	for _, r := range j.Requests {
		sum += l.config.Contribution(r, j.Slots)
	}
	return sum
}

// environment returns the parallel environment of a job, and the slots that it wants there;
// empty for a job that is not parallel.
func (l *listing) environment(j policy.Job) (name, wanted string) {
	ad := j.Run().Ad
	v := ad.Eval(l.context, sge.AttrParallelSlots, nil)
	if n, ok := v.Int(); ok {
		wanted = strconv.FormatInt(n, 10)
	} else if text, ok := v.Text(); ok {
		wanted = strings.Join(strings.Fields(text), "")
	}
	if wanted == "" {
		return "", ""
	}
	name, _ = ad.EvalString(l.context, sge.AttrParallelEnvironment)
	return cmp.Or(name, sge.DefaultPE), wanted
}

// Display has Grid Engine's columns, and the lengths of its rules, which differ from those of the
// headings above them. A list of all jobs has a form of its own in JSON.
func (Policy) Display(c *config.Config) policy.Display {
	s := Settings(c)
	return policy.Display{
		Columns: columns, Without: without, Arrays: true, Own: own, ByTree: s.Tree != nil && s.TicketsShare > 0,
		Rulers: &policy.RuleLengths{List: 113, Pri: 35, Urg: 64, Ext: 79, SlotExt: 108, BlockExt: 110},
	}
}

func own(has func(string) bool) (option string, refused []string) {
	if !has("json") || has("j") || !has("pri") && !has("urg") && !has("ext") {
		return "", nil
	}
	return "-json", []string{"long", "af", "f", "xml", "r", "w"}
}

// without leaves out what Grid Engine has no column for, has another for, or has not with these options.
func without(o policy.Options) []string {
	list := []string{"prior", "pre1", "pre2", "post1", "post2", "RUP", "EUP", "place"}
	if o.Ext && !o.Urg && !o.Pri {
		list = append(list, "submit/start at")
	}
	if !o.Wide {
		list = append(list, "waited")
	}
	return list
}

// columns are Grid Engine's. Two stand here twice, as it has another order in its XML.
var columns = []policy.Column{
	{Head: "prior", Width: 7, After: "job-ID", Element: "JAT_prio", Cell: five(func(n *Cells) float64 { return n.Prio })},
	ntckts(func(o policy.Options) bool { return o.XML && (o.Pri || o.Ext) }),
	nurg(func(o policy.Options) bool { return !o.XML && (o.Pri || o.Urg) }),
	{Head: "npprior", Width: 7, When: pri, Element: "JB_nppri", Cell: five(func(n *Cells) float64 { return n.NPPrior })},
	ntckts(func(o policy.Options) bool { return !o.XML && (o.Pri || o.Ext) }),
	nurg(func(o policy.Options) bool { return o.XML && (o.Pri || o.Urg) }),
	{Head: "urg", Width: 8, When: func(o policy.Options) bool { return o.Urg && !o.XML }, Cell: eight(func(n *Cells) float64 { return n.Urg })},
	{Head: "rrcontr", Width: 8, When: urg, Element: "JB_rrcontr", Cell: eight(func(n *Cells) float64 { return n.RRContr })},
	{Head: "wtcontr", Width: 8, When: urg, Element: "JB_wtcontr", Cell: eight(func(n *Cells) float64 { return n.WTContr })},
	{Head: "dlcontr", Width: 8, When: urg, Element: "JB_dlcontr", Cell: eight(func(n *Cells) float64 { return n.DLContr })},

	{Head: "tckts", Width: 5, After: "io", When: ext, Element: "tickets", Cell: truncated(func(n *Cells) float64 { return n.Tckts })},
	{Head: "ovrts", Width: 5, When: ext, Element: "JB_override_tickets", Cell: truncated(func(n *Cells) float64 { return n.Override })},
	{When: func(o policy.Options) bool { return o.Ext && o.XML }, Element: "JB_jobshare", Cell: truncated(func(n *Cells) float64 { return n.JobShare })},
	{Head: "otckt", Width: 5, When: ext, Element: "otickets", Cell: truncated(func(n *Cells) float64 { return n.OTckt })},
	{Head: "ftckt", Width: 5, When: ext, Element: "ftickets", Cell: truncated(func(n *Cells) float64 { return n.FTckt })},
	{Head: "stckt", Width: 5, When: ext, Element: "stickets", Cell: truncated(func(n *Cells) float64 { return n.STckt })},
	{Head: "share", Width: 5, Left: true, When: ext, Element: "JAT_share",
		Cell: plain(func(n *Cells) float64 { return n.Share }, 2), XML: plain(func(n *Cells) float64 { return n.Share }, 5)},
}

func ntckts(when func(policy.Options) bool) policy.Column {
	return policy.Column{Head: "ntckts", Width: 7, When: when, Element: "JAT_ntix", Cell: five(func(n *Cells) float64 { return n.NTckts })}
}

func nurg(when func(policy.Options) bool) policy.Column {
	return policy.Column{Head: "nurg", Width: 7, When: when, Element: "JB_nurg", Cell: five(func(n *Cells) float64 { return n.NUrg })}
}

func pri(o policy.Options) bool { return o.Pri }
func urg(o policy.Options) bool { return o.Urg }
func ext(o policy.Options) bool { return o.Ext }

// plain returns what appends a number with so many decimals.
func plain(of func(*Cells) float64, decimals int) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte { return strconv.AppendFloat(b, of(cells.(*Cells)), 'f', decimals, 64) }
}

// five returns what appends a number as Grid Engine shows normalised ones.
func five(of func(*Cells) float64) func([]byte, any) []byte { return plain(of, 5) }

// eight returns what appends a number as Grid Engine shows urgencies, in eight places.
func eight(of func(*Cells) float64) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte {
		const mostPlain = 99_999_999
		if x := of(cells.(*Cells)); x > mostPlain {
			return strconv.AppendFloat(b, x, 'g', 3, 64)
		} else {
			return strconv.AppendFloat(b, x, 'f', 0, 64)
		}
	}
}

// truncated returns what appends tickets and shares, without their fractions.
func truncated(of func(*Cells) float64) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte {
		return strconv.AppendFloat(b, math.Trunc(of(cells.(*Cells))), 'f', 0, 64)
	}
}

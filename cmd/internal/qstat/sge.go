package qstat

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/clean"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// sgeRanking is the queue of JOB_PRIORITY_POLICY "sge".
type sgeRanking struct {
	*sge.Queue
	config  *sge.Config
	listing *sge.Listing
	idle    []jobprio.Run
	running []jobprio.Running // ascending
	places  []jobprio.Place   // in the order in which they are shown
}

// ranked is what the policy says of a job: its numbers, and what it knows of it.
type ranked struct {
	sge.Numbers
	job *sge.Job
}

// list puts jobs in the order of the queue. Without report_pjob_tickets nothing is shown that
// tells it, so that jobs stand in that of their submission, as in Grid Engine.
func (p *sgeRanking) list(w jobprio.Waiting) []listed {
	p.idle, p.running = w.Idle, w.Running
	p.listing = p.Listing(w)
	p.places = p.listing.Places()
	if !p.config.ReportPending {
		slices.SortFunc(p.places, func(a, b jobprio.Place) int {
			i, j := p.idle[a.Run].FirstJob(), p.idle[b.Run].FirstJob()
			return cmp.Or(cmp.Compare(p.listing.Job(a.Run).Submitted, p.listing.Job(b.Run).Submitted), i.Compare(j), cmp.Compare(a.From, b.From))
		})
	}
	all := make([]listed, len(p.places))
	for i, place := range p.places {
		all[i] = listed{Procs: place.Procs}
	}
	return all
}

// last: procs that the policy knows the same of share a row, though their tickets differ.
func (p *sgeRanking) last(in *stretch) int {
	run := &p.idle[p.places[in.number].Run]
	return run.Last
}

// gathers: a cluster is an array job, which stands on one line.
func (p *sgeRanking) gathers() bool { return true }

func (p *sgeRanking) behind(a, b *row) int { return cmp.Compare(a.key.QDate, b.key.QDate) }

// fill notes the numbers of a row's first job, and of the columns that others have, too, what
// the policy makes of the ad.
func (p *sgeRanking) fill(m *maker, r *row, in *stretch) {
	r.ranked = p.of(m.from, m.span, in)
	if p.config.ReportPending && p.later(in, m.span.First) {
		r.aside, r.place = true, 0 // as one that is held: Grid Engine has both in one order
	}
	j := r.ranked.job
	r.prior, r.slots = j.POSIX, p.slots(j, r.claim != nil)
	r.urgency = urgency{p.requested(j), j.Deadline}
	if m.urg {
		r.deadline = j.Deadline
	}
	if m.ext {
		r.project, r.department = clean.Line(j.Project), clean.Line(j.Department)
		r.jobShare, r.override = j.JobShare, j.OverrideTickets
	}
	if m.requests {
		r.asked.adds = p.contributions(r.asked.hard, j)
		if name, wanted := p.environment(m.reader); wanted != "" {
			r.asked.pe, r.asked.wanted = clean.Line(name), clean.Line(wanted)
		}
	}
}

// slots returns how many slots are assumed of a job that waits, and how many one has that
// runs: the least that it asked for. A slot counts as many as the job wants processors there.
func (p *sgeRanking) slots(j *sge.Job, runs bool) int64 {
	n := j.Slots
	if runs {
		n = j.LeastSlots
	}
	const most = 1 << 53
	return int64(min(float64(n)*j.CPUs, most))
}

// task returns a proc of a stretch as the ranking knows it: which of the jobs that wait, and
// which of its procs.
func (p *sgeRanking) task(in *stretch, proc int) (job, task int) {
	place := &p.places[in.number]
	return place.Run, place.From + proc - in.First
}

// later reports whether a proc of a stretch is to start later, and has no numbers until then.
func (p *sgeRanking) later(in *stretch, proc int) bool {
	if in == nil {
		return false
	}
	run, _ := p.task(in, proc)
	return p.listing.Job(run).Count == 0
}

// of returns what is shown of the first job of a span, which stands in this stretch or does
// not wait. Without report_pjob_tickets one that waits has no numbers.
func (p *sgeRanking) of(q queue, s selection.Span, in *stretch) *ranked {
	x := p.known(q, s, in)
	if in != nil && !p.config.ReportPending {
		x.Numbers = sge.Numbers{}
	}
	return x
}

// known returns what is known of the first job of a span, as of does. One that takes no part
// has no numbers.
func (p *sgeRanking) known(q queue, s selection.Span, in *stretch) *ranked {
	if in != nil {
		run, task := p.task(in, s.First)
		return &ranked{p.listing.Ranking().Pending(run, task), p.listing.Job(run)}
	}
	if i, job, ok := p.runs(pool.JobID{Cluster: s.Cluster, Proc: s.First}); ok {
		return &ranked{p.listing.Ranking().Running(i), job}
	}
	j := p.Job(q.context(), runOf(s, ""))
	return &ranked{job: &j}
}

// runs returns a job's index among those that run, and what is known of it; false for one
// that does not.
func (p *sgeRanking) runs(id pool.JobID) (index int, job *sge.Job, ok bool) {
	i := sort.Search(len(p.running), func(i int) bool { return !p.running[i].FirstJob().Less(id) })
	if i == len(p.running) || p.running[i].FirstJob() != id {
		return 0, nil, false
	}
	return p.listing.Running(i)
}

// Ranked is what -pri, -urg and -ext print with -json under the policy "sge", and -j besides, of
// Count equal jobs of one cluster, from ProcId on. Names are those of job ads where these
// have the same, else of columns.
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
	// Place is that of the first in the queue of all jobs, from 1 on; absent for one that
	// does not wait, and where report_pjob_tickets hides it.
	Place    int     `json:",omitempty"`
	Priority float64 // prio: by which they stand there
	RankedNumbers
}

// Adds is a request, and what it adds to the urgency.
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

// print writes the numbers of all jobs as JSON, in the order of the list. Procs that follow
// each other and have the same numbers are one object, unless each is to be one.
func (p *sgeRanking) print(d display, q queue, rows []*row) error {
	var all []*Ranked
	for _, r := range rows {
		for _, s := range r.ranges {
			all = p.appendRanked(all, q, r, s, d.single)
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
	return jsonList(q.call, all, func(x *Ranked) any { return x })
}

// appendRanked appends the objects of some procs of a row.
func (p *sgeRanking) appendRanked(all []*Ranked, q queue, r *row, s pool.Procs, single bool) []*Ranked {
	first := len(all)
	for id := range s.Jobs() {
		x := p.object(q, id, r.claim, p.of)
		if k := len(all) - 1; k >= first && !single && x.goesOn(all[k]) {
			all[k].Count++
			continue
		}
		all = append(all, x)
	}
	return all
}

// goesOn reports whether a job follows others in the queue, and is equal to them.
func (x *Ranked) goesOn(before *Ranked) bool {
	return x.RankedNumbers == before.RankedNumbers && x.Priority == before.Priority &&
		(x.Place == 0 && before.Place == 0 || x.Place == before.Place+before.Count)
}

// object returns what of tells of a job of the view that has this claim, or none.
func (p *sgeRanking) object(q queue, id pool.JobID, claim *pool.Claim, of func(queue, selection.Span, *stretch) *ranked) *Ranked {
	x := &Ranked{ClusterID: id.Cluster, ProcID: id.Proc, Count: 1}
	run, ok := q.view.Run(id)
	if !ok {
		return x
	}
	read := q.reader()
	read.of(selection.Span{Procs: pool.Only(id), Run: run})
	var in *stretch
	if claim == nil {
		in = q.hierarchy.at(id)
	}
	known := of(q, read.span, in)
	n, j := &known.Numbers, known.job
	x.Owner, x.State, x.QDate = read.text(ownerName), read.standing(claim).state(), read.int(qdateName)
	x.Project, x.Department, x.Deadline = j.Project, j.Department, j.Deadline
	x.JobPrio, x.JobShare, x.OverrideTickets = j.POSIX, j.JobShare, j.OverrideTickets
	x.Slots, x.Requests, x.Priority = p.slots(j, claim != nil), p.adds(j), n.Prio
	x.RankedNumbers = RankedNumbers{n.NPPrior, n.NUrg, n.NTckts, n.Urg, n.RRContr, n.WTContr, n.DLContr,
		n.Tckts, n.OTckt, n.FTckt, n.STckt, n.Share, n.Uncounted}
	if p.config.ReportPending && !p.later(in, id.Proc) {
		x.Place = in.placeOf(id.Proc)
	}
	return x
}

// explain returns the numbers of a job, and all that they come from, also where lists are not
// to show them.
func (p *sgeRanking) explain(q queue, id pool.JobID) (numbers, course any) {
	claim := q.claimOf(id)
	numbers = p.object(q, id, claim, p.known)
	if in := q.hierarchy.at(id); claim == nil && in != nil && !p.later(in, id.Proc) {
		run, task := p.task(in, id.Proc)
		course = p.listing.Ranking().Course(run, task)
	} else if i, _, ok := p.runs(id); ok {
		course = p.listing.Ranking().RunningCourse(i)
	}
	return numbers, course
}

// adds returns a job's requests that count, with the one for slots, which each has.
func (p *sgeRanking) adds(j *sge.Job) []Adds {
	list := []Adds{{sge.SlotsComplex, j.CPUs, p.config.SlotsContribution(j)}}
	for _, r := range j.Requests {
		list = append(list, Adds{p.config.Complexes[r.Complex].Name, r.Amount, p.config.Contribution(r, j.Slots)})
	}
	return list
}

// five returns what appends a number as Grid Engine shows normalised ones.
func five(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, of(&r.ranked.Numbers), 'f', 5, 64) }
}

// eight returns what appends a number as Grid Engine shows urgencies, in eight places.
func eight(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte {
		const mostPlain = 99_999_999
		if x := of(&r.ranked.Numbers); x > mostPlain {
			return strconv.AppendFloat(b, x, 'g', 3, 64)
		} else {
			return strconv.AppendFloat(b, x, 'f', 0, 64)
		}
	}
}

// truncated returns what appends tickets and shares, without their fractions.
func truncated(of func(*row) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, math.Trunc(of(r)), 'f', 0, 64) }
}

// What rules are longer by, with each of the options, than those of the plain list; these of
// Grid Engine have other lengths than the headings above them.
const (
	ruleOfList = 113
	ruleOfPri  = 35
	ruleOfUrg  = 64
	ruleOfExt  = 79
	// With -f it is -ext alone that makes a difference.
	slotRuleOfExt  = 108
	blockRuleOfExt = 110
)

// sgeRule returns the length of the rule below a heading of so many characters. With -w and on
// a terminal, where widths are not Grid Engine's, it is that.
func (t *table) sgeRule(heading int) int {
	if t.width > 0 || t.wide {
		return heading
	}
	rule := ruleOfList + t.count(ruleOfPri, ruleOfUrg, ruleOfExt)
	if t.master {
		rule++ // which is a place wider than the slots
	}
	return rule
}

// count sums up what each of -pri, -urg and -ext counts.
func (o options) count(pri, urg, ext int) (n int) {
	if o.pri {
		n += pri
	}
	if o.urg {
		n += urg
	}
	if o.ext {
		n += ext
	}
	return n
}

package qstat

import (
	"cmp"
	"slices"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

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

// goesOn tells whether a job follows others in the queue, and is equal to them.
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

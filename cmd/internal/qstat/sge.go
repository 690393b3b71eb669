package qstat

import (
	"cmp"
	"slices"
	"sort"

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

// later tells whether a proc of a stretch is to start later, and has no numbers until then.
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

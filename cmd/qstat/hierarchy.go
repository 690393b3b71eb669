package main

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// hierarchy is the one queue of all jobs under JOB_PRIORITY_POLICY "maui": where each
// waiting job stands in it, and what its priority comes from. Many goroutines may ask it.
type hierarchy struct {
	policy    *maui.Queue
	context   *classad.Context
	stretches []stretch // of idle jobs, ascending
}

// hierarchyOf returns the queue, without jobs so far; nil where the policy has none.
func hierarchyOf(q queue) *hierarchy {
	policy, ok := operation.Queue(q.call.Config, operation.SourcesOf(q.view, q.call.Reading())).(*maui.Queue)
	if !ok {
		return nil
	}
	return &hierarchy{policy: policy, context: q.context()}
}

// stretch is procs that follow each other in the queue, or are left out of it together.
type stretch struct {
	negotiator.Procs
	job   *maui.Job // of the first of their run, and what their priority was reckoned from
	start int64     // the start priority
	place int       // the first's: how many jobs stand before it, and one; 0: they are left out
	why   string    // they are left out
}

// before tells whether the procs are all before a job, and has whether it is among them.
func (s *stretch) before(id pool.JobID) bool {
	return s.Cluster < id.Cluster || s.Cluster == id.Cluster && s.Last < id.Proc
}

func (s *stretch) has(id pool.JobID) bool {
	return s.Cluster == id.Cluster && s.First <= id.Proc && id.Proc <= s.Last
}

// reads returns the attributes of jobs that the queue is made from.
func (h *hierarchy) reads() []string {
	if h == nil {
		return nil
	}
	return append(h.policy.Attributes(), wordsOf(groupName)...)
}

// rank makes the queue, of all jobs, whichever are shown.
func (h *hierarchy) rank(q queue) {
	if h == nil {
		return
	}
	c, v := q.call, q.view
	if q.whole == nil {
		v = v.Only(append(h.reads(), totalsNames...))
	}
	b := besides{reader: q.reader(), domain: q.spool.Domain(), groups: c.Config.Groups}
	for _, name := range h.policy.Attributes() {
		b.names = append(b.names, classad.NewName(name))
	}
	w := b.waiting(v)
	h.take(w, operation.Params(c.Config).Nice)
}

// take puts jobs in order. Nice users go behind all others, as in a cycle.
func (h *hierarchy) take(w jobprio.Waiting, nice func(submitter string) bool) {
	places, blocked := h.policy.Listing(w)
	before := 0
	for _, last := range [...]bool{false, true} {
		for _, p := range places {
			if nice(w.Idle[p.Run].Submitter) == last {
				h.add(w.Idle, p, before+1)
				before += p.Count
			}
		}
	}
	for _, b := range blocked {
		h.add(w.Idle, b, 0)
	}
	slices.SortFunc(h.stretches, func(a, b stretch) int { return a.Compare(b.Procs) })
}

func (h *hierarchy) add(idle []jobprio.Run, s *maui.Queued, place int) {
	run := idle[s.Run].First
	first := run.Proc + s.From
	procs := negotiator.Procs{Cluster: run.Cluster, First: first, Last: first + s.Count - 1}
	h.stretches = append(h.stretches, stretch{procs, s.Job, s.Start, place, s.Why})
}

// at returns the stretch that a job stands in, nil for a job that does not wait.
func (h *hierarchy) at(id pool.JobID) *stretch {
	if h == nil {
		return nil
	}
	i := sort.Search(len(h.stretches), func(i int) bool { return !h.stretches[i].before(id) })
	if i < len(h.stretches) && h.stretches[i].has(id) {
		return &h.stretches[i]
	}
	return nil
}

// priority returns what the policy knows of a job of the view, and its priority. One with a
// claim counts as when it was started: what it waits for since is over.
func (q queue) priority(id pool.JobID, claim *pool.Claim) (*maui.Job, maui.Priority) {
	h := q.hierarchy
	if s := h.at(id); s != nil {
		return s.job, h.policy.Reckoner().Of(s.job)
	}
	run, ok := q.view.Run(id)
	if !ok {
		return &maui.Job{ID: id}, maui.Priority{} // it is one of the view's
	}
	s := selection.Span{Cluster: id.Cluster, First: id.Proc, Last: id.Proc, Run: run}
	j := maui.JobOf(h.context, runOf(s, q.submitter(run.Ad)))
	if claim != nil {
		j.Since += h.ran(claim)
	}
	return &j, h.policy.Reckoner().Of(&j)
}

// ran returns for how many seconds a claim has had its slot.
func (h *hierarchy) ran(claim *pool.Claim) int64 {
	return max(int64(h.context.Now.Sub(claim.RunsFrom())/time.Second), 0)
}

// running says what the priority of a job with a claim has become, where USAGE counts.
func (h *hierarchy) running(j maui.Job, claim *pool.Claim) []string {
	j.Since -= h.ran(claim)
	p := h.policy.Reckoner().RunPriority(&j, claim.RunsFrom().Unix())
	if p.Parts[maui.Usage].Adds() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("run priority %d, with what USAGE adds by now; nothing goes by it", p.Start)}
}

// runOf returns some procs of a run, as the policy sees them.
func runOf(s selection.Span, submitter string) jobprio.Run {
	return jobprio.Run{
		First: pool.JobID{Cluster: s.Cluster, Proc: s.First}, Count: s.Last - s.First + 1,
		Submitter: submitter, Ad: s.Run.Proc(s.First),
	}
}

// besides reads from a view what a queue is made of.
type besides struct {
	*reader
	domain string
	groups *accountant.Groups
	names  []*classad.Name // what the order comes from
}

// waiting returns the jobs of a view that wait, and those with a claim.
func (b *besides) waiting(v *spool.View) (w jobprio.Waiting) {
	list := claimsOf(v.Claims())
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			s := selection.Span{Cluster: cluster.ID, First: run.First, Last: run.Last, Run: run}
			for part, claim := range list.parts(s) {
				b.add(&w, part, claim)
			}
		}
	}
	return w
}

// add adds procs of a run. Where something that decides is an expression, each stands alone.
func (b *besides) add(w *jobprio.Waiting, s selection.Span, claim *pool.Claim) {
	for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
		b.of(s)
		state := b.standing(claim).state()
		if b.varies || slices.ContainsFunc(b.names, b.tellsApart) {
			s.Last = s.First
		}
		switch {
		case claim != nil:
			w.Running = append(w.Running, jobprio.Running{Run: runOf(s, claim.Submitter), Started: claim.RunsFrom()})
		case state == "qw":
			submitter := accountant.SubmitterName(b.text(ownerName), b.groups.Canonical(b.text(groupName)), b.domain)
			w.Idle = append(w.Idle, runOf(s, submitter))
		}
	}
}

// tellsApart tells whether an attribute is an expression that procs have different values of.
func (r *reader) tellsApart(n *classad.Name) bool {
	_, e, ok := r.span.Run.Ad.Get(n)
	return ok && e != nil && r.span.Run.TellsApart(e)
}

// equation explains the priority of a sheet's jobs, where all stand in one queue.
func (d *sheet) equation() []string {
	if d.hierarchy == nil || d.state == "z" {
		return nil
	}
	j, p := d.priority(d.key.ID, d.claim)
	lines := d.hierarchy.policy.Reckoner().Equation(j, &p)
	switch {
	case d.claim != nil:
		lines = append(lines, "as of its start, but for fair share")
		lines = append(lines, d.hierarchy.running(*j, d.claim)...)
	case d.why != "":
		lines = append(lines, "blocked: "+d.why)
	}
	return lines
}

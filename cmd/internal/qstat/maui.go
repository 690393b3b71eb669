package qstat

import (
	"cmp"
	"fmt"
	"time"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/pool"
)

// mauiRanking is the queue of JOB_PRIORITY_POLICY "maui".
type mauiRanking struct {
	*maui.Queue
	context *classad.Context
	queued  []*maui.Queued // all that were listed
}

func (p *mauiRanking) list(w jobprio.Waiting) []listed {
	places, blocked := p.Listing(w)
	p.queued = append(places, blocked...)
	all := make([]listed, len(p.queued))
	for i, s := range p.queued {
		all[i] = listed{s.Procs, s.Why}
	}
	return all
}

// last: one line has one start priority.
func (p *mauiRanking) last(in *stretch) int { return in.Last }

func (p *mauiRanking) gathers() bool { return false }

func (p *mauiRanking) behind(a, b *row) int { return cmp.Compare(b.prior, a.prior) }

// fill notes the start priority. What has ended has none.
func (p *mauiRanking) fill(m *maker, r *row, in *stretch) {
	switch {
	case in != nil:
		r.prior = p.queued[in.number].Start
	case r.state == "z":
		r.prior = 0
	default:
		_, x := p.priority(m.from, r.key.ID, r.claim)
		r.prior = x.Start
	}
}

// priority returns what the policy knows of a job of the view, and its priority. One with a
// claim counts as when it was started: what it waits for since is over.
func (p *mauiRanking) priority(q queue, id pool.JobID, claim *pool.Claim) (*maui.Job, maui.Priority) {
	if s := q.hierarchy.at(id); s != nil {
		j := p.queued[s.number].Job
		return j, p.Reckoner().Of(j)
	}
	run, ok := q.view.Run(id)
	if !ok {
		return &maui.Job{ID: id}, maui.Priority{} // it is one of the view's
	}
	s := selection.Span{Procs: pool.Only(id), Run: run}
	j := maui.JobOf(p.context, runOf(s, q.submitter(run.Ad)))
	if claim != nil {
		j.Since += p.ran(claim)
	}
	return &j, p.Reckoner().Of(&j)
}

// ran returns for how many seconds a claim has had its slot.
func (p *mauiRanking) ran(claim *pool.Claim) int64 {
	return max(int64(p.context.Now.Sub(claim.RunsFrom())/time.Second), 0)
}

// running says what the priority of a job with a claim has become, where USAGE counts.
func (p *mauiRanking) running(j maui.Job, claim *pool.Claim) []string {
	j.Since -= p.ran(claim)
	x := p.Reckoner().RunPriority(&j, claim.RunsFrom().Unix())
	if x.Parts[maui.Usage].Adds() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("run priority %d, with what USAGE adds by now; nothing goes by it", x.Start)}
}

// userKey is not what Maui calls the priority.
func (p *mauiRanking) userKey() string { return "user_priority" }

// sheet writes the priority as an equation.
func (p *mauiRanking) sheet(d *sheet) {
	if d.state == "z" {
		return
	}
	j, x := p.priority(d.queue, d.key.ID, d.claim)
	lines := p.Reckoner().Equation(j, &x)
	switch {
	case d.claim != nil:
		lines = append(lines, "as of its start, but for fair share")
		lines = append(lines, p.running(*j, d.claim)...)
	case d.why != "":
		lines = append(lines, "blocked: "+d.why)
	}
	d.line("priority", lines...)
}

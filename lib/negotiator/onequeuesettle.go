package negotiator

import (
	"cmp"
	"slices"
	"sort"

	"fairspool/lib/pool"
)

// settleQueue notes, when all is dealt out, which limits of the policy are reached, and what
// it wants to be kept until the next cycle.
func (c *cycle) settleQueue() {
	o := c.one
	if o == nil {
		return
	}
	if c.plan.Limited = o.Limits != nil; c.plan.Limited {
		for _, s := range c.submitters {
			for _, q := range s.queues {
				if q.offered() && c.one.full(q) {
					q.refused = o.Limits.Refuses(q.kind, true)
				}
			}
		}
	}
	for _, k := range o.Clocks {
		runs := o.waiting.Idle
		if k.Held {
			runs = o.waiting.Held
		}
		if r := runs[k.Run]; k.Count > 0 {
			first := r.First + k.From
			c.plan.Clocks = append(c.plan.Clocks, Clock{pool.Procs{Cluster: r.Cluster, First: first, Last: first + k.Count - 1}, k.Since})
		}
	}
	c.plan.Clocks = joinEqual(c.plan.Clocks, func(k *Clock) *pool.Procs { return &k.Procs }, func(a, b *Clock) bool { return a.Since == b.Since })
	if o.CountPassed {
		c.countPassed()
	}
	if o.Tickets != nil {
		c.noteTickets()
	}
}

// noteTickets lists the tickets of jobs that have claims from now on. Those that are below 0
// stay as they are.
func (c *cycle) noteTickets() {
	o := c.one
	c.plan.Tickets = []Tickets{} // not nil, though nobody may have any
	for i, place := range o.matched {
		c.plan.Tickets = append(c.plan.Tickets, Tickets{c.plan.Matches[i].Job, o.Places[place].Tickets})
	}
	for i, tickets := range o.Tickets {
		if tickets >= 0 {
			c.plan.Tickets = append(c.plan.Tickets, Tickets{o.waiting.Running[i].FirstJob(), tickets})
		}
	}
	slices.SortFunc(c.plan.Tickets, func(a, b Tickets) int { return a.Job.Compare(b.Job) })
}

// countPassed lists the procs that got nothing while jobs behind them did.
func (c *cycle) countPassed() {
	matched := slices.Sorted(slices.Values(c.one.matched))
	c.plan.Passing = c.matchedInOrder()
	for _, s := range c.submitters {
		for _, q := range s.queues {
			if !q.offered() {
				continue
			}
			for _, r := range waiterOf(q).runs {
				behind := len(matched) - sort.SearchInts(matched, r.order+1)
				if behind == 0 {
					break
				}
				c.plan.Passed = append(c.plan.Passed, Passed{r.Procs, behind})
			}
		}
	}
	c.plan.Passed = joinEqual(c.plan.Passed, func(x *Passed) *pool.Procs { return &x.Procs }, func(a, b *Passed) bool { return a.Times == b.Times })
}

// matchedInOrder returns the jobs that were matched in the order of the queue.
func (c *cycle) matchedInOrder() []pool.JobID {
	line := make([]int, len(c.plan.Matches))
	for i := range line {
		line[i] = i
	}
	slices.SortStableFunc(line, func(a, b int) int { return cmp.Compare(c.one.matched[a], c.one.matched[b]) })
	jobs := make([]pool.JobID, len(line))
	for i, m := range line {
		jobs[i] = c.plan.Matches[m].Job
	}
	return jobs
}

// joinEqual puts what is said of procs into ascending order, neighbours of whom the same is said
// in one piece.
func joinEqual[T any](list []T, of func(*T) *pool.Procs, same func(a, b *T) bool) []T {
	slices.SortFunc(list, func(a, b T) int { return of(&a).Compare(*of(&b)) })
	n := 0
	for i := range list {
		if n > 0 && same(&list[n-1], &list[i]) && of(&list[n-1]).Extend(*of(&list[i])) {
			continue
		}
		list[n] = list[i]
		n++
	}
	return list[:n]
}

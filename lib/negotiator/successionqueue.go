package negotiator

import (
	"cmp"
	"slices"

	"fairspool/lib/pool"
)

// heirs is a queue in a succession, with the turns of its jobs.
type heirs struct {
	waiter
	*precedence
	who   *submitter
	round int
	takes bool   // slots of others
	limit string // else the policy's that keeps it from them
}

// successionInOrder says what claims may go on with under a policy with one queue: the next
// jobs of those who have some, and all who wait for slots, in the order of their turns.
func (c *cycle) successionInOrder() (u Succession) {
	if !slices.ContainsFunc(c.submitters, func(s *submitter) bool { return s.usage > 0 }) {
		return u
	}
	list := c.heirs()
	if len(list) == 0 {
		return u
	}
	u.OneQueue = true
	left, each := mostSuccessors, max(mostSuccessors/len(list), 1)
	for _, h := range list {
		if left == 0 {
			u.More = h.turn(h.runs[0])
			break
		}
		left -= h.bequeath(&u, min(left, each))
	}
	for _, name := range c.telling {
		u.Telling = append(u.Telling, name.String())
	}
	return u
}

// turn returns the turn of a run's first job among the jobs that are left, from 1.
func (h *heirs) turn(r run) int { return h.round + h.left[r.order] + 1 }

// heirs returns the queues of which some jobs may follow a claim of their own kind, or take
// what others leave, the first to have its turn first.
func (c *cycle) heirs() (list []heirs) {
	why := make(map[pool.JobID]*Rejection, len(c.plan.Rejections))
	for i := range c.plan.Rejections {
		why[c.plan.Rejections[i].Job] = &c.plan.Rejections[i]
	}
	var all []heirs
	for _, s := range c.submitters {
		for _, q := range s.queues {
			if h := (heirs{waiter: waiterOf(q), who: s}); q.offered() && h.jobs > 0 {
				all = append(all, h)
			}
		}
	}
	p := c.one.precede(func(yield func(waiter) bool) {
		for _, h := range all {
			if !yield(h.waiter) {
				return
			}
		}
	})
	for _, h := range all {
		h.precedence = p
		switch r := why[h.runs[0].FirstJob()]; {
		case r != nil && waitsFor(r, CauseClaimed, CauseTaken, CauseTooSmall, CauseOthers, CauseOwnJobs):
			h.takes = true
		case r != nil && waitsFor(r, CauseClaimed, CauseTaken, CauseTooSmall, CauseOthers, CauseOwnJobs, CauseThrottle):
			h.limit = p.limitOf(h.queue).name
		case h.who.usage == 0:
			continue
		}
		// What runs of its kind is one job less then.
		soft := p.Limits != nil && !p.Limits.Admits(h.kind, []int{h.kind}, false)
		h.round = round(p.left[len(p.Places)], c.sharesRest(h.who, false), soft, h.who.nice)
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b heirs) int { return cmp.Compare(a.turn(a.runs[0]), b.turn(b.runs[0])) })
	return list
}

// bequeath adds a queue to a succession, at most so many stretches of it, and returns how many
// these are. Jobs that are charged differently stand apart.
func (h *heirs) bequeath(u *Succession, most int) (n int) {
	begin := len(u.Queues)
	var ends []int // of each that it adds: the turn behind the last job
	for _, r := range h.runs {
		place, _ := h.place(r)
		at := begin
		for at < len(u.Queues) && (u.Queues[at].QOS != place.QOS || u.Queues[at].PE != place.PE) {
			at++
		}
		turn, p := h.turn(r), r.Procs
		if at < len(u.Queues) && ends[at-begin] == turn && u.Queues[at].Jobs[len(u.Queues[at].Jobs)-1].Extend(p) {
			ends[at-begin] += r.Count()
			continue
		}
		if n == most {
			for i := range u.Queues[begin:] {
				u.Queues[begin+i].More = turn
			}
			break
		}
		if at == len(u.Queues) {
			asks := h.Limits != nil && !h.Limits.Lasting(h.kind)
			u.Queues = append(u.Queues, Successors{Submitter: h.who.name, QOS: place.QOS, PE: place.PE, Takes: h.takes, Limit: h.limit, Asks: asks})
			ends = append(ends, 0)
		}
		q := &u.Queues[at]
		q.Jobs, q.Places = append(q.Jobs, p), append(q.Places, turn)
		ends[at-begin] = turn + r.Count()
		n++
	}
	return n
}

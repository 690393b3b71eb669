package why

import (
	"cmp"
	"slices"

	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/pool"
)

// How much a succession says at most: it is read whenever a job ends. What is left out
// waits for the next cycle.
const (
	mostSuccessors = 2000 // stretches of procs, of all submitters
	mostWaiting    = 20   // submitters
	mostHeads      = 10   // queues of one that waits
)

// succession says what claims may go on with after the cycle: the next jobs of submitters
// with claims; under a policy with one queue also those of all submitters that wait for
// slots.
func succession(c *deal.Outcome) (u negotiator.Succession) {
	if !slices.ContainsFunc(c.Submitters, (*deal.Submitter).Holds) {
		return u
	}
	list := successorsIn(c)
	if u.OneQueue = c.OneQueue != nil && len(list) > 0; !u.OneQueue {
		waiters(c, &u)
	}
	left, each := mostSuccessors, max(mostSuccessors/max(len(list), 1), 1)
	for _, h := range list {
		if left == 0 {
			if u.OneQueue {
				u.More = h.turn(h.Runs[0])
			}
			break // each submitter's own queues that are left out begin behind its others
		}
		left -= h.addTo(&u, min(left, each))
	}
	if len(u.Queues) > 0 {
		u.Limits = c.Limiting.Texts()
	}
	return u
}

// waiters says which submitters wait for slots of others, and what all submitters are
// then due. Which slots their jobs match is found when a slot is looked at.
func waiters(c *deal.Outcome, u *negotiator.Succession) {
	kept := map[pool.JobID]bool{} // from slots by something else than that others have them
	for i := range c.Plan.Rejections {
		if r := &c.Plan.Rejections[i]; !waitsForSlots(r) {
			kept[r.Job] = true
		}
	}
	heads, waiting := make([][]pool.JobID, len(c.Submitters)), make([][]deal.Waiter, len(c.Submitters))
	for i, s := range c.Submitters {
		for _, q := range s.Queues {
			if w := deal.WaiterOf(q); w.Jobs > 0 && !kept[w.Runs[0].FirstJob()] && len(heads[i]) < mostHeads {
				heads[i], waiting[i] = append(heads[i], w.Runs[0].FirstJob()), append(waiting[i], w)
			}
		}
	}
	targets := c.Due(waiting)
	for i, s := range c.Submitters {
		if len(heads[i]) > 0 && len(u.Entitled) < mostWaiting && s.Usage.Float() < targets[i]-deal.Slack {
			u.Entitled = append(u.Entitled, pool.Entitled{Submitter: s.Name, Weight: negotiator.Micro(targets[i]), Jobs: heads[i]})
		}
	}
	some := len(u.Entitled)
	for i, s := range c.Submitters {
		if some > 0 && s.Usage.Float() > targets[i]+deal.Slack {
			u.Entitled = append(u.Entitled, pool.Entitled{Submitter: s.Name, Weight: negotiator.Micro(targets[i])})
		}
	}
	slices.SortFunc(u.Entitled[some:], func(a, b pool.Entitled) int { return cmp.Compare(a.Submitter, b.Submitter) })
}

// waitsForSlots reports whether nothing but others' claims keeps a job from running.
func waitsForSlots(r *negotiator.Rejection) bool {
	return waitsFor(r, negotiator.CauseClaimed, negotiator.CauseTaken, negotiator.CauseTooSmall, negotiator.CauseShare, negotiator.CauseOthers, negotiator.CauseOwnJobs)
}

// waitsFor reports whether nothing but some causes keeps a job from running.
func waitsFor(r *negotiator.Rejection, some ...negotiator.Cause) bool {
	return slices.Contains(some, r.Cause) && !slices.ContainsFunc(r.Also, func(c negotiator.Cause) bool { return !slices.Contains(some, c) })
}

// successors is a queue in a succession, with the turns of its jobs.
type successors struct {
	deal.Waiter
	one   *deal.OneQueue // nil: turns are among the submitter's own jobs
	who   *deal.Submitter
	left  leftBefore
	round int
	takes bool   // slots of others
	limit string // else the policy's that keeps it from them
}

// turn returns the turn of a run's first job among the jobs that are left, from 1.
func (h *successors) turn(r deal.Run) int { return h.round + h.left[r.Order] + 1 }

// successorsIn returns the queues of which some jobs may follow a claim of their submitter, or in one queue
// of all take what others leave, the first to have its turn first.
func successorsIn(c *deal.Outcome) (list []successors) {
	why := make(map[pool.JobID]*negotiator.Rejection, len(c.Plan.Rejections))
	for i := range c.Plan.Rejections {
		why[c.Plan.Rejections[i].Job] = &c.Plan.Rejections[i]
	}
	for _, s := range c.Submitters {
		begin := len(list)
		for _, q := range s.Queues {
			h := successors{Waiter: deal.WaiterOf(q), one: c.OneQueue, who: s}
			if q.Offered() && h.Jobs > 0 && (c.OneQueue != nil || s.Holds()) {
				list = append(list, h)
			}
		}
		if c.OneQueue == nil {
			own := list[begin:]
			places := 0
			for i := range own {
				places = max(places, own[i].Runs[len(own[i].Runs)-1].Order+1)
			}
			left := leftIn(places, own)
			for i := range own {
				r := why[own[i].Runs[0].FirstJob()]
				own[i].left, own[i].takes = left, r != nil && waitsForSlots(r)
			}
		}
	}
	if c.OneQueue != nil {
		list = takersIn(c, list, why)
	}
	slices.SortStableFunc(list, func(a, b successors) int { return cmp.Compare(a.turn(a.Runs[0]), b.turn(b.Runs[0])) })
	return list
}

// leftIn counts what is left of some queues before each of so many places.
func leftIn(places int, list []successors) leftBefore {
	left := make(leftBefore, places+1)
	for i := range list {
		left.add(list[i].Waiter)
	}
	left.sum()
	return left
}

// takersIn returns those of all queues, by their turns in the one queue of all, that take slots of others
// or follow a claim of their submitter.
func takersIn(c *deal.Outcome, all []successors, why map[pool.JobID]*negotiator.Rejection) (list []successors) {
	left, limits, asIs := leftIn(len(c.OneQueue.Places), all), c.OneQueue.Limits, c.Fork()
	for _, h := range all {
		h.left = left
		switch r := why[h.Runs[0].FirstJob()]; {
		case r != nil && waitsFor(r, negotiator.CauseClaimed, negotiator.CauseTaken, negotiator.CauseTooSmall, negotiator.CauseOthers, negotiator.CauseOwnJobs):
			h.takes = true
		case r != nil && waitsFor(r, negotiator.CauseClaimed, negotiator.CauseTaken, negotiator.CauseTooSmall, negotiator.CauseOthers, negotiator.CauseOwnJobs, negotiator.CauseThrottle):
			h.limit, _ = asIs.Throttled(h.Queue)
		case !h.who.Holds():
			continue
		}
		// What runs of its kind is one job less then.
		soft := limits != nil && !limits.Admits(h.Kind, []int{h.Kind}, false)
		h.round = round(left[len(c.OneQueue.Places)], c.SharesRest(h.who, false), soft, h.who.Nice)
		list = append(list, h)
	}
	return list
}

// addTo adds a queue to a succession, at most so many stretches of it, and returns how many
// these are. Jobs that are charged differently stand apart.
func (h *successors) addTo(u *negotiator.Succession, most int) (n int) {
	begin := len(u.Queues)
	var ends []int // of each that it adds: the turn behind the last job
	turn := 0
	for i, r := range h.Runs {
		if i > 0 && r.Order == h.Runs[i-1].Order {
			turn += h.Runs[i-1].Count()
		} else {
			turn = h.turn(r)
		}
		var place jobprio.Place
		if h.one != nil {
			place, _ = h.one.Place(r)
		}
		at := begin
		for at < len(u.Queues) && (u.Queues[at].QOS != place.QOS || u.Queues[at].PE != place.PE) {
			at++
		}
		p := r.Procs
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
			asks := h.one != nil && h.one.Limits != nil && !h.one.Limits.Lasting(h.Kind)
			u.Queues = append(u.Queues, pool.Successors{Submitter: h.who.Name, QOS: place.QOS, PE: place.PE, Takes: h.takes, Limit: h.limit, Asks: asks})
			ends = append(ends, 0)
		}
		q := &u.Queues[at]
		q.Jobs, q.Places = append(q.Jobs, p), append(q.Places, turn)
		ends[at-begin] = turn + r.Count()
		n++
	}
	return n
}

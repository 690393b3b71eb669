package why

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
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

// succession says what claims may go on with, when all is dealt out and told.
func succession(c *deal.Outcome) (u negotiator.Succession) {
	if c.OneQueue != nil {
		return successionInOrder(c)
	}
	left := mostSuccessors
	var holders []*deal.Submitter
	for _, s := range c.Submitters {
		if s.Usage > 0 {
			holders = append(holders, s)
		}
	}
	if len(holders) == 0 {
		return u
	}
	for _, s := range holders {
		for _, q := range s.Queues {
			if jobs := stretches(q, min(left, max(mostSuccessors/len(holders), 1))); len(jobs) > 0 {
				u.Queues = append(u.Queues, pool.Successors{Submitter: s.Name, Jobs: jobs})
				left -= len(jobs)
			}
		}
	}
	for _, name := range c.Telling {
		u.Telling = append(u.Telling, name.String())
	}
	waiters(c, &u)
	return u
}

// stretches returns what is left of a queue, at most so many pieces of it. Procs that
// follow each other are one, however they were told of.
func stretches(q *deal.Queue, most int) (list []pool.Procs) {
	for _, r := range deal.WaiterOf(q).Runs {
		p := r.Procs
		if n := len(list); n > 0 && list[n-1].Extend(p) {
			continue
		}
		if len(list) == most {
			break
		}
		list = append(list, p)
	}
	return list
}

// waiters says who waits for slots of others, and what everybody is entitled to then: the
// fair division of what is in use among all, by what jobs ask for and not by which slots
// they match. That is for who looks at a slot to find out.
func waiters(c *deal.Outcome, u *negotiator.Succession) {
	kept := map[pool.JobID]bool{} // from slots by something else than that others have them
	for i := range c.Plan.Rejections {
		if r := &c.Plan.Rejections[i]; !waitsForSlots(r) {
			kept[r.Job] = true
		}
	}
	lightest := lightestClaim(c)
	total := accountant.Weight(0)
	for _, s := range c.Submitters {
		total += s.Usage
	}
	heads := make([][]pool.JobID, len(c.Submitters))
	targets := c.Divide(total.Float(), c.Submitters, func(i int, s *deal.Submitter) (usage, demand float64) {
		wants := s.Usage.Float()
		for _, q := range s.Queues {
			w := deal.WaiterOf(q)
			if w.Jobs == 0 || kept[w.Runs[0].FirstJob()] || len(heads[i]) == mostHeads {
				continue
			}
			heads[i] = append(heads[i], w.Runs[0].FirstJob())
			wants += float64(w.Jobs) * math.Max(c.Asks(q.Cluster.Ad), lightest)
		}
		wants = math.Min(wants, s.Usage.Float()+math.Max(s.Room(), 0))
		least := math.Min(float64(s.Floor), wants)
		return least, wants - least
	})
	for i, s := range c.Submitters {
		if len(heads[i]) > 0 && len(u.Entitled) < mostWaiting && s.Usage.Float() < targets[i]-deal.Slack {
			u.Entitled = append(u.Entitled, pool.Entitled{Submitter: s.Name, Weight: negotiator.Micro(targets[i]), Jobs: heads[i]})
		}
	}
	waiting := len(u.Entitled)
	for i, s := range c.Submitters {
		if waiting > 0 && s.Usage.Float() > targets[i]+deal.Slack {
			u.Entitled = append(u.Entitled, pool.Entitled{Submitter: s.Name, Weight: negotiator.Micro(targets[i])})
		}
	}
	slices.SortFunc(u.Entitled[waiting:], func(a, b pool.Entitled) int { return cmp.Compare(a.Submitter, b.Submitter) })
}

// lightestClaim returns the weight of the lightest slot that a claim has, 0 without claims:
// no job that waits for what others have gets less, however little it asks for.
func lightestClaim(c *deal.Outcome) float64 {
	lightest := math.Inf(1)
	for _, claims := range c.Claims {
		for _, cl := range claims {
			lightest = math.Min(lightest, cl.Weight.Float())
		}
	}
	for i := range c.Plan.Matches {
		lightest = math.Min(lightest, c.Plan.Matches[i].Weight.Float())
	}
	if math.IsInf(lightest, 1) {
		return 0
	}
	return lightest
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
	*precedence
	who   *deal.Submitter
	round int
	takes bool   // slots of others
	limit string // else the policy's that keeps it from them
}

// successionInOrder says what claims may go on with under a policy with one queue: the next
// jobs of those who have some, and all who wait for slots, in the order of their turns.
func successionInOrder(c *deal.Outcome) (u negotiator.Succession) {
	if !slices.ContainsFunc(c.Submitters, func(s *deal.Submitter) bool { return s.Usage > 0 }) {
		return u
	}
	list := successorsIn(c)
	if len(list) == 0 {
		return u
	}
	u.OneQueue = true
	left, each := mostSuccessors, max(mostSuccessors/len(list), 1)
	for _, h := range list {
		if left == 0 {
			u.More = h.turn(h.Runs[0])
			break
		}
		left -= h.addTo(&u, min(left, each))
	}
	for _, name := range c.Telling {
		u.Telling = append(u.Telling, name.String())
	}
	return u
}

// turn returns the turn of a run's first job among the jobs that are left, from 1.
func (h *successors) turn(r deal.Run) int { return h.round + h.left[r.Order] + 1 }

// successorsIn returns the queues of which some jobs may follow a claim of their own kind, or take
// what others leave, the first to have its turn first.
func successorsIn(c *deal.Outcome) (list []successors) {
	why := make(map[pool.JobID]*negotiator.Rejection, len(c.Plan.Rejections))
	for i := range c.Plan.Rejections {
		why[c.Plan.Rejections[i].Job] = &c.Plan.Rejections[i]
	}
	var all []successors
	for _, s := range c.Submitters {
		for _, q := range s.Queues {
			if h := (successors{Waiter: deal.WaiterOf(q), who: s}); q.Offered() && h.Jobs > 0 {
				all = append(all, h)
			}
		}
	}
	p := precede(c.OneQueue, func(yield func(deal.Waiter) bool) {
		for _, h := range all {
			if !yield(h.Waiter) {
				return
			}
		}
	})
	asIs := c.Fork()
	for _, h := range all {
		h.precedence = p
		switch r := why[h.Runs[0].FirstJob()]; {
		case r != nil && waitsFor(r, negotiator.CauseClaimed, negotiator.CauseTaken, negotiator.CauseTooSmall, negotiator.CauseOthers, negotiator.CauseOwnJobs):
			h.takes = true
		case r != nil && waitsFor(r, negotiator.CauseClaimed, negotiator.CauseTaken, negotiator.CauseTooSmall, negotiator.CauseOthers, negotiator.CauseOwnJobs, negotiator.CauseThrottle):
			h.limit, _ = asIs.Throttled(h.Queue)
		case h.who.Usage == 0:
			continue
		}
		// What runs of its kind is one job less then.
		soft := p.Limits != nil && !p.Limits.Admits(h.Kind, []int{h.Kind}, false)
		h.round = round(p.left[len(p.Places)], c.SharesRest(h.who, false), soft, h.who.Nice)
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b successors) int { return cmp.Compare(a.turn(a.Runs[0]), b.turn(b.Runs[0])) })
	return list
}

// addTo adds a queue to a succession, at most so many stretches of it, and returns how many
// these are. Jobs that are charged differently stand apart.
func (h *successors) addTo(u *negotiator.Succession, most int) (n int) {
	begin := len(u.Queues)
	var ends []int // of each that it adds: the turn behind the last job
	for _, r := range h.Runs {
		place, _ := h.Place(r)
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
			asks := h.Limits != nil && !h.Limits.Lasting(h.Kind)
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

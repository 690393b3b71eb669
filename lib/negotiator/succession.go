package negotiator

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// Succession is what a claim may go on with when its job has ended before the next
// cycle: the same submitter's next job of the same autocluster, unless somebody better
// waits for the slot: who has less than its share or, with a Config.Queue, whose job goes
// before it there. It says what the cycle saw. Who acts on it has to look whether a
// job is still idle and matches the slot, which the cycle did not ask.
type Succession struct {
	// Telling are the names of the attributes that tell autoclusters apart, sorted, in
	// lower case.
	Telling []string
	// Queues are what is left of the queues of submitters who have claims, in the order
	// in which each submitter's are served. In one queue of all they are those of all who
	// wait for slots, too, the one whose first job goes first before the others.
	Queues []Successors
	// OneQueue says that there is one queue of all. Then there are no Shares and no Waiting,
	// and More is the place from which on other jobs may stand in it; 0: there are none.
	OneQueue bool `json:",omitempty"`
	More     int  `json:",omitempty"`
	// Shares are what submitters who have claims are entitled to while somebody waits, by
	// name; none when nobody does. Who is not among them has all that it wants.
	Shares []Entitled
	// Waiting are the submitters who have less than they are entitled to, in the order of
	// negotiation.
	Waiting []Waiting
}

// Successors are idle jobs of one submitter and autocluster, in the order in which they
// are served.
type Successors struct {
	Submitter string
	Jobs      []pool.Procs
	// In one queue of all, Places are where each of Jobs begins in it, from 1; and More is the
	// place from which on there are others than Jobs, 0 for none.
	Places []int `json:",omitempty"`
	More   int   `json:",omitempty"`
	// Takes says that the jobs wait for nothing but slots, and take those of others; Limit is
	// else the limit of the policy that keeps them from it, if that is all. Asks says that
	// the policy has to be asked before one of them follows another.
	Takes bool   `json:",omitempty"`
	Limit string `json:",omitempty"`
	Asks  bool   `json:",omitempty"`
	// QOS and PE are what a job is charged under there, as of a Match.
	QOS string  `json:",omitempty"`
	PE  float64 `json:",omitempty"`
}

// Entitled is the slot weight that a submitter may have while others wait.
type Entitled struct {
	Submitter string
	Weight    float64
}

// Waiting is a submitter who waits for slots: the first jobs of its queues, one for each
// autocluster, and the slot weight that it may have.
type Waiting struct {
	Submitter string
	Jobs      []pool.JobID
	Weight    float64
}

// How much a succession says at most: it is read whenever a job ends. What is left out
// waits for the next cycle.
const (
	mostSuccessors = 2000 // stretches of procs, of all submitters
	mostWaiting    = 20   // submitters
	mostHeads      = 10   // queues of one that waits
)

// succession says what claims may go on with, when all is dealt out and told.
func (c *cycle) succession() (u Succession) {
	if c.one != nil {
		return c.successionInOrder()
	}
	left := mostSuccessors
	var holders []*submitter
	for _, s := range c.submitters {
		if s.usage > 0 {
			holders = append(holders, s)
		}
	}
	if len(holders) == 0 {
		return u
	}
	for _, s := range holders {
		for _, q := range s.queues {
			if jobs := stretches(q, min(left, max(mostSuccessors/len(holders), 1))); len(jobs) > 0 {
				u.Queues = append(u.Queues, Successors{Submitter: s.name, Jobs: jobs})
				left -= len(jobs)
			}
		}
	}
	for _, name := range c.telling {
		u.Telling = append(u.Telling, name.String())
	}
	c.waiters(&u)
	return u
}

// stretches returns what is left of a queue, at most so many pieces of it. Procs that
// follow each other are one, however they were told of.
func stretches(q *queue, most int) (list []pool.Procs) {
	for _, r := range waiterOf(q).runs {
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
func (c *cycle) waiters(u *Succession) {
	kept := map[pool.JobID]bool{} // from slots by something else than that others have them
	for i := range c.plan.Rejections {
		if r := &c.plan.Rejections[i]; !waitsForSlots(r) {
			kept[r.Job] = true
		}
	}
	lightest := c.lightestClaim()
	total := accountant.Weight(0)
	claimants := make([]Claimant, len(c.submitters))
	heads := make([][]pool.JobID, len(c.submitters))
	for i, s := range c.submitters {
		total += s.usage
		wants := s.usage.Float()
		for _, q := range s.queues {
			w := waiterOf(q)
			if w.jobs == 0 || kept[w.runs[0].FirstJob()] || len(heads[i]) == mostHeads {
				continue
			}
			heads[i] = append(heads[i], w.runs[0].FirstJob())
			wants += float64(w.jobs) * math.Max(c.asks(q.cluster.Ad), lightest)
		}
		wants = math.Min(wants, s.usage.Float()+math.Max(s.room(), 0))
		least := math.Min(float64(s.floor), wants)
		claimants[i] = Claimant{EUP: s.eup, Usage: least, Demand: wants - least}
	}
	targets := Targets(total.Float(), claimants)
	for i, s := range c.submitters {
		if len(heads[i]) > 0 && len(u.Waiting) < mostWaiting && s.usage.Float() < targets[i]-slack {
			u.Waiting = append(u.Waiting, Waiting{s.name, heads[i], Micro(targets[i])})
		}
	}
	for i, s := range c.submitters {
		if len(u.Waiting) > 0 && s.usage.Float() > targets[i]+slack {
			u.Shares = append(u.Shares, Entitled{s.name, Micro(targets[i])})
		}
	}
	slices.SortFunc(u.Shares, func(a, b Entitled) int { return cmp.Compare(a.Submitter, b.Submitter) })
}

// lightestClaim returns the weight of the lightest slot that a claim has, 0 without claims:
// no job that waits for what others have gets less, however little it asks for.
func (c *cycle) lightestClaim() float64 {
	lightest := math.Inf(1)
	for _, claims := range c.ours {
		for _, cl := range claims {
			lightest = math.Min(lightest, cl.Weight.Float())
		}
	}
	for i := range c.plan.Matches {
		lightest = math.Min(lightest, c.plan.Matches[i].Weight.Float())
	}
	if math.IsInf(lightest, 1) {
		return 0
	}
	return lightest
}

// waitsForSlots reports whether nothing but others' claims keeps a job from running.
func waitsForSlots(r *Rejection) bool {
	return waitsFor(r, CauseClaimed, CauseTaken, CauseTooSmall, CauseShare, CauseOthers, CauseOwnJobs)
}

// waitsFor reports whether nothing but some causes keeps a job from running.
func waitsFor(r *Rejection, some ...Cause) bool {
	return slices.Contains(some, r.Cause) && !slices.ContainsFunc(r.Also, func(c Cause) bool { return !slices.Contains(some, c) })
}

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

package negotiator

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fairspool/lib/heap"
	"fairspool/lib/pool"
)

// fill matches jobs and slots until nobody is left who could use one: first for
// those below their floors, then for all but the nice users, then for these, who
// share what is left.
func (c *cycle) fill() {
	switch {
	case c.one != nil:
		c.fillInOrder()
		return
	case c.cfg.Pie == Spins:
		c.spin()
		return
	}
	if slices.ContainsFunc(c.submitters, func(s *submitter) bool { return s.floor > 0 }) {
		c.contend(c.submitters)
		c.raise()
	}
	c.entitle()
	for _, tier := range c.tiers() {
		c.serve(tier, c.poolSize(), true)
	}
	for c.release() {
		c.lookAgain()
		for _, tier := range c.tiers() {
			c.serve(tier, math.Inf(1), false)
		}
	}
	c.preemptTheRest()
	c.reserve()
}

// preemptTheRest lets submitters preempt by what is the case when all is dealt out, until
// nobody does: so the next cycle finds nothing to preempt if nothing changes until then.
func (c *cycle) preemptTheRest() {
	if len(c.tenants) == 0 {
		return
	}
	c.last = true
	c.preemptAll()
	if slices.ContainsFunc(c.submitters, func(s *submitter) bool { return s.usage == 0 && s.matched < s.idle }) {
		c.parts = true
		c.preemptAll()
	}
}

func (c *cycle) preemptAll() {
	for before := -1; c.moves != before; {
		before = c.moves
		c.lookAgain()
		c.entitle()
		for _, s := range c.submitters {
			s.since = -1
		}
		for _, tier := range c.tiers() {
			c.serve(tier, math.Inf(1), false)
		}
	}
}

// serve gives a tier its slots, in a pool of which no more than size is shared. Nice users
// have no groups: they share what all of these leave, as far as quotas let them.
func (c *cycle) serve(tier []*submitter, size float64, first bool) {
	c.contend(tier)
	if c.groupUse != nil && !tier[0].nice {
		c.dealGroups(tier, size, first)
		return
	}
	p := everybody(tier)
	c.setTargets(p, size)
	if first {
		p.begin()
	}
	c.deal(p)
}

// deal gives a party its slots. In every round each submitter, in order, may
// take whole slots up to its target; then the targets are computed again, so
// that what somebody could not use goes to the others. When no whole slot fits
// into anybody's target, the remainders are made whole: no slot stays idle for
// them.
func (c *cycle) deal(p *sharers) {
	for {
		took := 0
		for _, s := range p.members {
			took += c.turn(p, s, s.target, math.MaxInt)
		}
		if took == 0 {
			// Targets that leave out a part of the pool may be met while there is more.
			c.setTargets(p, math.Inf(1))
			if !c.roundUp(p) {
				return
			}
		}
		c.setTargets(p, math.Inf(1))
	}
}

// setTargets computes the targets of a party from what is used and wanted now, in
// a pool of which no more than size is shared.
func (c *cycle) setTargets(p *sharers, size float64) {
	tier := p.members
	if p.group >= 0 && !p.extra {
		size = math.Min(size, c.groupUse.allocated[p.group])
	}
	o := c.look(tier)
	total := o.usable
	claimants := make([]Claimant, len(tier))
	for i, s := range tier {
		claimants[i] = Claimant{EUP: s.eup, Usage: s.usage.Float(), Demand: o.wants[i]}
		total += s.usage
	}
	for i, t := range Targets(math.Min(total.Float(), size), claimants) {
		if c.cfg.IgnoreUserPriorities {
			t = total.Float()
		}
		tier[i].target = t
	}
}

// begin notes what the submitter may use by its share when the cycle begins: of free slots,
// or by preempting.
func (s *submitter) begin() {
	s.slice = math.Max(s.target, s.entitled)
	s.limit = math.Max(0, s.slice-s.before.Float())
}

// inLine sorts a tier for the negotiation: the best EUP first; of equals the
// one that has got the smaller part of what it may use, then by name.
func inLine(tier []*submitter) {
	slices.SortFunc(tier, func(a, b *submitter) int {
		return cmp.Or(cmp.Compare(a.eup, b.eup), cmp.Compare(a.starvation(), b.starvation()), strings.Compare(a.name, b.name))
	})
}

// starvation is the part that the submitter has of what it may use; infinite if
// it may use nothing.
func (s *submitter) starvation() float64 {
	if s.usage == 0 && s.limit == 0 {
		return math.Inf(1)
	}
	return s.usage.Float() / (s.usage.Float() + s.limit)
}

// roundUp gives one slot each to those furthest below their targets, by the
// method of largest remainders: the targets stay as they are meanwhile, since
// computed again after each slot they would sink, most for those with the
// largest shares. It ends when all who are below have one, or when somebody's
// slots are gone before its turn, whose share then goes to others. It returns
// false if nobody could use a slot.
func (c *cycle) roundUp(p *sharers) bool {
	line := furthestBelow(p.members)
	any := false
	for len(line) > 0 {
		next := line.Pop()
		if any && next.gap <= 0 {
			return true
		}
		switch {
		case c.turn(p, next.submitter, math.Inf(1), 1) > 0:
			any = true
		case any && next.waiting():
			return true
		}
	}
	return any
}

// furthestBelow lines up submitters by how far they are below their targets.
func furthestBelow(members []*submitter) heap.Heap[below, *below] {
	line := make(heap.Heap[below, *below], len(members))
	for i, s := range members {
		line[i] = below{s, i, math.Round((s.target - s.usage.Float()) / slack)}
	}
	line.Heapify()
	return line
}

// waiting reports whether the submitter has jobs without a slot.
func (s *submitter) waiting() bool {
	return slices.ContainsFunc(s.queues, func(q *queue) bool { return q.left > 0 && q.offered() })
}

// below is a submitter, its place in the order of negotiation, and by how much it
// is below its target, in units of slack.
type below struct {
	*submitter
	number int
	gap    float64
}

func (a *below) Before(b *below) bool {
	if a.gap != b.gap {
		return a.gap > b.gap
	}
	return a.number < b.number
}

// turn lets a submitter take at most so many slots up to limit, its first
// job first, each job the best slot that fits. It returns how many it took.
func (c *cycle) turn(p *sharers, s *submitter, limit float64, most int) int {
	c.dealing = p
	took := 0
	c.turns++
	s.comeBack(len(c.events))
	var heavy []*autocluster // with slots set aside that may suit others
	for took < most {
		q := s.next()
		if q == nil {
			break
		}
		got, kept, ok := c.attempt(p, s, q, limit)
		if !ok {
			continue
		}
		if k := q.cluster; len(k.aside) > 0 && (len(heavy) == 0 || heavy[len(heavy)-1] != k) {
			heavy = append(heavy, k)
		}
		c.match(s, q, got)
		if took++; kept {
			c.lookAgain()
		}
	}
	for _, k := range heavy {
		k.restore()
	}
	s.ready()
	return took
}

// attempt looks for a slot for the next job of a submitter, which is the first of q; kept says
// that it is the one that was kept for it. Without one the queue is left alone for the rest
// of the turn, or until a slot has come back.
func (c *cycle) attempt(p *sharers, s *submitter, q *queue, limit float64) (got pick, kept, ok bool) {
	if name, blocked := c.inUse.blocked(q.cluster.limits); blocked {
		q.blocked = name
		s.wait(q)
		return got, false, false
	}
	if c.one != nil && c.one.refuses(q) {
		s.wait(q)
		return got, false, false
	}
	inGroup := c.groupRoom(p, s)
	room := min(limit-s.usage.Float(), s.room(), inGroup)
	got, how := c.offer(s, q, room)
	if kept = how == nothing; kept {
		got, how = c.takeKept(q, room)
	}
	s.bound = s.bound || how == tooHeavy && !math.IsInf(inGroup, 1)
	switch how {
	case found:
		return got, kept, true
	case nothing:
		s.giveUpOn(q, len(c.events))
		s.skip(q)
	default:
		q.limited = q.limited || c.withinCeiling(s, q)
		s.wait(q)
	}
	return got, false, false
}

// lookAgain lets all submitters look at what they passed over, since slots are free
// that were not.
func (c *cycle) lookAgain() {
	for _, s := range c.submitters {
		s.lookAgain()
	}
}

// withinCeiling reports whether a slot that a submitter's share did not allow is
// allowed by its ceiling.
func (c *cycle) withinCeiling(s *submitter, q *queue) bool {
	q.cluster.restore()
	_, _, how := c.choose(q.cluster, s.room())
	return how == found
}

// match gives a submitter's next job the slot that was taken for it.
func (c *cycle) match(s *submitter, q *queue, p pick) {
	m := Match{Submitter: s.name, Slot: c.slots[p.slot].name, Weight: p.weight, Limits: demandText(q.cluster.limits), Reason: NoPreemption}
	c.billed(q.cluster)
	m.Rank = c.slotRank(c.slots[p.slot].ad, q.cluster.ad)
	switch r := p.preempts; {
	case r != nil:
		m.Slot, m.Piece, m.Reason, m.Preempts = r.claim.Slot, r.claim.Piece, p.reason, c.preempted(r)
		m.Rank = c.slotRank(r.ad, q.cluster.ad)
		if c.cfg.Pie != Spins { // which reckons with that from the next cycle on, as HTCondor
			c.uses(r.holder, -r.claim.Weight)
		}
	case c.slots[p.slot].whole != nil:
		m.Piece.Of, m.Piece.Takes, m.Slot = m.Slot, p.takes, c.dynamicName(p.slot)
	}
	if c.one != nil {
		c.one.noteMatch(&m, q)
	}
	m.Job = s.pop(q)
	q.cluster.served()
	c.plan.Matches = append(c.plan.Matches, m)
	c.inUse.take(q.cluster.limits)
	c.uses(s, p.weight)
	s.matched++
	c.moves++
	if p.preempts == nil {
		c.noteTaker(s, q, p)
	}
}

// preempted tells of a claim that ends for a match.
func (c *cycle) preempted(r *running) *Preempted {
	out := &Preempted{Job: r.claim.Job, Attempt: r.claim.Attempt, Submitter: r.claim.Submitter, Weight: r.claim.Weight, Ran: c.ran(r)}
	if r.outside {
		out.Outside, _ = r.ad.EvalString(c.eval, pool.AttrJobID)
	}
	return out
}

// noteTaker counts who took free slots of which group.
func (c *cycle) noteTaker(s *submitter, q *queue, p pick) {
	root := p.group.root
	if root.takers == nil {
		root.takers = map[*submitter]take{}
	}
	t := root.takers[s]
	t.all++
	if q.cluster.ranks(root.bundle) {
		t.byRank++
	}
	root.takers[s] = t
}

package negotiator

import (
	"math"

	"fairspool/lib/heap"
)

// fillInOrder matches jobs and slots by the one queue of all: always the first job that may
// still get something has the best slot for it, and those for which nothing is found are
// passed over. Soft limits of the policy count until nobody gets anything more; then hard
// ones do. Nice users come behind all others.
func (c *cycle) fillInOrder() {
	c.serveInOrder()
	for c.release() {
		c.lookAgain()
		c.serveInOrder()
	}
	if c.last = len(c.tenants) > 0; c.last {
		for c.serveAgain() {
		}
	}
	c.reserve()
}

// serveAgain asks for all jobs that are left once more, also those that were passed over, and
// says whether any of them got a slot.
func (c *cycle) serveAgain() bool {
	before := c.moves
	c.lookAgain()
	for _, s := range c.submitters {
		s.since = -1
	}
	c.serveInOrder()
	return c.moves != before
}

// serveInOrder gives all their slots, tier by tier.
func (c *cycle) serveInOrder() {
	for _, tier := range c.tiers() {
		c.contend(tier)
		for c.one.hard = c.one.Limits == nil; ; c.one.hard = true {
			if c.groupUse != nil && !tier[0].nice {
				c.dealGroupsInOrder(tier)
			} else {
				c.dealInOrder(everybody(tier))
			}
			if c.one.hard {
				break
			}
		}
	}
}

// dealInOrder serves parties until nobody gets anything more.
func (c *cycle) dealInOrder(parties ...*sharers) {
	for c.pass(parties) {
	}
}

// dealGroupsInOrder gives a tier its slots, each group what quotas and surplus allocate it
// by what it wants. That is divided again, as dealGroups does, until nobody gets anything
// more. Where groups regroup, those that do come with nobody's group, and behind all groups:
// it is bounded by nothing, and would leave them none of their quotas.
func (c *cycle) dealGroupsInOrder(tier []*submitter) {
	u, stuck := c.groupUse, map[int]bool{}
	for {
		parties := c.parties(tier, stuck)
		var groups, rest []*sharers
		for _, p := range parties {
			if p.group == 0 && u.tree.Regroups() {
				rest = append(rest, p)
			} else {
				groups = append(groups, p)
			}
		}
		before := c.moves
		c.dealInOrder(groups...)
		c.dealInOrder(rest...)
		if c.moves == before && !c.passBeyond(groups, 0) && !c.noteStuck(parties, stuck) && !c.passBeyond(groups, math.Inf(-1)) {
			return
		}
	}
}

// passBeyond lets each of the groups that accept surplus and are more than least below what
// they are allocated have one slot that no longer fits into that; false: none could use one.
func (c *cycle) passBeyond(groups []*sharers, least float64) bool {
	var some []*sharers
	for _, p := range groups {
		if c.groupUse.below(p) > least && c.groupUse.tree.List[p.group].AcceptSurplus {
			p.extra = true
			some = append(some, p)
		}
	}
	any := c.pass(some)
	for _, p := range some {
		p.extra = false
	}
	return any
}

// ahead is a submitter in the line of all, as a member of a party, by the place of its next
// job.
type ahead struct {
	*submitter
	party *sharers
	place int
}

func (a *ahead) Before(b *ahead) bool { return a.place < b.place }

// pass goes once through the queue, as far as it is the members' of parties, each of whom is
// in one of them. It says whether anybody got a slot. It ends early when one is there that
// was not, or when somebody whose job was preempted may use more again: those before in the
// queue have to be asked first.
func (c *cycle) pass(parties []*sharers) bool {
	before := c.moves
	c.newTurn()
	var line heap.Heap[ahead, *ahead]
	for _, p := range parties {
		for _, s := range p.members {
			s.comeBack(len(c.events))
			if q := s.next(); q != nil {
				line = append(line, ahead{s, p, q.runs[0].order})
			}
		}
	}
	line.Heapify()
	for again := false; len(line) > 0 && !again; {
		first := &line[0]
		switch q := first.next(); {
		case q == nil:
			line.Pop()
		case q.runs[0].order != first.place:
			first.place = q.runs[0].order
			line.Fix()
		default:
			again = c.serveNext(first.party, first.submitter, q)
			if c.one.listed > mostListed && len(c.looked) > 1 {
				c.newTurn()
			}
		}
	}
	for _, p := range parties {
		for _, s := range p.members {
			s.ready()
		}
	}
	return c.moves != before
}

// mostListed is how many prospects queues may have listed together: some ten megabytes each
// hundred thousand. What one queue alone has may be more.
const mostListed = 1_000_000

// newTurn forgets whom the first jobs of queues might preempt.
func (c *cycle) newTurn() {
	c.turns++
	c.one.listed = 0
}

// serveNext gives the next job of a submitter, which is the first of q, the best slot that it
// can have, and says whether the queue has to be asked again from its beginning.
func (c *cycle) serveNext(p *sharers, s *submitter, q *queue) (again bool) {
	c.dealing = p
	got, kept, ok := c.attempt(p, s, q, math.Inf(1))
	if ok {
		c.match(s, q, got)
		p.extra = false
	}
	q.cluster.restore()
	if kept {
		c.lookAgain()
	}
	if got.preempts != nil {
		return c.openUp(got.preempts.holder)
	}
	return kept
}

// openUp lets those look again who may use more when a holder has lost a slot, and says
// whether there are any: its own ceiling bound it, or what its groups use bounds others. Who
// left a running slot for a free one that groups did not allow looks again, too.
func (c *cycle) openUp(holder *submitter) (any bool) {
	if holder.ceiling.Set {
		holder.since, any = -1, true
	}
	for _, s := range c.submitters {
		if c.groupUse != nil && (s.awaits || s.bound && c.groupUse.bindTogether(s.group, holder.group)) {
			s.since, s.bound, s.awaits, any = -1, false, false, true
		}
	}
	return any
}

// noteMatch notes what a match has of the place of its job, which is the first of q, and
// counts it.
func (o *oneQueue) noteMatch(m *Match, q *queue) {
	at := q.runs[0].order
	place := o.Places[at]
	m.QOS, m.PE, m.Priority = place.QOS, place.PE, place.Priority
	o.matched, o.kindsOf = append(o.matched, at), append(o.kindsOf, q.kind)
	if o.Limits != nil {
		o.Limits.Take(q.kind)
	}
}

package negotiator

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// fill matches jobs and slots until nobody is left who could use one: first for
// those below their floors, then for all but the nice users, then for these, who
// share what is left.
func (c *cycle) fill() {
	if slices.ContainsFunc(c.submitters, func(s *submitter) bool { return s.floor > 0 }) {
		c.contend(c.submitters)
		c.raise()
	}
	for _, tier := range c.tiers() {
		c.contend(tier)
		c.setTargets(tier)
		for _, s := range tier {
			s.slice, s.limit = s.target, math.Max(0, s.target-s.before.Float())
		}
		order(tier)
		c.deal(tier)
	}
}

// deal gives a tier its slots. In every round each submitter, in order, may
// take whole slots up to its target; then the targets are computed again, so
// that what somebody could not use goes to the others. When no whole slot fits
// into anybody's target, the remainders are made whole: no slot stays idle for
// them.
func (c *cycle) deal(tier []*submitter) {
	for {
		took := 0
		for _, s := range tier {
			if s.hungry() {
				took += c.turn(s, s.target, math.MaxInt)
			}
		}
		if took == 0 && !c.roundUp(tier) {
			return
		}
		c.setTargets(tier)
	}
}

// setTargets computes the targets of a tier from what is used and wanted now.
func (c *cycle) setTargets(tier []*submitter) {
	o := c.look(tier)
	total := o.usable
	claimants := make([]Claimant, len(tier))
	for i, s := range tier {
		claimants[i] = Claimant{EUP: s.eup, Usage: s.usage.Float(), Demand: o.wants[i]}
		total += s.usage
	}
	for i, t := range Targets(total.Float(), claimants) {
		tier[i].target = t
	}
}

// order sorts a tier for the negotiation: the best EUP first; of equals the
// one that has got the smaller part of what it may use, then by name.
func order(tier []*submitter) {
	part := func(s *submitter) float64 {
		if s.usage == 0 && s.limit == 0 {
			return math.Inf(1)
		}
		return s.usage.Float() / (s.usage.Float() + s.limit)
	}
	slices.SortFunc(tier, func(a, b *submitter) int {
		return cmp.Or(cmp.Compare(a.eup, b.eup), cmp.Compare(part(a), part(b)), strings.Compare(a.name, b.name))
	})
}

// roundUp gives one slot each to those furthest below their targets, by the
// method of largest remainders: the targets stay as they are meanwhile, since
// computed again after each slot they would sink, most for those with the
// largest shares. It ends when all who are below have one, or when somebody's
// slots are gone before its turn, whose share then goes to others. It returns
// false if nobody could use a slot.
func (c *cycle) roundUp(tier []*submitter) bool {
	var line []*submitter
	for _, s := range tier {
		if s.hungry() {
			line = append(line, s)
		}
	}
	if len(line) == 0 {
		return false
	}
	out := func(s *submitter) bool { return !s.hungry() }
	for i := furthest(line); ; i = furthest(line) {
		c.turn(line[i], math.Inf(1), 1)
		line = slices.Delete(line, i, i+1)
		if len(line) == 0 || slices.ContainsFunc(line, out) || line[furthest(line)].gap() <= slack {
			return true
		}
	}
}

// gap returns how much the submitter is below its target.
func (s *submitter) gap() float64 { return s.target - s.usage.Float() }

// furthest returns who is furthest below its target, the first of equals.
func furthest(line []*submitter) int {
	most := 0
	for i, s := range line {
		if s.gap() > line[most].gap()+slack {
			most = i
		}
	}
	return most
}

// turn lets a submitter take at most so many slots up to limit, its first
// job first, each job the best slot that fits. It returns how many it took.
func (c *cycle) turn(s *submitter, limit float64, most int) int {
	took := 0
	for took < most {
		q := s.next()
		if q == nil {
			break
		}
		room := math.Min(limit-s.usage.Float(), s.room())
		at, class, ok := q.cluster.take(room)
		if !ok {
			q.waits = true
			q.limited = q.limited || q.cluster.left()
			continue
		}
		class.bundle.goes(s, q.cluster.ranks(class.bundle, room))
		c.plan.Matches = append(c.plan.Matches, Match{
			Job: q.pop(), Submitter: s.name, Slot: c.slots[at].name, Weight: class.weight, Reason: NoPreemption,
		})
		s.usage += class.weight
		s.matched++
		took++
	}
	for _, q := range s.queues {
		q.waits = false
		q.cluster.restore()
	}
	return took
}

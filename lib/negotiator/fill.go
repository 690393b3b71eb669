package negotiator

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// fill matches jobs and slots until nobody is left who could use one. In
// every round each submitter, in order, may take whole slots up to its target;
// then the targets are computed again, so that what somebody could not use
// goes to the others. When no whole slot fits into anybody's target, one goes
// to the submitter that is furthest below: no slot stays idle for a remainder.
func (c *cycle) fill() {
	c.setTargets()
	for _, s := range c.submitters {
		s.slice, s.limit = s.target, math.Max(0, s.target-s.usage.Float())
	}
	c.order()
	for {
		took := 0
		for _, s := range c.submitters {
			if s.hungry() {
				took += c.turn(s, s.target, math.MaxInt)
			}
		}
		if took == 0 {
			s := c.neediest()
			if s == nil {
				return
			}
			c.turn(s, math.Inf(1), 1)
		}
		c.setTargets()
	}
}

// setTargets computes everybody's target from what is used and wanted now.
func (c *cycle) setTargets() {
	o := c.look()
	total := o.usable
	claimants := make([]Claimant, len(c.submitters))
	for i, s := range c.submitters {
		claimants[i] = Claimant{EUP: s.eup, Usage: s.usage.Float(), Demand: o.wants[i]}
		total += s.usage
	}
	for i, t := range Targets(total.Float(), claimants) {
		c.submitters[i].target = t
	}
}

// order sorts the submitters for the negotiation: the best EUP first; of
// equals the one that has got the smaller part of what it may use, then by
// name.
func (c *cycle) order() {
	part := func(s *submitter) float64 {
		if s.usage == 0 && s.limit == 0 {
			return math.Inf(1)
		}
		return s.usage.Float() / (s.usage.Float() + s.limit)
	}
	slices.SortFunc(c.submitters, func(a, b *submitter) int {
		return cmp.Or(cmp.Compare(a.eup, b.eup), cmp.Compare(part(a), part(b)), strings.Compare(a.name, b.name))
	})
}

// neediest returns the submitter furthest below its target among those that
// can use a slot that is left, the first in order of equals.
func (c *cycle) neediest() *submitter {
	var most *submitter
	gap := func(s *submitter) float64 { return s.target - s.usage.Float() }
	for _, s := range c.submitters {
		if (most == nil || gap(s) > gap(most)+slack) && s.hungry() {
			most = s
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
		at, class, ok := q.cluster.take(limit - s.usage.Float())
		if !ok {
			q.waits = true
			q.limited = q.limited || q.cluster.left()
			continue
		}
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

package negotiator

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
)

// dealGroups gives a tier its slots, group by group: always to the one that uses the
// smallest part of its quota first (manual, "Group Quotas"), up to what quotas and
// surplus allocate it; inside a group by shares. What a group can make no use of is
// then divided again, until nothing is left or nobody can use it. When no whole slot
// fits into what a group is allocated, those that accept surplus get one each, for as long as
// there are any.
func (c *cycle) dealGroups(tier []*submitter, size float64, first bool) {
	stuck := map[int]bool{}
	for {
		parties := c.parties(tier, stuck)
		if first {
			for i, p := range parties {
				c.groupUse.served[p.group] = i
			}
		}
		before := c.moves
		for _, p := range parties {
			c.setTargets(p, size)
			if first {
				p.begin()
			}
			c.deal(p)
		}
		first, size = false, math.Inf(1)
		if c.moves == before && !c.roundUpGroups(parties, 0) && !c.noteStuck(parties, stuck) && !c.roundUpGroups(parties, math.Inf(-1)) {
			return
		}
	}
}

// inGroupOrder puts the submitters into the order in which their groups were served first,
// for the report. Spins have done so.
func (c *cycle) inGroupOrder() {
	u := c.groupUse
	if u == nil || c.cfg.Pie == Spins {
		return
	}
	slices.SortStableFunc(c.submitters, func(a, b *submitter) int {
		return cmp.Or(niceLast(a, b), cmp.Compare(u.served[a.group], u.served[b.group]))
	})
}

// noteStuck notes the groups that could not make use of all that they were allocated,
// which others may then have; false: none is new.
func (c *cycle) noteStuck(parties []*sharers, stuck map[int]bool) (any bool) {
	u := c.groupUse
	for _, p := range parties {
		if !stuck[p.group] && u.allocated[p.group]-u.own[p.group].Float() > slack && slices.ContainsFunc(p.members, (*submitter).waiting) {
			stuck[p.group], any = true, true
		}
	}
	return any
}

// parties divides quotas by what groups use and want now, and returns the groups of a
// tier in the order in which they are served.
func (c *cycle) parties(tier []*submitter, stuck map[int]bool) []*sharers {
	u := c.groupUse
	requested := make([]float64, len(u.own))
	parties := make([]*sharers, len(u.own))
	for i := range parties {
		parties[i] = &sharers{group: i}
		requested[i] = u.own[i].Float()
	}
	for _, s := range tier {
		p := parties[s.group]
		p.members = append(p.members, s)
		if !stuck[s.group] {
			requested[s.group] += c.wants(s)
		}
		if s.group != 0 && u.tree.List[s.group].Autoregroup {
			parties[0].members = append(parties[0].members, s)
		}
	}
	for i, a := range u.tree.Allocate(u.quotas, requested, false) {
		u.allocated[i] = a.Weight
	}
	if u.tree.Regroups() {
		u.allocated[0] = math.Inf(1)
	}
	if u.atFirst == nil {
		u.atFirst = slices.Clone(u.allocated)
	}
	return c.inServingOrder(parties)
}

// begin notes what shares each of the sharers has when the cycle begins, and puts them in
// line. Who regroups has them in its own group.
func (p *sharers) begin() {
	for _, s := range p.members {
		if p.group < 0 || s.group == p.group {
			s.begin()
		}
	}
	inLine(p.members)
}

// roundUpGroups gives one slot each to the groups furthest below what they are allocated, of
// those that accept surplus and are more than least below; false: none could use one. There may
// be more than is allocated: slots that are not counted in the pool's size, or less in use than
// claims were charged for.
func (c *cycle) roundUpGroups(parties []*sharers, least float64) (any bool) {
	u := c.groupUse
	line := slices.Clone(parties)
	slices.SortStableFunc(line, func(a, b *sharers) int { return cmp.Compare(u.below(b), u.below(a)) })
	for _, p := range line {
		if u.below(p) > least && u.tree.List[p.group].AcceptSurplus {
			p.extra = true
			c.setTargets(p, math.Inf(1))
			any = c.roundUpOne(p) || any
			p.extra = false
		}
	}
	return any
}

// below returns by how much a party's group is below what it is allocated, in units of slack.
func (u *groupUse) below(p *sharers) float64 {
	return math.Round((u.allocated[p.group] - u.own[p.group].Float()) / slack)
}

// roundUpOne gives one slot to the submitter of a party that is furthest below its target.
func (c *cycle) roundUpOne(p *sharers) bool {
	for line := furthestBelow(p.members); len(line) > 0; {
		if next := line.Pop(); c.turn(p, next.submitter, math.Inf(1), 1) > 0 {
			return true
		}
	}
	return false
}

// inServingOrder returns the parties with members in the order in which they are served:
// by GROUP_SORT_EXPR, or the part of the quota that the group uses.
func (c *cycle) inServingOrder(parties []*sharers) (line []*sharers) {
	u := c.groupUse
	used, given := make([]float64, len(u.own)), make([]accountant.Allocation, len(u.own))
	for i, w := range u.own {
		used[i], given[i].Weight = w.Float(), u.allocated[i]
	}
	for _, i := range c.groupLine(c.groupKeys(u.quotas, used, given, false)) {
		if len(parties[i].members) > 0 {
			line = append(line, parties[i])
		}
	}
	return line
}

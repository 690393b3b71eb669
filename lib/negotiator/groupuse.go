package negotiator

import (
	"math"
	"slices"

	"fairspool/lib/accountant"
)

// groupUse is what accounting groups use as a cycle goes, and may use.
type groupUse struct {
	tree   *accountant.Groups
	quotas []accountant.Quota
	// caps bound what a group and those below it use together: quotas that are strictly
	// enforced.
	caps []float64
	// own is the weight in use by a group's own members, subtree with those below it.
	own, subtree []accountant.Weight
	// allocated is what each group may use by quotas and surplus, as they were last divided;
	// atFirst, when the cycle began.
	allocated, atFirst []float64
	// entitled is what preempting goes by: the sum of its members' parts.
	entitled []float64
	// served is each group's place in the order in which the cycle began to serve them.
	served []int
}

// newGroupUse returns what groups use when the cycle begins; nil without groups, where
// none has a quota, so that they are there for priority factors and accounts only, and with
// Pie Spins, which counts for itself.
func (c *cycle) newGroupUse() *groupUse {
	tree := c.cfg.Params.Groups
	if tree.None() || c.cfg.Pie == Spins || !slices.ContainsFunc(tree.List, func(g accountant.Group) bool { return g.Quota > 0 }) {
		return nil
	}
	n := len(tree.List)
	u := &groupUse{tree: tree, own: make([]accountant.Weight, n), subtree: make([]accountant.Weight, n),
		allocated: make([]float64, n), entitled: make([]float64, n), caps: make([]float64, n), served: make([]int, n)}
	u.quotas = c.quotas()
	for i := range u.caps {
		u.caps[i] = math.Inf(1)
	}
	if c.cfg.Quotas.Strict {
		u.caps = tree.Caps(u.quotas)
	}
	for _, s := range c.submitters {
		s.group = tree.Of(s.name)
		u.add(s, s.usage)
	}
	return u
}

// add counts what a submitter uses more, or less.
func (u *groupUse) add(s *submitter, more accountant.Weight) {
	u.own[s.group] += more
	for _, a := range u.tree.Up(s.group) {
		u.subtree[a] += more
	}
}

// under returns how much more a group may use by caps, its own and those above it.
func (u *groupUse) under(group int) float64 {
	room := math.Inf(1)
	for _, a := range u.tree.Up(group) {
		room = math.Min(room, u.caps[a]-u.subtree[a].Float())
	}
	return room
}

// bindTogether reports whether a member of a group may use more when one of another uses less:
// that is the same group, or a cap bounds both.
func (u *groupUse) bindTogether(group, other int) bool {
	return group == other || slices.ContainsFunc(u.tree.Up(group), func(a int) bool { return !math.IsInf(u.caps[a], 1) && u.isIn(other, a) })
}

// most returns what a group's members may use at most when nobody uses anything: quotas and
// caps alone bound it, and nothing those who regroup.
func (u *groupUse) most(group int) float64 {
	most, g := math.Inf(1), u.tree.List[group]
	if group == 0 || g.Autoregroup {
		return most
	}
	for _, a := range u.tree.Up(group) {
		most = math.Min(most, u.caps[a])
	}
	if g.AcceptSurplus {
		return most
	}
	own := 0.0
	for i, q := range u.quotas {
		if u.isIn(i, group) {
			own += q.Own
		}
	}
	return math.Min(most, own)
}

// uses counts what a submitter uses more, or less.
func (c *cycle) uses(s *submitter, more accountant.Weight) {
	s.usage += more
	if c.groupUse != nil {
		c.groupUse.add(s, more)
	}
}

// sharers are a party of submitters who are dealt slots together: a tier, or those of one
// accounting group, with whom in nobody's group those may be that regroup.
type sharers struct {
	members []*submitter
	group   int  // -1: none in particular
	extra   bool // the group may go beyond what it was allocated by one slot
}

// everybody returns a tier as a party.
func everybody(tier []*submitter) *sharers { return &sharers{members: tier, group: -1} }

// groupRoom returns how much more weight the groups of a submitter may use, as one of the
// party. Who regroups is bound by no group there.
func (c *cycle) groupRoom(p *sharers, s *submitter) float64 {
	u := c.groupUse
	if u == nil || p.group == 0 && s.group != 0 {
		return math.Inf(1)
	}
	room := u.under(s.group)
	if p.group >= 0 && !p.extra {
		room = math.Min(room, u.allocated[p.group]-u.own[p.group].Float())
	}
	return room
}

// underQuota reports whether groups let a submitter have a slot of a lot, for its Rank or,
// which must not make one group live at the expense of another, for priority.
func (c *cycle) underQuota(s *submitter, l lot, reason string) bool {
	u := c.groupUse
	if u == nil {
		return true
	}
	if !(c.dealing.group == 0 && s.group != 0) {
		for _, a := range u.tree.Up(s.group) {
			after := u.subtree[a] + l.weight
			if u.isIn(l.holder.group, a) {
				after -= l.charged
			}
			if after > u.subtree[a] && !fits(after, u.caps[a]) {
				return false
			}
		}
	}
	if reason == RankPreemption || s.group == l.holder.group {
		return true
	}
	return fits(u.own[s.group]+l.weight, u.entitled[s.group]) && c.spares(s, u.own[l.holder.group], l.charged, u.entitled[l.holder.group])
}

// isIn reports whether a group is another one or below it.
func (u *groupUse) isIn(group, in int) bool {
	for ; group > 0; group = u.tree.List[group].Parent {
		if group == in {
			return true
		}
	}
	return in == 0
}

// inUseOf tells what the submitter's group uses, if there are groups.
func (c *cycle) inUseOf(s *submitter, tell func(weight float64)) {
	if c.groupUse != nil {
		tell(c.groupUse.own[s.group].Float())
	}
}

// settleGroupUse notes at the end of the cycle what groups were allocated when it began, and
// what they use.
func (c *cycle) settleGroupUse() {
	u := c.groupUse
	if u == nil {
		if c.cfg.Pie != Spins && !c.cfg.Params.Groups.None() {
			c.settleGroups(nil, nil)
		}
		return
	}
	quotas, allocated := slices.Clone(u.quotas), slices.Clone(u.allocated)
	if u.atFirst != nil {
		copy(allocated, u.atFirst)
	}
	if u.tree.Regroups() {
		quotas[0].Own, allocated[0] = quotas[0].Subtree, quotas[0].Subtree
	}
	c.settleGroups(quotas, allocated)
}

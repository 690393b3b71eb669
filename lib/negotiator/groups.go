package negotiator

import (
	"slices"

	"fairspool/lib/accountant"
)

// Places in the order of groups (HTCondor's default GROUP_SORT_EXPR): those
// without a quota come late, and nobody's group last.
const (
	SortLate = 3.3e38
	SortLast = 3.4e38
)

// regroups is the surplus policy of groups that regroup automatically, and of
// nobody's group when there are such.
const regroups = "regroup"

// accounts returns every accounting group's part in the cycle, in the order of the
// tree; none without groups.
func (c *cycle) accounts() []Group {
	if c.inGroups == nil && !c.cfg.Params.Groups.None() {
		c.inGroups = c.account()
	}
	return c.inGroups
}

func (c *cycle) account() []Group {
	tree := c.cfg.Params.Groups
	list := make([]Group, len(tree.List))
	for i, q := range tree.Quotas(c.total.Float(), true) {
		g := tree.List[i]
		list[i] = Group{Name: g.Name, ConfigQuota: g.Quota, EffectiveQuota: Micro(q.Own), SubtreeQuota: Micro(q.Subtree), SurplusPolicy: surplus(g)}
	}
	if slices.ContainsFunc(list, func(g Group) bool { return g.SurplusPolicy == regroups }) {
		list[0].SurplusPolicy = regroups
	}
	if slices.ContainsFunc(list, func(g Group) bool { return g.ConfigQuota > 0 }) {
		c.warn("accounting groups have quotas: they are worked out and shown, but a cycle of this version does not go by them")
	}
	for _, s := range c.submitters {
		g := &list[tree.Of(s.name)]
		g.Usage += s.before.Float()
		g.Requested += s.before.Float() + s.demand
	}
	for i := range list {
		list[i].GroupSortKey = list[i].sortKey(i == 0)
	}
	return list
}

func (g Group) sortKey(root bool) float64 {
	switch {
	case root:
		return SortLast
	case g.EffectiveQuota > 0:
		return g.Usage / g.EffectiveQuota
	}
	return SortLate
}

// surplus returns what the group does when its quota is used up.
func surplus(g accountant.Group) string {
	switch {
	case g.Autoregroup:
		return regroups
	case g.AcceptSurplus:
		return "byquota"
	}
	return "no"
}

package negotiator

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Places in the order of groups (HTCondor's default GROUP_SORT_EXPR): those
// without a quota come late, nobody's group after them, and those for which
// GROUP_SORT_EXPR is no number last of all.
const (
	SortLate = 3.3e38
	SortLast = 3.4e38
	sortNone = math.MaxFloat32
)

// regroups is the surplus policy of groups that regroup automatically, and of
// nobody's group when there are such.
const regroups = "regroup"

// quotaRules returns how this cycle works quotas out.
func (c *cycle) quotaRules() accountant.QuotaRules {
	return accountant.QuotaRules{Oversubscribe: c.cfg.Quotas.Oversubscribe, Twice: c.cfg.Pie == Spins}
}

// quotaWeight returns the weight that quotas are parts of. Where every slot weighs 1,
// spins count what is left of a partitionable one as many as its Cpus.
func (c *cycle) quotaWeight() float64 {
	if c.cfg.Pie != Spins || c.cfg.UseSlotWeights {
		return min(c.poolSize(), c.total.Float())
	}
	sum := 0.0
	for i := range c.slots {
		s := &c.slots[i]
		n := int64(1)
		if cpus, ok := s.ad.EvalInt(c.eval, pool.AttrCpus); ok && s.whole != nil {
			n = max(0, cpus) + int64(len(c.ours[s.name]))
		}
		if s.counted || c.cfg.PoolSizeConstraint == nil {
			sum += float64(n)
		}
	}
	return sum
}

// quotas returns what the groups are entitled to, in the order of the tree.
func (c *cycle) quotas() []accountant.Quota {
	return c.cfg.Params.Groups.Quotas(c.quotaWeight(), c.quotaRules())
}

// accounts returns every accounting group's part in the cycle, in the order of the
// tree; none without groups.
func (c *cycle) accounts() []Group {
	if c.inGroups == nil && !c.cfg.Params.Groups.None() {
		c.inGroups = c.account()
	}
	return c.inGroups
}

// account works out what accounts returns. Settings that cannot be carried out as they
// are it warns of.
func (c *cycle) account() []Group {
	tree, quotas := c.cfg.Params.Groups, c.quotas()
	list := make([]Group, len(tree.List))
	for i, q := range quotas {
		g := tree.List[i]
		list[i] = Group{Name: g.Name, ConfigQuota: g.Quota, EffectiveQuota: Micro(q.Own), SubtreeQuota: Micro(q.Subtree), SurplusPolicy: surplus(g)}
	}
	if tree.Regroups() {
		list[0].SurplusPolicy, list[0].EffectiveQuota = regroups, list[0].SubtreeQuota
	}
	for _, s := range c.submitters {
		g := &list[tree.Of(s.name)]
		g.Usage += s.before.Float()
		g.Requested += s.before.Float() + s.demand
	}
	for _, text := range tree.Complaints(c.quotaWeight(), c.quotaRules()) {
		c.warn("%s", text)
	}
	used, asked := make([]float64, len(list)), make([]float64, len(list))
	for i, g := range list {
		used[i], asked[i] = g.Usage, g.Requested
	}
	given := tree.Allocate(quotas, asked, !c.cfg.UseSlotWeights)
	if tree.Regroups() {
		quotas[0].Own = quotas[0].Subtree
		given[0] = accountant.Allocation{Weight: quotas[0].Own}
	}
	for i, key := range c.groupKeys(quotas, used, given, true) {
		list[i].GroupSortKey, list[i].Allocated = key, Micro(given[i].Weight)
	}
	return list
}

// groupKeys returns the places of the groups in the order of negotiation, the lowest
// first: GROUP_SORT_EXPR, or without it the part of its quota that a group uses.
func (c *cycle) groupKeys(quotas []accountant.Quota, used []float64, given []accountant.Allocation, warn bool) []float64 {
	keys := make([]float64, len(quotas))
	bad, first := 0, 0
	for i := range keys {
		key, ok := groupKey(i == 0, quotas[i].Own, used[i]), true
		if e := c.cfg.Quotas.SortExpr; e != nil {
			ad := classad.New()
			ad.SetString(pool.AttrAccountingGroup, c.cfg.Params.Groups.List[i].Name)
			ad.SetReal("GroupQuota", quotas[i].Own)
			ad.SetReal("GroupResourcesInUse", used[i])
			ad.SetReal("GroupResourcesAllocated", given[i].Weight)
			key, ok = e.Eval(c.eval, ad, nil).Number()
		}
		if !ok || math.IsNaN(key) {
			if bad++; bad == 1 {
				first = i
			}
			key = sortNone
		}
		keys[i] = max(-math.MaxFloat64, min(key, math.MaxFloat64))
	}
	if warn && bad > 0 {
		more := ""
		if bad > 1 {
			more = plural.Pick(bad-1, ", nor for 1 group more", ", nor for %d groups more")
		}
		c.warn("GROUP_SORT_EXPR is no number for group %s%s: last in the order of groups", c.cfg.Params.Groups.List[first].Name, more)
	}
	return keys
}

func groupKey(root bool, quota, used float64) float64 {
	switch {
	case root:
		return SortLast
	case quota > 0:
		return used / quota
	}
	return SortLate
}

// groupLine returns the places of the groups in the order of negotiation: by key, and
// of equal ones in the order of the tree; where groups regroup, nobody's group last.
func (c *cycle) groupLine(keys []float64) []int {
	line, last := make([]int, len(keys)), c.cfg.Params.Groups.Regroups()
	for i := range line {
		line[i] = i
	}
	slices.SortStableFunc(line, func(a, b int) int {
		if last && (a == 0 || b == 0) {
			return b - a
		}
		return cmp.Compare(keys[a], keys[b])
	})
	return line
}

// settleGroups notes at the end of a cycle what the groups were allocated, in the
// order of the tree, and what they use of it; quotas are nil where none bounds anybody.
func (c *cycle) settleGroups(quotas []accountant.Quota, allocated []float64) {
	list := c.accounts()
	used := make([]float64, len(list))
	for _, s := range c.submitters {
		used[c.cfg.Params.Groups.Of(s.name)] += s.usage.Float()
	}
	if c.cfg.Pie == Spins { // which count what is preempted to the end of the cycle
		for _, m := range c.plan.Matches {
			if m.Preempts != nil {
				used[c.cfg.Params.Groups.Of(m.Preempts.Submitter)] -= m.Preempts.Weight.Float()
			}
		}
	}
	for i := range list {
		g := &list[i]
		if g.Used = Micro(used[i]); quotas == nil {
			g.Allocated = 0
			continue
		}
		g.Allocated, g.Used, g.Surplus = Micro(allocated[i]), Micro(used[i]), Micro(max(0, used[i]-quotas[i].Own))
	}
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

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
func (c *roster) quotaRules() accountant.QuotaRules {
	return accountant.QuotaRules{Oversubscribe: c.cfg.Quotas.Oversubscribe, Twice: c.cfg.Pie == Spins}
}

// quotaWeight returns the weight that quotas are parts of. Where every slot weighs 1,
// spins count what is left of a partitionable one as many as its Cpus.
func (c *roster) quotaWeight() float64 {
	if c.cfg.Pie != Spins || c.cfg.UseSlotWeights {
		return min(c.poolSize(), c.total.Float())
	}
	sum := 0.0
	for i := range c.slots {
		s := &c.slots[i]
		n := int64(1)
		if cpus, ok := s.Ad.EvalInt(c.Eval, pool.AttrCpus); ok && s.Whole != nil {
			n = max(0, cpus) + int64(len(c.ours[s.name]))
		}
		if s.counted || c.cfg.PoolSizeConstraint == nil {
			sum += float64(n)
		}
	}
	return sum
}

// quotas returns what the groups are entitled to, in the order of the tree.
func (c *roster) quotas() []accountant.Quota {
	return c.cfg.Params.Groups.Quotas(c.quotaWeight(), c.quotaRules())
}

// accounts returns every accounting group's part in the cycle, in the order of the
// tree; none without groups.
func (c *roster) accounts() []Group {
	if c.inGroups == nil && !c.cfg.Params.Groups.None() {
		c.inGroups = c.account()
	}
	return c.inGroups
}

// account works out what accounts returns. Settings that cannot be carried out as they
// are it warns of.
func (c *roster) account() []Group {
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
func (c *roster) groupKeys(quotas []accountant.Quota, used []float64, given []accountant.Allocation, warn bool) []float64 {
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
			key, ok = e.Eval(c.Eval, ad, nil).Number()
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
func (c *roster) groupLine(keys []float64) []int {
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
func (c *dealer) settleGroups(quotas []accountant.Quota, allocated []float64) {
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
func (c *shares) newGroupUse() *groupUse {
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
func (c *shares) uses(s *submitter, more accountant.Weight) {
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
func (c *shares) groupRoom(p *sharers, s *submitter) float64 {
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
func (c *shares) underQuota(s *submitter, l lot, reason string) bool {
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
func (c *shares) inUseOf(s *submitter, tell func(weight float64)) {
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

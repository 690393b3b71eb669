package deal

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// sortNone is the sort key of groups for which GROUP_SORT_EXPR is no number: last of all.
const sortNone = math.MaxFloat32

// regroups is the surplus policy of groups that regroup automatically, and of the root
// group when there are such.
const regroups = "regroup"

// quotaRules returns how this cycle works quotas out.
func (c *roster) quotaRules() accountant.QuotaRules {
	return accountant.QuotaRules{Oversubscribe: c.Config.Quotas.Oversubscribe, Twice: c.Config.Pie == negotiator.Spins}
}

// quotaWeight returns the weight that quotas are parts of. If every slot weighs 1, spins
// count the free rest of a partitionable slot as its Cpus.
func (c *roster) quotaWeight() float64 {
	if c.Config.Pie != negotiator.Spins || c.Config.UseSlotWeights {
		return min(c.poolSize(), c.total.Float())
	}
	sum := 0.0
	for i := range c.Slots {
		s := &c.Slots[i]
		n := int64(1)
		if cpus, ok := s.Ad.EvalInt(c.Eval, pool.AttrCpus); ok && s.Whole != nil {
			n = max(0, cpus) + int64(len(s.Claims))
		}
		if s.counted {
			sum += float64(n)
		}
	}
	return sum
}

// quotas returns the groups' quotas, in the order of the tree.
func (c *roster) quotas() []accountant.Quota {
	return c.Config.Params.Groups.Quotas(c.quotaWeight(), c.quotaRules())
}

// Accounts returns every accounting group's part in the cycle, in the order of the
// tree; none without groups.
func (c *roster) accounts() []negotiator.Group {
	if c.inGroups == nil && !c.Config.Params.Groups.None() {
		c.inGroups = c.account()
	}
	return c.inGroups
}

// account works out what accounts returns. Settings that cannot be carried out as they
// are it warns of.
func (c *roster) account() []negotiator.Group {
	tree, quotas := c.Config.Params.Groups, c.quotas()
	list := make([]negotiator.Group, len(tree.List))
	for i, q := range quotas {
		g := tree.List[i]
		list[i] = negotiator.Group{Name: g.Name, ConfigQuota: g.Quota, EffectiveQuota: negotiator.Micro(q.Own), SubtreeQuota: negotiator.Micro(q.Subtree), SurplusPolicy: surplus(g)}
	}
	if tree.Regroups() {
		list[0].SurplusPolicy, list[0].EffectiveQuota = regroups, list[0].SubtreeQuota
	}
	for _, s := range c.Submitters {
		g := &list[tree.Of(s.Name)]
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
	given := tree.Allocate(quotas, asked, !c.Config.UseSlotWeights)
	if tree.Regroups() {
		quotas[0].Own = quotas[0].Subtree
		given[0] = accountant.Allocation{Weight: quotas[0].Own}
	}
	for i, key := range c.groupKeys(quotas, used, given, true) {
		list[i].GroupSortKey, list[i].Allocated = key, negotiator.Micro(given[i].Weight)
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
		if e := c.Config.Quotas.SortExpr; e != nil {
			ad := classad.New()
			ad.SetString(pool.AttrAccountingGroup, c.Config.Params.Groups.List[i].Name)
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
		c.warn("GROUP_SORT_EXPR is no number for group %s%s: last in the order of groups", c.Config.Params.Groups.List[first].Name, more)
	}
	return keys
}

func groupKey(root bool, quota, used float64) float64 {
	switch {
	case root:
		return negotiator.SortLast
	case quota > 0:
		return used / quota
	}
	return negotiator.SortLate
}

// groupLine returns the places of the groups in the order of negotiation: by key, and of
// equal ones in the order of the tree; where groups regroup, the root group last.
func (c *roster) groupLine(keys []float64) []int {
	line, last := make([]int, len(keys)), c.Config.Params.Groups.Regroups()
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

// settleGroups notes at the end of a cycle the groups' allocations, in the order of the
// tree, and their use; quotas are nil if none bounds a submitter.
func (c *dealer) settleGroups(quotas []accountant.Quota, allocated []float64) {
	list := c.accounts()
	used := make([]float64, len(list))
	for _, s := range c.Submitters {
		used[c.Config.Params.Groups.Of(s.Name)] += s.Usage.Float()
	}
	if c.Config.Pie == negotiator.Spins { // spins count preempted slots to the end of the cycle
		for _, m := range c.Plan.Matches {
			if m.Preempts != nil {
				used[c.Config.Params.Groups.Of(m.Preempts.Submitter)] -= m.Preempts.Weight.Float()
			}
		}
	}
	for i := range list {
		g := &list[i]
		if g.Used = negotiator.Micro(used[i]); quotas == nil {
			g.Allocated = 0
			continue
		}
		g.Allocated, g.Used, g.Surplus = negotiator.Micro(allocated[i]), negotiator.Micro(used[i]), negotiator.Micro(max(0, used[i]-quotas[i].Own))
	}
}

// surplus words what the group does when its quota is used up.
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
	// caps bound the usage of a group together with all groups below it: strictly
	// enforced quotas.
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
	// wants, once asked for, has the groups with members that wait.
	wants []bool
}

// newGroupUse returns what groups use when the cycle begins; nil without groups, where
// none has a quota, so that they are there for priority factors and accounts only, and with
// Pie Spins, which counts for itself.
func (c *entitlement) newGroupUse() *groupUse {
	tree := c.Config.Params.Groups
	if tree.None() || c.Config.Pie == negotiator.Spins || !slices.ContainsFunc(tree.List, func(g accountant.Group) bool { return g.Quota > 0 }) {
		return nil
	}
	n := len(tree.List)
	u := &groupUse{tree: tree, own: make([]accountant.Weight, n), subtree: make([]accountant.Weight, n),
		allocated: make([]float64, n), entitled: make([]float64, n), caps: make([]float64, n), served: make([]int, n)}
	u.quotas = c.quotas()
	for i := range u.caps {
		u.caps[i] = math.Inf(1)
	}
	if c.Config.Quotas.Strict {
		u.caps = tree.Caps(u.quotas)
	}
	for _, s := range c.Submitters {
		s.Group = tree.Of(s.Name)
		u.add(s, s.Usage)
	}
	return u
}

// add adds to a submitter's usage, or subtracts.
func (u *groupUse) add(s *Submitter, more accountant.Weight) {
	u.own[s.Group] += more
	for _, a := range u.tree.Up(s.Group) {
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

// most returns the limit of a group's members when nothing is in use: only quotas and
// caps bound it, and nothing bounds submitters that regroup.
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

// uses adds to a submitter's usage, or subtracts.
func (c *entitlement) uses(s *Submitter, more accountant.Weight) {
	s.Usage += more
	if c.groupUse != nil {
		c.groupUse.add(s, more)
	}
}

// sharers are submitters that are dealt slots together: a tier, or the members of one
// accounting group; the root group may include submitters that regroup.
type sharers struct {
	members []*Submitter
	group   int  // -1: none in particular
	extra   bool // the group may exceed its allocation by one slot
}

// everybody returns a tier as sharers.
func everybody(tier []*Submitter) *sharers { return &sharers{members: tier, group: -1} }

// groupRoom returns how much more weight the groups of a submitter may use, as one of the
// party. No group bounds a submitter that regroups there.
func (c *entitlement) groupRoom(p *sharers, s *Submitter) float64 {
	u := c.groupUse
	if u == nil || p.group == 0 && s.Group != 0 {
		return math.Inf(1)
	}
	room := u.under(s.Group)
	if p.group >= 0 && !p.extra {
		room = math.Min(room, u.allocated[p.group]-u.own[p.group].Float())
	}
	return room
}

// underQuota reports whether groups let a submitter have a slot of a lot, for its Rank or,
// which must not make one group live at the expense of another, for priority.
func (c *entitlement) underQuota(s *Submitter, l lot, reason string) bool {
	u := c.groupUse
	if u == nil {
		return true
	}
	if !(c.dealing.group == 0 && s.Group != 0) {
		for _, a := range u.tree.Up(s.Group) {
			after := u.subtree[a] + l.weight
			if u.isIn(l.holder.Group, a) {
				after -= l.charged
			}
			if after > u.subtree[a] && !Fits(after, u.caps[a]) {
				return false
			}
		}
	}
	if reason == negotiator.RankPreemption || s.Group == l.holder.Group {
		return true
	}
	return c.fairer(s, l, u.own[s.Group], u.entitled[s.Group], u.own[l.holder.Group], u.entitled[l.holder.Group])
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

// settleGroupUse notes, after the deal, the groups' allocations when the cycle began, and their
// usage. It sorts the submitters by when their groups were served first.
func (c *dealer) settleGroupUse() {
	u := c.groupUse
	if u == nil {
		if !c.Config.Params.Groups.None() {
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
	slices.SortStableFunc(c.Submitters, func(a, b *Submitter) int {
		return cmp.Or(NiceLast(a, b), cmp.Compare(u.served[a.Group], u.served[b.Group]))
	})
}

// full returns the groups that leave no room by quotas.
func (c *dealer) full(ask fullness, freed map[int]accountant.Weight) []negotiator.FullGroup {
	u := c.groupUse
	if u == nil {
		return nil
	}
	if u.wants == nil {
		u.wants = make([]bool, len(u.own))
		for _, s := range c.Submitters {
			u.wants[s.Group] = u.wants[s.Group] || slices.ContainsFunc(s.Queues, func(q *Queue) bool { return q.Kept == "" && q.left+len(q.passed) > 0 })
		}
	}
	return u.full(ask, freed)
}

// full returns the groups without room for ask once some weights are freed. A group's part of its subgroups' quotas
// depends on their wishes; a group that accepts surplus could have it if no other group asked for it.
func (u *groupUse) full(ask fullness, freed map[int]accountant.Weight) (list []negotiator.FullGroup) {
	own := &u.tree.List[ask.group]
	if !ask.nice && (own.Autoregroup || ask.group == 0 && u.tree.Regroups()) {
		return nil
	}
	used := func(i int) float64 { return (u.own[i] - freed[i]).Float() }
	if !ask.nice {
		requested := make([]float64, len(u.own))
		for i := range requested {
			if requested[i] = used(i); i != ask.group && u.wants[i] && !ask.alone && !own.AcceptSurplus {
				requested[i] += u.quotas[0].Subtree
			}
		}
		requested[ask.group] += ask.weight.Float()
		allowed := u.tree.Allocate(u.quotas, requested, false)[ask.group].Weight
		room := allowed - used(ask.group)
		// One that accepts surplus may pass its allocation by a part of a slot.
		if !Fits(ask.weight, room) && !(own.AcceptSurplus && room > Slack) {
			list = append(list, negotiator.FullGroup{Name: own.Name, Used: negotiator.Micro(used(ask.group)), Allowed: negotiator.Micro(allowed), AcceptsSurplus: own.AcceptSurplus && ask.group > 0})
		}
	}
	for _, a := range u.tree.Up(ask.group) {
		below := u.subtree[a]
		for i, w := range freed {
			if u.isIn(i, a) {
				below -= w
			}
		}
		if Fits(ask.weight, u.caps[a]-below.Float()) || a == ask.group && len(list) > 0 && len(u.tree.List[a].Children) == 0 {
			continue
		}
		list = append(list, negotiator.FullGroup{Name: u.tree.List[a].Name, Used: negotiator.Micro(below.Float()), Allowed: negotiator.Micro(u.caps[a]), Subtree: true})
	}
	return list
}

// full returns the groups whose members may take nothing more in spins.
func (sp *spinning) full(ask fullness, freed map[int]accountant.Weight) (list []negotiator.FullGroup) {
	tree, rows, group := sp.Config.Params.Groups, sp.accounts(), ask.group
	own := &tree.List[group]
	if own.Autoregroup || group == 0 && tree.Regroups() {
		return nil
	}
	used := func(i int) float64 { return rows[i].Used - freed[i].Float() }
	// Groups are bound by whole numbers there.
	if g := &rows[group]; used(group) >= math.Trunc(max(g.Allocated, g.EffectiveQuota)) || g.Allocated <= 0 {
		list = append(list, negotiator.FullGroup{Name: g.Name, Used: negotiator.Micro(used(group)), Allowed: g.Allocated, AcceptsSurplus: own.AcceptSurplus && group > 0})
	}
	if !sp.Config.Quotas.Strict {
		return list
	}
	caps, subtree := tree.Caps(sp.quotas()), make([]float64, len(rows))
	for i := range rows {
		for _, a := range tree.Up(i) {
			subtree[a] += used(i)
		}
	}
	for _, a := range tree.Up(group) {
		if (a != group || len(list) == 0) && subtree[a] >= caps[a] {
			list = append(list, negotiator.FullGroup{Name: rows[a].Name, Used: negotiator.Micro(subtree[a]), Allowed: negotiator.Micro(caps[a]), Subtree: true})
		}
	}
	return list
}

// SharesRest reports whether a submitter is served behind all groups, because it is in no
// group and groups regroup, or because its own group regroups.
func (c *entitlement) SharesRest(s *Submitter, worst bool) bool {
	switch {
	case c.groupUse == nil:
		return false
	case s.Group == 0:
		return c.groupUse.tree.Regroups()
	}
	return worst && c.groupUse.tree.List[s.Group].Autoregroup
}

// parties divides quotas by the groups' present usage and wishes, and returns the groups
// of a tier in the order in which they are served.
func (c *entitlement) parties(tier []*Submitter, stuck map[int]bool) []*sharers {
	u := c.groupUse
	requested := make([]float64, len(u.own))
	parties := make([]*sharers, len(u.own))
	for i := range parties {
		parties[i] = &sharers{group: i}
		requested[i] = u.own[i].Float()
	}
	for _, s := range tier {
		p := parties[s.Group]
		p.members = append(p.members, s)
		if !stuck[s.Group] {
			requested[s.Group] += c.wants(s)
		}
		if s.Group != 0 && u.tree.List[s.Group].Autoregroup {
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

// inServingOrder returns the parties with members in the order in which they are served:
// by GROUP_SORT_EXPR, or by their usage as a part of the quota.
func (c *entitlement) inServingOrder(parties []*sharers) (line []*sharers) {
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

// noteStuck notes the groups that could not make use of all that they were allocated,
// which others may then have; false: none is new.
func (c *entitlement) noteStuck(parties []*sharers, stuck map[int]bool) (any bool) {
	u := c.groupUse
	for _, p := range parties {
		if !stuck[p.group] && u.allocated[p.group]-u.own[p.group].Float() > Slack && slices.ContainsFunc(p.members, (*Submitter).waiting) {
			stuck[p.group], any = true, true
		}
	}
	return any
}

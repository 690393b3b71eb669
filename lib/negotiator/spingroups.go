package negotiator

import (
	"math"
	"slices"

	"fairspool/lib/accountant"
)

// Bounds on what a cycle may be asked for, far beyond what anything is gained by.
const (
	mostRounds = 100
	mostPasses = 1000
)

// spinGroups is the state of a division among accounting groups. Lists are in the
// order of the tree, numbers in slot weight.
type spinGroups struct {
	*spinning
	tree    *accountant.Groups
	quotas  []accountant.Quota
	total   float64   // what quotas are parts of
	caps    []float64 // of the groups and all below them; nil: none are kept
	asked   []float64 // what members run and want
	used    []float64 // what they use, when a round began
	given   []accountant.Allocation
	waiting [][]*entry // who is not done with the group
	most    []float64  // of the allocations of all rounds
	limits  []float64  // the last one that each group negotiated with
	surplus bool       // some group accepts surplus
	begun   bool       // the first round has
}

// negotiateGroups divides the pool among accounting groups, and what each may use
// among its members. Groups that fall short of their allocation leave the rest of it to
// the others in another round, as often as GROUP_QUOTA_MAX_ALLOCATION_ROUNDS allows.
func (sp *spinning) negotiateGroups(all []*entry) {
	g := sp.newSpinGroups(all)
	members := make([][]*entry, len(g.waiting))
	copy(members, g.waiting)
	for range min(max(1, sp.cfg.Quotas.Rounds), mostRounds) {
		g.allocate()
		g.round()
		if g.assess() {
			break
		}
	}
	for i, list := range slices.Backward(members) {
		g.settleMembers(i, list)
	}
	g.settleGroups(g.quotas, g.most)
}

// settleMembers notes for whom of a group nothing is left of its share. Who regroups has
// something left until that is so in nobody's group, too, which comes last.
func (g *spinGroups) settleMembers(i int, list []*entry) {
	elsewhere := map[*submitter]bool{}
	for _, e := range list {
		elsewhere[e.submitter] = i == 0 && g.tree.Of(e.name) > 0 && !e.spent
	}
	g.settle(&spinParty{group: i, weight: g.weightOf(g.limits[i])}, list)
	for _, e := range list {
		e.spent = e.spent && !elsewhere[e.submitter]
	}
}

func (sp *spinning) newSpinGroups(all []*entry) *spinGroups {
	tree := sp.cfg.Params.Groups
	n := len(tree.List)
	g := &spinGroups{spinning: sp, tree: tree, quotas: sp.quotas(), total: sp.quotaWeight(), asked: make([]float64, n), used: make([]float64, n),
		waiting: make([][]*entry, n), most: make([]float64, n), limits: make([]float64, n)}
	if sp.cfg.Quotas.Strict {
		g.caps = tree.Caps(g.quotas)
	}
	running := sp.running()
	for _, e := range all {
		at := tree.Of(e.name)
		g.waiting[at] = append(g.waiting[at], e)
		// With USE_GLOBAL_JOB_PRIOS each entry counts with all of its submitter's jobs.
		g.asked[at] += sp.demandOf(e.submitter, running[e.name])
	}
	for i, one := range tree.List {
		g.used[i] = sp.inGroup[i].Float()
		g.surplus = g.surplus || i > 0 && one.AcceptSurplus
		if one.Autoregroup {
			for _, e := range g.waiting[i] {
				again := *e
				g.waiting[0] = append(g.waiting[0], &again)
			}
		}
	}
	return g
}

// demandOf returns what a submitter's ad would have as its demand: that of its jobs
// that run by claims of this pool, and of the idle ones. What it holds outside, no queue
// of ours knows.
func (sp *spinning) demandOf(s *submitter, running Holding) float64 {
	if !sp.cfg.Quotas.WeightedDemand {
		return float64(running.Slots + s.idle)
	}
	return running.Weight.Float() + s.demand
}

// allocate allocates quotas for a round. In autoregroup mode nobody's group has, asks for
// and gets the whole pool from then on.
func (g *spinGroups) allocate() {
	g.given = g.tree.Allocate(g.quotas, g.asked, !g.cfg.UseSlotWeights)
	if g.tree.Regroups() {
		g.quotas[0].Own, g.given[0] = g.total, accountant.Allocation{Weight: g.total}
	}
	for i, a := range g.given {
		g.most[i] = max(g.most[i], a.Weight)
	}
}

// round lets all groups negotiate once, the lowest sort key first, or with a
// GROUP_QUOTA_ROUND_ROBIN_RATE several times, with limits that grow by steps of it.
func (g *spinGroups) round() {
	keys := g.groupKeys(g.quotas, g.used, g.given, false)
	line := g.groupLine(keys)
	for i, key := range keys {
		if !g.begun {
			g.accounts()[i].GroupSortKey = key
		}
	}
	g.begun = true
	farthest := 0.0
	for i, q := range g.quotas {
		target := q.Own
		if g.surplus {
			target = g.given[i].Weight
		}
		farthest = max(farthest, target-g.used[i])
	}
	step := math.MaxFloat64
	if r := g.cfg.Quotas.RoundRobinRate; r > 0 {
		step = max(1, r, farthest/mostPasses)
	}
	for n, pass := 0.0, 0; pass == 0 || n < farthest && pass <= mostPasses; pass++ {
		n = min(n+step, farthest)
		for _, i := range line {
			g.negotiateGroup(i, n, farthest)
		}
	}
}

// negotiateGroup lets one group negotiate, when it has gone n of the way.
func (g *spinGroups) negotiateGroup(i int, n, farthest float64) {
	switch {
	case g.given[i].Weight <= 0, len(g.waiting[i]) == 0:
		return
	case g.used[i] >= g.given[i].Weight && !g.cfg.Preemption.Consider:
		return
	}
	limit := g.limit(i, n, farthest)
	g.limits[i] = limit
	p := &spinParty{name: g.tree.List[i].Name, group: i, weight: g.weightOf(limit), limit: limit, bounded: i > 0 || !g.tree.Regroups()}
	entries := g.waiting[i]
	if i == 0 {
		changed := map[*submitter]bool{} // with USE_GLOBAL_JOB_PRIOS one has several entries
		for _, e := range entries {
			if !changed[e.submitter] {
				changed[e.submitter] = true
				e.change()
				defer e.change()
			}
		}
	}
	g.waiting[i] = g.negotiate(p, entries)
}

// limit returns what a group may use in one pass: part of the way from what it used
// to its allocation or quota, whichever is more.
func (g *spinGroups) limit(i int, n, farthest float64) float64 {
	target := max(g.given[i].Weight, g.quotas[i].Own)
	limit := target
	switch way := target - g.used[i]; {
	case way > 0 && farthest > 0:
		limit = min(target, g.used[i]+way*(n/farthest))
	case way > 0:
		// All have what they were allocated, only less than this one's quota. HTCondor's
		// limit is 0/0 of the way then, which as a whole number is the least there is.
		return math.MinInt32
	}
	if !g.cfg.UseSlotWeights {
		limit = math.Floor(limit)
	}
	// HTCondor hands the limit on as a whole number.
	return math.Trunc(min(g.enforced(i, limit), math.MaxInt32))
}

// weightOf returns what the shares of a group with this limit are parts of.
func (g *spinGroups) weightOf(limit float64) float64 { return min(g.weight, limit) }

// enforced returns the limit as the caps of the group and of all above it bound it.
// What was used when the round began counts as the group's, as in HTCondor.
func (g *spinGroups) enforced(i int, limit float64) float64 {
	if g.caps == nil {
		return limit
	}
	more := limit - g.used[i]
	for at := i; at >= 0; at = g.tree.List[at].Parent {
		more = min(more, max(0, g.caps[at]-g.subtree(at)))
	}
	return more + g.used[i]
}

// subtree returns what a group and all below it use now.
func (g *spinGroups) subtree(i int) float64 {
	below := make([]bool, len(g.tree.List))
	var sum accountant.Weight
	for at, one := range g.tree.List { // parents stand before their children
		if below[at] = at == i || one.Parent >= 0 && below[one.Parent]; below[at] {
			sum += g.inGroup[at]
		}
	}
	return sum.Float()
}

// assess looks at what became of a round's allocations, and says whether they are all
// in use. A group that fell short asks for no more than it uses from then on.
func (g *spinGroups) assess() bool {
	use, all := 0.0, 0.0
	for i, a := range g.given {
		g.used[i] = g.inGroup[i].Float()
		use += min(g.used[i], a.Weight)
		all += a.Weight
		// The sum, which may be off by a digit, is what HTCondor goes on with.
		if g.asked[i] = a.Unmet + a.Weight; g.used[i] < a.Weight {
			g.asked[i] = g.used[i]
		}
	}
	return use >= all
}

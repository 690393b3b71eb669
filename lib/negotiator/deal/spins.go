package deal

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
)

// spinning is the state of a division by spins.
type spinning struct {
	*dealer
	weight     float64             // of the pool
	all, slots int                 // of the pool, and those still looked at
	inGroup    []accountant.Weight // the same by group
	order      map[*Submitter]int  // by the first turn
	sliced     map[*Submitter]bool // the submitters that had one
}

// underCeiling reports whether the room under a ceiling is at least the weight of the lightest slot of
// the pool; a slot may pass the ceiling.
func (sp *spinning) underCeiling(s *Submitter, _ accountant.Weight) bool {
	left := Headroom(s.Ceiling, sp.Counted(s))
	return left > 0 && float64(left) >= sp.Lightest
}

// spinParty is the submitters that negotiate together: all, or with groups the members of
// one.
type spinParty struct {
	name  string // of the group
	group int    // its place in the tree
	// weight is the weight that shares are parts of; limit is the group's limit, if it is
	// bounded at all.
	weight, limit float64
	bounded       bool
}

// entry takes part in the spins: a submitter, or with USE_GLOBAL_JOB_PRIOS its jobs of a
// range of JobPrio.
type entry struct {
	*Submitter
	ranged    bool
	low, high int
	starved   float64 // the key of order: usage as a part of its limit
}

// fill divides the pool as HTCondor's negotiator does: in spins. Each spin gives every
// submitter, in the order of EUPs, up to its part of the pool.
func (sp *spinning) fill() {
	all := sp.entries()
	byEUP := func(a, b *Submitter) int { return cmp.Compare(a.EUP, b.EUP) }
	if sp.Config.Params.Groups.None() {
		if len(all) == 0 {
			return
		}
		p := &spinParty{weight: sp.weight}
		sp.negotiate(p, all)
		sp.settle(p, all)
	} else {
		sp.negotiateGroups(all)
		byEUP = func(a, b *Submitter) int { return 0 }
	}
	slices.SortStableFunc(sp.Submitters, func(a, b *Submitter) int {
		return cmp.Or(byEUP(a, b), cmp.Compare(sp.place(a), sp.place(b)))
	})
}

// place returns a submitter's place in the order of negotiation; submitters that took no
// part come last.
func (sp *spinning) place(s *Submitter) int {
	if at, took := sp.order[s]; took {
		return at
	}
	return math.MaxInt
}

// negotiate goes through the spins of a party, entries below their floors first, and
// returns the entries that still want something.
func (sp *spinning) negotiate(p *spinParty, entries []*entry) []*entry {
	var below []*entry
	for _, e := range entries {
		if e.Floor > 0 && sp.used(e) < float64(e.Floor) {
			one := *e
			below = append(below, &one)
		}
	}
	if len(below) > 0 {
		sp.rounds(p, below, true)
	}
	return sp.rounds(p, entries, false)
}

// settle notes for whom of a party nothing is left of its share, as the next cycle will
// see it.
func (sp *spinning) settle(p *spinParty, entries []*entry) {
	d := sp.divide(p, entries)
	for _, e := range entries {
		share, _, _ := sp.entitled(p, e, &d)
		e.Spent = !sp.Config.IgnoreUserPriorities && share*p.weight <= e.Usage.Float()
	}
}

func (c *dealer) newSpinning() *spinning {
	sp := &spinning{dealer: c, weight: c.poolSize(), order: map[*Submitter]int{}, sliced: map[*Submitter]bool{}}
	if math.IsInf(sp.weight, 1) {
		sp.weight = c.total.Float()
	}
	c.Lightest, c.whole = c.leastWeight(), map[*Submitter]accountant.Weight{}
	sp.inGroup = make([]accountant.Weight, max(1, len(c.accounts())))
	for _, s := range c.Submitters {
		sp.charge(s, s.Usage)
	}
	sp.all, sp.slots = c.lookedAt()
	return sp
}

// charge adds to a submitter's usage.
func (sp *spinning) charge(s *Submitter, w accountant.Weight) {
	sp.whole[s] += w
	sp.inGroup[sp.Config.Params.Groups.Of(s.Name)] += w
}

// entries returns the entries that take part: submitters with idle jobs or a claim of
// this pool. A submitter that only holds slots outside takes no part, because it has no
// queue.
func (sp *spinning) entries() []*entry {
	running := sp.running()
	var all []*entry
	for _, s := range sp.Submitters {
		switch {
		case s.idle == 0 && running[s.Name].Slots == 0:
		case !sp.Config.GlobalJobPrios || s.idle == 0:
			all = append(all, &entry{Submitter: s})
		default:
			for _, p := range s.jobPrios() {
				all = append(all, &entry{Submitter: s, ranged: true, low: p, high: p})
			}
		}
	}
	return all
}

// running returns what submitters hold by claims of this pool.
func (sp *spinning) running() map[string]negotiator.Holding {
	running := map[string]negotiator.Holding{}
	for i := range sp.claims {
		if cl := &sp.claims[i]; cl.State.Charged() {
			h := running[cl.Submitter]
			running[cl.Submitter] = negotiator.Holding{Slots: h.Slots + 1, Weight: h.Weight + cl.Weight}
		}
	}
	return running
}

func (sp *spinning) used(e *entry) float64 { return sp.whole[e.Submitter].Float() }

// exhausted reports whether a party's group uses all that it may.
func (sp *spinning) exhausted(p *spinParty) bool {
	return p.bounded && sp.inGroup[p.group].Float() >= p.limit
}

// rounds does spin after spin until a spin eats none of the pie and no entry leaves, or
// no slot or submitter is left, or the group has reached its limit. The floor round is
// one spin. It returns the submitters that did not leave.
func (sp *spinning) rounds(p *spinParty, entries []*entry, floor bool) []*entry {
	for number := 1; ; number++ {
		// A slot that prefers another job to the one that it runs is not subject to
		// limits.
		limits := number > 1 || !sp.Config.Preemption.Consider
		if limits && sp.exhausted(p) {
			return entries
		}
		if !sp.Config.Preemption.Consider {
			entries = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.idle == 0 })
		}
		d := sp.divide(p, entries)
		if len(entries) == 0 || !sp.Config.Preemption.Consider && d.pie <= 0 {
			return entries
		}
		if number == 1 {
			if entries = sp.inLine(entries); !floor {
				sp.enlist(entries)
			}
		}
		spin := negotiator.Spin{Number: number, Group: p.name, Floor: floor, Slots: sp.all, SlotsLeft: sp.slots, Weight: p.weight,
			MinSlotWeight: sp.Lightest, PieLeft: d.pie, NormalFactor: d.factor, MaxPrio: d.worst}
		var stay []*entry
		for i, e := range entries {
			if limits && sp.exhausted(p) {
				stay = append(stay, entries[i:]...)
				break
			}
			t := sp.turn(p, e, &spin, &d)
			spin.Turns = append(spin.Turns, t)
			if t.Outcome == negotiator.SpinLimited {
				stay = append(stay, e)
			}
		}
		sp.Plan.Spins = append(sp.Plan.Spins, spin)
		again := d.pie < spin.PieLeft || len(stay) < len(entries)
		if entries = stay; floor || !again || len(stay) == 0 || sp.slots == 0 {
			return entries
		}
	}
}

// enlist notes the order of negotiation, by the first turns.
func (sp *spinning) enlist(entries []*entry) {
	for _, e := range entries {
		if _, known := sp.order[e.Submitter]; !known {
			sp.order[e.Submitter] = len(sp.order)
		}
	}
}

// inLine sorts entries for the negotiation: the best EUP first, then the greatest
// JobPrio, then the entry with the smaller usage relative to its limit, then by name.
// Neighbouring entries of one submitter become one.
func (sp *spinning) inLine(entries []*entry) []*entry {
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.EUP, b.EUP), cmp.Compare(b.low, a.low), cmp.Compare(a.starved, b.starved),
			strings.Compare(a.Name, b.Name))
	})
	var line []*entry
	for _, e := range entries {
		if n := len(line); n > 0 && line[n-1].Submitter == e.Submitter {
			line[n-1].low = min(line[n-1].low, e.low)
			continue
		}
		line = append(line, e)
	}
	return line
}

// division is what limits follow from in one spin.
type division struct {
	worst, factor float64
	pie           float64 // the rest of the pie
	room          float64 // the room under the group's limit when the spin began
}

// divide computes the division among entries, and how starved each is.
func (sp *spinning) divide(p *spinParty, entries []*entry) (d division) {
	d.room = math.MaxFloat64
	if p.bounded {
		d.room = max(0, p.limit-sp.inGroup[p.group].Float())
	}
	for _, e := range entries {
		d.worst = max(d.worst, e.EUP)
	}
	counted := map[*Submitter]bool{}
	for _, e := range entries {
		if !counted[e.Submitter] {
			counted[e.Submitter] = true
			d.factor += d.worst / e.EUP
		}
	}
	for _, e := range entries {
		_, limit, _ := sp.entitled(p, e, &d)
		used := sp.used(e)
		e.starved = math.Inf(1)
		if used+limit > 0 {
			e.starved = used / (used + limit)
		}
		d.pie = min(d.pie+limit, math.MaxFloat64)
	}
	return d
}

// entitled returns an entry's share of the pool, how much more it may use by that, and
// how much of that it may take of slots without a holder: no more than the group. The
// products are rounded one by one, as HTCondor's are.
func (sp *spinning) entitled(p *spinParty, e *entry, d *division) (share, limit, unclaimed float64) {
	share = d.worst / float64(e.EUP*d.factor)
	limit = math.MaxFloat64
	if !sp.Config.IgnoreUserPriorities {
		limit = max(0, float64(share*p.weight)-sp.used(e))
	}
	if unclaimed = min(limit, d.room); !sp.Config.Preemption.Consider {
		limit = unclaimed
	}
	return share, limit, unclaimed
}

// Bounds on the settings of a cycle, far beyond useful values.
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
	used    []float64 // their usage when a round began
	given   []accountant.Allocation
	waiting [][]*entry // entries that are not done with the group
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
	for range min(max(1, sp.Config.Quotas.Rounds), mostRounds) {
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

// settleMembers notes for whom of a group nothing is left of its share. A submitter that
// regroups has something left until the root group, which comes last, is done, too.
func (g *spinGroups) settleMembers(i int, list []*entry) {
	elsewhere := map[*Submitter]bool{}
	for _, e := range list {
		elsewhere[e.Submitter] = i == 0 && g.tree.Of(e.Name) > 0 && !e.Spent
	}
	g.settle(&spinParty{group: i, weight: g.weightOf(g.limits[i])}, list)
	for _, e := range list {
		e.Spent = e.Spent && !elsewhere[e.Submitter]
	}
}

func (sp *spinning) newSpinGroups(all []*entry) *spinGroups {
	tree := sp.Config.Params.Groups
	n := len(tree.List)
	g := &spinGroups{spinning: sp, tree: tree, quotas: sp.quotas(), total: sp.quotaWeight(), asked: make([]float64, n), used: make([]float64, n),
		waiting: make([][]*entry, n), most: make([]float64, n), limits: make([]float64, n)}
	if sp.Config.Quotas.Strict {
		g.caps = tree.Caps(g.quotas)
	}
	running := sp.running()
	for _, e := range all {
		at := tree.Of(e.Name)
		g.waiting[at] = append(g.waiting[at], e)
		// With USE_GLOBAL_JOB_PRIOS each entry counts with all of its submitter's jobs.
		g.asked[at] += sp.demandOf(e.Submitter, running[e.Name])
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

// demandOf returns the demand in a submitter's ad: of its jobs that run by claims of this
// pool, and of its idle ones. No queue of ours knows the jobs that it has outside.
func (sp *spinning) demandOf(s *Submitter, running negotiator.Holding) float64 {
	if !sp.Config.Quotas.WeightedDemand {
		return float64(running.Slots + s.idle)
	}
	return running.Weight.Float() + s.demand
}

// allocate allocates quotas for a round. In autoregroup mode the root group has, asks for
// and gets the whole pool from then on.
func (g *spinGroups) allocate() {
	g.given = g.tree.Allocate(g.quotas, g.asked, !g.Config.UseSlotWeights)
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
	if r := g.Config.Quotas.RoundRobinRate; r > 0 {
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
	case g.used[i] >= g.given[i].Weight && !g.Config.Preemption.Consider:
		return
	}
	limit := g.limit(i, n, farthest)
	g.limits[i] = limit
	p := &spinParty{name: g.tree.List[i].Name, group: i, weight: g.weightOf(limit), limit: limit, bounded: i > 0 || !g.tree.Regroups()}
	entries := g.waiting[i]
	if i == 0 {
		changed := map[*Submitter]bool{} // with USE_GLOBAL_JOB_PRIOS one has several entries
		for _, e := range entries {
			if !changed[e.Submitter] {
				changed[e.Submitter] = true
				e.change()
				defer e.change()
			}
		}
	}
	g.waiting[i] = g.negotiate(p, entries)
}

// limit returns a group's limit in one pass: part of the way from its earlier usage to
// its allocation or quota, whichever is more.
func (g *spinGroups) limit(i int, n, farthest float64) float64 {
	target := max(g.given[i].Weight, g.quotas[i].Own)
	limit := target
	switch way := target - g.used[i]; {
	case way > 0 && farthest > 0:
		limit = min(target, g.used[i]+way*(n/farthest))
	case way > 0:
		// All groups have their allocations, only this one's quota is more. HTCondor's
		// limit is then 0/0 of the way, which as a whole number is the least there is.
		return math.MinInt32
	}
	if !g.Config.UseSlotWeights {
		limit = math.Floor(limit)
	}
	// HTCondor hands the limit on as a whole number.
	return math.Trunc(min(g.enforced(i, limit), math.MaxInt32))
}

// weightOf returns the weight that the shares of a group with this limit are parts of.
func (g *spinGroups) weightOf(limit float64) float64 { return min(g.weight, limit) }

// enforced returns the limit, bounded by the caps of the group and of all groups above
// it. The usage when the round began counts as the group's, as in HTCondor.
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

// subtree returns the present usage of a group and all groups below it.
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

// assess looks at what became of a round's allocations, and reports whether they are all
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

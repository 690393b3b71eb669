package deal

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// dealer is what all ways to deal have in common: how a submitter takes its turn.
type dealer struct {
	reservations
}

// dealing is a way to deal out slots: by shares, by one queue of all jobs or by HTCondor's spins.
type dealing interface {
	// fill matches jobs and slots until no remaining job could use a slot, and completes the
	// plan's parts on groups and on the queue.
	fill()
	// underCeiling reports whether a submitter's ceiling allows it one more slot of a weight.
	underCeiling(s *Submitter, w accountant.Weight) bool
	// full returns the groups that leave no room once some weights are freed, by group.
	full(ask fullness, freed map[int]accountant.Weight) []negotiator.FullGroup
	// protects does as protection, of tenants that match.
	protects(s *Submitter, k *Autocluster, t *tenants, asked *int) negotiator.Protection
}

// newDealing returns the way to deal that the configuration asks for.
func (c *dealer) newDealing() dealing {
	switch {
	case c.OneQueue != nil:
		return &queueDealer{c}
	case c.Config.Pie == negotiator.Spins:
		return c.newSpinning()
	}
	return &shareDealer{c}
}

// shareDealer deals by shares.
type shareDealer struct{ *dealer }

// fill deals first to submitters below their floors, then to all except nice users, then
// to nice users, which share the rest.
func (c *shareDealer) fill() {
	if slices.ContainsFunc(c.Submitters, func(s *Submitter) bool { return s.Floor > 0 }) {
		c.contend(c.Submitters)
		c.raise()
	}
	c.entitle()
	for _, tier := range c.tiers() {
		c.serve(tier, c.poolSize(), true)
	}
	for c.release() {
		c.lookAgain()
		for _, tier := range c.tiers() {
			c.serve(tier, math.Inf(1), false)
		}
	}
	c.preemptTheRest()
	c.reserve()
	c.settleGroupUse()
}

// preemptTheRest lets submitters preempt by the state after the deal, until none does: so
// the next cycle finds nothing to preempt if nothing changes until then.
func (c *shareDealer) preemptTheRest() {
	if len(c.tenants) == 0 {
		return
	}
	c.last = true
	c.preemptAll()
	if slices.ContainsFunc(c.Submitters, func(s *Submitter) bool { return s.Usage.Float() < s.entitled && s.matched < s.idle }) {
		c.parts = true
		c.preemptAll()
	}
}

func (c *shareDealer) preemptAll() {
	for before := -1; c.moves != before || c.release(); {
		before = c.moves
		c.lookAgain()
		c.entitle()
		for _, s := range c.Submitters {
			s.since = -1
		}
		for _, tier := range c.tiers() {
			c.serve(tier, math.Inf(1), false)
		}
	}
}

// serve gives a tier its slots, in a pool of which no more than size is shared. Nice users
// have no groups: they share the rest of all groups, as far as quotas allow.
func (c *shareDealer) serve(tier []*Submitter, size float64, first bool) {
	c.contend(tier)
	if c.groupUse != nil && !tier[0].Nice {
		c.dealGroups(tier, size, first)
		return
	}
	p := everybody(tier)
	c.setTargets(p, size)
	if first {
		p.begin()
	}
	c.deal(p)
}

// deal gives a party its slots. In every round each submitter, in order, may take whole
// slots up to its target; then the targets are computed again, so that the part that a
// submitter could not use goes to the others. When no whole slot fits into any target,
// the remainders are made whole: no slot stays idle for them.
func (c *shareDealer) deal(p *sharers) {
	for {
		took := 0
		for _, s := range p.members {
			took += c.turn(p, s, s.target, math.MaxInt)
		}
		if took == 0 {
			// Targets that leave out a part of the pool may be met while there is more.
			c.setTargets(p, math.Inf(1))
			if !c.roundUp(p) {
				return
			}
		}
		c.setTargets(p, math.Inf(1))
	}
}

// begin notes the submitter's limits by its share when the cycle begins: for free slots, or
// by preempting.
func (s *Submitter) begin() {
	s.Slice = math.Max(s.target, s.entitled)
	s.limit = math.Max(0, s.Slice-s.before.Float())
}

// inLine sorts a tier for the negotiation: the best EUP first; of equals the submitter
// with the smaller part of its limit, then by name.
func inLine(tier []*Submitter) {
	slices.SortFunc(tier, func(a, b *Submitter) int {
		return cmp.Or(cmp.Compare(a.EUP, b.EUP), cmp.Compare(a.starvation(), b.starvation()), strings.Compare(a.Name, b.Name))
	})
}

// starvation is the submitter's usage as a part of its limit; infinite if it may use
// nothing.
func (s *Submitter) starvation() float64 {
	if s.Usage == 0 && s.limit == 0 {
		return math.Inf(1)
	}
	return s.Usage.Float() / (s.Usage.Float() + s.limit)
}

// roundUp gives one slot each to those furthest below their targets, by the method of
// largest remainders: the targets stay as they are meanwhile, since computed again after
// each slot they would sink, most for those with the largest shares. It ends when all
// submitters below their targets have one, or when the slots of a submitter are gone
// before its turn; its share then goes to others. It returns false if no submitter could
// use a slot.
func (c *shareDealer) roundUp(p *sharers) bool {
	line := furthestBelow(p.members)
	any := false
	for len(line) > 0 {
		next := line.Pop()
		if any && next.gap <= 0 {
			return true
		}
		switch {
		case c.turn(p, next.Submitter, math.Inf(1), 1) > 0:
			any = true
		case any && next.waiting():
			return true
		}
	}
	return any
}

// furthestBelow lines up submitters by how far they are below their targets.
func furthestBelow(members []*Submitter) heap.Heap[below, *below] {
	line := make(heap.Heap[below, *below], len(members))
	for i, s := range members {
		line[i] = below{s, i, math.Round((s.target - s.Usage.Float()) / Slack)}
	}
	line.Heapify()
	return line
}

// waiting reports whether the submitter has jobs without a slot.
func (s *Submitter) waiting() bool {
	return slices.ContainsFunc(s.Queues, func(q *Queue) bool { return q.left > 0 && q.Offered() })
}

// below is a submitter, its place in the order of negotiation, and by how much it
// is below its target, in units of slack.
type below struct {
	*Submitter
	number int
	gap    float64
}

func (a *below) Before(b *below) bool {
	if a.gap != b.gap {
		return a.gap > b.gap
	}
	return a.number < b.number
}

// turn lets a submitter take at most so many slots up to limit, its first
// job first, each job the best slot that fits. It returns how many it took.
func (c *dealer) turn(p *sharers, s *Submitter, limit float64, most int) int {
	c.dealing = p
	took := 0
	c.turns++
	s.comeBack(len(c.events))
	var heavy []*Autocluster // with slots set aside that may suit others
	for took < most {
		q := s.next()
		if q == nil {
			break
		}
		got, kept, ok := c.attempt(p, s, q, limit)
		if !ok {
			continue
		}
		if k := q.Cluster; len(k.aside) > 0 && (len(heavy) == 0 || heavy[len(heavy)-1] != k) {
			heavy = append(heavy, k)
		}
		c.match(s, q, got)
		if took++; kept {
			c.lookAgain()
		}
	}
	for _, k := range heavy {
		k.restore()
	}
	s.ready()
	return took
}

// attempt looks for a slot for the next job of a submitter, the first of q; kept says that the
// slot is the one kept for it. If there is none the queue is left alone for the rest of the
// turn, or until a slot has come back.
func (c *dealer) attempt(p *sharers, s *Submitter, q *Queue, limit float64) (got pick, kept, ok bool) {
	if name, blocked := c.InUse.Blocked(q.Cluster.Limits); blocked {
		q.blocked = name
		s.wait(q)
		return got, false, false
	}
	if c.OneQueue != nil && c.OneQueue.refuses(q) {
		s.wait(q)
		return got, false, false
	}
	inGroup := c.groupRoom(p, s)
	room := min(limit-s.Usage.Float(), s.room(), inGroup)
	got, how := c.offer(s, q, room)
	if kept = how == nothing; kept {
		got, how = c.takeKept(q, room)
	}
	s.bound = s.bound || how == tooHeavy && !math.IsInf(inGroup, 1)
	switch how {
	case found:
		return got, kept, true
	case nothing:
		s.giveUpOn(q, len(c.events))
		s.skip(q)
	default:
		q.Limited = q.Limited || c.withinCeiling(s, q)
		s.wait(q)
	}
	return got, false, false
}

// lookAgain makes all submitters try again the queues that they passed over, since more
// slots are free.
func (c *dealer) lookAgain() {
	for _, s := range c.Submitters {
		s.lookAgain()
	}
}

// withinCeiling reports whether a slot that a submitter's share did not allow is
// allowed by its ceiling.
func (c *dealer) withinCeiling(s *Submitter, q *Queue) bool {
	q.Cluster.restore()
	c.Billed(q.Cluster.Autocluster)
	return c.anyFree(q.Cluster, s.room())
}

// match gives a submitter's next job the slot that was taken for it.
func (c *dealer) match(s *Submitter, q *Queue, p pick) {
	m := negotiator.Match{Submitter: s.Name, Slot: c.Slots[p.slot].Name, Weight: p.weight, Limits: concurrency.Text(q.Cluster.Limits), Reason: negotiator.NoPreemption}
	c.Billed(q.Cluster.Autocluster)
	m.Rank = c.slotRank(c.Slots[p.slot].Ad, q.Cluster.Ad)
	switch r := p.preempts; {
	case r != nil:
		m.Slot, m.Piece, m.Reason, m.Preempts = r.claim.Slot, r.claim.Piece, p.reason, c.preempted(r)
		m.Rank = c.slotRank(r.ad, q.Cluster.Ad)
		if c.Config.Pie != negotiator.Spins { // which reckons with that from the next cycle on, as HTCondor
			c.uses(r.holder, -r.claim.Usage())
		}
	case c.Slots[p.slot].Whole != nil:
		m.Piece.Of, m.Piece.Takes, m.Slot = m.Slot, p.takes, c.dynamicName(p.slot)
	}
	if c.OneQueue != nil {
		c.OneQueue.noteMatch(&m, q)
	}
	m.Job = s.pop(q)
	q.Cluster.served()
	if n := len(c.Plan.Matches); n == cap(c.Plan.Matches) { // to double it copies less often than append
		c.Plan.Matches = slices.Grow(c.Plan.Matches, max(n, 1))
	}
	c.Plan.Matches = append(c.Plan.Matches, m)
	c.InUse.Take(q.Cluster.Limits)
	c.uses(s, p.weight)
	s.matched++
	c.moves++
	if p.preempts == nil {
		c.noteTaker(s, q, p)
	}
}

// preempted tells of a claim that ends for a match.
func (c *dealer) preempted(r *running) *negotiator.Preempted {
	out := &negotiator.Preempted{Job: r.claim.Job, Attempt: r.claim.Attempt, Submitter: r.claim.Submitter, Weight: r.claim.Weight, Ran: c.ran(r)}
	if r.outside {
		out.Outside, _ = r.ad.EvalString(c.Eval, pool.AttrJobID)
	}
	return out
}

// noteTaker counts the free slots of each group that a submitter took.
func (c *dealer) noteTaker(s *Submitter, q *Queue, p pick) {
	root := p.group.root
	if root.Takers == nil {
		root.Takers = map[*Submitter]take{}
	}
	t := root.Takers[s]
	t.all++
	if q.Cluster.ranks(root.bundle) {
		t.ByRank++
	}
	root.Takers[s] = t
}

// raise gives slots to submitters below their floors, before shares count: always one
// slot to the submitter with the least usage relative to its share, until each has its
// floor or can use no remaining slot. A slot that is heavier than the missing weight is
// still given.
func (c *shareDealer) raise() {
	var line heap.Heap[needy, *needy]
	for i, s := range c.Submitters {
		if s.short() {
			line = append(line, needy{s, i})
		}
	}
	line.Heapify()
	all := everybody(c.Submitters)
	for len(line) > 0 {
		if s := line[0].Submitter; s.short() && c.turn(all, s, math.Inf(1), 1) > 0 {
			line.Fix()
		} else {
			line.Pop()
		}
	}
}

// needy is a submitter below its floor, and its place in the order of negotiation.
type needy struct {
	*Submitter
	number int
}

func (a *needy) Before(b *needy) bool {
	if x, y := a.stake(), b.stake(); x != y {
		return x < y
	}
	return a.number < b.number
}

// stake is the submitter's usage in proportion to its entitlement.
func (s *Submitter) stake() float64 { return s.Usage.Float() * s.EUP }

// dealGroups gives a tier its slots, group by group: always to the group that uses the
// smallest part of its quota first (manual, "Group Quotas"), up to its allocation by quotas
// and surplus; inside a group by shares. The part that a group cannot use is then divided
// again, until nothing is left or no group can use it. When no whole slot fits into an
// allocation, groups that accept surplus get one each, for as long as there are any.
func (c *shareDealer) dealGroups(tier []*Submitter, size float64, first bool) {
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

// begin notes the sharers' shares when the cycle begins, and puts them in line. A
// submitter that regroups has its share in its own group.
func (p *sharers) begin() {
	for _, s := range p.members {
		if p.group < 0 || s.Group == p.group {
			s.begin()
		}
	}
	inLine(p.members)
}

// roundUpGroups gives one slot each to the groups furthest below their allocations, of those
// that accept surplus and are more than least below; false: none could use one. There may be
// more slots than allocated weight: some are not counted in the pool's size, or weigh less than
// claims were charged for.
func (c *shareDealer) roundUpGroups(parties []*sharers, least float64) (any bool) {
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

// below returns by how much a party's group is below its allocation, in units of slack.
func (u *groupUse) below(p *sharers) float64 {
	return math.Round((u.allocated[p.group] - u.own[p.group].Float()) / Slack)
}

// roundUpOne gives one slot to the submitter of a party that is furthest below its target.
func (c *shareDealer) roundUpOne(p *sharers) bool {
	for line := furthestBelow(p.members); len(line) > 0; {
		if next := line.Pop(); c.turn(p, next.Submitter, math.Inf(1), 1) > 0 {
			return true
		}
	}
	return false
}

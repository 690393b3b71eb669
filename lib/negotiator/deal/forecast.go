package deal

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// outlook is the input of the shares: how much of the free slots is usable at all, and
// how much each submitter wants of them.
type outlook struct {
	usable accountant.Weight
	wants  []float64 // by submitter of the tier
}

// look returns the tier's outlook as of now. A submitter wants the weight that its jobs
// could use without other submitters. If only some submitters can use a slot, that is too
// simple: two submitters that need the few large machines would count on more of them
// than exist. So the fair division is then played through, and a submitter that runs out
// of slots before others wants the weight that it got.
func (c *entitlement) look(tier []*Submitter) outlook {
	o := outlook{wants: make([]float64, len(tier))}
	kept := c.keptWeights()
	for i, s := range tier {
		o.wants[i] = math.Min(c.wants(s)+kept[s].Float(), math.Max(0, s.room()))
	}
	if c.played {
		c.forecast(tier, &o, kept)
		return o
	}
	for _, b := range c.bundles {
		o.usable += accountant.Weight(b.left) * b.weight
	}
	return o
}

// wants returns the weight that the submitter's jobs could use, within its ceiling,
// without other submitters.
func (c *entitlement) wants(s *Submitter) (sum float64) {
	for _, q := range s.Queues {
		sum += c.queueWants(q)
	}
	return math.Min(sum, math.Max(0, s.room()))
}

// queueWants returns the weight that the queue's jobs could use without other submitters.
func (c *entitlement) queueWants(q *Queue) float64 {
	n := c.able(q)
	if n == 0 {
		return 0
	}
	s := c.supply(q.Cluster)
	return math.Min(float64(n)*s.heaviest, s.all)
}

// able returns how many of the queue's jobs may run by constraints and limits.
func (c *entitlement) able(q *Queue) int {
	switch {
	case !q.Offered(), c.OneQueue != nil && c.OneQueue.full(q):
		return 0
	case len(q.Cluster.Limits) == 0:
		return q.left
	}
	return min(q.left, c.InUse.Headroom(q.Cluster.Limits))
}

// forecast deals out the free slots one by one, each to the submitter that is furthest
// behind, the slots least in demand first (contend). It assigns nothing: ranks decide
// which slot a job gets.
func (c *entitlement) forecast(tier []*Submitter, o *outlook, kept map[*Submitter]accountant.Weight) {
	for _, b := range c.bundles {
		b.refill()
	}
	var line heap.Heap[seat, *seat]
	got := make([]accountant.Weight, len(tier))
	for i, s := range tier {
		if o.wants[i] > 0 {
			got[i] = kept[s]
			o.usable += kept[s]
			line = append(line, c.newSeat(i, s, kept[s]))
		}
	}
	line.Heapify()
	dealt := 0
	ended := map[int]int{} // by submitter: how many slots were dealt before its end
	for len(line) > 0 {
		seat := &line[0]
		w, ok := c.drawFor(seat, dealt)
		if !ok {
			ended[seat.number] = seat.end
			line.Pop()
			continue
		}
		dealt++
		got[seat.number] += w
		o.usable += w
		seat.usage += w
		seat.advance(w)
		line.Fix()
	}
	for i, at := range ended {
		if at < dealt {
			o.wants[i] = got[i].Float()
		}
	}
}

// seat is a submitter's place in the forecast.
type seat struct {
	number int
	eup    float64
	usage  accountant.Weight
	most   float64 // the room under the ceiling
	queues []*Queue
	left   int // jobs left in queues[0]
	bundle int // the first of its bundles that may have something left
	behind float64
	end    int // how many slots were dealt when the last that its jobs could use was gone
}

func (a *seat) Before(b *seat) bool {
	if a.behind != b.behind {
		return a.behind < b.behind
	}
	return a.number < b.number
}

func (c *entitlement) newSeat(number int, s *Submitter, kept accountant.Weight) seat {
	t := seat{number: number, eup: s.EUP, usage: s.Usage + kept, most: s.Usage.Float() + s.room(), queues: s.Queues, left: c.able(s.Queues[0])}
	t.advance(accountant.One)
	return t
}

// advance computes how far the submitter would be with half of another slot
// like the last: rounding to the nearest whole slot.
func (t *seat) advance(w accountant.Weight) { t.behind = (t.usage.Float() + w.Float()/2) * t.eup }

// drawFor takes a slot for the next job out of the stock, and returns its weight; false
// when there is none.
func (c *entitlement) drawFor(t *seat, dealt int) (accountant.Weight, bool) {
	for {
		if t.left > 0 {
			k := t.queues[0].Cluster
			for ; t.bundle < len(k.bundles); t.bundle++ {
				b := k.bundles[t.bundle]
				if w, ok := c.draw(b, k, dealt, t.most-t.usage.Float()); ok {
					t.left--
					return w, true
				}
				t.end = max(t.end, b.end(dealt))
			}
		}
		if len(t.queues) == 1 {
			t.left = 0
			return 0, false
		}
		t.queues = t.queues[1:]
		t.left, t.bundle = c.able(t.queues[0]), 0
	}
}

// stock is the rest of a bundle during a forecast.
type stock struct {
	spare  int    // static slots
	piles  []pile // partitionable ones
	fresh  int    // the piles before it are slots that were divided
	goneAt int    // how many slots of any kind were dealt when the last static one was gone
}

// end returns how many slots were dealt when the last of the bundle was gone; dealt
// if some are left.
func (b *bundle) end(dealt int) int {
	if b.divisible || b.spare > 0 {
		return dealt
	}
	return b.goneAt
}

// pile is partitionable slots with the same left.
type pile struct {
	root  *Group
	left  shapes.Amounts
	count int
}

// most divided slots that a forecast looks at for one job: more would make it
// exact, and slow where nothing fits.
const mostDivided = 32

// refill fills the stock from the bundle.
func (b *bundle) refill() {
	b.stock = stock{spare: b.left, piles: b.piles[:0]}
	if !b.divisible {
		return
	}
	for _, g := range b.groups {
		if g.free > 0 {
			b.piles = append(b.piles, pile{g.root, g.Left, g.free})
		}
	}
}

// draw takes one slot, or a piece, for a job of k that weighs at most room.
func (c *entitlement) draw(b *bundle, k *Autocluster, dealt int, room float64) (accountant.Weight, bool) {
	if !b.divisible {
		if b.spare == 0 || !Fits(b.weight, room) {
			return 0, false
		}
		b.spare--
		b.goneAt = dealt + 1
		return b.weight, true
	}
	for i := max(0, b.fresh-mostDivided); i < len(b.piles); i++ {
		p := &b.piles[i]
		if !k.Request.Fits(p.left) {
			continue
		}
		take, clipped := k.Request.From(p.left)
		takes := k.Request.Takes
		if clipped {
			takes = c.Text(take)
		}
		w := c.pieceWeight(p.root, takes)
		if !Fits(w, room) {
			continue
		}
		b.divide(i, take)
		return w, true
	}
	return 0, false
}

// divide takes a piece off a slot of the i-th pile.
func (b *bundle) divide(i int, take shapes.Amounts) {
	p := &b.piles[i]
	if i >= b.fresh {
		one := pile{p.root, slices.Clone(p.left), 1}
		if p.count--; p.count == 0 {
			b.piles = slices.Delete(b.piles, i, i+1)
		}
		b.piles = slices.Insert(b.piles, b.fresh, one)
		i = b.fresh
		b.fresh++
		p = &b.piles[i]
	}
	for r, x := range take {
		p.left[r] -= x
	}
	if len(p.left) > 0 && p.left[0] <= 0 { // no Cpus left
		b.piles = slices.Delete(b.piles, i, i+1)
		b.fresh--
	}
}

// bundle is the candidates that the same clusters can use and that weigh the same: shares
// need no finer distinction. Partitionable slots stay in the bundle in which they began
// the cycle.
type bundle struct {
	weight    accountant.Weight // of each static slot
	divisible bool              // partitionable slots
	groups    []*Group
	left      int // static slots not matched by now
	sought    int // how many clusters can use them

	contention
	stock
}

// bundleUp gathers the groups into bundles and gives each cluster those it
// can use.
func (c *entitlement) bundleUp() {
	type kind struct {
		users     string // the numbers of the clusters, four bytes each
		weight    accountant.Weight
		divisible bool
	}
	users := c.users()
	known, sets := map[kind]*bundle{}, map[string]bool{}
	for _, g := range c.Groups {
		who := users[g.Number]
		if len(who) == 0 || g.free == 0 && g.counts[Reserved] == 0 {
			continue
		}
		key := kind{string(who), g.Weight, g.Left != nil}
		sets[key.users] = true
		if key.divisible {
			key.weight = 0
		}
		b := known[key]
		if b == nil {
			b = &bundle{weight: key.weight, divisible: key.divisible, sought: len(who) / 4}
			known[key] = b
			c.bundles = append(c.bundles, b)
			for ; len(who) > 0; who = who[4:] {
				k := c.Clusters[binary.LittleEndian.Uint32(who)]
				k.bundles = append(k.bundles, b)
			}
		}
		b.groups = append(b.groups, g)
		if !b.divisible {
			b.left += g.free
		}
		c.played = c.played || b.divisible
		g.bundle = b
	}
	c.played = c.played || len(sets) > 1
}

// users returns, by group, the numbers of the clusters that can use it. Those that
// are not offered use nothing.
func (c *arrangement) users() [][]byte {
	users, count := make([][]byte, len(c.Groups)), make([]int, len(c.Groups))
	each := func(do func(group int, k *Autocluster)) {
		for _, k := range c.Clusters {
			for number, v := range k.Verdicts {
				if v == shapes.Accepts && !k.Barred {
					do(number, k)
				}
			}
		}
	}
	each(func(group int, _ *Autocluster) { count[group]++ })
	for group, n := range count {
		users[group] = make([]byte, 0, 4*n)
	}
	each(func(group int, k *Autocluster) {
		users[group] = binary.LittleEndian.AppendUint32(users[group], uint32(k.Number))
	})
	return users
}

// supply is the value of the free slots for the jobs of an autocluster.
type supply struct {
	heaviest, all float64 // weight of the heaviest match, and of all that fit at the same time
}

// supplyOf returns the bundle's supply for the jobs of k.
func (c *entitlement) supplyOf(b *bundle, k *Autocluster) (s supply) {
	if !b.divisible {
		if b.left > 0 {
			s.heaviest, s.all = b.weight.Float(), float64(b.left)*b.weight.Float()
		}
		return s
	}
	for _, g := range b.groups {
		if g.free == 0 || !k.Request.Fits(g.Left) || len(c.tenants) > 0 && c.Verdict(k.Autocluster, g.Group) != shapes.Accepts {
			continue // preemption must not depend on slots that no submitter can take
		}
		w := c.Weight(k, g).Float()
		s.heaviest = max(s.heaviest, w)
		s.all += w * float64(g.free) * float64(k.Request.Times(g.Left))
	}
	return s
}

// supply returns what all slots left are worth to the jobs of k.
func (c *entitlement) supply(k *Autocluster) supply {
	if k.supplied != c.moves {
		k.supplied, k.worth = c.moves, supply{}
		for _, b := range k.bundles {
			s := c.supplyOf(b, k)
			k.worth.heaviest = max(k.worth.heaviest, s.heaviest)
			k.worth.all += s.all
		}
	}
	return k.worth
}

// any reports whether any slot of the bundle is left.
func (b *bundle) any() bool {
	return b.left > 0 || b.divisible && slices.ContainsFunc(b.groups, func(g *Group) bool { return g.free > 0 })
}

// occupied is running slots that weigh each so much, and all so much.
type occupied struct{ each, all accountant.Weight }

// runningSupply returns the supply of other submitters' running slots for the submitter's
// jobs of an autocluster.
func (c *entitlement) runningSupply(s *Submitter, k *Autocluster) (w supply) {
	own := map[accountant.Weight]accountant.Weight{}
	for g, weight := range s.runs {
		if weight > 0 && c.Verdict(k.Autocluster, g.Group) == shapes.Accepts {
			own[g.Weight] += weight
		}
	}
	for _, h := range c.heldFor(k) {
		if others := (h.all - own[h.each]).Float(); others > 0 {
			w.all += others
			w.heaviest = math.Max(w.heaviest, h.each.Float())
		}
	}
	return w
}

// heldFor returns the running slots that match jobs of k, by weight.
func (c *entitlement) heldFor(k *Autocluster) []occupied {
	if k.heldAt == c.moves {
		return k.held
	}
	all := map[accountant.Weight]accountant.Weight{}
	for _, g := range c.Groups {
		if g.running > 0 && c.Verdict(k.Autocluster, g.Group) == shapes.Accepts {
			all[g.Weight] += g.running
		}
	}
	k.heldAt, k.held = c.moves, k.held[:0]
	for _, each := range slices.Sorted(maps.Keys(all)) {
		k.held = append(k.held, occupied{each, all[each]})
	}
	return k.held
}

// keptWeights returns, by submitter, the weight of the slots that are kept for its job
// and large enough by now.
func (c *entitlement) keptWeights() map[*Submitter]accountant.Weight {
	kept := map[*Submitter]accountant.Weight{}
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		if at := &c.Slots[r.slot]; q != nil && c.Verdict(q.Cluster.Autocluster, at.Group.Group) == shapes.Accepts {
			kept[s] += c.Weight(q.Cluster, at.Group)
		}
	}
	return kept
}

// inForce returns the reservations that are not over, by slot.
func (c *entitlement) inForce() (list []*reservation) {
	for _, r := range c.reserved {
		if !r.over {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *reservation) int { return a.Compare(b.Reservation) })
	return list
}

// queueOf returns the submitter of a reservation, and the queue of its job; nil if
// the job has no place in one any more.
func (c *entitlement) queueOf(r pool.Reservation) (*Submitter, *Queue) {
	s := c.called[r.Submitter]
	if s == nil {
		return nil, nil
	}
	for _, q := range s.Queues {
		if len(q.Runs) > 0 && q.left > 0 && q.Runs[0].FirstJob() == r.Job {
			return s, q
		}
	}
	return nil, nil
}

// contention tells how much a bundle is in demand, and so when its slots are
// taken where ranks leave the choice.
type contention struct {
	load  float64    // part of its slots that the tier's submitters are expected to take
	users int        // how many submitters of the tier have jobs that can use them
	last  *Submitter // the submitter that was counted last in users
	place int        // in the order of taking; equal for equal bundles
}

// contend puts the bundles in the order in which a tier takes them if ranks leave the
// choice: those least in demand first, so that no submitter takes the only slots of
// others.
//
// Each submitter is expected to spread its share, as if all slots suited all jobs, evenly
// over the slots that its jobs can use. So slots that fewer submitters can use come
// first, but a slot that is one submitter's only choice comes after a slot that is one of
// many choices for two. In one queue, which has no shares, a submitter is expected to
// spread all that it wants.
func (c *entitlement) contend(tier []*Submitter) {
	for _, b := range c.bundles {
		b.contention = contention{}
	}
	if c.played {
		c.expect(tier)
	}
	less := func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(a.load, b.load), cmp.Compare(a.users, b.users), cmp.Compare(a.sought, b.sought))
	}
	sorted := slices.Clone(c.bundles)
	slices.SortStableFunc(sorted, less)
	for i, b := range sorted {
		b.place = i
		if i > 0 && less(sorted[i-1], b) == 0 {
			b.place = sorted[i-1].place
		}
	}
	for _, k := range c.Clusters {
		slices.SortStableFunc(k.bundles, func(a, b *bundle) int { return cmp.Compare(a.place, b.place) })
	}
	c.round++
}

// expect adds up the weight that the submitters of a tier are expected to take of each
// bundle.
func (c *entitlement) expect(tier []*Submitter) {
	total := c.freeWeight()
	for _, s := range tier {
		total += s.Usage.Float()
	}
	targets := c.divideAmong(total, tier, func(_ int, s *Submitter) (usage, demand float64) { return s.Usage.Float(), c.wants(s) })
	for i, target := range targets {
		s := tier[i]
		share := target - s.Usage.Float()
		if c.OneQueue != nil {
			share = math.Inf(1)
		}
		for _, q := range s.Queues {
			part := math.Min(share, c.queueWants(q))
			share -= part
			c.spread(s, q.Cluster, part)
		}
	}
	for _, b := range c.bundles {
		b.load = math.Round(b.load*1e6) / 1e6 // without rounding errors, so that equal loads are equal
	}
}

// spread adds part, a slot weight, to the loads of all bundles that k can use.
func (c *entitlement) spread(s *Submitter, k *Autocluster, part float64) {
	all := c.supply(k).all
	for _, b := range k.bundles {
		if all > 0 {
			b.load += part / all
		}
		if b.last != s {
			b.last = s
			b.users++
		}
	}
}

// freeWeight is the remaining weight of all candidates that any submitter can use.
func (c *entitlement) freeWeight() (sum float64) {
	for _, b := range c.bundles {
		if !b.divisible {
			sum += float64(b.left) * b.weight.Float()
			continue
		}
		for _, g := range b.groups {
			if g.free > 0 {
				sum += float64(g.free) * c.pieceWeight(g.root, c.Text(g.Left)).Float()
			}
		}
	}
	return sum
}

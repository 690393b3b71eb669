package deal

import (
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// offers is the best slots for jobs.
type offers struct {
	entitlement
	events []*Group // that got a partitionable slot's remainder, in that order
}

// order is how jobs that rank alike prefer the slots.
type order struct {
	asks  *classad.Matcher // of a job that ranks so
	ranks *column
	liked []liking         // by the classes' likes
	lanes map[*Group]*lane // once asked for
	users int              // autoclusters with jobs left

	endless bool // the Rank goes beyond all bounds
}

// column is what NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK make of
// the classes, for jobs that these cannot tell apart.
type column struct {
	job   *classad.Ad
	known []preferred // by class; a class not asked for has no known
	// levels are the running slots of groups that each job of the column ranks alike, in the order
	// of preemption; nil: there are none.
	levels map[*Group][][]*running
	listed int // tenants that were listed for its jobs
}

type preferred struct {
	known     bool
	pre, post float64
}

// of returns the ranks of a class. If the payer's steps are spent (cut), the result is
// unreliable and is not kept: others may ask for the same.
func (c *offers) ranksOf(col *column, k *class) preferred {
	if k.Number >= len(col.known) {
		col.known = append(col.known, make([]preferred, len(c.classes)-len(col.known))...)
	}
	p := &col.known[k.Number]
	if !p.known {
		of := preferred{true, rankOr(&c.Bill, c.Config.PreJobRank, k.Ad, col.job), rankOr(&c.Bill, c.Config.PostJobRank, k.Ad, col.job)}
		if c.Cut() {
			return of
		}
		*p = of
	}
	return *p
}

// rankOr returns what e ranks target with, or less than anything when that is no
// number.
func rankOr(eval *classad.Context, e *classad.Expr, my, target *classad.Ad) float64 {
	if v, ok := classad.Rank(eval, e, my, target); ok && !math.IsNaN(v) {
		return v
	}
	return math.Inf(-1)
}

// rankKey is the place of a class, or of the best in a lane, in an order of
// preference.
type rankKey struct {
	begun           bool
	pre, rank, post float64
	place           int // of its bundle (contend)
	first           int // slot
}

// before reports whether a is the better match: by NEGOTIATOR_DEPTH_FIRST, then by
// NEGOTIATOR_PRE_JOB_RANK, the job's Rank, NEGOTIATOR_POST_JOB_RANK (manual,
// "Negotiation"); of equals the one that is least in demand (contend), then by the
// slot's name.
func (a *rankKey) before(b *rankKey) bool {
	switch {
	case a.begun != b.begun:
		return a.begun
	case a.pre != b.pre:
		return a.pre > b.pre
	case a.rank != b.rank:
		return a.rank > b.rank
	case a.post != b.post:
		return a.post > b.post
	case a.place != b.place:
		return a.place < b.place
	}
	return a.first < b.first
}

// lane is the classes of one group in one order of preference: a heap with the
// best in front, since most are never asked for. A class's place goes by its first
// slot left and grows worse as slots are taken, so it is enough to look again when
// a class comes to the top.
type lane struct {
	group *Group
	seen  int // how many of the group's arrivals are in the heap
	heap  heap.Heap[ranked, *ranked]
	one   [1]ranked
}

// ranked is a class in a lane.
type ranked struct {
	class *class
	key   rankKey
}

func (a *ranked) Before(b *ranked) bool { return a.key.before(&b.key) }

// laneOf returns the lane of a group.
func (o *order) laneOf(g *Group) *lane {
	l := o.lanes[g]
	if l == nil {
		l = &lane{group: g}
		l.heap = l.one[:0]
		if o.lanes == nil {
			o.lanes = map[*Group]*lane{}
		}
		o.lanes[g] = l
	}
	return l
}

// best brings the best class of the lane to the front; nil when no slot is left.
func (c *offers) bestOf(l *lane, o *order) *ranked {
	l.heap = slices.Grow(l.heap, len(l.group.arrivals)-l.seen)
	for ; l.seen < len(l.group.arrivals); l.seen++ {
		k := l.group.arrivals[l.seen]
		if len(k.free) > 0 {
			p := c.ranksOf(o.ranks, k)
			key := rankKey{k.Begun, p.pre, c.rankBy(o, k), p.post, l.group.bundle.place, int(k.free[0])}
			if c.Cut() {
				return nil
			}
			l.heap.Push(ranked{k, key})
		}
	}
	for len(l.heap) > 0 {
		top := &l.heap[0]
		switch {
		case len(top.class.free) == 0:
			l.heap.Pop()
		case top.key.first != int(top.class.free[0]):
			top.key.first = int(top.class.free[0])
			l.heap.Fix()
		default:
			top.key.place = l.group.bundle.place
			return top
		}
	}
	return nil
}

// rankBy returns the job's own Rank of a class, 0 if it is no number.
func (c *offers) rankBy(o *order, k *class) float64 {
	if k.Likes >= len(o.liked) {
		o.liked = append(o.liked, make([]liking, c.Likes()-len(o.liked))...)
	}
	l := &o.liked[k.Likes]
	if !l.known {
		of := liking{known: true}
		if !o.endless { // what goes beyond all bounds once is not tried again
			o.asks.Charge(c.Bill.Budget)
			of.rank = o.asks.Rank(k.Ad)
			if c.Cut() {
				return 0
			}
			o.endless = o.asks.Ended()
		}
		if math.IsNaN(of.rank) {
			of.rank = 0
		}
		*l = of
	}
	return l.rank
}

// liking is a Rank, once it is known.
type liking struct {
	known bool
	rank  float64
}

// laneEntry is a lane in the order of one autocluster.
type laneEntry struct {
	lane *lane
	key  rankKey
}

func (a *laneEntry) Before(b *laneEntry) bool { return a.key.before(&b.key) }

// outcome is how looking for a slot ends.
type outcome uint8

const (
	nothing  outcome = iota // no slot that matches is free
	tooHeavy                // only slots that weigh more than there is room for
	found
)

// pick is a slot, or a piece of one, that was taken.
type pick struct {
	slot     int
	group    *Group
	weight   accountant.Weight
	takes    pool.Resources // of a partitionable slot
	preempts *running       // the job that has to leave for reason; nil: none has to
	reason   string
}

// choose returns the class with the best free slot of a weight up to room, and its place
// in the order of preference.
func (c *offers) choose(k *Autocluster, room float64) (*class, rankKey, outcome) {
	c.Billed(k.Autocluster)
	if k.single() {
		return c.best(k, room)
	}
	if how := c.peek(k, room); how != found {
		return nil, rankKey{}, how
	}
	return k.lanes[0].lane.heap[0].class, k.lanes[0].key, found
}

// single reports whether one job is left that ranks as those of k do.
func (k *Autocluster) single() bool { return k.idle == 1 && !k.loaded && k.order.users == 1 }

// anyFree reports whether jobs of k match a free slot of a weight up to room.
func (c *offers) anyFree(k *Autocluster, room float64) bool {
	if !k.single() {
		return c.peek(k, room) == found
	}
	return slices.ContainsFunc(c.Groups, func(g *Group) bool {
		return g.free > 0 && c.Verdict(k.Autocluster, g.Group) == shapes.Accepts && Fits(c.cost(k, g), room)
	})
}

// take takes the best free slot of a weight up to room.
func (c *offers) take(k *Autocluster, room float64) (pick, outcome) {
	class, _, how := c.choose(k, room)
	if how != found {
		return pick{}, how
	}
	g := class.group
	p := pick{slot: int(class.free.Pop()), group: g, weight: c.Weight(k, g)}
	g.free--
	if g.Left == nil {
		g.bundle.left--
		return p, found
	}
	if c.once(g) {
		p.takes = c.takes(k, g)
		return p, found
	}
	p.takes = c.divide(p.slot, class, k.Request)
	return p, found
}

// peek brings the best slot of a weight up to room to the front of k.lanes. It sets lanes
// of heavier ones aside until restore.
func (c *offers) peek(k *Autocluster, room float64) outcome {
	c.catchUp(k)
	for len(k.lanes) > 0 {
		top := &k.lanes[0]
		best := c.bestOf(top.lane, k.order)
		switch {
		case best == nil && c.Cut():
			k.lanes, k.aside, k.loaded = nil, nil, false // another owner may ask again
			return nothing
		case best == nil:
			k.lanes.Pop()
		case best.key != top.key:
			top.key = best.key
			k.lanes.Fix()
		case !Fits(c.cost(k, top.lane.group), room):
			k.aside = append(k.aside, k.lanes.Pop())
		default:
			return found
		}
	}
	if len(k.aside) > 0 {
		return tooHeavy
	}
	return nothing
}

// catchUp brings lanes up to date: the groups that can be used, those that got slots
// since, and the order of contention.
func (c *offers) catchUp(k *Autocluster) {
	if !k.loaded {
		k.loaded, k.seen, k.sorted = true, 0, c.round
		for _, b := range k.bundles {
			for _, g := range b.groups {
				if g.root == g && g.free > 0 && c.Verdict(k.Autocluster, g.Group) == shapes.Accepts {
					c.enter(k, g)
				}
			}
		}
		k.lanes.Heapify()
	}
	if k.sorted != c.round {
		k.sorted = c.round
		for i := range k.lanes {
			k.lanes[i].key.place = k.lanes[i].lane.group.bundle.place
		}
		k.lanes.Heapify()
	}
	for ; k.seen < len(c.events); k.seen++ {
		g := c.events[k.seen]
		if g.event != k.seen || g.free == 0 || c.Verdict(k.Autocluster, g.Group) != shapes.Accepts {
			continue
		}
		l := k.order.laneOf(g)
		if best := c.bestOf(l, k.order); best != nil {
			k.lanes.Push(laneEntry{l, best.key})
		}
	}
}

// enter appends a group's lane to those of k, in no order.
func (c *offers) enter(k *Autocluster, g *Group) {
	l := k.order.laneOf(g)
	if best := c.bestOf(l, k.order); best != nil {
		k.lanes = append(k.lanes, laneEntry{l, best.key})
	}
}

// restore puts the lanes back that were set aside.
func (k *Autocluster) restore() {
	for _, e := range k.aside {
		k.lanes.Push(e)
	}
	k.aside = k.aside[:0]
}

// ranks reports whether a slot of b was taken for its rank: a bundle had slots left that
// would have come first with equal ranks.
func (k *Autocluster) ranks(b *bundle) bool {
	for _, o := range k.bundles {
		if o.place >= b.place {
			return false
		}
		if o.any() {
			return true
		}
	}
	return false
}

// best returns the class with the best free slot of a weight up to room, without
// remembering anything: for jobs without equals, one look at each slot is cheaper than an
// order of them all.
func (c *offers) best(k *Autocluster, room float64) (*class, rankKey, outcome) {
	var first *class
	var top rankKey
	how := nothing
	for _, g := range c.Groups {
		if g.free == 0 || c.Verdict(k.Autocluster, g.Group) != shapes.Accepts {
			continue
		}
		if !Fits(c.cost(k, g), room) {
			how = max(how, tooHeavy)
			continue
		}
		how = found
		for _, x := range g.classes {
			if len(x.free) == 0 {
				continue
			}
			p := c.ranksOf(k.order.ranks, x)
			key := rankKey{x.Begun, p.pre, math.Inf(1), p.post, g.bundle.place, int(x.free[0])}
			if first != nil && !key.before(&top) {
				continue // no Rank of the job would make it the best
			}
			if key.rank = c.rankBy(k.order, x); c.Cut() {
				return nil, rankKey{}, nothing
			}
			if first == nil || key.before(&top) {
				first, top = x, key
			}
		}
	}
	return first, top, how
}

// served counts a job of k that got a slot, and after the last one drops what only
// another would need.
func (k *Autocluster) served() {
	if k.idle--; k.idle > 0 {
		return
	}
	k.lanes, k.aside, k.loaded = nil, nil, false
	if k.order.users--; k.order.users == 0 {
		clear(k.order.lanes)
		k.order.liked = nil
	}
}

package negotiator

import (
	"math"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/pool"
)

// autocluster is jobs that are alike in every attribute that a match or rank
// refers to. They may be many submitters'.
type autocluster struct {
	number  int
	ad      *classad.Ad
	endless bool // its Requirements go beyond all bounds: no slot is asked any more
	barred  bool // NEGOTIATOR_JOB_CONSTRAINT is not true, or it is put off
	putOff  bool // its owners have too few steps for its Requirements
	short   bool // the same, or they had too few to choose slots, when all is dealt out
	unread  bool // what it asks for, for want of steps
	payers  []payment
	paying  int      // which of them pays
	explain bool     // Config.Explain has jobs of it
	request *request // of a partitionable slot; nil: there is none
	limits  []demand // concurrency limits
	// verdicts are what came of the match with each group, by its number.
	verdicts  []verdict
	yields    answers   // how running slots yield to the jobs; nil: nobody asked
	preferred answers   // and which of them prefer these
	idle      int       // jobs, of all submitters
	bundles   []*bundle // that can be used, by place
	supplied  int       // the count of matches for which worth was computed
	worth     supply
	heldAt    int        // the count of matches for which held was computed
	held      []occupied // running slots that the jobs match
	order     *order

	// lanes is a heap of the lanes of the groups that can be used, each where it
	// was when it was last looked at.
	lanes  heap.Heap[laneEntry, *laneEntry]
	loaded bool // the groups that were there at first are in lanes
	seen   int  // how many of the cycle's events are
	sorted int  // the cycle's round of contention that lanes are in order of
	// aside are lanes of slots too heavy for the submitter whose turn it is.
	aside []laneEntry
}

// laneEntry is a lane in the order of one autocluster.
type laneEntry struct {
	lane *lane
	key  rankKey
}

func (a *laneEntry) Before(b *laneEntry) bool { return a.key.before(&b.key) }

// verdict is what comes of matching an autocluster with a group: accepts, or where
// the slots fall.
type verdict int16

// Verdicts from 0 on are the number of the clause of the job's Requirements that
// is the first not to be true; those from slotClause on that of the slots'.
const (
	accepts    verdict = -1
	unasked    verdict = -2
	tooSmall   verdict = -3 // a partitionable slot with less left than the job requests
	slotClause verdict = 1 << 14
)

// judge matches an autocluster with a group.
func (k *autocluster) judge(asks *classad.Matcher, g *group) verdict {
	if k.endless {
		return 0
	}
	if n := asks.Falls(g.ad); n >= 0 {
		k.endless = asks.Ended()
		return verdict(min(n, int(slotClause)-1))
	}
	if n := asks.FallsBy(g.ad); n >= 0 {
		return slotClause + verdict(min(n, int(slotClause)-1))
	}
	if g.left != nil && !k.request.fits(g.left) {
		return tooSmall
	}
	return accepts
}

// verdict returns what comes of matching with a group, also one that appeared
// during the cycle.
func (k *autocluster) verdict(c *cycle, g *group) verdict {
	for len(k.verdicts) <= g.number {
		k.verdicts = append(k.verdicts, unasked)
	}
	v := &k.verdicts[g.number]
	switch {
	case *v != unasked:
	case g.left != nil && !k.request.fits(g.left): // which clause it falls at nobody asks of a remainder
		*v = tooSmall
	default:
		if c.asking != k {
			c.asking, c.matcher = k, classad.NewMatcher(c.eval, k.ad)
		}
		for was := -1; was != k.paying; {
			was = k.paying
			c.matcher.Charge(c.billed(k).Budget)
			if now := k.judge(c.matcher, g); !c.cut() {
				*v = now
				return now
			}
			k.endless = false
		}
		return 0 // without steps it takes no slot
	}
	return *v
}

// slack is how much more than its limit a submitter may use, so that
// rounding in the last digit costs nobody a slot.
const slack = 1e-9

func fits(w accountant.Weight, room float64) bool { return w.Float() <= room+slack }

// weight returns what a match with a slot of the group would be charged.
func (k *autocluster) weight(c *cycle, g *group) accountant.Weight {
	if g.left == nil {
		return g.weight
	}
	return c.pieceWeight(g.root, k.takes(c, g))
}

// outcome is how looking for a slot ends.
type outcome uint8

const (
	nothing  outcome = iota // no slot that matches is free
	tooHeavy                // only slots that weigh more than there is room for
	found
)

// peek brings the best slot whose weight is at most room to the front of k.lanes.
// Lanes of heavier ones are set aside until restore.
func (c *cycle) peek(k *autocluster, room float64) outcome {
	c.catchUp(k)
	for len(k.lanes) > 0 {
		top := &k.lanes[0]
		best := top.lane.best(c, k.order)
		switch {
		case best == nil && c.cut():
			k.lanes, k.aside, k.loaded = nil, nil, false // another owner may ask again
			return nothing
		case best == nil:
			k.lanes.Pop()
		case best.key != top.key:
			top.key = best.key
			k.lanes.Fix()
		case !fits(k.cost(c, top.lane.group), room):
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
func (c *cycle) catchUp(k *autocluster) {
	if !k.loaded {
		k.loaded, k.seen, k.sorted = true, 0, c.round
		for _, b := range k.bundles {
			for _, g := range b.groups {
				if g.root == g && g.free > 0 && k.verdict(c, g) == accepts {
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
		if g.event != k.seen || g.free == 0 || k.verdict(c, g) != accepts {
			continue
		}
		l := k.order.laneOf(g)
		if best := l.best(c, k.order); best != nil {
			k.lanes.Push(laneEntry{l, best.key})
		}
	}
}

// enter appends a group's lane to those of k, in no order.
func (c *cycle) enter(k *autocluster, g *group) {
	l := k.order.laneOf(g)
	if best := l.best(c, k.order); best != nil {
		k.lanes = append(k.lanes, laneEntry{l, best.key})
	}
}

// restore puts the lanes back that were set aside.
func (k *autocluster) restore() {
	for _, e := range k.aside {
		k.lanes.Push(e)
	}
	k.aside = k.aside[:0]
}

// pick is a slot, or a piece of one, that was taken.
type pick struct {
	slot     int
	group    *group
	weight   accountant.Weight
	takes    pool.Resources // of a partitionable slot
	preempts *running       // whose job has to go for reason; nil: nobody's
	reason   string
}

// choose returns the class with the best slot left whose weight is at most room, and
// its place in the order of preference.
func (c *cycle) choose(k *autocluster, room float64) (*class, rankKey, outcome) {
	c.billed(k)
	if k.idle == 1 && !k.loaded && k.order.users == 1 {
		return c.best(k, room)
	}
	if how := c.peek(k, room); how != found {
		return nil, rankKey{}, how
	}
	return k.lanes[0].lane.heap[0].class, k.lanes[0].key, found
}

// take takes the best slot left whose weight is at most room.
func (c *cycle) take(k *autocluster, room float64) (pick, outcome) {
	class, _, how := c.choose(k, room)
	if how != found {
		return pick{}, how
	}
	g := class.group
	p := pick{slot: int(class.free.Pop()), group: g, weight: k.weight(c, g)}
	g.free--
	if g.left == nil {
		g.bundle.left--
		return p, found
	}
	if c.once(g) {
		p.takes = k.takes(c, g)
		return p, found
	}
	p.takes = c.divide(p.slot, class, k.request)
	return p, found
}

// ranks reports whether a slot of b was taken for its rank: a bundle was left whose
// slots would have come first, had the ranks been the same.
func (k *autocluster) ranks(b *bundle) bool {
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

// best returns the class with the best slot left whose weight is at most room,
// without remembering anything: for jobs that nobody else is like, one look at
// each slot is cheaper than an order of them all.
func (c *cycle) best(k *autocluster, room float64) (*class, rankKey, outcome) {
	var first *class
	var top rankKey
	how := nothing
	for _, g := range c.groups {
		if g.free == 0 || k.verdict(c, g) != accepts {
			continue
		}
		if !fits(k.cost(c, g), room) {
			how = max(how, tooHeavy)
			continue
		}
		how = found
		for _, x := range g.classes {
			if len(x.free) == 0 {
				continue
			}
			p := k.order.ranks.of(c, x)
			key := rankKey{x.begun, p.pre, math.Inf(1), p.post, g.bundle.place, int(x.free[0])}
			if first != nil && !key.before(&top) {
				continue // no Rank of the job would make it the best
			}
			if key.rank = k.order.rank(c, x); c.cut() {
				return nil, rankKey{}, nothing
			}
			if first == nil || key.before(&top) {
				first, top = x, key
			}
		}
	}
	return first, top, how
}

// served counts a job of k that got a slot, and lets go of what only another
// would need.
func (k *autocluster) served() {
	if k.idle--; k.idle > 0 {
		return
	}
	k.lanes, k.aside, k.loaded = nil, nil, false
	if k.order.users--; k.order.users == 0 {
		clear(k.order.lanes)
		k.order.liked = nil
	}
}

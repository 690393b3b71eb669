package negotiator

import (
	"math"

	"fairspool/lib/classad"
	"fairspool/lib/heap"
)

// order is how jobs that rank alike prefer the slots.
type order struct {
	asks  *classad.Matcher // of a job that ranks so
	ranks *column
	liked []liking // by the classes' likes
	lanes map[*group]*lane
	users int // autoclusters with jobs left

	endless bool // the Rank goes beyond all bounds
}

// column is what NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK make of
// the classes, for jobs that these cannot tell apart.
type column struct {
	job   *classad.Ad
	known []preferred // by class; a class not asked for has no known
}

type preferred struct {
	known     bool
	pre, post float64
}

// of returns the ranks of a class. Where the steps of who pays are spent (cut), they are
// nothing to go by, and not kept: others may ask for the same.
func (col *column) of(c *cycle, k *class) preferred {
	if k.number >= len(col.known) {
		col.known = append(col.known, make([]preferred, len(c.classes)-len(col.known))...)
	}
	p := &col.known[k.number]
	if !p.known {
		of := preferred{true, rankOr(&c.bill, c.cfg.PreJobRank, k.ad, col.job), rankOr(&c.bill, c.cfg.PostJobRank, k.ad, col.job)}
		if c.cut() {
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
	group *group
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
func (o *order) laneOf(g *group) *lane {
	l := o.lanes[g]
	if l == nil {
		l = &lane{group: g}
		l.heap = l.one[:0]
		o.lanes[g] = l
	}
	return l
}

// best brings the best class of the lane to the front; nil when no slot is left.
func (l *lane) best(c *cycle, o *order) *ranked {
	for ; l.seen < len(l.group.arrivals); l.seen++ {
		k := l.group.arrivals[l.seen]
		if len(k.free) > 0 {
			p := o.ranks.of(c, k)
			key := rankKey{k.begun, p.pre, o.rank(c, k), p.post, l.group.bundle.place, int(k.free[0])}
			if c.cut() {
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

// rank is the job's own Rank of a class, 0 for what is no number, as of does.
func (o *order) rank(c *cycle, k *class) float64 {
	if k.likes >= len(o.liked) {
		o.liked = append(o.liked, make([]liking, len(c.shapes.likes)-len(o.liked))...)
	}
	l := &o.liked[k.likes]
	if !l.known {
		of := liking{known: true}
		if !o.endless { // what goes beyond all bounds once is not tried again
			o.asks.Charge(c.bill.Budget)
			of.rank = o.asks.Rank(k.ad)
			if c.cut() {
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

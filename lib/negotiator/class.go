package negotiator

import (
	"encoding/binary"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// group is a set of slots that no match of this cycle can tell apart: the
// Requirements of slots and jobs come to the same for all of them, and so do
// weights and what is left of partitionable ones.
type group struct {
	number  int
	ad      *classad.Ad       // of one of them
	weight  accountant.Weight // of each static slot; of the whole of a partitionable one
	left    amounts           // what is left of each resource; nil: static slots
	root    *group            // the group in which the slots were when the cycle began
	counts  counts            // all slots that began here
	whole   int               // partitionable slots that would be here, were nothing taken
	bundle  *bundle           // nil: no job can use a slot of the group
	classes []*class
	// arrivals are the classes of the group that got slots, in that order: each
	// once when the cycle begins.
	arrivals []*class
	event    int // its last place in the cycle's events
	free     int // slots of its classes
	takers   map[*submitter]take
}

// take is a number of slots that a submitter took in this cycle.
type take struct {
	all    int
	byRank int // those of all that it took for their rank, while others were left that would have come first
}

// class is the slots of a group that no rank can tell apart either.
type class struct {
	number int
	group  *group
	ad     *classad.Ad
	begun  bool    // partitionable slots that the cycle began to divide, where these go first
	free   numbers // candidates left, as indices of slots, the first in front
	after  map[int]*class
}

// counts is a number of slots by standing.
type counts [standings]int

func (n counts) total() int {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return sum
}

func (n *counts) add(m counts) {
	for i, k := range m {
		n[i] += k
	}
}

// shapes tells slots apart by what matters of them.
type shapes struct {
	means *meanings
	// What groups are told apart by: Requirements and these attributes' meanings, and
	// the raw attributes that weights come from.
	match, raw names
	// What classes of a group are told apart by: these attributes' meanings and the
	// ranks'.
	more    names
	ranks   []*classad.Expr
	classes map[string]*class
	groups  map[string]*group
	key     []byte
}

// classify divides the slots into groups and classes.
func (c *cycle) classify() {
	for i := range c.slots {
		s := &c.slots[i]
		k := c.classOf(s.ad, s.weight, s.whole != nil, false)
		s.group, s.now = k.group, k.group
		s.group.counts[s.standing]++
		if s.whole != nil {
			s.wholly = c.classOf(s.whole, s.weight, true, false).group
			s.wholly.whole++
		}
		if s.standing == free {
			if s.now.left == nil || s.now.left[0] > 0 {
				c.plan.Candidates++
			}
			if len(k.free) == 0 {
				k.group.arrivals = append(k.group.arrivals, k)
			}
			k.free = append(k.free, i)
			k.group.free++
		}
	}
}

// classOf returns the class of slots with such an ad.
func (c *cycle) classOf(ad *classad.Ad, weight accountant.Weight, divisible, begun bool) *class {
	x := &c.shapes
	x.key = x.groupKey(x.key[:0], ad, weight, divisible)
	grouped := len(x.key)
	for _, name := range x.more {
		x.key = appendMeaning(x.key, x.means.of(ad, name))
	}
	for _, e := range x.ranks {
		x.key = appendMeaning(x.key, x.means.ofExpr(ad, e))
	}
	x.key = appendFlag(x.key, begun)
	k := x.classes[string(x.key)]
	if k == nil {
		k = &class{number: len(c.classes), ad: ad, begun: begun}
		c.classes = append(c.classes, k)
		x.classes[string(x.key)] = k
		k.group = c.groupOf(string(x.key[:grouped]), ad, weight, divisible)
		k.group.classes = append(k.group.classes, k)
	}
	return k
}

// groupOf returns the group with a key, to which such an ad belongs.
func (c *cycle) groupOf(key string, ad *classad.Ad, weight accountant.Weight, divisible bool) *group {
	g := c.shapes.groups[key]
	if g == nil {
		g = &group{number: len(c.groups), ad: ad, weight: weight}
		g.root = g
		if divisible {
			g.left = c.leftIn(ad)
		}
		c.groups = append(c.groups, g)
		c.shapes.groups[key] = g
	}
	return g
}

func (x *shapes) groupKey(key []byte, ad *classad.Ad, weight accountant.Weight, divisible bool) []byte {
	key = appendFlag(binary.LittleEndian.AppendUint64(key, uint64(weight)), divisible)
	key = appendMeaning(key, x.means.of(ad, requirementsName))
	for _, name := range x.match {
		key = appendMeaning(key, x.means.of(ad, name))
	}
	return x.means.lex.signature(key, ad, x.raw)
}

func appendMeaning(key []byte, n meaning) []byte {
	return binary.LittleEndian.AppendUint64(key, uint64(n))
}

func appendFlag(key []byte, yes bool) []byte {
	if yes {
		return append(key, 1)
	}
	return append(key, 0)
}

var requirementsName = classad.NewName(pool.AttrRequirements)

// numbers is a heap of slots' indices, the least in front. Ascending ones are
// a heap as they stand.
type numbers []int

func (l *numbers) push(n int) {
	*l = append(*l, n)
	for i := len(*l) - 1; i > 0; {
		parent := (i - 1) / 2
		if (*l)[parent] <= (*l)[i] {
			return
		}
		(*l)[i], (*l)[parent] = (*l)[parent], (*l)[i]
		i = parent
	}
}

func (l *numbers) pop() int {
	h := *l
	least, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*l = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return least
		}
		if child+1 < last && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			return least
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

package negotiator

import (
	"encoding/binary"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/parallel"
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
	event    int               // its last place in the cycle's events
	free     int               // slots of its classes
	running  accountant.Weight // what its running slots count that may be preempted
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
	likes  int                              // the same for classes that no job's own Rank can tell apart
	begun  bool                             // partitionable slots that the cycle began to divide, where these go first
	free   heap.Heap[slotIndex, *slotIndex] // candidates left, as indices of slots, the first in front
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

// shapes tells slots apart by what matters of them.
type shapes struct {
	means *meanings
	// What groups are told apart by: these attributes' meanings, Requirements first, and
	// the raw attributes that weights come from.
	match looked
	raw   names
	// What classes of a group are told apart by: these attributes' meanings and the
	// ranks'.
	more     looked
	ranks    []*classad.Expr
	slotRank lookedUp // what running slots are told apart by, besides
	classes  map[string]*class
	groups   map[string]*group
	likes    map[string]int
	key      []byte
}

// classify divides the slots into groups and classes. The slots' meanings are found
// on all processors: each part of them is divided for itself, and then one slot of
// each class of a part tells which class of all that is.
func (c *cycle) classify() {
	bounds := parallel.Bounds(len(c.slots), manySlots)
	parts := make([]part, len(bounds)-1)
	parallel.Parts(bounds, func(i, from, to int) {
		parts[i].from, parts[i].to = from, to
		parts[i].classify(c.slots, c.shapes.alone())
	})
	for _, p := range parts {
		classes := make([]*class, len(p.kinds))
		for i, k := range p.kinds {
			classes[i] = c.classOf(k.ad, k.weight, k.divisible, false)
		}
		for i := p.from; i < p.to; i++ {
			c.settle(i, classes[p.of[i-p.from]])
			if s := &c.slots[i]; s.whole != nil {
				s.wholly = classes[p.wholly[i-p.from]].group
				s.wholly.whole++
			}
		}
	}
}

// manySlots are worth another processor.
const manySlots = 1000

// settle puts a slot into its class when the cycle begins.
func (c *cycle) settle(i int, k *class) {
	s := &c.slots[i]
	s.group, s.now = k.group, k.group
	s.group.counts[s.standing]++
	if s.standing != free {
		return
	}
	if s.now.left == nil || s.now.left[0] > 0 {
		c.plan.Candidates++
	}
	if len(k.free) == 0 {
		k.group.arrivals = append(k.group.arrivals, k)
	}
	k.free = append(k.free, slotIndex(i))
	k.group.free++
}

// part is some of the slots, those from from to before to, and how they are divided.
type part struct {
	from, to   int
	kinds      []slotKind // different ones, by their first slot
	of, wholly []int      // by slot: the index of its kind, and of that of the whole slot
}

// slotKind is what a class is found from.
type slotKind struct {
	ad        *classad.Ad
	weight    accountant.Weight
	divisible bool
}

func (p *part) classify(slots []slot, x shapes) {
	known := map[string]int{}
	kindOf := func(k slotKind) int {
		x.key, _, _ = x.classKey(x.key[:0], k, false)
		n, ok := known[string(x.key)]
		if !ok {
			n = len(p.kinds)
			known[string(x.key)] = n
			p.kinds = append(p.kinds, k)
		}
		return n
	}
	p.of, p.wholly = make([]int, p.to-p.from), make([]int, p.to-p.from)
	for i := range p.of {
		s := &slots[p.from+i]
		p.of[i] = kindOf(slotKind{s.ad, s.weight, s.whole != nil})
		if s.whole != nil {
			p.wholly[i] = kindOf(slotKind{s.whole, s.weight, true})
		}
	}
}

// alone returns shapes that tell the same apart, for another goroutine.
func (x shapes) alone() shapes {
	lex := newLexicon()
	lex.shadowed = x.means.lex.shadowed
	x.means = newMeanings(x.means.eval, lex, x.means.every)
	x.match, x.more, x.key = slices.Clone(x.match), slices.Clone(x.more), nil
	return x
}

// classOf returns the class of slots with such an ad.
func (c *cycle) classOf(ad *classad.Ad, weight accountant.Weight, divisible, begun bool) *class {
	x := &c.shapes
	var grouped, liked int
	x.key, grouped, liked = x.classKey(x.key[:0], slotKind{ad, weight, divisible}, begun)
	k := x.classes[string(x.key)]
	if k == nil {
		k = &class{number: len(c.classes), ad: ad, begun: begun, likes: x.likesOf(x.key[:liked])}
		c.classes = append(c.classes, k)
		x.classes[string(x.key)] = k
		k.group = c.groupOf(string(x.key[:grouped]), ad, weight, divisible)
		k.group.classes = append(k.group.classes, k)
	}
	return k
}

// classKey appends what tells classes apart, and returns how much of it tells groups
// apart, and how much tells apart what jobs themselves can rank differently.
func (x *shapes) classKey(key []byte, k slotKind, begun bool) (_ []byte, grouped, liked int) {
	key = x.groupKey(key, k)
	grouped = len(key)
	for i := range x.more {
		key = appendMeaning(key, x.means.at(k.ad, &x.more[i]))
	}
	liked = len(key)
	for _, e := range x.ranks {
		key = appendMeaning(key, x.means.ofExpr(k.ad, e))
	}
	return appendFlag(key, begun), grouped, liked
}

// likesOf numbers what jobs themselves can rank differently.
func (x *shapes) likesOf(key []byte) int {
	n, ok := x.likes[string(key)]
	if !ok {
		n = len(x.likes)
		x.likes[string(key)] = n
	}
	return n
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

func (x *shapes) groupKey(key []byte, k slotKind) []byte {
	key = appendFlag(binary.LittleEndian.AppendUint64(key, uint64(k.weight)), k.divisible)
	for i := range x.match {
		key = appendMeaning(key, x.means.at(k.ad, &x.match[i]))
	}
	return x.means.lex.signature(key, k.ad, x.raw)
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

// slotIndex is the index of a slot in the cycle's list.
type slotIndex int

func (i *slotIndex) Before(j *slotIndex) bool { return *i < *j }

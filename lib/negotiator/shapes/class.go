package shapes

import (
	"encoding/binary"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// Slot is the input of the distinction of slots.
type Slot struct {
	Ad     *classad.Ad // of a partitionable slot, with what claims leave
	Whole  *classad.Ad // of a partitionable slot, as advertised; nil: a static slot
	Weight accountant.Weight
	Kind   int // those of a kind from 1 on have the same under all Looked names; 0: it is not known
}

// Group is a set of slots that no match of this cycle can tell apart: the Requirements of
// slots and jobs have the same meaning for all of them, and their weights and the free
// rests of partitionable ones are equal.
type Group struct {
	Number int
	Ad     *classad.Ad       // of one of them
	Weight accountant.Weight // of each static slot; of the whole of a partitionable one
	Left   Amounts           // the free rest of each resource; nil: static slots
}

// Class is the slots of a group that no rank can tell apart either.
type Class struct {
	Number int
	Group  *Group
	Ad     *classad.Ad
	Likes  int  // the same for classes that no job's own Rank can tell apart
	Begun  bool // partitionable slots that the cycle began to divide, where these go first
}

// slotKeys tells slots apart by what matters of them.
type slotKeys struct {
	means *meanings
	// Groups differ in the meanings of these attributes, Requirements first, and in the
	// raw attributes that weights come from.
	match looked
	raw   Names
	// Classes of a group differ in the meanings of these attributes and of the ranks.
	more     looked
	ranks    []*classad.Expr
	slotRank lookedUp // running slots also differ in these
	classes  map[string]*Class
	groups   map[string]*Group
	likes    map[string]int
	key      []byte
}

// Classify divides slots into groups and classes, and calls put for each slot: class is
// its own, wholly the class of a whole partitionable slot. The slots' meanings are found
// on all processors: each part of the slots is divided for itself, and then one slot of
// each class of a part determines the class among all.
func (x *Shapes) Classify(slots []*Slot, put func(i int, class, wholly *Class)) {
	bounds := parallel.Bounds(len(slots), manySlots)
	parts := make([]part, len(bounds)-1)
	parallel.Parts(bounds, func(i, from, to int) {
		parts[i].from, parts[i].to = from, to
		parts[i].classify(slots, x.keys.alone())
	})
	for _, p := range parts {
		classes := make([]*Class, len(p.kinds))
		for i, k := range p.kinds {
			classes[i] = x.ClassOf(k.ad, k.weight, k.divisible, false)
		}
		for i := p.from; i < p.to; i++ {
			var wholly *Class
			if slots[i].Whole != nil {
				wholly = classes[p.wholly[i-p.from]]
			}
			put(i, classes[p.of[i-p.from]], wholly)
		}
	}
}

// manySlots are worth another processor.
const manySlots = 1000

// part is some of the slots, those from from to before to, and how they are divided.
type part struct {
	from, to   int
	kinds      []slotKind // different ones, by their first slot
	of, wholly []int      // by slot: the index of its kind, and of the whole slot's kind
}

// slotKind is the input of a class.
type slotKind struct {
	ad        *classad.Ad
	weight    accountant.Weight
	divisible bool
}

func (p *part) classify(slots []*Slot, x slotKeys) {
	type like struct {
		kind   int
		weight accountant.Weight
	}
	known, alike := map[string]int{}, map[like]int{}
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
		s := slots[p.from+i]
		if s.Kind > 0 && s.Whole == nil {
			n, met := alike[like{s.Kind, s.Weight}]
			if !met {
				n = kindOf(slotKind{s.Ad, s.Weight, false})
				alike[like{s.Kind, s.Weight}] = n
			}
			p.of[i] = n
			continue
		}
		p.of[i] = kindOf(slotKind{s.Ad, s.Weight, s.Whole != nil})
		if s.Whole != nil {
			p.wholly[i] = kindOf(slotKind{s.Whole, s.Weight, true})
		}
	}
}

// alone returns keys that tell the same apart, for another goroutine.
func (x slotKeys) alone() slotKeys {
	lex := newLexicon()
	lex.shadowed = x.means.lex.shadowed
	x.means = newMeanings(x.means.eval, lex, x.means.every)
	x.match, x.more, x.key = slices.Clone(x.match), slices.Clone(x.more), nil
	return x
}

// ClassOf returns the class of slots with such an ad.
func (x *Shapes) ClassOf(ad *classad.Ad, weight accountant.Weight, divisible, begun bool) *Class {
	y := &x.keys
	var grouped, liked int
	y.key, grouped, liked = y.classKey(y.key[:0], slotKind{ad, weight, divisible}, begun)
	k := y.classes[string(y.key)]
	if k == nil {
		k = &Class{Number: len(x.classes), Ad: ad, Begun: begun, Likes: y.likesOf(y.key[:liked])}
		x.classes = append(x.classes, k)
		y.classes[string(y.key)] = k
		k.Group = x.groupOf(string(y.key[:grouped]), ad, weight, divisible)
	}
	return k
}

// classKey appends what tells classes apart, and returns how much of it tells groups
// apart, and how much tells apart what jobs themselves can rank differently.
func (x *slotKeys) classKey(key []byte, k slotKind, begun bool) (_ []byte, grouped, liked int) {
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
func (x *slotKeys) likesOf(key []byte) int {
	n, ok := x.likes[string(key)]
	if !ok {
		n = len(x.likes)
		x.likes[string(key)] = n
	}
	return n
}

// groupOf returns the group with a key, to which such an ad belongs.
func (x *Shapes) groupOf(key string, ad *classad.Ad, weight accountant.Weight, divisible bool) *Group {
	g := x.keys.groups[key]
	if g == nil {
		g = &Group{Number: len(x.groups), Ad: ad, Weight: weight}
		if divisible {
			g.Left = x.LeftIn(ad)
		}
		x.groups = append(x.groups, g)
		x.keys.groups[key] = g
	}
	return g
}

func (x *slotKeys) groupKey(key []byte, k slotKind) []byte {
	key = appendFlag(binary.LittleEndian.AppendUint64(key, uint64(k.weight)), k.divisible)
	for i := range x.match {
		key = appendMeaning(key, x.means.at(k.ad, &x.match[i]))
	}
	return x.means.lex.signature(key, k.ad, x.raw)
}

func appendFlag(key []byte, yes bool) []byte {
	if yes {
		return append(key, 1)
	}
	return append(key, 0)
}

var requirementsName = classad.NewName(pool.AttrRequirements)

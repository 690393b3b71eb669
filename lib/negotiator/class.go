package negotiator

import (
	"encoding/binary"
	"slices"
	"strings"

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

// meaning is the number of what an attribute comes to in any match of the cycle:
// equal ones behave alike, whatever the ads say.
type meaning uint64

// meanings finds what slots' attributes mean. What an expression makes of the
// slot's own attributes is worked out, so that ten thousand slots whose loads all
// differ are the same to a START that only asks whether they are below a bound.
type meanings struct {
	eval *classad.Context
	lex  *lexicon
	// every returns the names of all attributes of all slots; safe for goroutines.
	every func() names

	yes     meaning                // true
	numbers map[string]meaning     // of everything but constants, by its key
	known   map[uint32]*expression // by the number of their texts
	busy    []*expression          // whose meaning is being found: a circle ends here
	keys    []byte                 // that are being made, one behind the other
	found   []meaning              // of what clauses look up, one clause behind the other
	steps   int                    // expressions looked at for the one that was asked for
}

// expression is what is known of an expression in slots' ads.
type expression struct {
	id      uint32    // of its text
	clauses []*clause // of the conjunction that it is
}

// clause is a term of a conjunction.
type clause struct {
	id    uint32 // of its text
	expr  *classad.Expr
	looks classad.Looks
	names looked // of looks.Own and looks.Either, in this order
	alias bool   // it is nothing but the one name
	told  bool   // looks is all that it looks at
}

// Kinds of meanings, in the upper half of the number. Constants have the numbers of
// the lexicon.
const (
	meansConstant meaning = iota << 32
	meansOther
	meansCircle
)

// kinds of keys.
const (
	keyConjunction byte = iota
	keyFalls            // a clause that is not true whatever the job
	keyOpen             // a clause that depends on the job, by what it looks up
	keyRest             // the same, by what is left of it
	keyWhole
)

// How deep attributes may be nested in each other, and how many be looked at for one,
// before their meaning is given up: with two in each, they double with every level.
const (
	mostNested = 100
	mostSteps  = 1000
)

func newMeanings(eval *classad.Context, lex *lexicon, every func() names) *meanings {
	m := &meanings{eval: eval, lex: lex, every: every, numbers: map[string]meaning{}, known: map[uint32]*expression{}}
	m.yes = m.constant(classad.Bool(true))
	return m
}

// whole gives up on telling: everything in the ad may matter.
func (m *meanings) whole(ad *classad.Ad) meaning {
	return m.number(m.lex.signature([]byte{keyWhole}, ad, m.every()))
}

// looked are names that are looked up in one ad after the other.
type looked []lookedUp

// lookedUp is a name, and the constant that it was last: most ads are like the one
// before.
type lookedUp struct {
	name *classad.Name
	last classad.Value
	n    meaning // of last; 0: there was none
}

func lookedOf(all names) (l looked) {
	for _, name := range all {
		l = append(l, lookedUp{name: name})
	}
	return l
}

// at returns what the ad's attribute means.
func (m *meanings) at(ad *classad.Ad, l *lookedUp) meaning {
	v, e, ok := ad.Get(l.name)
	switch {
	case !ok:
		return 0
	case e != nil:
		return m.ofExpr(ad, e)
	case l.n == 0 || v != l.last:
		l.last, l.n = v, m.constant(v)
	}
	return l.n
}

func (m *meanings) constant(v classad.Value) meaning {
	return meansConstant | meaning(m.lex.constant(v))
}

// number returns the number of a key, which is of nothing but a meaning's.
func (m *meanings) number(key []byte) meaning {
	n, ok := m.numbers[string(key)]
	if !ok {
		n = meansOther | meaning(len(m.numbers)+1)
		m.numbers[string(key)] = n
	}
	return n
}

// ofExpr returns what an expression means that belongs to the ad.
func (m *meanings) ofExpr(ad *classad.Ad, e *classad.Expr) meaning {
	x := m.expression(e)
	if len(m.busy) == 0 {
		m.steps = 0
	}
	m.steps++
	switch {
	case slices.Contains(m.busy, x):
		return meansCircle | meaning(x.id)
	case len(m.busy) >= mostNested, m.steps > mostSteps:
		return m.whole(ad)
	}
	m.busy = append(m.busy, x)
	n := m.conjunction(ad, x)
	m.busy = m.busy[:len(m.busy)-1]
	return n
}

// conjunction returns what clauses mean together.
func (m *meanings) conjunction(ad *classad.Ad, x *expression) meaning {
	if len(x.clauses) == 1 {
		n, _ := m.ofClause(ad, x.clauses[0])
		return n
	}
	from := m.begin(keyConjunction)
	for _, c := range x.clauses {
		n, closed := m.ofClause(ad, c)
		if closed && n != m.yes {
			// Which clause it is that slots fall at is told apart.
			at := m.begin(keyFalls)
			m.add(meaning(c.id))
			m.add(n)
			n = m.end(at)
		}
		m.add(n)
	}
	return m.end(from)
}

// begin begins a key, and returns where: end makes a number of it. In between, other
// keys may be begun and ended.
func (m *meanings) begin(kind byte) int {
	m.keys = append(m.keys, kind)
	return len(m.keys) - 1
}

func (m *meanings) add(n meaning) { m.keys = binary.LittleEndian.AppendUint64(m.keys, uint64(n)) }

func (m *meanings) end(from int) meaning {
	n := m.number(m.keys[from:])
	m.keys = m.keys[:from]
	return n
}

// expression looks an expression up.
func (m *meanings) expression(e *classad.Expr) *expression {
	id := m.lex.number(e)
	x := m.known[id]
	if x == nil {
		x = &expression{id: id}
		for _, part := range e.Clauses() {
			c := &clause{id: m.lex.number(part), expr: part}
			c.looks, c.told = classad.Sides(part)
			c.told = c.told && !m.lex.shadowed
			for _, n := range slices.Concat(c.looks.Own, c.looks.Either) {
				c.names = append(c.names, lookedUp{name: classad.NewName(n)})
			}
			c.alias = len(c.looks.Either) == 1 && strings.EqualFold(part.String(), c.looks.Either[0])
			x.clauses = append(x.clauses, c)
		}
		m.known[id] = x
	}
	return x
}

// ofClause returns what a clause means, and whether that is a constant.
func (m *meanings) ofClause(ad *classad.Ad, c *clause) (n meaning, closed bool) {
	found := len(m.found)
	defer func() { m.found = m.found[:found] }()
	switch {
	case !c.told:
		return m.whole(ad), false
	case c.alias:
		if n := m.at(ad, &c.names[0]); n != 0 {
			return n, n < meansOther
		}
	case m.closed(ad, c):
		return m.constant(c.expr.Eval(m.eval, ad, nil)), true
	}
	from := m.begin(keyOpen)
	m.add(meaning(c.id))
	plain := true // all that is looked up here are small constants
	for i := range c.names {
		n := meaning(0)
		if found+i < len(m.found) {
			n = m.found[found+i]
		}
		if n == 0 {
			n = m.at(ad, &c.names[i])
		}
		plain = plain && n < meansOther && m.small(ad, c.names[i].name)
		m.add(n)
	}
	n, known := m.numbers[string(m.keys[from:])]
	if !known && plain {
		rest := c.expr.Specialize(m.eval, ad, nil)
		n = m.number(rest.AppendTo([]byte{keyRest}, classad.StyleSpool))
		m.numbers[string(m.keys[from:])] = n
		known = true
	}
	if !known {
		n = m.number(m.keys[from:])
	}
	m.keys = m.keys[:from]
	return n, false
}

// closed reports whether a clause has the same value whatever the job. The values that
// it comes from need no numbers then. It leaves in m.found what the names mean that it looked
// at and that are expressions, 0 for others.
func (m *meanings) closed(ad *classad.Ad, c *clause) bool {
	if len(c.looks.Other) > 0 {
		return false
	}
	for i := range c.names {
		_, e, ok := ad.Get(c.names[i].name)
		n := meaning(0)
		if e != nil {
			n = m.ofExpr(ad, e)
		}
		m.found = append(m.found, n)
		if !ok && i >= len(c.looks.Own) || n >= meansOther {
			return false // a bare name that the slot does not have asks the job
		}
	}
	return true
}

// value returns what an expression comes to that belongs to the ad, if it is the same
// whatever the job.
func (m *meanings) value(ad *classad.Ad, e *classad.Expr) (v classad.Value, closed bool) {
	for _, c := range m.expression(e).clauses {
		closed := c.told && m.closed(ad, c)
		m.found = m.found[:0]
		if !closed {
			return v, false
		}
	}
	return e.Eval(m.eval, ad, nil), true
}

// small reports whether a constant is one that Specialize puts in the place of its name.
func (m *meanings) small(ad *classad.Ad, name *classad.Name) bool {
	v, e, ok := ad.Get(name)
	if !ok || e != nil {
		return !ok
	}
	text, isText := v.Text()
	return v.Kind() < classad.KindList && (!isText || len(text) < 1000)
}

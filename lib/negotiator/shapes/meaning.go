package shapes

import (
	"encoding/binary"
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// meaning numbers the value of an attribute in any match of the cycle: equal ones behave
// alike, whatever the ads say.
type meaning uint64

// meanings finds the meanings of slots' attributes. It computes the part of an expression
// that depends on the slot's own attributes, so that ten thousand slots with different
// loads are the same to a START that only asks whether these are below a bound.
type meanings struct {
	eval *classad.Context
	lex  *lexicon
	// every returns the names of all attributes of all slots; safe for goroutines.
	every func() Names

	yes     meaning                // true
	numbers map[string]meaning     // of everything but constants, by its key
	known   map[uint32]*expression // by the number of their texts
	busy    []*expression          // expressions under way: a circle ends here
	keys    []byte                 // that are being made, one behind the other
	found   []meaning              // for names in clauses, one clause behind the other
	steps   int                    // expressions looked at for the one that was asked for
}

// expression is an expression in slots' ads, analyzed.
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
	alias bool   // it is only the one name
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
	keyOpen             // a clause that depends on the job, by the names that it looks up
	keyRest             // the same, by the rest after partial evaluation
	keyWhole
)

// How deep attributes may be nested in each other, and how many be looked at for one,
// before their meaning is given up: with two in each, they double with every level.
const (
	mostNested = 100
	mostSteps  = 1000
)

func newMeanings(eval *classad.Context, lex *lexicon, every func() Names) *meanings {
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

func lookedOf(all Names) (l looked) {
	for _, name := range all {
		l = append(l, lookedUp{name: name})
	}
	return l
}

// at returns the meaning of the ad's attribute.
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

// number returns the number of a key, which only meanings have.
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
			// Slots that fail at different clauses differ.
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

// ofClause returns the meaning of a clause, and whether that is a constant.
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

// closed reports whether a clause has the same value whatever the job. Its inputs need no
// numbers then. It appends to m.found, for each name that it looked at, the meaning if it is
// an expression, else 0.
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

// isClosed reports whether an expression that belongs to the ad is the same whatever the job.
func (m *meanings) isClosed(ad *classad.Ad, e *classad.Expr) bool {
	for _, c := range m.expression(e).clauses {
		closed := c.told && m.closed(ad, c)
		m.found = m.found[:0]
		if !closed {
			return false
		}
	}
	return true
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

// appendMeaning appends a meaning to a key.
func appendMeaning(key []byte, n meaning) []byte {
	return binary.LittleEndian.AppendUint64(key, uint64(n))
}

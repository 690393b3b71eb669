package lazydfa

import (
	"encoding/binary"
	"regexp/syntax"
	"sync"
	"sync/atomic"
)

// before says what stands before a place in the text, as far as conditions
// can ask.
type before uint8

const (
	beforeText before = iota
	beforeWord
	beforeNewline
	beforeOther
)

// sample is a character that stands for all of its kind in
// syntax.EmptyOpContext.
var sample = [...]rune{beforeText: -1, beforeWord: 'a', beforeNewline: '\n', beforeOther: ' '}

const (
	// allConditions are those that both neighbours of a place decide,
	// backward those that the one before it does.
	allConditions = ^syntax.EmptyOp(0)
	backward      = syntax.EmptyBeginLine | syntax.EmptyBeginText
)

// builder makes states and transitions as they are needed.
//
// A state is the places in the program where a search may be: opReads, and
// opAsserts whose answer depends on the next byte. Where it has some of these,
// it knows what stands before it, too. All this is its key, which is also all
// that is kept of it: a byte for what stands before, then the places in
// ascending order, as differences.
type builder struct {
	full atomic.Bool // there is no room for another state

	mu       sync.Mutex
	prog     *program
	samples  []byte // a byte of each class
	anchored bool   // a match begins where the text does, or not at all
	states   map[string]uint32
	keys     []string // by number of the state
	room     int      // bytes that are left for keys and table
	key      []byte   // a key in the making
	here     closure  // where a search is once the next byte is known
	there    closure  // and where it is behind that byte
}

// stateCost is about what a state takes apart from its key's bytes and its row
// of the table: two headers of the key and its share of a map.
const stateCost = 64

// begin sets up an empty table and returns the state before the text.
func (b *builder) begin(t *atomic.Pointer[table], p *program, c *classes, room int) uint32 {
	b.prog, b.samples, b.room = p, c.samples(), room
	b.states = map[string]uint32{}
	b.here.init(p)
	b.there.init(p)
	b.anchored = b.onlyAtStart()
	t.Store(new(table))
	b.here.clear()
	b.here.follow(p.start, syntax.EmptyOpContext(-1, ' '), backward)
	return b.state(t, &b.here, beforeText)
}

// onlyAtStart says that no match can begin behind a byte.
func (b *builder) onlyAtStart() bool {
	for _, r := range " \n" {
		b.here.clear()
		b.here.follow(b.prog.start, syntax.EmptyOpContext(r, ' '), backward)
		if !b.here.empty() {
			return false
		}
	}
	return true
}

// build returns where a transition leads and the table to go on with. Without
// room for it, it leads to unbuilt.
func (m *Matcher) build(s, class uint32) (uint32, table) {
	b := &m.builder
	if b.full.Load() {
		return unbuilt, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := (*m.table.Load())[s+class].Load(); n != unbuilt {
		return n, *m.table.Load() // somebody else was faster
	}
	n := b.step(&m.table, s, class)
	t := *m.table.Load()
	t[s+class].Store(n)
	return n, t
}

// stride is how many entries of the table a state has: one for each class
// and one for the end of the text.
func (b *builder) stride() int { return len(b.samples) + 1 }

// step finds where a transition leads.
func (b *builder) step(t *atomic.Pointer[table], s, class uint32) uint32 {
	next := rune(-1)
	if int(class) < len(b.samples) {
		next = rune(b.samples[class])
	}
	key := b.keys[(s-firstState)/uint32(b.stride())]
	b.decide(key, next)
	switch {
	case b.here.matched:
		return matched
	case next < 0:
		return dead
	}
	p := b.prog
	after, now := b.kind(next), syntax.EmptyOpContext(next, ' ')
	b.there.clear()
	b.here.each(func(pc uint32) {
		if i := &p.insts[pc]; i.op == opRead && p.sets[i.arg].has(byte(next)) {
			b.there.follow(i.out, now, backward)
		}
	})
	b.there.follow(p.start, now, backward) // a match may begin anywhere
	return b.state(t, &b.there, after)
}

// decide fills b.here with the places of a state's key once the next
// character is known; -1 is the end of the text.
func (b *builder) decide(key string, next rune) {
	now := syntax.EmptyOpContext(sample[key[0]], next)
	b.here.clear()
	pc := uint32(0)
	for i := 1; i < len(key); {
		// Differences are at most maxProgram: two bytes.
		difference := uint32(key[i])
		i++
		if difference >= 0x80 {
			difference = difference&0x7f | uint32(key[i])<<7
			i++
		}
		pc += difference
		b.here.follow(pc, now, allConditions)
	}
}

// kind says what r is to those conditions that the program has.
func (b *builder) kind(r rune) before {
	switch {
	case b.prog.asked&boundaries != 0 && syntax.IsWordChar(r):
		return beforeWord
	case b.prog.asked&lines != 0 && r == '\n':
		return beforeNewline
	}
	return beforeOther
}

// state returns the state of what c has reached behind before: an old one, a
// new one, an answer, or unbuilt if there is no room for a new one.
func (b *builder) state(t *atomic.Pointer[table], c *closure, behind before) uint32 {
	if c.matched {
		return matched
	}
	b.makeKey(c, behind)
	if len(b.key) == 1 && b.anchored {
		return dead
	}
	if s, ok := b.states[string(b.key)]; ok {
		return s
	}
	number := len(b.keys)
	if !b.reserve(t, number) {
		return unbuilt
	}
	key, s := string(b.key), uint32(firstState+number*b.stride())
	b.keys = append(b.keys, key)
	b.states[key] = s
	return s
}

func (b *builder) makeKey(c *closure, behind before) {
	b.key = append(b.key[:0], byte(beforeOther))
	last := uint32(0)
	c.each(func(pc uint32) {
		if b.prog.insts[pc].op == opAssert {
			b.key[0] = byte(behind)
		}
		b.key = binary.AppendUvarint(b.key, uint64(pc-last))
		last = pc
	})
}

// reserve makes the table reach to the state of this number, and takes what
// the state costs from the room that is left, if there is enough.
func (b *builder) reserve(t *atomic.Pointer[table], number int) bool {
	const entry = 4
	old := *t.Load()
	cost, size := len(b.key)+stateCost, len(old)
	if firstState+(number+1)*b.stride() > size {
		size = firstState + 2*(number+1)*b.stride()
		cost += entry * (size - len(old))
	}
	if cost > b.room {
		b.full.Store(true)
		b.room = 0 // not even for a smaller one, later
		return false
	}
	b.room -= cost
	if size > len(old) {
		// Whoever still reads the old table comes to transitions that are
		// unbuilt there, asks build, and goes on with the new one.
		larger := make(table, size)
		for i := range old {
			larger[i].Store(old[i].Load())
		}
		t.Store(&larger)
	}
	return true
}

package lazydfa

import (
	"encoding/binary"
	"math/bits"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// maxProgram is the longest program, in instructions, that is made into
	// an automaton.
	maxProgram = 8192
	// maxCache is how many bytes the states of one Matcher may take.
	maxCache = 1 << 17
)

// Matcher is a compiled pattern. It may be used by several goroutines.
type Matcher struct {
	class [256]uint8 // the class of each byte
	end   uint32     // the number of the end of the text, in place of a class
	start uint32     // the state before the first byte
	table atomic.Pointer[table]

	// prefix begins every match; if it is whole, it is also all of it.
	prefix string
	whole  bool

	builder builder

	pattern  string
	slowOnce sync.Once
	slow     *regexp.Regexp // of pattern; made by the first match that needs it
}

// table has the transitions. A state is the index of its first entry, so that
// state+class is where the next state stands. Values below firstState are no
// states but answers.
type table []atomic.Uint32

const (
	unbuilt    = iota // not visited yet
	dead              // no match, whatever follows
	matched           // a match, whatever follows
	firstState        // the index of the first state
)

// Compile compiles a pattern of package regexp. For an invalid pattern the error is that
// of regexp/syntax.
//
// The cost is one to three times that of regexp.Compile, 3 to 15 microseconds
// for the patterns of real pools; the automaton is built while texts are
// matched, at less than a microsecond for each new transition. A pattern too
// long for an automaton is matched by package regexp.
func Compile(pattern string) (*Matcher, error) { return compile(pattern, maxCache) }

func compile(pattern string, cache int) (*Matcher, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	m := &Matcher{pattern: pattern}
	m.setPrefix(prog)
	if m.whole || len(prog.Inst) > maxProgram {
		return m, nil // start is unbuilt
	}
	p, c := newProgram(prog)
	m.class, m.end = c.of, uint32(c.count)
	m.start = m.builder.begin(&m.table, p, c, cache)
	return m, nil
}

// setPrefix remembers with which literal each match begins, if there is one
// and it consists of bytes.
func (m *Matcher) setPrefix(prog *syntax.Prog) {
	prefix, whole := prog.Prefix()
	b := make([]byte, 0, len(prefix))
	for _, r := range prefix {
		if r > 255 {
			return
		}
		b = append(b, byte(r))
	}
	m.prefix, m.whole = string(b), whole && prefix != ""
}

// Match reports whether the pattern is found anywhere in text. Every byte of
// text counts as the character of that number, 0 to 255. The time is linear
// in the length of text.
func (m *Matcher) Match(text string) bool {
	rest := text
	if m.prefix != "" {
		i := strings.Index(text, m.prefix)
		if i < 0 || m.whole {
			return i >= 0
		}
		// The prefix does not depend on the text before it, so the search may begin with
		// it as well as before it.
		rest = text[i:]
	}
	s := m.start
	if s < firstState {
		return s == matched || s == unbuilt && m.matchSlowly(text)
	}
	t := *m.table.Load()
	for i := 0; i < len(rest); i++ {
		n := t[s+uint32(m.class[rest[i]])].Load()
		if n < firstState {
			if n == unbuilt {
				n, t = m.build(s, uint32(m.class[rest[i]]))
			}
			if n < firstState {
				return n == matched || n == unbuilt && m.matchSlowly(text)
			}
		}
		s = n
	}
	n := t[s+m.end].Load()
	if n == unbuilt {
		n, _ = m.build(s, m.end)
	}
	return n == matched || n == unbuilt && m.matchSlowly(text)
}

// matchSlowly is Match by package regexp.
func (m *Matcher) matchSlowly(text string) bool {
	m.slowOnce.Do(func() {
		// Compile has done the same with the same pattern: no error is left.
		m.slow, _ = regexp.Compile(m.pattern)
	})
	return m.slow != nil && m.slow.MatchString(Widen(text))
}

// Widen makes every byte of a text the character of its number, in UTF-8, so that one byte is one
// character for package regexp.
func Widen(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			b := make([]byte, 0, 2*len(s))
			for j := range len(s) {
				b = utf8.AppendRune(b, rune(s[j]))
			}
			return string(b)
		}
	}
	return s
}

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
	// allConditions are the conditions that both neighbours of a place decide, backward
	// those that the one before it decides.
	allConditions = ^syntax.EmptyOp(0)
	backward      = syntax.EmptyBeginLine | syntax.EmptyBeginText
)

// builder makes states and transitions as they are needed.
//
// A state is the places in the program where a search may be: opReads, and opAsserts that
// depend on the next byte. A state with the latter also knows what precedes it. All this
// is its key, which is also all that is kept of it: a byte for what precedes, then the
// places in ascending order, as differences.
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

// stateCost is about the size of a state without its key's bytes and its row of the
// table: two headers of the key and its share of a map.
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

// build returns the target of a transition and the table to go on with. Without room for
// it, the target is unbuilt.
func (m *Matcher) build(s, class uint32) (uint32, table) {
	b := &m.builder
	if b.full.Load() {
		return unbuilt, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := (*m.table.Load())[s+class].Load(); n != unbuilt {
		return n, *m.table.Load() // another goroutine was faster
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

// state returns the state for the places that c has reached behind before: an old one, a
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

// reserve extends the table to the state of this number, and subtracts the state's cost
// from the free room, if there is enough.
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
		// A goroutine that still reads the old table comes to transitions that are
		// unbuilt there, asks build, and goes on with the new one.
		larger := make(table, size)
		for i := range old {
			larger[i].Store(old[i].Load())
		}
		t.Store(&larger)
	}
	return true
}

// closure collects what can be reached in a program without reading a byte.
type closure struct {
	prog    *program
	seen    []uint64 // all places, a bit each
	kept    []uint64 // those to wait at: opReads, and undecided opAsserts
	todo    []uint32
	matched bool // opMatch has been reached
}

func (c *closure) init(p *program) {
	words := (len(p.insts) + 63) / 64
	c.prog, c.seen, c.kept = p, make([]uint64, words), make([]uint64, words)
}

func (c *closure) clear() {
	clear(c.seen)
	clear(c.kept)
	c.matched = false
}

// visit makes sure that the place pc is looked at, once.
func (c *closure) visit(pc uint32) {
	if bit := uint64(1) << (pc & 63); c.seen[pc>>6]&bit == 0 {
		c.seen[pc>>6] |= bit
		c.todo = append(c.todo, pc)
	}
}

// follow adds the places reachable from pc if the conditions in now hold and the others
// in known do not. It keeps an opAssert that depends on conditions outside known, unless
// known already fails it. All calls after a clear have the same now and known.
func (c *closure) follow(pc uint32, now, known syntax.EmptyOp) {
	c.visit(pc)
	for len(c.todo) > 0 {
		pc := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		switch i := &c.prog.insts[pc]; i.op {
		case opMatch:
			c.matched = true
		case opPass:
			c.visit(i.out)
		case opFork:
			c.visit(i.out)
			c.visit(i.arg)
		case opAssert:
			asked := syntax.EmptyOp(i.arg)
			switch {
			case asked&known&^now != 0:
			case asked&^known != 0:
				c.keep(pc)
			default:
				c.visit(i.out)
			}
		case opRead:
			c.keep(pc)
		}
	}
}

func (c *closure) keep(pc uint32) { c.kept[pc>>6] |= 1 << (pc & 63) }

// empty says that there is nothing to wait for and no match.
func (c *closure) empty() bool {
	for _, word := range c.kept {
		if word != 0 {
			return false
		}
	}
	return !c.matched
}

// each calls f for every kept place, in ascending order.
func (c *closure) each(f func(pc uint32)) {
	for i, word := range c.kept {
		for ; word != 0; word &= word - 1 {
			f(uint32(i<<6 + bits.TrailingZeros64(word)))
		}
	}
}

package lazydfa

import (
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
	end   uint32     // what the end of the text is instead of a class
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
	unbuilt    = iota // nobody has been here yet
	dead              // no match, whatever follows
	matched           // a match, whatever follows
	firstState        // the index of the first state
)

// Compile compiles a pattern of package regexp. The error is that of
// regexp/syntax for what is not one.
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
		// The prefix asks nothing of what stands before it, so the search may
		// begin with it as well as before it.
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
	return m.slow != nil && m.slow.MatchString(widen(text))
}

// widen makes every byte the character of its number, in UTF-8.
func widen(s string) string {
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

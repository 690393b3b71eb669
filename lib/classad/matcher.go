package classad

import "unsafe"

// Matcher matches one ad with many others. What depends on the one ad alone is
// worked out once and not for every other: its constants are folded into its
// own expressions, and into those of the others that are met often.
// The answers are those of Match, MatchRanks, Satisfies and Rank, save that an
// expression which goes too deep for them may have an answer here. The ad must
// not change meanwhile. A Matcher is for one goroutine at a time.
type Matcher struct {
	c     Context
	ad    *Ad
	st    *state
	asked int
	known *known // nil: nothing is worked out
	ended bool   // a limit ended an evaluation
}

// worthIt is how many questions there must be before it pays to work anything
// out.
const worthIt = 128

// NewMatcher returns a Matcher for an ad, and for the time and the seed of c.
func NewMatcher(c *Context, ad *Ad) *Matcher {
	m := &Matcher{ad: ad}
	if c != nil {
		m.c = *c
	}
	m.reset()
	return m
}

// reset makes the scratch memory anew.
func (m *Matcher) reset() {
	st := &state{now: m.c.Now, seed: m.c.Seed, strict: m.c.Strict, look: &m.c}
	st.allow(&m.c)
	st.my.ad, st.my.other = m.ad, &st.target
	st.my.plain = m.ad != nil && !m.c.Strict && !m.ad.shadowsScopes()
	st.my.table = m.ad.table()
	st.target.other = &st.my
	m.st = st
}

// Ended reports whether a limit of an evaluation ended one so far: whoever has many
// questions left may not want to wait for the same again and again.
func (m *Matcher) Ended() bool { return m.ended }

// Charge takes the steps of the questions to come from another budget, as Context.Budget
// says.
func (m *Matcher) Charge(b *Budget) {
	m.c.Budget = b
	m.st.allow(&m.c)
}

// Match is Match with the Matcher's ad on the left.
func (m *Matcher) Match(other *Ad) bool {
	ok := m.begin(other) && m.st.falls(&m.st.target) < 0 && m.st.falls(&m.st.my) < 0
	m.end()
	return ok
}

// MatchRanks is MatchRanks with the Matcher's ad on the left.
func (m *Matcher) MatchRanks(other *Ad) (ok bool, rank, otherRank float64) {
	if m.begin(other) && m.st.falls(&m.st.target) < 0 && m.st.falls(&m.st.my) < 0 {
		ok, rank, otherRank = true, m.st.rank(&m.st.my), m.st.rank(&m.st.target)
	}
	m.end()
	return ok, rank, otherRank
}

// Falls returns at which clause the Matcher's ad turns the other one down: the
// index, in the Clauses of its Requirements, of the first that is not true
// with the other as TARGET; -1 when all are true, which is when it wants the
// other. Without Requirements, and for an other that is nil, it is 0.
//
// A clause is one of Requirements itself: a name among them is not replaced by
// the clauses of what it stands for, as Explain does. Clauses behind the first
// that is not true are not evaluated.
func (m *Matcher) Falls(other *Ad) int {
	at := 0
	if m.begin(other) {
		at = m.st.falls(&m.st.my)
	}
	m.end()
	return at
}

// FallsBy is Falls the other way round: at which clause of the other's
// Requirements that one turns the Matcher's ad down.
func (m *Matcher) FallsBy(other *Ad) int {
	at := 0
	if m.begin(other) {
		at = m.st.falls(&m.st.target)
	}
	m.end()
	return at
}

// Rank returns the Rank of the Matcher's ad with the other as TARGET; 0 when it
// is missing or no number.
func (m *Matcher) Rank(other *Ad) float64 {
	x := 0.0
	if m.begin(other) {
		x = m.st.rank(&m.st.my)
	}
	m.end()
	return x
}

// begin gets ready for the next ad; false when there is nothing to match with:
// unlike Satisfies, a Matcher wants no ad that is nil.
func (m *Matcher) begin(other *Ad) bool {
	if m.ad == nil || other == nil {
		return false
	}
	st := m.st
	if m.asked++; m.asked == worthIt && st.my.plain {
		m.known = &known{c: &m.c, ad: m.ad}
	}
	st.target.ad, st.target.plain = other, !st.strict && !other.shadowsScopes()
	st.target.table = other.table()
	st.known = nil
	if st.target.plain {
		st.known = m.known
	}
	return true
}

func (m *Matcher) end() {
	st := m.st
	st.charge()
	if st.failed {
		m.ended = true
		m.reset()
		return
	}
	st.randoms, st.base, st.busy = 0, 0, 0
	st.allow(&m.c)
	st.args = st.args[:0]
}

// known is what has been worked out for one ad of a match, the known one.
type known struct {
	c     *Context
	ad    *Ad
	sides [2]specialised // of the known ad's own expressions, and of the others'
}

// specialised is a side's expressions with those that take their place.
type specialised struct {
	near [nearSize]replacement
	all  map[*Expr]replacement // that were worked out
}

// replacement is what takes the place of an expression, both nil until it has been
// worked out.
type replacement struct {
	from        *Expr
	met         int
	to          *Expr
	conjunction *conjunction
}

const (
	nearSize       = 256     // expressions found without a map
	maxSpecialised = 1 << 16 // expressions remembered
	oftenMet       = 8       // how often another's expression is met before it pays to work anything out
)

// instead returns the expression that takes the place of e in a scope of the
// match; theirs tells the other ad's.
func (k *known) instead(e *Expr, theirs bool) *Expr {
	s, side := k.entry(e, theirs)
	switch {
	case s.to != nil:
		return s.to
	case s.met < oftenMet && theirs:
		return e
	case theirs:
		s.to = e.Specialize(k.c, nil, k.ad)
	default:
		s.to = e.Specialize(k.c, k.ad, nil)
	}
	side.remember(s)
	return s.to
}

// conjunction is instead for Requirements.
func (k *known) conjunction(e *Expr, theirs bool) *conjunction {
	s, side := k.entry(e, theirs)
	switch {
	case s.conjunction != nil:
		return s.conjunction
	case s.met < oftenMet && theirs:
		return e.conjunction()
	case theirs:
		s.conjunction = e.specialConjunction(k.c, nil, k.ad)
	default:
		s.conjunction = e.specialConjunction(k.c, k.ad, nil)
	}
	side.remember(s)
	return s.conjunction
}

// entry returns the entry of an expression that was met, until the next one
// is asked for.
func (k *known) entry(e *Expr, theirs bool) (*replacement, *specialised) {
	side := &k.sides[0]
	if theirs {
		side = &k.sides[1]
	}
	address := uintptr(unsafe.Pointer(e))
	s := &side.near[(address>>6^address>>14)%nearSize]
	if s.from != e {
		*s = replacement{from: e}
		if len(side.all) > 0 {
			if was, ok := side.all[e]; ok {
				*s = was
			}
		}
	}
	s.met++
	return s, side
}

func (s *specialised) remember(e *replacement) {
	if s.all == nil {
		s.all = map[*Expr]replacement{}
	}
	if _, known := s.all[e.from]; known || len(s.all) < maxSpecialised {
		s.all[e.from] = *e
	}
}

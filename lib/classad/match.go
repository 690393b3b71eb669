package classad

import "unsafe"

// wanted are the attributes that matching looks at.
var wanted = [2]attribute{newAttribute("Requirements"), newAttribute("Rank")}

const (
	requirements = iota
	rank
)

// want returns one of the attributes wanted, or nil.
func (a *Ad) want(which int) *cell {
	for ; a != nil; a = a.parent {
		if a.shape != nil {
			if at := a.shape.wants[which]; at > 0 {
				return a.at(int(at) - 1)
			}
		}
	}
	return nil
}

// Match reports whether two ads want each other: the Requirements of both are true with the other ad as TARGET. Missing, UNDEFINED and
// ERROR mean no. The right one is evaluated first.
func Match(c *Context, left, right *Ad) bool {
	st := newState(c, left, right)
	ok := right != nil && left != nil && st.satisfied(&st.target) && st.satisfied(&st.my)
	st.release()
	return ok
}

// Satisfies reports whether my accepts target: its Requirements are true.
func Satisfies(c *Context, my, target *Ad) bool {
	st := newState(c, my, target)
	ok := st.satisfied(&st.my)
	st.release()
	return ok
}

// satisfied evaluates the Requirements of one side.
func (st *state) satisfied(sc *scope) bool {
	e := sc.ad.want(requirements)
	if e == nil {
		return false
	}
	return st.attribute(e, sc, &wanted[requirements], -1).True() && !st.failed
}

// rank evaluates the Rank of one side.
func (st *state) rank(sc *scope) float64 {
	e := sc.ad.want(rank)
	if e == nil {
		return 0
	}
	x, ok := st.attribute(e, sc, &wanted[rank], -1).Number()
	if !ok || st.failed {
		return 0
	}
	return x
}

// Rank evaluates an expression such as an ad's Rank, with target as TARGET. It returns a number, or 1 and 0 for a boolean; ok is false
// for everything else, which counts as 0. A nil expression is not ok.
func Rank(c *Context, e *Expr, my, target *Ad) (rank float64, ok bool) {
	if e == nil {
		return 0, false
	}
	return e.Eval(c, my, target).Number()
}

// Eval returns the value of an attribute with a as MY; UNDEFINED when a does not have it.
func (a *Ad) Eval(c *Context, name string, target *Ad) Value {
	e := a.cellNamed(name)
	if e == nil {
		return Undefined()
	}
	if e.kind != kindProgram {
		return e.Value
	}
	st := newState(c, a, target)
	return st.done(st.named(name, &st.my, -1))
}

// readSteps bounds an attribute of which a program wants only the number or the text: most are constants.
const readSteps = 5_000

// read is Eval of an attribute without a TARGET, which is ERROR beyond readSteps, or the MaxSteps of c.
func (a *Ad) read(c *Context, name string) Value {
	e := a.cellNamed(name)
	if e == nil {
		return Undefined()
	}
	if e.kind != kindProgram {
		return e.Value
	}
	limited := Context{}
	if c != nil {
		limited = *c
	}
	if limited.MaxSteps == 0 {
		limited.MaxSteps = readSteps
	}
	st := newState(&limited, a, nil)
	return st.done(st.named(name, &st.my, -1))
}

// EvalInt returns the value of an attribute that is an integer, without a TARGET; ok is false when it is missing or something else, or
// takes more than 5,000 steps where c has no MaxSteps. So do the next three.
func (a *Ad) EvalInt(c *Context, name string) (n int64, ok bool) { return a.read(c, name).Int() }

// EvalString returns the text of an attribute that is a string, without a TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalString(c *Context, name string) (s string, ok bool) { return a.read(c, name).Text() }

// EvalNumber returns an attribute that is a number or a boolean (0 or 1), without a TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalNumber(c *Context, name string) (x float64, ok bool) {
	return a.read(c, name).Number()
}

// EvalBool returns an attribute that is a boolean, or whether a number is not
// zero, without a TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalBool(c *Context, name string) (b, ok bool) { return a.read(c, name).Bool() }

// Matcher matches one ad with many others. It computes once, and not for every other ad, what depends on the one ad alone: it folds that
// ad's constants into its own expressions, and into those of other ads that it meets often. The answers are those of Match, Satisfies and
// Rank, except that an expression which goes too deep for them may have an answer here. The ad must not change meanwhile. A Matcher is
// for one goroutine at a time.
type Matcher struct {
	c     Context
	ad    *Ad
	st    *state // nil: it was not asked yet, or a limit ended the last evaluation
	asked int
	known *known // what is worked out, from question worthIt on; or room for it
	ended bool   // a limit ended an evaluation
}

// worthIt is how many questions there must be before it pays to work anything out.
const worthIt = 128

// NewMatcher returns a Matcher for an ad, and for the time and the seed of c.
func NewMatcher(c *Context, ad *Ad) *Matcher {
	m := new(Matcher)
	m.Reset(c, ad)
	return m
}

// Reset makes m, which may be new, a Matcher for another ad, as NewMatcher does. It keeps scratch memory and compiled patterns.
func (m *Matcher) Reset(c *Context, ad *Ad) {
	*m = Matcher{ad: ad, st: m.st, known: m.known}
	if c != nil {
		m.c = *c
	}
	if m.st != nil {
		m.prepare()
	}
}

// prepare makes scratch memory ready for questions about the ad.
func (m *Matcher) prepare() {
	if m.st == nil {
		m.st = new(state)
	}
	st := m.st
	st.now, st.seed, st.strict, st.look = m.c.Now, m.c.Seed, m.c.Strict, &m.c
	st.allow(&m.c)
	st.my.ad, st.my.other = m.ad, &st.target
	st.my.plain = m.ad != nil && !m.c.Strict && !m.ad.ShadowsScopes()
	st.my.table = m.ad.table()
	st.target.other = &st.my
}

// Ended reports whether a limit has ended an evaluation so far. The next may take as long again.
func (m *Matcher) Ended() bool { return m.ended }

// Charge takes the steps of the questions to come from another budget, as Context.Budget says.
func (m *Matcher) Charge(b *Budget) {
	m.c.Budget = b
	if m.st != nil {
		m.st.allow(&m.c)
	}
}

// Match is Match with the Matcher's ad on the left.
func (m *Matcher) Match(other *Ad) bool {
	ok := m.begin(other) && m.st.falls(&m.st.target) < 0 && m.st.falls(&m.st.my) < 0
	m.end()
	return ok
}

// MatchRanks is Match and, if the ads match, the Rank of each with the other as TARGET, that of the
// Matcher's first. A rank that is missing or no number is 0.
func (m *Matcher) MatchRanks(other *Ad) (ok bool, rank, otherRank float64) {
	if m.begin(other) && m.st.falls(&m.st.target) < 0 && m.st.falls(&m.st.my) < 0 {
		ok, rank, otherRank = true, m.st.rank(&m.st.my), m.st.rank(&m.st.target)
	}
	m.end()
	return ok, rank, otherRank
}

// Falls returns the clause at which the Matcher's ad refuses the other one: the index, in the Clauses of its Requirements, of the first
// that is not true with the other as TARGET; -1 if all are true, so that it wants the other. Without Requirements, and for an other that
// is nil, it is 0.
//
// A clause is one of Requirements itself: unlike Explain, Falls does not replace a name by the clauses of its attribute. Clauses behind
// the first that is not true are not evaluated.
func (m *Matcher) Falls(other *Ad) int {
	at := 0
	if m.begin(other) {
		at = m.st.falls(&m.st.my)
	}
	m.end()
	return at
}

// FallsBy is Falls with the ads exchanged: the index is of a clause of the other's Requirements.
func (m *Matcher) FallsBy(other *Ad) int {
	at := 0
	if m.begin(other) {
		at = m.st.falls(&m.st.target)
	}
	m.end()
	return at
}

// Rank returns the Rank of the Matcher's ad with the other as TARGET; 0 when it is missing or no number.
func (m *Matcher) Rank(other *Ad) float64 {
	x := 0.0
	if m.begin(other) {
		x = m.st.rank(&m.st.my)
	}
	m.end()
	return x
}

// begin prepares the next question, and reports whether both ads are there.
func (m *Matcher) begin(other *Ad) bool {
	if m.st == nil {
		m.prepare()
	}
	if m.ad == nil || other == nil {
		return false
	}
	st := m.st
	if m.asked++; m.asked == worthIt {
		if m.known == nil {
			m.known = new(known)
		}
		*m.known = known{c: &m.c, ad: m.ad}
	}
	st.target.ad, st.target.plain = other, !st.strict && !other.ShadowsScopes()
	st.target.table = other.table()
	st.known = nil
	if m.asked >= worthIt && st.my.plain && st.target.plain {
		st.known = m.known
	}
	return true
}

func (m *Matcher) end() {
	st := m.st
	st.charge()
	if st.failed {
		m.ended, m.st = true, nil
		return
	}
	st.randoms, st.base, st.busy = 0, 0, 0
	st.allow(&m.c)
	st.args = st.args[:0]
}

// known is the results for one ad of a match, the known one.
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

// replacement is what takes the place of an expression, both nil until it has been worked out.
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

// instead returns the expression that takes the place of e in a scope of the match; theirs tells the other ad's.
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

// entry returns the entry of an expression that was met, until the next one is asked for.
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

package classad

import (
	"cmp"
	"sync"
	"time"
)

// Context is all of the outside world that an expression can see.
type Context struct {
	Now  time.Time // the moment, and with its Location the local time zone
	Seed uint64    // random() is a function of it and of how often it was called before
	// Strict is the language without what HTCondor's daemons added to it: a bare name is not looked up in the opposite ad, MY means
	// something only in a match, CurrentTime nothing at all, and eval() parses like ParseStrictExpr.
	Strict bool
	// UserMap answers userMap(): a map's entry for a user, a list of names with commas between, the user's usual one first. UserHome
	// answers userHome(): a user's home directory. Both must give the same answer to the same question during an evaluation. nil knows no
	// user.
	UserMap  func(mapName, user string) (names string, ok bool)
	UserHome func(user string) (directory string, ok bool)
	// MaxSteps bounds the operators, references and calls of one evaluation, which is ERROR beyond, up to 10,000,000. 0 means 200,000: a
	// thousand times the steps of a long expression, and some milliseconds. Text that is made or searched is bounded in proportion, see
	// Budget.
	MaxSteps int
	// Budget is what evaluations take their steps from, nil for no bound on all of them together.
	Budget *Budget
}

// most is how many steps an evaluation may take.
func (c *Context) most() int {
	if c == nil {
		return UsualSteps
	}
	most := min(cmp.Or(c.MaxSteps, UsualSteps), maxSteps)
	if c.Budget != nil {
		most = min(most, max(c.Budget.left, 0))
	}
	return most
}

// UsualSteps is how many steps an evaluation may take where Context.MaxSteps does not say.
const UsualSteps = 200_000

const (
	maxDepth = 400        // operators, references and calls inside each other in one evaluation
	maxSteps = 10_000_000 // operators, references and calls in one evaluation
	maxBytes = 1 << 28    // text made or searched in one evaluation

	stepBytes  = 8       // bytes of text made or searched that cost as much as a step
	leastBytes = 1 << 20 // what an evaluation may make and search, however few its steps

	compileCost = 256 // bytes that compiling one byte of a pattern counts for
)

// scope is where names are looked up: an ad, the ads around it, and for an outermost ad in a match the opposite one. A list uses it for
// its items and, in up, the scope they are evaluated in.
type scope struct {
	ad    *Ad
	items []*Expr
	up    *scope
	other *scope
	table *place // in a Matcher: of the ad's shape, if it has one
	// plain: an outermost ad (not nil) without an attribute called MY or TARGET, in the
	// language that is not strict: names have their usual meaning.
	plain bool
	// open: a name missing all the way up is looked up in the opposite ad even from this nested ad (countMatches, evalInEachContext).
	open bool
}

func (s *scope) outermost() *scope {
	for s.up != nil {
		s = s.up
	}
	return s
}

// same reports whether two scopes are the same ads inside each other. Scopes of nested ads are made anew whenever they are entered.
func (s *scope) same(t *scope) bool {
	for s != t {
		if s == nil || t == nil || s.ad != t.ad || s.up == nil && t.up == nil && s.ad == nil {
			return false
		}
		s, t = s.up, t.up
	}
	return true
}

// state is the scratch memory of one evaluation.
type state struct {
	now     time.Time
	seed    uint64
	strict  bool
	randoms uint64
	base    int // how deep the expression that runs stands inside others
	steps   int
	bytes   int
	from    struct{ steps, bytes int } // where steps and bytes began
	failed  bool                       // a limit was exceeded: the whole evaluation is ERROR
	look    *Context                   // nil: there is nothing to look up
	my      scope
	target  scope
	active  []activity
	busy    int // how many of them there are
	args    []Value
	regexps regexpMemo
	known   *known // nil: both ads of the match are new
}

// activity is an attribute being evaluated.
type activity struct {
	expr *Expr // one expression may serve several attributes
	in   *scope
	name *attribute
}

// states recycles scratch memory. It remembers nothing that could change a result.
var states = sync.Pool{New: func() any { return new(state) }}

func newState(c *Context, my, target *Ad) *state {
	st := states.Get().(*state)
	if c != nil {
		st.now, st.seed, st.strict, st.look = c.Now, c.Seed, c.Strict, c
	}
	st.allow(c)
	st.my.ad, st.my.plain = my, my != nil && !st.strict && !my.ShadowsScopes()
	st.my.other = nil
	if target != nil {
		st.target.ad, st.target.plain = target, !st.strict && !target.ShadowsScopes()
		st.my.other, st.target.other = &st.target, &st.my
	}
	return st
}

// done gives the state back and returns v, or ERROR when a limit was exceeded.
func (st *state) done(v Value) Value {
	if st.failed {
		v = Error()
	}
	if v.kind == KindList || v.kind == KindClassAd {
		st.charge()
		return v // it may refer to the state's scopes: keep them
	}
	st.release()
	return v
}

// allow begins to count the steps of an evaluation.
func (st *state) allow(c *Context) {
	st.steps, st.bytes = 0, 0
	if most := c.most(); most < maxSteps {
		st.steps = maxSteps - most
		st.bytes = max(0, maxBytes-max(leastBytes, stepBytes*most))
	}
	st.from.steps, st.from.bytes = st.steps, st.bytes
}

// charge takes the steps of an evaluation from the budget.
func (st *state) charge() {
	if st.look != nil && st.look.Budget != nil {
		st.look.Budget.left -= st.steps - st.from.steps + (st.bytes-st.from.bytes)/stepBytes
	}
}

func (st *state) release() {
	st.charge()
	if st.failed || cap(st.args) > 256 {
		return
	}
	st.now, st.seed, st.randoms, st.strict, st.look = time.Time{}, 0, 0, false, nil
	st.base = 0
	st.my.ad, st.target.ad = nil, nil
	st.busy, st.args = 0, st.args[:0]
	states.Put(st)
}

// spend accounts for bytes of text made or searched.
func (st *state) spend(n int) bool {
	st.bytes += n
	if st.bytes > maxBytes {
		st.bytes = maxBytes + stepBytes // the work is not done
		st.failed = true
	}
	return !st.failed
}

// random returns the next number of the evaluation's sequence, evenly spread over all 64 bits (splitmix64).
func (st *state) random() uint64 {
	st.randoms++
	z := st.seed + st.randoms*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Budget is a number of steps that several evaluations share (Context.Budget): operators, references and calls, and one more for every 8
// bytes of text made or searched. A step takes some nanoseconds. A budget does not change the value of an evaluation within it; an
// evaluation that exceeds it is ERROR, and its steps until then count. Only steps are counted, not time: the same evaluations in the same
// order take the same.
//
// A Budget is for one goroutine at a time.
type Budget struct{ left int }

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Left returns how many steps are left, 0 of a budget that is spent.
func (b *Budget) Left() int { return max(b.left, 0) }

// Spent reports whether an evaluation needed more steps than were left. Its value, and
// those of later ones, are ERROR only for that. It is false for nil.
func (b *Budget) Spent() bool { return b != nil && b.left < 0 }

// Over returns by how many steps more was taken than there was.
func (b *Budget) Over() int { return max(-b.left, 0) }

// Take takes steps that were counted elsewhere.
func (b *Budget) Take(steps int) { b.left -= steps }

// Budgets are budgets of the same number of steps for several owners, each made when it is
// first asked for. They are for one goroutine at a time.
type Budgets struct {
	steps int
	of    map[string]*Budget
}

// NewBudgets returns budgets of so many steps, or nil, which bound nothing, for 0.
func NewBudgets(steps int) *Budgets {
	if steps <= 0 {
		return nil
	}
	return &Budgets{steps: steps, of: map[string]*Budget{}}
}

// Clone returns budgets with the same steps taken.
func (b *Budgets) Clone() *Budgets {
	if b == nil {
		return nil
	}
	copied := NewBudgets(b.steps)
	for owner, one := range b.of {
		left := *one
		copied.of[owner] = &left
	}
	return copied
}

// Of returns the budget of an owner; nil of nil.
func (b *Budgets) Of(owner string) *Budget {
	if b == nil {
		return nil
	}
	one := b.of[owner]
	if one == nil {
		one = NewBudget(b.steps)
		b.of[owner] = one
	}
	return one
}

// Whole reports whether nothing was taken of an owner's budget yet.
func (b *Budgets) Whole(owner string) bool { return b != nil && b.Of(owner).left == b.steps }

// Taken returns what owners have taken of their budgets.
func (b *Budgets) Taken() map[string]int {
	if b == nil {
		return nil
	}
	taken := make(map[string]int, len(b.of))
	for owner, one := range b.of {
		taken[owner] = b.steps - one.left
	}
	return taken
}

// Eval returns the value of the expression, with my as the ad it belongs to and target as the ad opposite; both may be nil. It never
// panics and changes nothing.
func (e *Expr) Eval(c *Context, my, target *Ad) Value {
	if e = e.orUndefined(); e.constant() {
		return e.lit
	}
	st := newState(c, my, target)
	return st.done(st.run(e, &st.my))
}

// run evaluates an expression in a scope.
func (st *state) run(e *Expr, sc *scope) Value {
	if e.constant() {
		return e.lit
	}
	p := e.program()
	st.steps += p.size
	if st.steps > maxSteps || st.failed {
		st.failed = true
		return Error()
	}
	if st.base+p.height > maxDepth {
		return e.counting().value(st, sc)
	}
	return p.top.value(st, sc)
}

// runDeeper evaluates an expression from inside an operator that stands at a level of the expression running.
func (st *state) runDeeper(e *Expr, sc *scope, level int) Value {
	base := st.base
	st.base += level + 1
	v := st.run(e, sc)
	st.base = base
	return v
}

// evalNode evaluates a part of an expression that is not evaluated often.
func (st *state) evalNode(n node, sc *scope) Value { return st.run(newExpr(n), sc) }

// item evaluates the i-th element of a list value.
func (st *state) item(list Value, i int) Value {
	if st.steps++; st.steps > maxSteps {
		st.failed = true
	}
	if st.failed {
		return Error()
	}
	s := list.scope()
	v := st.run(s.items[i], s.up)
	if v.kind == KindString {
		st.spend(int(v.bits)) // the caller will look at it
	}
	return v
}

// attribute evaluates the expression that a name stands for in the scope where
// it was found. If it is being evaluated already, it is UNDEFINED.
func (st *state) attribute(c *cell, in *scope, name *attribute, level int) Value {
	if c.kind != kindProgram {
		return c.Value
	}
	e := c.program()
	n := st.busy
	if st.circular(e, in, name) {
		return Undefined()
	}
	if n == len(st.active) {
		st.makeRoom()
	}
	st.active[n] = activity{e, in, name}
	st.steps += n / 4 // circular has looked at so many
	if st.known != nil && (in == &st.my || in == &st.target) {
		if e = st.known.instead(e, in == &st.target); e.constant() {
			return e.lit
		}
	}
	base := st.base
	st.busy, st.base = n+1, base+level+1
	var v Value
	p := e.prog.Load()
	if p == nil || st.steps+p.size > maxSteps || st.base+p.height > maxDepth || st.failed {
		v = st.run(e, in)
	} else { // run, without the call
		st.steps += p.size
		v = p.top.value(st, in)
	}
	st.busy, st.base = n, base
	return v
}

// circular reports whether the expression of a name is being evaluated.
func (st *state) circular(e *Expr, in *scope, name *attribute) bool {
	for i := range st.active[:st.busy] {
		if a := &st.active[i]; a.expr == e && a.in.same(in) && name.means(a.name.name) {
			return true
		}
	}
	return false
}

func (st *state) makeRoom() { st.active = append(st.active, make([]activity, len(st.active)+8)...) }

// named evaluates an attribute of an ad by a name that an evaluation made; UNDEFINED when it is missing.
func (st *state) named(name string, in *scope, level int) Value {
	if e := in.ad.cellNamed(name); e != nil {
		a := newAttribute(name)
		return st.attribute(e, in, &a, level)
	}
	return Undefined()
}

// resolve evaluates a name in a scope: the ad itself, the special names, the ads around it, the opposite ad as TARGET. With fall, a name
// that is in none of them is looked up in the opposite ad, if sc is an outermost ad.
func (st *state) resolve(a *attribute, sc *scope, fall bool, level int) Value {
	if e := sc.ad.cell(a); e != nil {
		return st.attribute(e, sc, a, level)
	}
	if a.special != ordinary {
		if v, found := st.special(a, sc); found {
			return v
		}
	}
	root := sc
	for root.up != nil {
		root = root.up
		st.steps += lookCost
		if e := root.ad.cell(a); e != nil {
			return st.attribute(e, root, a, level)
		}
	}
	if root.other == nil {
		return Undefined()
	}
	if a.special == specialTarget {
		return scoped(KindClassAd, root.other)
	}
	if fall && !st.strict && (root == sc || sc.open) {
		if e := root.other.ad.cell(a); e != nil {
			return st.attribute(e, root.other, a, level)
		}
	}
	return Undefined()
}

// special returns the meaning of a name that no attribute of an ad has.
func (st *state) special(a *attribute, sc *scope) (Value, bool) {
	switch a.special {
	case specialSelf:
		if st.strict && a.means("my") {
			if sc = sc.outermost(); sc.other == nil {
				return Undefined(), false
			}
		}
		return scoped(KindClassAd, sc), true
	case specialParent:
		if sc.up != nil {
			return scoped(KindClassAd, sc.up), true
		}
		return Undefined(), true
	case specialRoot:
		root := sc.outermost()
		if root.other != nil {
			return scoped(KindClassAd, &scope{ad: New()}), true
		}
		return scoped(KindClassAd, root), true
	case specialNow:
		return Int(st.now.Unix()), !st.strict
	}
	return Undefined(), false
}

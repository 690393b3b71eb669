package classad

import (
	"regexp"
	"sync"
	"time"
)

// Context is all of the outside world that an expression can see.
type Context struct {
	Now  time.Time // the moment, and with its Location the local time zone
	Seed uint64    // random() is a function of it and of how often it was called before
}

const (
	maxDepth = 400        // operators, references and calls inside each other in one evaluation
	maxSteps = 10_000_000 // operators, references and calls in one evaluation
	maxBytes = 1 << 28    // text made or searched in one evaluation

	compileCost = 256 // bytes that compiling one byte of a pattern counts for
)

// scope is where names are looked up: an ad, the ads around it, and for an
// outermost ad in a match the opposite one. A list uses it for its items and,
// in up, the scope they are evaluated in.
type scope struct {
	ad    *Ad
	items []node
	up    *scope
	other *scope
	// open: a name missing all the way up is looked up in the opposite ad
	// even from this nested ad (countMatches, evalInEachContext).
	open bool
}

func (s *scope) outermost() *scope {
	for s.up != nil {
		s = s.up
	}
	return s
}

// same reports whether two scopes are the same ads inside each other. Scopes
// of nested ads are made anew whenever they are entered.
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
	randoms uint64
	depth   int
	steps   int
	bytes   int
	failed  bool // a limit was exceeded: the whole evaluation is ERROR
	my      scope
	target  scope
	active  []activity
	args    []Value
	regexps regexpMemo
}

// activity is an attribute being evaluated.
type activity struct {
	expr *Expr // one expression may serve several attributes
	in   *scope
	key  string
}

// states recycles scratch memory. It remembers nothing that could change a
// result.
var states = sync.Pool{New: func() any { return new(state) }}

func newState(c *Context, my, target *Ad) *state {
	st := states.Get().(*state)
	if c != nil {
		st.now, st.seed = c.Now, c.Seed
	}
	st.my.ad, st.target.ad = my, target
	if target != nil {
		st.my.other, st.target.other = &st.target, &st.my
	}
	return st
}

// done gives the state back and returns v, or ERROR when a limit was exceeded.
func (st *state) done(v Value) Value {
	if st.failed {
		v = Error()
	}
	if v.ref != nil {
		return v // a list or ad may refer to the state's scopes: keep them
	}
	st.release()
	return v
}

func (st *state) release() {
	if st.failed || cap(st.args) > 256 || cap(st.active) > 2*maxDepth {
		return
	}
	st.now, st.seed, st.randoms = time.Time{}, 0, 0
	st.depth, st.steps, st.bytes = 0, 0, 0
	st.my, st.target = scope{}, scope{}
	st.active, st.args = st.active[:0], st.args[:0]
	states.Put(st)
}

// Eval returns the value of the expression, with my as the ad it belongs to
// and target as the ad opposite; both may be nil. It never panics and changes
// nothing.
func (e *Expr) Eval(c *Context, my, target *Ad) Value {
	if l, ok := e.root.(*literal); ok {
		return l.v
	}
	st := newState(c, my, target)
	return st.done(st.eval(e.root, &st.my))
}

// enter counts a step down; false when that is one too many. Every enter that
// succeeds is followed by st.depth--.
func (st *state) enter() bool {
	st.steps++
	if st.depth >= maxDepth || st.steps > maxSteps || st.failed {
		st.failed = true
		return false
	}
	st.depth++
	return true
}

// spend accounts for bytes of text made or searched.
func (st *state) spend(n int) bool {
	st.bytes += n
	if st.bytes > maxBytes {
		st.failed = true
	}
	return !st.failed
}

func (st *state) eval(n node, sc *scope) Value {
	for {
		p, ok := n.(*paren)
		if !ok {
			break
		}
		n = p.x
	}
	if l, ok := n.(*literal); ok {
		return l.v
	}
	if !st.enter() {
		return Error()
	}
	v := st.step(n, sc)
	st.depth--
	return v
}

// step evaluates a node that is neither literal nor parenthesis.
func (st *state) step(n node, sc *scope) Value {
	switch n := n.(type) {
	case *reference:
		v, _ := st.resolve(&n.attribute, sc, true)
		return v
	case *binary:
		return st.binary(n, sc)
	case *selection:
		return st.selection(n, sc)
	case *unary:
		return applyUnary(n.op, st.eval(n.x, sc))
	case *call:
		return st.call(n, sc)
	case *conditional:
		return st.conditional(n, sc)
	case *elvis:
		if v := st.eval(n.a, sc); v.kind != KindUndefined {
			return v
		}
		return st.eval(n.b, sc)
	case *subscript:
		return st.subscript(n, sc)
	case *absolute:
		return st.absolute(n, sc)
	case *listing:
		if n.fixed != nil {
			return Value{kind: KindList, ref: n.fixed}
		}
		return Value{kind: KindList, ref: &scope{items: n.items, up: sc}}
	case *record:
		return Value{kind: KindClassAd, ref: &scope{ad: n.ad, up: sc}}
	case *span:
		return Real(n.seconds)
	case *zoneless:
		return fromWall(n.seconds, st.now.Location())
	}
	return Error()
}

func (st *state) binary(n *binary, sc *scope) Value {
	l := st.eval(n.l, sc)
	switch n.op {
	case opAnd, opOr:
		if v, decided := shortCut(n.op, l); decided {
			return v
		}
		return combine(n.op, l, st.eval(n.r, sc))
	}
	return applyBinary(n.op, l, st.eval(n.r, sc))
}

func (st *state) conditional(n *conditional, sc *scope) Value {
	c := st.eval(n.c, sc)
	switch b, ok := c.Bool(); {
	case ok && b:
		return st.eval(n.t, sc)
	case ok:
		return st.eval(n.f, sc)
	case c.kind == KindUndefined:
		return c
	}
	return Error()
}

func (st *state) subscript(n *subscript, sc *scope) Value {
	base, index := st.eval(n.base, sc), st.eval(n.index, sc)
	if v, ok := exceptionalOf(base, index); ok {
		return v
	}
	switch {
	case base.kind == KindList && index.kind == KindInteger:
		if i := int64(index.bits); i >= 0 && i < int64(base.size()) {
			return st.item(base, int(i))
		}
	case base.kind == KindClassAd && index.kind == KindString:
		key := fold(index.text)
		if e := base.ref.ad.lookup(key, hashFolded(key)); e != nil {
			return st.attribute(e, base.ref, key)
		}
		return Undefined()
	}
	return Error()
}

// item evaluates the i-th element of a list value.
func (st *state) item(list Value, i int) Value {
	if st.steps++; st.steps > maxSteps {
		st.failed = true
	}
	if st.failed {
		return Error()
	}
	return st.eval(list.ref.items[i], list.ref.up)
}

func (st *state) selection(n *selection, sc *scope) Value {
	if in := directScope(n.base, sc); in != nil {
		v, _ := st.resolve(&n.attribute, in, false)
		return v
	}
	base := st.eval(n.base, sc)
	switch base.kind {
	case KindUndefined:
		return base
	case KindClassAd:
		v, _ := st.resolve(&n.attribute, base.ref, false)
		return v
	case KindList:
		values := make([]Value, base.size())
		for i := range values {
			values[i] = Error()
			switch item := st.item(base, i); item.kind {
			case KindClassAd:
				values[i], _ = st.resolve(&n.attribute, item.ref, false)
			case KindUndefined:
				values[i] = item
			}
		}
		return st.list(values)
	}
	return Error()
}

// directScope returns the scope that a selection's base means if it is simply
// MY or TARGET in an outermost ad; else nil, and the base must be evaluated.
func directScope(base node, sc *scope) *scope {
	r, ok := base.(*reference)
	if !ok || r.special == ordinary || sc.up != nil || sc.ad.lookup(r.key, r.hash) != nil {
		return nil
	}
	switch r.special {
	case specialSelf:
		return sc
	case specialTarget:
		return sc.other
	}
	return nil
}

func (st *state) absolute(n *absolute, sc *scope) Value {
	root := sc.outermost()
	if root.other != nil {
		return Undefined() // the outermost ad of a match is the match itself
	}
	if e := root.ad.lookup(n.key, n.hash); e != nil {
		return st.attribute(e, root, n.key)
	}
	return Undefined()
}

// resolve evaluates a name in a scope: the ad itself, the special names, the
// ads around it, the opposite ad as TARGET. With fall, a name that is in none
// of them is looked up in the opposite ad, if sc is an outermost ad.
func (st *state) resolve(a *attribute, sc *scope, fall bool) (v Value, found bool) {
	if e := sc.ad.lookup(a.key, a.hash); e != nil {
		return st.attribute(e, sc, a.key), true
	}
	if a.special != ordinary {
		if v, found = st.special(a.special, sc); found {
			return v, true
		}
	}
	root := sc
	for root.up != nil {
		root = root.up
		if e := root.ad.lookup(a.key, a.hash); e != nil {
			return st.attribute(e, root, a.key), true
		}
	}
	if root.other == nil {
		return Undefined(), false
	}
	if a.special == specialTarget {
		return Value{kind: KindClassAd, ref: root.other}, true
	}
	if fall && (root == sc || sc.open) {
		if e := root.other.ad.lookup(a.key, a.hash); e != nil {
			return st.attribute(e, root.other, a.key), true
		}
	}
	return Undefined(), false
}

func (st *state) special(s special, sc *scope) (Value, bool) {
	switch s {
	case specialSelf:
		return Value{kind: KindClassAd, ref: sc}, true
	case specialParent:
		if sc.up != nil {
			return Value{kind: KindClassAd, ref: sc.up}, true
		}
		return Undefined(), true
	case specialRoot:
		root := sc.outermost()
		if root.other != nil {
			return Value{kind: KindClassAd, ref: &scope{ad: New()}}, true
		}
		return Value{kind: KindClassAd, ref: root}, true
	case specialNow:
		return Int(st.now.Unix()), true
	}
	return Undefined(), false
}

// attribute evaluates the expression that a name stands for in the scope where
// it was found. If it is being evaluated already, it is UNDEFINED.
func (st *state) attribute(e *Expr, in *scope, key string) Value {
	if l, ok := e.root.(*literal); ok {
		return l.v
	}
	for i := range st.active {
		if a := &st.active[i]; a.expr == e && a.key == key && a.in.same(in) {
			return Undefined()
		}
	}
	st.active = append(st.active, activity{e, in, key})
	v := st.eval(e.root, in)
	st.active = st.active[:len(st.active)-1]
	return v
}

func (st *state) call(n *call, sc *scope) Value {
	f := n.fn
	if f == nil || len(n.args) < f.min || f.max >= 0 && len(n.args) > f.max {
		return Error()
	}
	if f.lazy != nil {
		return f.lazy(st, sc, n.args)
	}
	base := len(st.args)
	for _, arg := range n.args {
		v := st.eval(arg, sc)
		st.args = append(st.args, v)
	}
	if st.failed {
		return Error()
	}
	v := f.strict(st, st.args[base:len(st.args):len(st.args)])
	clear(st.args[base:])
	st.args = st.args[:base]
	return v
}

// random returns the next number of the evaluation's sequence, evenly spread
// over all 64 bits (splitmix64).
func (st *state) random() uint64 {
	st.randoms++
	z := st.seed + st.randoms*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// regexpMemo remembers the last few compiled patterns, so that a pattern that
// meets ten thousand slots is compiled once.
type regexpMemo struct {
	next    int
	entries [16]struct {
		pattern, options string
		re               *regexp.Regexp // nil: the pattern is bad
		used             bool
	}
}

func (st *state) regexp(pattern, options string) *regexp.Regexp {
	m := &st.regexps
	for i := range m.entries {
		if e := &m.entries[i]; e.used && e.pattern == pattern && e.options == options {
			return e.re
		}
	}
	if !st.spend(compileCost * len(pattern)) {
		return nil
	}
	e := &m.entries[m.next]
	m.next = (m.next + 1) % len(m.entries)
	e.pattern, e.options, e.used = pattern, options, true
	e.re = compileRegexp(pattern, options)
	return e.re
}

package classad

import (
	"slices"
	"sync/atomic"
)

// Clauses returns the terms of a conjunction in order: a, b and c of a && (b && c). An expression that is no conjunction is its own
// single clause.
func (e *Expr) Clauses() []*Expr {
	if e = e.orUndefined(); e.constant() {
		return []*Expr{e}
	}
	p := e.program()
	if known := p.clauses.Load(); known != nil {
		return slices.Clone(*known)
	}
	terms := conjuncts(nil, e.tree())
	clauses := make([]*Expr, len(terms))
	for i, n := range terms {
		clauses[i] = newExpr(n)
	}
	if len(terms) == 1 {
		clauses[0] = e
	}
	p.clauses.Store(&clauses)
	return slices.Clone(clauses)
}

// conjuncts appends the terms of a conjunction, without the parentheses around them.
func conjuncts(out []node, n node) []node {
	n = bared(n)
	if b, ok := n.(*binary); ok && b.op == opAnd {
		return conjuncts(conjuncts(out, b.l), b.r)
	}
	return append(out, n)
}

// Clause is one condition of several that must all be true.
type Clause struct {
	// Path names the attribute that the clause stands in: first the requested one, then
	// each attribute whose name alone was a clause on the way.
	Path  []string
	Expr  *Expr // nil: there is no such attribute
	Value Value // in this match
}

// Fails reports whether the clause keeps the whole from being true.
func (c Clause) Fails() bool { return !c.Value.True() }

const (
	maxClauses = 1000 // beyond it, names are no longer replaced by their clauses
	maxPath    = 100
)

// Explain returns the clauses of one of my's attributes, such as Requirements, each with its value in a match with target, which may be
// nil. A clause that is only the name of an own attribute, bare or as MY.name, is replaced by the clauses of that attribute, unless that
// is a constant or one of those on the way to it. All clauses are evaluated, also those behind one that has decided already; together
// they keep to the limits of one evaluation.
//
// For an attribute that my does not have there is one clause without an Expr, UNDEFINED.
func Explain(c *Context, my, target *Ad, name string) []Clause {
	a := newAttribute(name)
	e := my.get(&a)
	if e == nil {
		return []Clause{{Path: []string{name}}}
	}
	x := &explanation{st: newState(c, my, target)}
	x.attribute(&a, e)
	x.st.charge()
	return x.clauses // the state is not reused: values may refer to it
}

// explanation collects clauses. The state's active attributes are those of the path, as when the match itself comes here.
type explanation struct {
	st      *state
	path    []string
	clauses []Clause
}

// attribute adds the clauses of an attribute of MY.
func (x *explanation) attribute(a *attribute, e *Expr) {
	x.path = append(x.path, a.name)
	if x.st.busy == len(x.st.active) {
		x.st.makeRoom()
	}
	x.st.active[x.st.busy] = activity{e, &x.st.my, a}
	x.st.busy++
	path := slices.Clone(x.path)
	for _, clause := range e.Clauses() {
		if b, inner := x.named(clause); inner != nil {
			x.attribute(b, inner)
			continue
		}
		x.clauses = append(x.clauses, Clause{slices.Clip(path), clause, x.value(clause)})
	}
	x.path = x.path[:len(x.path)-1]
	x.st.busy--
}

// value evaluates a clause. That another one went too deep is nothing to it.
func (x *explanation) value(e *Expr) Value {
	v := x.st.run(e, &x.st.my)
	if x.st.failed {
		v = Error()
	}
	x.st.failed, x.st.args = false, x.st.args[:0]
	return v
}

// named returns the own attribute whose name alone is the clause, if its clauses are to replace the name.
func (x *explanation) named(clause *Expr) (*attribute, *Expr) {
	var a *attribute
	switch n := bared(clause.tree()).(type) {
	case *reference:
		a = &n.attribute
	case *selection:
		if r, ok := n.base.(*reference); ok && r.special == specialSelf && x.st.my.plain {
			a = &n.attribute
		}
	}
	if a == nil || a.special != ordinary || len(x.path) >= maxPath || len(x.clauses) >= maxClauses {
		return nil, nil
	}
	e := x.st.my.ad.get(a)
	if e == nil || slices.ContainsFunc(x.st.active[:x.st.busy], func(on activity) bool { return a.means(on.name.name) }) {
		return nil, nil
	}
	if _, constant := e.Constant(); constant {
		return nil, nil
	}
	return a, e
}

// conjunction is an expression made ready to be asked for the first of its Clauses that is not true.
type conjunction struct {
	clauses []conjunct
	terms   []term
	height  int                    // the most operators, references and calls inside each other
	size    int                    // how many there are
	deep    atomic.Pointer[[]term] // the terms for where the limit of depth is near
}

// conjunct is a clause and how many operators stand around it.
type conjunct struct {
	node  node
	level int
}

// conjunction returns the expression's conjunction, made at first use.
func (e *Expr) conjunction() *conjunction {
	p := e.program()
	if j := p.conjunction.Load(); j != nil {
		return j
	}
	j := newConjunction(e.tree(), nil)
	p.conjunction.Store(j)
	return j
}

// specialConjunction is conjunction with everything worked out that Specialize
// works out. Its terms are quick: it is for one goroutine at a time.
func (e *Expr) specialConjunction(c *Context, my, target *Ad) *conjunction {
	s := newSpecializer(c, my, target)
	j := newConjunction(e.tree(), s)
	s.st.release()
	return j
}

// newConjunction makes the conjunction of a tree, specialised by s unless that is nil.
func newConjunction(tree node, s *specializer) *conjunction {
	var c compiler
	clauses := c.conjuncts(nil, tree, 0)
	if s != nil {
		for i := range clauses {
			at := &clauses[i]
			at.node = s.node(at.node, position{level: at.level, logical: true})
		}
	}
	terms := c.clauses(clauses)
	if s != nil {
		for i := range terms {
			terms[i].quicken(s.ads[0])
		}
	}
	return &conjunction{clauses: clauses, terms: terms, height: c.height, size: c.size}
}

// counting returns the terms for where the limit of depth is near.
func (j *conjunction) counting() []term {
	if terms := j.deep.Load(); terms != nil {
		return *terms
	}
	c := compiler{counting: true}
	terms := c.clauses(j.clauses)
	j.deep.Store(&terms)
	return terms
}

// conjuncts is conjuncts with levels. It counts the operators between them.
func (c *compiler) conjuncts(out []conjunct, n node, level int) []conjunct {
	n = bared(n)
	b, ok := n.(*binary)
	if !ok || b.op != opAnd {
		return append(out, conjunct{n, level})
	}
	c.size++
	c.height = max(c.height, level+1)
	return c.conjuncts(c.conjuncts(out, b.l, level+1), b.r, level+1)
}

// clauses compiles clauses up to the first that is true in no match.
func (c *compiler) clauses(clauses []conjunct) []term {
	var out []term
	for i, clause := range clauses {
		if c.counting {
			out = append(out, term{operand: c.counted(clause), clause: i})
			continue
		}
		for _, o := range c.terms(nil, clause.node, opAnd, clause.level) {
			if o.constant() && o.v.True() {
				continue
			}
			out = append(out, term{operand: o, clause: i})
			if o.constant() {
				return out
			}
		}
	}
	return out
}

// counted compiles a clause of a conjunction that goes too deep. A constant is
// not counted itself, but the operator that it belongs to is.
func (c *compiler) counted(clause conjunct) operand {
	o := c.operand(clause.node, clause.level)
	if o.constant() {
		return coded(&countedCode{o, max(clause.level-1, 0)})
	}
	return o
}

// falls returns the first clause of the Requirements of one side that is not true, or -1; 0 without Requirements.
func (st *state) falls(sc *scope) int {
	found := sc.ad.want(requirements)
	if found == nil {
		return 0
	}
	return st.fallen(found, sc, &wanted[requirements], -1)
}

// fallen is attribute for callers that only need the first clause of its conjunction that is not true; -1 if all are.
func (st *state) fallen(found *cell, in *scope, name *attribute, level int) int {
	if found.kind != kindProgram {
		if found.True() {
			return -1
		}
		return 0
	}
	e := found.program()
	n := st.busy
	if st.circular(e, in, name) {
		return 0
	}
	if n == len(st.active) {
		st.makeRoom()
	}
	st.active[n] = activity{e, in, name}
	j := st.conjunction(e, in)
	base := st.base
	st.busy, st.base = n+1, base+level+1
	at := j.fallen(st, in)
	st.busy, st.base = n, base
	return at
}

func (st *state) conjunction(e *Expr, sc *scope) *conjunction {
	if st.known != nil {
		return st.known.conjunction(e, sc == &st.target)
	}
	return e.conjunction()
}

// fallen evaluates the terms up to the first that is not true. In a conjunction that is not true nothing behind that one can make it so.
func (j *conjunction) fallen(st *state, sc *scope) int {
	if st.steps += j.size; st.steps > maxSteps {
		st.failed = true
	}
	if st.failed {
		return 0
	}
	terms := j.terms
	if st.base+j.height > maxDepth {
		terms = j.counting()
	}
	for i := range terms {
		t := &terms[i]
		if !t.holds(st, sc) || st.failed {
			return t.clause
		}
	}
	return -1
}

// term is a required condition: a clause of a conjunction, or one of several terms of a clause that became a conjunction when it was
// specialised. A clause that is true in any match has no terms.
//
// Most are an attribute or the comparison of one with a constant. Those of a Matcher are
// quick: they remember the attribute's place themselves, and pass no values on.
type term struct {
	table  *place // of the shape met last, which is frozen
	at     int    // where the attribute is in that, or -1
	v      Value  // the constant
	op     op     // with the attribute on the left
	quick  quick
	theirs bool // the attribute is the opposite ad's
	clause int
	level  int // how many operators stand around the attribute
	name   *attribute
	operand
}

// quick says how a term is evaluated.
type quick uint8

const (
	slow         quick = iota
	quickName          // it is an attribute
	quickCompare       // it is an attribute against a constant
)

// quicken makes a term quick if it can be. my is the ad that the expression belongs to, nil if that is not known.
func (t *term) quicken(my *Ad) {
	name := t.code
	if c, ok := name.(*againstCode); ok {
		t.quick, t.v, t.op, name = quickCompare, c.v, c.op, c.name.code
	} else {
		t.quick = quickName
	}
	t.at = -1
	switch c := name.(type) {
	case *sideCode:
		t.name, t.level, t.theirs = &c.finder.attribute, c.level, c.theirs
	case *bareCode:
		t.name, t.level, t.theirs = &c.mine.attribute, c.level, my != nil && my.cell(&c.mine.attribute) == nil
	default:
		t.quick = slow
	}
}

// holds reports whether a term is true. Quick terms are only for matches of ads in which names have their usual meaning.
func (t *term) holds(st *state, sc *scope) bool {
	if t.quick == slow {
		return t.value(st, sc).True()
	}
	in := sc
	if t.theirs {
		in = sc.other
	}
	at := t.at
	if t.table != in.table {
		at = t.locate(in)
	}
	if at < 0 {
		return t.value(st, sc).True()
	}
	found := in.ad.at(at)
	if t.quick == quickName {
		return st.fallen(found, in, t.name, t.level) < 0
	}
	switch {
	case found.kind == KindInteger && t.v.kind == KindInteger:
		return orders(t.op, int64(found.bits), int64(t.v.bits))
	case found.kind == KindString && t.v.kind == KindString:
		return st.spend(int(min(found.bits, t.v.bits))) && orderedTexts(t.op, found.text(), t.v.text()).True()
	}
	return t.value(st, sc).True()
}

// locate looks the attribute up in the own names of an ad.
func (t *term) locate(in *scope) int {
	s := in.ad.shape
	if s == nil {
		return -1
	}
	at := s.find(t.name)
	if at >= len(s.names) {
		at = -1
	}
	if !s.frozen.Load() {
		s.frozen.Store(true)
	}
	t.table, t.at = in.table, at
	return at
}

// againstCode is the comparison of an attribute with a constant, which most of
// Requirements is made of: compareCode without handing values on.
type againstCode struct {
	op    op // with the attribute on the left
	v     Value
	name  operand   // the attribute
	side  *sideCode // the attribute, or nil
	bare  *bareCode // the attribute, or nil
	right bool      // the attribute stands on the right
}

// against compiles a comparison that is one of an attribute with a constant.
func against(o op, l, r operand) (code, bool) {
	c, name := &againstCode{op: o, v: r.v}, l
	if l.constant() {
		c.op, c.v, c.right, name = mirrored[o], l.v, true, r
	}
	if c.v.kind < KindBoolean {
		return nil, false
	}
	c.name = name
	switch name := name.code.(type) {
	case *sideCode:
		c.side = name
	case *bareCode:
		c.bare = name
	default:
		return nil, false
	}
	return c, true
}

// mirrored are the comparisons with their sides changed.
var mirrored = [...]op{opEq: opEq, opNe: opNe, opLt: opGt, opLe: opGe, opGt: opLt, opGe: opLe}

func (c *againstCode) eval(st *state, sc *scope) Value {
	var x Value
	if c.side != nil {
		x = c.side.eval(st, sc)
	} else {
		x = c.bare.eval(st, sc)
	}
	switch {
	case x.kind == KindInteger && c.v.kind == KindInteger:
		return Bool(orders(c.op, int64(x.bits), int64(c.v.bits)))
	case x.kind == KindString && c.v.kind == KindString:
		if !st.spend(int(min(x.bits, c.v.bits))) {
			return Error()
		}
		return orderedTexts(c.op, x.text(), c.v.text())
	case x.kind <= KindError:
		return x
	case c.right:
		return compare(mirrored[c.op], c.v, x)
	}
	return compare(c.op, x, c.v)
}

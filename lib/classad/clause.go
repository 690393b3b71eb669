package classad

import "slices"

// Clauses returns the terms of a conjunction in order: a, b and c of
// a && (b && c). An expression that is no conjunction is its own single
// clause.
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

// conjuncts appends the terms of a conjunction, without the parentheses around
// them.
func conjuncts(out []node, n node) []node {
	n = bared(n)
	if b, ok := n.(*binary); ok && b.op == opAnd {
		return conjuncts(conjuncts(out, b.l), b.r)
	}
	return append(out, n)
}

// Clause is one condition of several that must all be true.
type Clause struct {
	// Path names the attribute that the clause stands in: first the one
	// that was asked about, then, as often as a clause is nothing but the
	// name of another attribute, that one.
	Path  []string
	Expr  *Expr // nil: there is no such attribute
	Value Value // what it is in this match
}

// Fails reports whether the clause keeps the whole from being true.
func (c Clause) Fails() bool { return !c.Value.True() }

const (
	maxClauses = 1000 // beyond it, names are no longer replaced by what they stand for
	maxPath    = 100
)

// Explain returns the clauses of one of my's attributes, such as Requirements,
// each with its value in a match with target, which may be nil. A clause that
// is nothing but the name of an own attribute, bare or as MY.name, is replaced
// by the clauses of that attribute, unless that is a constant or one of those
// on the way to it. All clauses are evaluated, also those behind one that has
// decided already; together they keep to the limits of one evaluation.
//
// For an attribute that my does not have there is one clause without an Expr,
// UNDEFINED.
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

// explanation collects clauses. The state's active attributes are those of the
// path, as they are when the match itself comes here.
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

// named returns the own attribute that a clause is nothing but the name of, if
// it is to be replaced by what it stands for.
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

package classad

import "sync/atomic"

// conjunction is an expression made ready to be asked for the first of its
// Clauses that is not true.
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

// newConjunction makes the conjunction of a tree, specialised by s unless that
// is nil.
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

// falls returns the first clause of the Requirements of one side that is not
// true, or -1; 0 without Requirements.
func (st *state) falls(sc *scope) int {
	found := sc.ad.want(requirements)
	if found == nil {
		return 0
	}
	return st.fallen(found, sc, &wanted[requirements], -1)
}

// fallen is attribute for those who only ask which clause of its conjunction is
// the first that is not true; -1 when all are.
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

// fallen evaluates the terms up to the first that is not true. In a conjunction
// that is not true nothing behind that one can make it so.
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

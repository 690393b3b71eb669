package classad

// How operators are simplified when some of their operands are constants. No
// operand that would be evaluated is dropped: it may be ERROR, and the
// sequence of random numbers goes on in it.

// valueOf returns the value of a node that is a constant.
func valueOf(n node) (v Value, ok bool) {
	switch n := n.(type) {
	case *paren:
		return valueOf(n.x)
	case *literal:
		return n.v, true
	case *span:
		return Real(n.seconds), true
	case *listing:
		if n.fixed != nil {
			return scoped(KindList, n.fixed), true
		}
	}
	return Value{}, false
}

// operator simplifies what is neither name nor call.
func (s *specializer) operator(n node, at position) node {
	switch n := n.(type) {
	case *unary:
		return s.unary(n, at)
	case *binary:
		if n.op == opAnd || n.op == opOr {
			return s.junction(n, at)
		}
		return s.binary(n, at)
	case *conditional:
		return s.choice(n, n.c, n.t, n.f, at)
	case *elvis:
		return s.elvis(n, at)
	case *subscript:
		return s.subscript(n, at)
	}
	return n // a nested ad or list: its names mean something else
}

func (s *specializer) unary(n *unary, at position) node {
	x := s.node(n.x, at.under(n.op == opNot))
	if v, ok := valueOf(x); ok {
		return &literal{applyUnary(n.op, v)}
	}
	if x == n.x {
		return n
	}
	return &unary{n.op, fit(x, n.x, grip(n))}
}

func (s *specializer) binary(n *binary, at position) node {
	l, r := s.node(n.l, at.under(false)), s.node(n.r, at.under(false))
	if x, ok := valueOf(l); ok {
		if y, ok := valueOf(r); ok {
			return &literal{applyBinary(n.op, x, y)}
		}
	}
	return n.with(l, r)
}

// with returns the operator with other operands.
func (n *binary) with(l, r node) node {
	if l == n.l && r == n.r {
		return n
	}
	p := grip(n)
	return &binary{n.op, fit(l, n.l, p), fit(r, n.r, p+1)}
}

// junction simplifies && and ||. A left side that decides ends it; a side that
// leaves the decision to the other one disappears, unless it is needed to make
// a boolean of that.
func (s *specializer) junction(n *binary, at position) node {
	l := s.node(n.l, at.under(true))
	x, leftKnown := valueOf(l)
	if leftKnown {
		if v, decided := shortCut(n.op, x); decided {
			return &literal{v}
		}
	}
	if ends(n.op, l) {
		return l
	}
	r := s.node(n.r, at.under(true))
	y, rightKnown := valueOf(r)
	switch {
	case leftKnown && rightKnown:
		return &literal{combine(n.op, x, y)}
	case leftKnown && neutral(n.op, x):
		if at.logical || truthful(r) {
			return r
		}
		l = s.plain(l, n.op)
	case rightKnown && neutral(n.op, y):
		if at.logical || truthful(l) {
			return l
		}
		r = s.plain(r, n.op)
	}
	return n.with(l, r)
}

// plain returns a neutral operand as the boolean that it counts as.
func (s *specializer) plain(n node, o op) node {
	if v, _ := valueOf(n); v.kind == KindBoolean {
		return n
	}
	return &literal{Bool(o == opAnd)}
}

// neutral reports whether a value leaves && or || to the other side.
func neutral(o op, v Value) bool {
	b, ok := v.Bool()
	return ok && b == (o == opAnd)
}

// ends reports whether a node, on the left of an operator, surely decides it:
// it is a chain of the same operator whose last term does.
func ends(o op, n node) bool {
	for {
		switch x := n.(type) {
		case *paren:
			n = x.x
			continue
		case *binary:
			if x.op == o {
				n = x.r
				continue
			}
		}
		v, ok := valueOf(n)
		if !ok {
			return false
		}
		_, decided := shortCut(o, v)
		return decided
	}
}

// truthful reports whether a node's value surely is a boolean, UNDEFINED or
// ERROR.
func truthful(n node) bool {
	switch n := n.(type) {
	case *literal:
		return n.v.kind <= KindBoolean
	case *paren:
		return truthful(n.x)
	case *unary:
		return n.op == opNot
	case *binary:
		return n.op <= opAnd || opEq <= n.op && n.op <= opGe
	case *conditional:
		return truthful(n.t) && truthful(n.f)
	case *elvis:
		return truthful(n.a) && truthful(n.b)
	case *call:
		if n.fn != nil && n.fn.choice && len(n.args) == 3 {
			return truthful(n.args[1]) && truthful(n.args[2])
		}
		return n.fn == nil || n.fn.truth
	}
	return false
}

// choice simplifies c ? t : f and ifThenElse(c,t,f), whichever n is.
func (s *specializer) choice(n node, c, t, f node, at position) node {
	branch := at.under(at.logical)
	cond := s.node(c, at.under(true))
	if v, ok := valueOf(cond); ok {
		switch b, ok := v.Bool(); {
		case ok && b:
			return s.node(t, branch)
		case ok:
			return s.node(f, branch)
		case v.kind == KindUndefined:
			return undefinedNode
		}
		return errorNode
	}
	yes, no := s.node(t, branch), s.node(f, branch)
	if cond == c && yes == t && no == f {
		return n
	}
	if n, ok := n.(*call); ok {
		return &call{n.name, n.fn, []node{cond, yes, no}}
	}
	return &conditional{fit(cond, c, grip(n)+1), yes, no}
}

func (s *specializer) elvis(n *elvis, at position) node {
	a := s.node(n.a, at.under(at.logical))
	if v, ok := valueOf(a); ok {
		if v.kind == KindUndefined {
			return s.node(n.b, at.under(at.logical))
		}
		return a
	}
	b := s.node(n.b, at.under(at.logical))
	if a == n.a && b == n.b {
		return n
	}
	return &elvis{fit(a, n.a, tightest), fit(b, n.b, grip(n))}
}

func (s *specializer) subscript(n *subscript, at position) node {
	base, index := s.node(n.base, at.under(false)), s.node(n.index, at.under(false))
	_, baseKnown := valueOf(base)
	_, indexKnown := valueOf(index)
	out := node(n)
	if base != n.base || index != n.index {
		out = &subscript{fit(base, n.base, tightest), index}
	}
	if baseKnown && indexKnown {
		if x := s.evaluated(out); x != nil {
			return x
		}
	}
	return out
}

// tightest is the grip of what never needs parentheses.
const tightest = 13

// grip says how tightly a node holds together when it is printed.
func grip(n node) int {
	switch n := n.(type) {
	case *conditional:
		return 0
	case *binary:
		return precedence[n.op]
	case *unary:
		return 11
	case *elvis:
		return 12
	}
	return tightest
}

// fit returns a node that takes the place of an old one, in parentheses if it
// needs them where something that holds at least so tightly is asked for.
func fit(n, old node, least int) node {
	if n != old && grip(n) < least {
		return &paren{n}
	}
	return n
}

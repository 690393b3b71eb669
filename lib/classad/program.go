package classad

import "sync/atomic"

// program is an expression made ready to run: constants are folded, chains of
// && and || are flat, and names know how they are to be looked up.
type program struct {
	top    operand
	height int // the most operators, references and calls inside each other
	size   int // how many there are
	// counting is the same without any of that, for when the limit of depth
	// is near: every operator looks at how deep it stands.
	counting atomic.Pointer[operand]
	// clauses are the terms of the expression, once asked for: whoever
	// explains one match explains many.
	clauses atomic.Pointer[[]*Expr]
	// conjunction is what they compile to, once a Matcher asked for it.
	conjunction atomic.Pointer[conjunction]
}

// program returns the expression's program, made at first use.
func (e *Expr) program() *program {
	if p := e.prog.Load(); p != nil {
		return p
	}
	var c compiler
	p := &program{top: c.operand(e.root, 0)}
	p.height, p.size = c.height, c.size
	e.prog.Store(p)
	return p
}

func (e *Expr) counting() *operand {
	p := e.program()
	if o := p.counting.Load(); o != nil {
		return o
	}
	c := compiler{counting: true}
	o := c.operand(e.root, 0)
	p.counting.Store(&o)
	return &o
}

// operand is one side of an operator. Constants are not worth a call.
type operand struct {
	code code // nil: the operand is the value v
	v    Value
}

// code is a name, an operator, a call or anything else that takes work to
// evaluate.
type code interface {
	eval(st *state, sc *scope) Value
}

func (o *operand) value(st *state, sc *scope) Value {
	if o.code == nil {
		return o.v
	}
	return o.code.eval(st, sc)
}

func (o *operand) constant() bool { return o.code == nil }

func constant(v Value) operand { return operand{v: v} }

func coded(c code) operand { return operand{code: c} }

// compiler turns a tree into operands.
type compiler struct {
	counting     bool
	height, size int
}

// operand compiles a node that stands inside level operators.
func (c *compiler) operand(n node, level int) operand {
	n = bared(n)
	if l, ok := n.(*literal); ok {
		return constant(l.v)
	}
	c.size++
	c.height = max(c.height, level+1)
	o := c.node(n, level)
	if c.counting {
		return coded(&countedCode{o, level})
	}
	return o
}

func (c *compiler) operands(nodes []node, level int) []operand {
	out := make([]operand, len(nodes))
	for i, n := range nodes {
		out[i] = c.operand(n, level)
	}
	return out
}

// node compiles what is neither literal nor parenthesis.
func (c *compiler) node(n node, level int) operand {
	var x code
	switch n := n.(type) {
	case *reference:
		x = &nameCode{n.attribute, level}
		if n.special == ordinary {
			x = &bareCode{mine: finder{attribute: n.attribute}, theirs: finder{attribute: n.attribute}, level: level}
		}
	case *selection:
		return c.selection(n, level)
	case *binary:
		return c.binary(n, level)
	case *unary:
		o := c.operand(n.x, level+1)
		if o.constant() {
			return constant(applyUnary(n.op, o.v))
		}
		x = &unaryCode{n.op, o}
	case *call:
		return c.call(n, level)
	case *conditional:
		return c.choice(n.c, n.t, n.f, level)
	case *elvis:
		a, b := c.operand(n.a, level+1), c.operand(n.b, level+1)
		if a.constant() {
			if a.v.kind == KindUndefined {
				return b
			}
			return a
		}
		x = &elvisCode{a, b}
	case *subscript:
		x = &subscriptCode{c.operand(n.base, level+1), c.operand(n.index, level+1), level}
	case *absolute:
		x = &absoluteCode{n.attribute, level}
	case *listing:
		if n.fixed != nil {
			return constant(scoped(KindList, n.fixed))
		}
		x = &listCode{n.items}
	case *record:
		x = &recordCode{n.ad}
	case *span:
		return constant(Real(n.seconds))
	case *zoneless:
		x = &zonelessCode{n.seconds}
	}
	return coded(x)
}

// selection compiles base.name. MY.name and TARGET.name need no ad as a value
// in between.
func (c *compiler) selection(n *selection, level int) operand {
	any := selectCode{c.operand(n.base, level+1), n.attribute, level}
	if r, ok := n.base.(*reference); ok && n.special == ordinary {
		if r.special == specialSelf || r.special == specialTarget {
			x := &sideCode{theirs: r.special == specialTarget, level: level, any: any}
			x.finder.attribute = n.attribute
			return coded(x)
		}
	}
	return coded(&any)
}

func (c *compiler) choice(cond, t, f node, level int) operand {
	x := &choiceCode{c.operand(cond, level+1), c.operand(t, level+1), c.operand(f, level+1)}
	if x.c.constant() {
		switch b, ok := x.c.v.Bool(); {
		case ok && b:
			return x.t
		case ok:
			return x.f
		case x.c.v.kind == KindUndefined:
			return constant(Undefined())
		}
		return constant(Error())
	}
	return coded(x)
}

func (c *compiler) binary(n *binary, level int) operand {
	if n.op == opAnd || n.op == opOr {
		return c.junction(n, level)
	}
	l, r := c.operand(n.l, level+1), c.operand(n.r, level+1)
	if l.constant() && r.constant() {
		return constant(applyBinary(n.op, l.v, r.v))
	}
	var x code
	switch n.op {
	case opEq, opNe, opLt, opLe, opGt, opGe:
		if l.constant() || r.constant() {
			if x, ok := against(n.op, l, r); ok {
				return coded(x)
			}
		}
		x = &compareCode{n.op, l, r}
	case opIs, opIsnt:
		x = &identicalCode{n.op == opIs, l, r}
	default:
		x = &arithmeticCode{n.op, l, r}
	}
	return coded(x)
}

// junction compiles && or ||. A chain of one of them becomes one operator with
// many terms: both associate, also over UNDEFINED and ERROR.
func (c *compiler) junction(n *binary, level int) operand {
	if c.counting {
		return coded(&junctionCode{n.op, []operand{c.operand(n.l, level+1), c.operand(n.r, level+1)}})
	}
	terms := c.terms(nil, n, n.op, level)
	kept := terms[:0]
	neutral := Bool(n.op == opAnd)
	for _, t := range terms {
		if t.constant() && t.v.kind == KindBoolean && t.v.bits == neutral.bits {
			continue
		}
		kept = append(kept, t)
		if t.constant() {
			if _, decided := shortCut(n.op, t.v); decided {
				break // nobody looks at what is behind
			}
		}
	}
	if len(kept) == 0 {
		return constant(neutral)
	}
	if first := kept[0]; first.constant() {
		if v, decided := shortCut(n.op, first.v); decided {
			return constant(v)
		}
	}
	if n.op == opAnd {
		return coded(&allCode{kept})
	}
	return coded(&junctionCode{n.op, kept})
}

// terms appends the terms of a chain of one operator, each compiled for the
// level that it really has.
func (c *compiler) terms(out []operand, n node, o op, level int) []operand {
	b, ok := bared(n).(*binary)
	if !ok || b.op != o {
		return append(out, c.operand(n, level))
	}
	c.size++
	c.height = max(c.height, level+1)
	return c.terms(c.terms(out, b.l, o, level+1), b.r, o, level+1)
}

func (c *compiler) call(n *call, level int) operand {
	f := n.fn
	if f == nil || len(n.args) < f.min || f.max >= 0 && len(n.args) > f.max {
		return constant(Error())
	}
	if f.choice {
		return c.choice(n.args[0], n.args[1], n.args[2], level)
	}
	before := c.size
	args := c.operands(n.args, level+1)
	if f.search {
		x := &searchCode{args: [3]operand{2: constant(str(""))}}
		copy(x.args[:], args)
		x.fixed = x.args[0].constant() && x.args[2].constant()
		return coded(x)
	}
	return coded(&callCode{f, args, n, level, c.size - before})
}

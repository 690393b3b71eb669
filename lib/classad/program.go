package classad

import "sync/atomic"

// program is an expression made ready to run: constants are folded, chains of && and || are flat, and names know how they are to be looked
// up.
type program struct {
	top    operand
	height int // the most operators, references and calls inside each other
	size   int // how many there are
	// counting is the same without any of that, for when the limit of depth is near: every operator looks at how deep it stands.
	counting atomic.Pointer[operand]
	// clauses are the terms of the expression, computed on demand and kept: a caller that explains one match explains many.
	clauses atomic.Pointer[[]*Expr]
	// conjunction is the compiled form, once a Matcher asked for it.
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

// code is a name, an operator, a call or anything else that takes work to evaluate.
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

// node compiles a node other than a literal or parenthesis.
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

// selection compiles base.name. MY.name and TARGET.name need no ad as a value in between.
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

// junction compiles && or ||. A chain of one of them becomes one operator with many terms: both associate, also over UNDEFINED and ERROR.
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
				break // the rest is never looked at
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

// terms appends the terms of a chain of one operator, each compiled for the level that it really has.
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

// The operators of a program. Each evaluates its operands in the scope it is itself evaluated in.

// countedCode is anything, where the limit of depth is near.
type countedCode struct {
	operand
	at int // how many operators of the expression stand around it
}

func (c *countedCode) eval(st *state, sc *scope) Value {
	if st.base+c.at >= maxDepth || st.failed {
		st.failed = true
		return Error()
	}
	return c.value(st, sc)
}

// nameCode is a bare name, wherever it stands and whatever it means.
type nameCode struct {
	name  attribute
	level int // how many operators of the expression stand around it
}

func (c *nameCode) eval(st *state, sc *scope) Value { return st.resolve(&c.name, sc, true, c.level) }

// bareCode is a bare name that does not mean a scope.
type bareCode struct {
	mine, theirs finder
	level        int
}

func (c *bareCode) eval(st *state, sc *scope) Value {
	if !sc.plain {
		return st.resolve(&c.mine.attribute, sc, true, c.level)
	}
	ad := sc.ad
	i := c.mine.again(ad)
	if i == unknown {
		ad, i = c.mine.search(ad)
	}
	if i < 0 {
		if sc = sc.other; sc == nil {
			return Undefined()
		}
		ad = sc.ad
		if i = c.theirs.again(ad); i == unknown {
			ad, i = c.theirs.search(ad)
		}
		if i < 0 {
			return Undefined()
		}
	}
	found := ad.at(i)
	if found.kind != kindProgram {
		return found.Value
	}
	return st.attribute(found, sc, &c.mine.attribute, c.level)
}

// sideCode is MY.name and TARGET.name.
type sideCode struct {
	finder finder
	theirs bool
	level  int
	any    selectCode // if MY or TARGET may mean something else
}

func (c *sideCode) eval(st *state, sc *scope) Value {
	if !sc.plain {
		return c.any.eval(st, sc)
	}
	if c.theirs {
		if sc = sc.other; sc == nil {
			return Undefined()
		}
	}
	ad := sc.ad
	i := c.finder.again(ad)
	if i == unknown {
		ad, i = c.finder.search(ad)
	}
	if i < 0 {
		return Undefined()
	}
	found := ad.at(i)
	if found.kind != kindProgram {
		return found.Value
	}
	return st.attribute(found, sc, &c.finder.attribute, c.level)
}

// selectCode is base.name.
type selectCode struct {
	base  operand
	name  attribute
	level int
}

func (c *selectCode) eval(st *state, sc *scope) Value {
	base := c.base.value(st, sc)
	switch base.kind {
	case KindUndefined:
		return base
	case KindClassAd:
		return st.resolve(&c.name, base.scope(), false, c.level)
	case KindList:
		return c.each(st, base)
	}
	return Error()
}

// each selects from every element of a list.
func (c *selectCode) each(st *state, list Value) Value {
	base := st.base
	st.base += c.level + 1
	values := make([]Value, list.size())
	for i := range values {
		values[i] = Error()
		switch item := st.item(list, i); item.kind {
		case KindClassAd:
			values[i] = st.resolve(&c.name, item.scope(), false, -1)
		case KindUndefined:
			values[i] = item
		}
	}
	st.base = base
	return st.list(values)
}

// absoluteCode is .name.
type absoluteCode struct {
	name  attribute
	level int
}

func (c *absoluteCode) eval(st *state, sc *scope) Value {
	root := sc.outermost()
	if root.other != nil {
		return Undefined() // the outermost ad of a match is the match itself
	}
	if e := root.ad.cell(&c.name); e != nil {
		return st.attribute(e, root, &c.name, c.level)
	}
	return Undefined()
}

// subscriptCode is base[index].
type subscriptCode struct {
	base, index operand
	level       int
}

func (c *subscriptCode) eval(st *state, sc *scope) Value {
	base, index := c.base.value(st, sc), c.index.value(st, sc)
	if v, ok := exceptionalOf(base, index); ok {
		return v
	}
	switch {
	case base.kind == KindList && index.kind == KindInteger:
		if i := int64(index.bits); i >= 0 && i < int64(base.size()) {
			s := base.scope()
			return st.runDeeper(s.items[i], s.up, c.level)
		}
	case base.kind == KindClassAd && index.kind == KindString:
		return st.named(index.text(), base.scope(), c.level)
	}
	return Error()
}

type unaryCode struct {
	op op
	x  operand
}

func (c *unaryCode) eval(st *state, sc *scope) Value { return applyUnary(c.op, c.x.value(st, sc)) }

// compareCode is == != < <= > >=.
type compareCode struct {
	op   op
	l, r operand
}

func (c *compareCode) eval(st *state, sc *scope) Value {
	l := c.l.value(st, sc)
	r := c.r.value(st, sc)
	switch {
	case l.kind == KindInteger && r.kind == KindInteger:
		return ordered(c.op, int64(l.bits), int64(r.bits))
	case l.kind == KindString && r.kind == KindString:
		if !st.spend(int(min(l.bits, r.bits))) {
			return Error()
		}
		return orderedTexts(c.op, l.text(), r.text())
	}
	if v, ok := exceptionalOf(l, r); ok {
		return v
	}
	return compare(c.op, l, r)
}

// identicalCode is =?= and =!=.
type identicalCode struct {
	want bool
	l, r operand
}

func (c *identicalCode) eval(st *state, sc *scope) Value {
	l := c.l.value(st, sc)
	r := c.r.value(st, sc)
	if l.kind != r.kind {
		return Bool(!c.want)
	}
	if l.kind == KindString && !st.spend(int(min(l.bits, r.bits))) {
		return Error()
	}
	return identical(c.want, l, r)
}

// arithmeticCode is an operator on numbers, times or bits.
type arithmeticCode struct {
	op   op
	l, r operand
}

func (c *arithmeticCode) eval(st *state, sc *scope) Value {
	l := c.l.value(st, sc)
	r := c.r.value(st, sc)
	if c.op >= opAdd && numeric(l) && numeric(r) {
		return numberArithmetic(c.op, l, r)
	}
	return applyBinary(c.op, l, r)
}

// allCode is && of any number of terms.
type allCode struct{ terms []operand }

func (c *allCode) eval(st *state, sc *scope) Value {
	undefined := false
	for i := range c.terms {
		v := c.terms[i].value(st, sc)
		if v.kind == KindBoolean {
			if v.bits == 0 {
				return v
			}
			continue
		}
		b, ok := v.Bool()
		switch {
		case v.kind == KindUndefined:
			undefined = true
		case !ok:
			return Error()
		case !b:
			return Bool(false)
		}
	}
	if undefined {
		return Undefined()
	}
	return Bool(true)
}

// junctionCode is && or || of any number of terms.
type junctionCode struct {
	op    op
	terms []operand
}

func (c *junctionCode) eval(st *state, sc *scope) Value {
	undefined := false
	decides := c.op == opOr
	for i := range c.terms {
		v := c.terms[i].value(st, sc)
		b, ok := v.Bool()
		switch {
		case v.kind == KindUndefined:
			undefined = true
		case !ok:
			return Error()
		case b == decides:
			return Bool(b)
		}
	}
	if undefined {
		return Undefined()
	}
	return Bool(!decides)
}

// choiceCode is c ? t : f, and ifThenElse(c,t,f).
type choiceCode struct{ c, t, f operand }

func (x *choiceCode) eval(st *state, sc *scope) Value {
	c := x.c.value(st, sc)
	switch b, ok := c.Bool(); {
	case ok && b:
		return x.t.value(st, sc)
	case ok:
		return x.f.value(st, sc)
	case c.kind == KindUndefined:
		return c
	}
	return Error()
}

// elvisCode is a ?: b.
type elvisCode struct{ a, b operand }

func (c *elvisCode) eval(st *state, sc *scope) Value {
	if v := c.a.value(st, sc); v.kind != KindUndefined {
		return v
	}
	return c.b.value(st, sc)
}

type listCode struct{ items []*Expr }

func (c *listCode) eval(_ *state, sc *scope) Value {
	return scoped(KindList, &scope{items: c.items, up: sc})
}

type recordCode struct{ ad *Ad }

func (c *recordCode) eval(_ *state, sc *scope) Value {
	return scoped(KindClassAd, &scope{ad: c.ad, up: sc})
}

type zonelessCode struct{ seconds int64 }

func (c *zonelessCode) eval(st *state, _ *scope) Value {
	return fromWall(c.seconds, st.now.Location())
}

// callCode is a function with its arguments, as many as it takes.
type callCode struct {
	fn    *function
	args  []operand
	node  *call
	level int
	size  int // how many operators its arguments have
}

func (c *callCode) eval(st *state, sc *scope) Value {
	if c.fn.lazy != nil {
		return c.fn.lazy(st, sc, c)
	}
	first := len(st.args)
	for i := range c.args {
		v := c.args[i].value(st, sc)
		if v.kind == KindString {
			st.spend(int(v.bits)) // the function will look at it
		}
		st.args = append(st.args, v)
	}
	if st.failed {
		return Error()
	}
	base := st.base
	st.base += c.level + 1
	v := c.fn.strict(st, st.args[first:len(st.args):len(st.args)])
	st.base = base
	clear(st.args[first:])
	st.args = st.args[:first]
	return v
}

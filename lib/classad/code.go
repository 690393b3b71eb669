package classad

// The operators of a program. Each evaluates its operands in the scope it is
// itself evaluated in.

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
	any    selectCode // what it is where MY or TARGET may mean something else
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

package classad

// Eval returns the value of the expression, with my as the ad it belongs to
// and target as the ad opposite; both may be nil. It never panics and changes
// nothing.
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

// runDeeper evaluates an expression from inside an operator that stands at a
// level of the expression running.
func (st *state) runDeeper(e *Expr, sc *scope, level int) Value {
	base := st.base
	st.base += level + 1
	v := st.run(e, sc)
	st.base = base
	return v
}

// evalNode evaluates a part of an expression that nobody evaluates often.
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
		st.spend(int(v.bits)) // whoever asked will look at it
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

// named evaluates an attribute of an ad by a name that an evaluation made;
// UNDEFINED when it is missing.
func (st *state) named(name string, in *scope, level int) Value {
	if e := in.ad.cellNamed(name); e != nil {
		a := newAttribute(name)
		return st.attribute(e, in, &a, level)
	}
	return Undefined()
}

// resolve evaluates a name in a scope: the ad itself, the special names, the
// ads around it, the opposite ad as TARGET. With fall, a name that is in none
// of them is looked up in the opposite ad, if sc is an outermost ad.
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

// special returns what a name means that no attribute of an ad has.
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

package classad

import (
	"math"
)

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

// exceptionalOf applies the rule of the strict operators: an ERROR among the
// operands makes ERROR, else an UNDEFINED makes UNDEFINED.
func exceptionalOf(a, b Value) (Value, bool) {
	switch {
	case a.kind == KindError || b.kind == KindError:
		return Error(), true
	case a.kind == KindUndefined || b.kind == KindUndefined:
		return Undefined(), true
	}
	return Value{}, false
}

// shortCut decides && and || by the left side alone, if it can. What is
// neither boolean, number nor UNDEFINED is ERROR.
func shortCut(o op, l Value) (v Value, decided bool) {
	b, ok := l.Bool()
	switch {
	case !ok && l.kind != KindUndefined:
		return Error(), true
	case ok && b == (o == opOr):
		return Bool(b), true
	}
	return Value{}, false
}

// combine is && or || when the left side has not decided: it is UNDEFINED, or
// true for &&, or false for ||.
func combine(o op, l, r Value) Value {
	b, ok := r.Bool()
	switch {
	case !ok && r.kind != KindUndefined:
		return Error()
	case !ok:
		return Undefined()
	case l.kind == KindUndefined && (o == opOr || b):
		// An UNDEFINED left side gives way to false on the right of &&
		// and to nothing on the right of ||, save true.
		if o == opOr && b {
			return Bool(true)
		}
		return Undefined()
	}
	return Bool(b)
}

func applyUnary(o op, v Value) Value {
	if v.exceptional() {
		return v
	}
	switch o {
	case opNot:
		if b, ok := v.Bool(); ok {
			return Bool(!b)
		}
	case opBitNot:
		if v.kind == KindInteger {
			return Int(^int64(v.bits))
		}
	case opPlus:
		if v.kind == KindInteger || v.kind == KindReal || v.kind == KindRelTime {
			return v
		}
	case opNeg:
		switch v.kind {
		case KindInteger:
			return Int(-int64(v.bits))
		case KindReal:
			return Real(-v.real())
		case KindRelTime:
			return relTime(-v.real())
		}
	}
	return Error()
}

func applyBinary(o op, l, r Value) Value {
	if o == opIs || o == opIsnt {
		return identical(o == opIs, l, r)
	}
	if v, ok := exceptionalOf(l, r); ok {
		return v
	}
	switch o {
	case opEq, opNe, opLt, opLe, opGt, opGe:
		return compare(o, l, r)
	case opBitAnd, opBitOr, opBitXor, opShiftLeft, opShiftRight, opShiftLogical:
		if l.kind == KindInteger && r.kind == KindInteger {
			return Int(bits(o, int64(l.bits), int64(r.bits)))
		}
		return Error()
	}
	return arithmetic(o, l, r)
}

// identical is =?= or, with want false, =!=.
func identical(want bool, l, r Value) Value {
	if l.kind != r.kind {
		return Bool(!want)
	}
	same := false
	switch l.kind {
	case KindList, KindClassAd:
		return Error()
	case KindUndefined, KindError:
		same = true
	case KindString:
		same = l.text() == r.text()
	case KindReal, KindRelTime:
		same = l.real() == r.real()
	case KindAbsTime:
		same = l.bits == r.bits && l.zone == r.zone
	default:
		same = l.bits == r.bits
	}
	return Bool(same == want)
}

// compare is one of == != < <= > >= on values that are neither UNDEFINED nor
// ERROR.
func compare(o op, l, r Value) Value {
	switch {
	case l.kind == KindString && r.kind == KindString:
		return orderedTexts(o, l.text(), r.text())
	case l.kind == KindAbsTime && r.kind == KindAbsTime:
		return ordered(o, int64(l.bits), int64(r.bits))
	case l.kind == KindRelTime && r.kind == KindRelTime:
		return ordered(o, l.real(), r.real())
	case !numeric(l) || !numeric(r):
		return Error()
	case l.kind == KindReal || r.kind == KindReal:
		return ordered(o, l.float(), r.float())
	}
	return ordered(o, int64(l.bits), int64(r.bits))
}

func numeric(v Value) bool { return KindBoolean <= v.kind && v.kind <= KindReal }

// orderedTexts is ordered for strings, whose case does not matter.
func orderedTexts(o op, l, r string) Value {
	switch o {
	case opEq:
		return Bool(equalFold(l, r))
	case opNe:
		return Bool(!equalFold(l, r))
	}
	return ordered(o, compareFold(l, r), 0)
}

func ordered[T int | int64 | float64](o op, x, y T) Value { return Bool(orders(o, x, y)) }

func orders[T int | int64 | float64](o op, x, y T) bool {
	switch o {
	case opEq:
		return x == y
	case opNe:
		return x != y
	case opLt:
		return x < y
	case opLe:
		return x <= y
	case opGt:
		return x > y
	}
	return x >= y
}

// bits are the operators on the bits of integers. Shift counts are taken
// modulo 64.
func bits(o op, x, y int64) int64 {
	switch o {
	case opBitAnd:
		return x & y
	case opBitOr:
		return x | y
	case opBitXor:
		return x ^ y
	case opShiftLeft:
		return x << (y & 63)
	case opShiftRight:
		return x >> (y & 63)
	}
	return int64(uint64(x) >> (y & 63))
}

// arithmetic is + - * / % on values that are neither UNDEFINED nor ERROR.
func arithmetic(o op, l, r Value) Value {
	switch {
	case numeric(l) && numeric(r):
		return numberArithmetic(o, l, r)
	case l.kind == KindAbsTime || r.kind == KindAbsTime:
		return momentArithmetic(o, l, r)
	case l.kind == KindRelTime && r.kind == KindRelTime:
		switch o {
		case opAdd:
			return finiteSpan(l.real() + r.real())
		case opSub:
			return finiteSpan(l.real() - r.real())
		}
	case l.kind == KindRelTime && numeric(r) && r.kind != KindBoolean:
		y, _ := r.Number()
		switch o {
		case opMul:
			return finiteSpan(l.real() * y)
		case opDiv:
			return finiteSpan(l.real() / y)
		}
	case r.kind == KindRelTime && numeric(l) && l.kind != KindBoolean && o == opMul:
		x, _ := l.Number()
		return finiteSpan(x * r.real())
	}
	return Error()
}

// finiteSpan is a relative time, or ERROR where that would be endless.
func finiteSpan(seconds float64) Value {
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return Error()
	}
	return relTime(seconds)
}

func momentArithmetic(o op, l, r Value) Value {
	switch {
	case o == opAdd && l.kind == KindAbsTime && r.kind == KindRelTime:
		return absTime(int64(l.bits)+truncate(r.real()), int(l.zone))
	case o == opAdd && l.kind == KindRelTime && r.kind == KindAbsTime:
		return absTime(int64(r.bits)+truncate(l.real()), int(r.zone))
	case o == opSub && l.kind == KindAbsTime && r.kind == KindRelTime:
		return absTime(int64(l.bits)-truncate(r.real()), int(l.zone))
	case o == opSub && l.kind == KindAbsTime && r.kind == KindAbsTime:
		return relTime(float64(int64(l.bits) - int64(r.bits)))
	}
	return Error()
}

// numberArithmetic is + - * / % on numbers and booleans.
func numberArithmetic(o op, l, r Value) Value {
	if l.kind == KindReal || r.kind == KindReal {
		return realArithmetic(o, l.float(), r.float())
	}
	return intArithmetic(o, int64(l.bits), int64(r.bits))
}

func intArithmetic(o op, x, y int64) Value {
	switch o {
	case opAdd:
		return Int(x + y)
	case opSub:
		return Int(x - y)
	case opMul:
		return Int(x * y)
	}
	if y == 0 {
		return Error()
	}
	if o == opDiv {
		if x == math.MinInt64 && y == -1 {
			return Int(math.MaxInt64) // as HTCondor has it
		}
		return Int(x / y)
	}
	return Int(x % y)
}

// realArithmetic is ERROR where the result is +INF; -INF and NaN are values.
func realArithmetic(o op, x, y float64) Value {
	var z float64
	switch o {
	case opAdd:
		z = x + y
	case opSub:
		z = x - y
	case opMul:
		z = x * y
	case opDiv:
		z = x / y
	default:
		return Error()
	}
	if math.IsInf(z, 1) {
		return Error()
	}
	return Real(z)
}

// truncate is the integer part of x. NaN is 0; what an int64 cannot hold is the
// nearest one it can.
func truncate(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

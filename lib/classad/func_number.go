package classad

import "math"

// numberFunctions do arithmetic on numbers and on lists of numbers.
var numberFunctions = map[string]*function{
	"floor":    strictly(1, rounding(math.Floor)),
	"ceiling":  strictly(1, rounding(math.Ceil)),
	"ceil":     strictly(1, rounding(math.Ceil)),
	"round":    strictly(1, rounding(math.RoundToEven)),
	"pow":      strictly(2, power),
	"quantize": strictly(2, quantize),
	"random":   between(0, 1, random).seeing(seesChance),
	"sum":      strictly(1, aggregate(sum)),
	"avg":      strictly(1, aggregate(average)),
	"min":      strictly(1, aggregate(func(v []Value) Value { return extreme(opLt, v) })),
	"max":      strictly(1, aggregate(func(v []Value) Value { return extreme(opGt, v) })),
}

func rounding(f func(float64) float64) func(*state, []Value) Value {
	return func(_ *state, a []Value) Value {
		if a[0].kind == KindInteger {
			return a[0]
		}
		x := toReal(a[0])
		if x.kind != KindReal {
			return Error()
		}
		return Int(truncate(f(x.real())))
	}
}

// power of integers is the truncated floating point result plus a half, so
// negative odd powers are one too high, as in HTCondor.
func power(_ *state, a []Value) Value {
	x, y := toReal(a[0]), toReal(a[1])
	if x.kind != KindReal || y.kind != KindReal {
		return Error()
	}
	z := math.Pow(x.real(), y.real())
	if n, ok := a[1].Int(); ok && n >= 0 && a[0].kind == KindInteger {
		return Int(truncate(z + 0.5))
	}
	return Real(z)
}

// quantize rounds up to a multiple of the second argument, or to the first
// element of a list that is large enough.
func quantize(st *state, a []Value) Value {
	x := toReal(a[0])
	if x.kind != KindReal {
		return Error()
	}
	if a[1].kind != KindList {
		return quantizeBy(a[0], x.real(), a[1])
	}
	last := Undefined()
	for i := range a[1].size() {
		last = st.item(a[1], i)
		y := toReal(last)
		if y.kind != KindReal {
			return Error()
		}
		if y.real() >= x.real() {
			return last
		}
	}
	if a[1].size() == 0 {
		return a[0]
	}
	return quantizeBy(a[0], x.real(), last)
}

func quantizeBy(v Value, x float64, by Value) Value {
	step := toReal(by)
	if step.kind != KindReal {
		return Error()
	}
	if b, ok := by.Int(); ok {
		n, whole := v.Int()
		switch {
		case b == 0:
			return v
		case whole:
			return intArithmetic(opMul, intDivide(n+b-1, b), b)
		}
	} else if math.Abs(step.real()) <= 1e-8 {
		return v
	}
	return Real(math.Ceil(x/step.real()) * step.real())
}

func intDivide(x, y int64) int64 {
	q, _ := intArithmetic(opDiv, x, y).Int()
	return q
}

// random returns a real number in [0,1), or a number of its argument's kind in
// [0,n).
func random(st *state, a []Value) Value {
	unit := float64(st.random()>>11) / (1 << 53)
	if len(a) == 0 {
		return Real(unit)
	}
	switch v := a[0]; {
	case v.kind == KindInteger && int64(v.bits) > 0:
		return Int(int64(st.random() % v.bits))
	case v.kind == KindReal && v.real() > 0:
		return Real(unit * v.real())
	}
	return Error()
}

// aggregate makes a function of one list of numbers. Undefined elements are
// left out.
func aggregate(f func([]Value) Value) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		if a[0].kind == KindUndefined {
			return a[0]
		}
		if a[0].kind != KindList {
			return Error()
		}
		var values []Value
		for i := range a[0].size() {
			v := st.item(a[0], i)
			if v.kind == KindUndefined {
				continue
			}
			if !numeric(v) {
				return Error()
			}
			values = append(values, v)
		}
		return f(values)
	}
}

func sum(values []Value) Value {
	if len(values) == 0 {
		return Int(0)
	}
	total := values[0]
	for _, v := range values[1:] {
		total = arithmetic(opAdd, total, v)
		if total.kind == KindError {
			return total
		}
	}
	return total
}

func average(values []Value) Value {
	if len(values) == 0 {
		return Int(0)
	}
	total, ok := sum(values).Number()
	if !ok {
		return Error()
	}
	return Real(total / float64(len(values)))
}

// extreme returns the least or greatest value, of the kind that comparing it
// with the others made of it: an integer once compared with a real is real.
func extreme(o op, values []Value) Value {
	if len(values) == 0 {
		return Undefined()
	}
	best := values[0]
	for _, v := range values[1:] {
		better := compare(o, v, best).True()
		isReal := best.kind == KindReal || v.kind == KindReal
		if better {
			best = v
		}
		if isReal {
			best = toReal(best)
		} else {
			best = Int(int64(best.bits))
		}
	}
	return best
}

package classad

import (
	"fairspool/lib/caseless"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad/internal/timetext"
)

// typeFunctions test and convert types.
var typeFunctions = map[string]*function{
	"isundefined": isKind(KindUndefined), "iserror": isKind(KindError), "isstring": isKind(KindString),
	"isinteger": isKind(KindInteger), "isreal": isKind(KindReal), "islist": isKind(KindList),
	"isclassad": isKind(KindClassAd), "isboolean": isKind(KindBoolean),
	"isabstime": isKind(KindAbsTime), "isreltime": isKind(KindRelTime),

	"int":    strictly(1, func(_ *state, a []Value) Value { return toInt(a[0]) }),
	"real":   strictly(1, func(_ *state, a []Value) Value { return toReal(a[0]) }),
	"string": strictly(1, func(st *state, a []Value) Value { return st.toText(a[0]) }),
	"bool":   strictly(1, func(_ *state, a []Value) Value { return toBool(a[0]) }).truthful(),

	"ifthenelse": {min: 3, max: 3, choice: true},
}

func isKind(k Kind) *function {
	return strictly(1, func(_ *state, a []Value) Value { return Bool(a[0].kind == k) }).truthful()
}

// toText is the conversion to a string: everything but a string is printed in
// the new form, times without quotes. UNDEFINED and ERROR stay.
func (st *state) toText(v Value) Value {
	switch v.kind {
	case KindUndefined, KindError, KindString:
		return v
	case KindAbsTime:
		return st.charged(string(timetext.AppendMoment(nil, int64(v.bits), int(v.zone))))
	case KindRelTime:
		return st.charged(string(timetext.AppendSpan(nil, math.Trunc(v.real()))))
	}
	if !st.affords(&literal{v}) {
		return Error()
	}
	return st.charged(string(appendValue(nil, v, StyleNew)))
}

// weigh takes about the length of an expression's text from left, and stops when nothing is left: lists made of the same list over and
// over have a text far larger than they are.
func weigh(n node, left *int) {
	*left--
	if *left < 0 {
		return
	}
	switch n := n.(type) {
	case *literal:
		switch n.v.kind {
		case KindInteger, KindReal:
			*left -= 6
		case KindAbsTime, KindRelTime:
			*left -= 12
		case KindString:
			*left -= len(n.v.text())
		case KindList:
			weighAll(n.v.scope().items, left)
		case KindClassAd:
			weighAd(n.v.scope().ad, left)
		}
	case *listing:
		weighAll(n.items, left)
	case *selection:
		weigh(n.base, left)
	case *record:
		weighAd(n.ad, left)
	}
	under := children(n)
	for i := 0; i < len(under) && *left >= 0; i++ {
		weigh(under[i], left)
	}
}

func weighAll(items []*Expr, left *int) {
	for i := 0; i < len(items) && *left >= 0; i++ {
		weigh(items[i].tree(), left)
	}
}

func weighAd(a *Ad, left *int) {
	for _, e := range a.all() {
		if *left -= len(e.name); *left < 0 {
			return
		}
		weigh(e.expr.tree(), left)
	}
}

// toReal is the conversion to a real number.
func toReal(v Value) Value {
	switch v.kind {
	case KindInteger, KindReal, KindBoolean:
		x, _ := v.Number()
		return Real(x)
	case KindString:
		if x, ok := leadingFloat(v.text()); ok {
			return Real(x)
		}
		return Error()
	case KindAbsTime:
		return Real(float64(int64(v.bits)))
	case KindRelTime:
		return Real(math.Trunc(v.real()))
	case KindUndefined:
		return v
	}
	return Error()
}

func toInt(v Value) Value {
	switch v.kind {
	case KindInteger:
		return v
	case KindString:
		if n, ok := leadingInt(v.text()); ok {
			return Int(n)
		}
	}
	r := toReal(v)
	if r.kind == KindReal {
		return Int(truncate(r.real()))
	}
	return r
}

func toBool(v Value) Value {
	switch v.kind {
	case KindUndefined:
		return v
	case KindString:
		switch caseless.Fold(v.text()) {
		case "true":
			return Bool(true)
		case "false":
			return Bool(false)
		}
		return Undefined()
	case KindRelTime:
		return Bool(math.Trunc(v.real()) != 0)
	}
	if b, ok := v.Bool(); ok {
		return Bool(b)
	}
	return Error()
}

// leadingInt reads a whole decimal integer, which a float64 might not hold.
func leadingInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimLeft(s, " \t\n\v\f\r"), 10, 64)
	return n, err == nil
}

// leadingFloat reads the number that s begins with, the way C's strtod does: white space before it and anything behind it are ignored;
// hexadecimal, INF and NAN are numbers.
func leadingFloat(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	if end < len(s) && isSign(s[end]) {
		end++
	}
	word := caseless.Fold(s[end:min(len(s), end+8)])
	switch {
	case strings.HasPrefix(word, "nan"):
		return math.NaN(), true
	case strings.HasPrefix(word, "inf"):
		if s[0] == '-' {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	if strings.HasPrefix(word, "0x") {
		if x, ok := leadingHex(s, end); ok {
			return x, true
		}
		return 0, true // the 0 before the x
	}
	digits := 0
	for end < len(s) && digit(s[end]) {
		end, digits = end+1, digits+1
	}
	if end < len(s) && s[end] == '.' {
		end++
		for end < len(s) && digit(s[end]) {
			end, digits = end+1, digits+1
		}
	}
	if digits == 0 {
		return 0, false
	}
	end = exponent(s, end, 'e')
	x, _ := strconv.ParseFloat(s[:end], 64) // out of range: an infinity or zero
	return x, true
}

// exponent returns the end of an exponent that begins at end, or end itself without one.
func exponent(s string, end int, mark byte) int {
	e := end
	if e < len(s) && caseless.Lower(s[e]) == mark {
		e++
		if e < len(s) && isSign(s[e]) {
			e++
		}
		start := e
		for e < len(s) && digit(s[e]) {
			e++
		}
		if e > start {
			return e
		}
	}
	return end
}

// leadingHex reads a hexadecimal number; its 0x begins at start.
func leadingHex(s string, start int) (float64, bool) {
	end, digits := start+2, 0
	hex := func() {
		for end < len(s) && (digit(s[end]) || 'a' <= caseless.Lower(s[end]) && caseless.Lower(s[end]) <= 'f') {
			end, digits = end+1, digits+1
		}
	}
	hex()
	if end < len(s) && s[end] == '.' {
		end++
		hex()
	}
	if digits == 0 {
		return 0, false
	}
	text := s[:end]
	if e := exponent(s, end, 'p'); e > end {
		text = s[:e]
	} else {
		text += "p0"
	}
	x, _ := strconv.ParseFloat(text, 64)
	return x, true
}

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

// power of integers is the truncated floating point result plus a half, so negative odd powers are one too high, as in HTCondor.
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

// quantize rounds up to a multiple of the second argument, or to the first element of a list that is large enough.
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

// random returns a real number in [0,1), or a number of its argument's kind in [0,n).
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

// aggregate makes a function of one list of numbers. Undefined elements are left out.
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

func isSign(c byte) bool { return c == '+' || c == '-' }

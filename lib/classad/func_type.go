package classad

import (
	"math"
	"strconv"
	"strings"
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
		return st.charged(string(appendAbsTime(nil, v)))
	case KindRelTime:
		return st.charged(string(appendRelTime(nil, math.Trunc(v.real()))))
	}
	if !st.affords(&literal{v}) {
		return Error()
	}
	return st.charged(string(appendValue(nil, v, StyleNew)))
}

// weigh takes about the length of an expression's text from left, and stops
// when nothing is left: lists made of the same list over and over have a text
// far larger than they are.
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
		switch fold(v.text()) {
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

// leadingFloat reads the number that s begins with, the way C's strtod does:
// white space before it and anything behind it are ignored; hexadecimal, INF
// and NAN are numbers.
func leadingFloat(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	if end < len(s) && isSign(s[end]) {
		end++
	}
	word := fold(s[end:min(len(s), end+8)])
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

// exponent returns the end of an exponent that begins at end, or end when there
// is none.
func exponent(s string, end int, mark byte) int {
	e := end
	if e < len(s) && lower(s[e]) == mark {
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

// leadingHex reads a hexadecimal number whose 0x begins at start.
func leadingHex(s string, start int) (float64, bool) {
	end, digits := start+2, 0
	hex := func() {
		for end < len(s) && (digit(s[end]) || 'a' <= lower(s[end]) && lower(s[end]) <= 'f') {
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

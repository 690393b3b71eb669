package classad

import (
	"bytes"
	"fairspool/lib/caseless"
	"fairspool/lib/classad/internal/recenttext"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// Kind says what a Value is.
type Kind uint8

// The kinds of values. UNDEFINED and ERROR are values like others.
const (
	KindUndefined Kind = iota
	KindError
	KindBoolean
	KindInteger
	KindReal
	KindString
	KindAbsTime // a moment: whole seconds since 1970 and a zone
	KindRelTime // a span of time in seconds
	KindList
	KindClassAd

	kindProgram // what an Expr has instead of a value: it must be run
)

var kindNames = [...]string{"undefined", "error", "boolean", "integer", "real", "string", "absolute time", "relative time", "list", "classad"}

// String names the kind in lower case, for messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Value is the result of an evaluation. The zero Value is UNDEFINED. Values are small and copied freely. Lists and ads are shared: they
// have their present values, and change with the ads they come from. Identical compares values; == compares the addresses of texts.
//
// It is three machine words, so that it travels in registers: evaluation mostly passes values on.
type Value struct {
	kind Kind
	zone int32          // of an absolute time: seconds east of UTC
	bits uint64         // boolean, integer, seconds; the bits of a real or relative time; the length of a string
	ref  unsafe.Pointer // the bytes of a string; the *scope of a list or an ad
}

// text returns the text of a string; "" for every other kind.
func (v Value) text() string {
	if v.kind != KindString {
		return ""
	}
	return unsafe.String((*byte)(v.ref), int(v.bits))
}

// scope returns where a list's items or an ad's attributes are; nil for every other kind.
func (v Value) scope() *scope {
	if v.kind != KindList && v.kind != KindClassAd {
		return nil
	}
	return (*scope)(v.ref)
}

func scoped(k Kind, s *scope) Value { return Value{kind: k, ref: unsafe.Pointer(s)} }

// Undefined returns UNDEFINED.
func Undefined() Value { return Value{} }

// Error returns ERROR.
func Error() Value { return Value{kind: KindError} }

// Bool returns a boolean.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBoolean, bits: 1}
	}
	return Value{kind: KindBoolean}
}

// Int returns an integer.
func Int(n int64) Value { return Value{kind: KindInteger, bits: uint64(n)} }

// Real returns a real number.
func Real(x float64) Value { return Value{kind: KindReal, bits: math.Float64bits(x)} }

// String returns a string. The language has no NUL byte: the text ends before the first one.
func String(s string) Value {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return str(s)
}

// str is String for text known to have no NUL byte.
func str(s string) Value {
	return Value{kind: KindString, bits: uint64(len(s)), ref: unsafe.Pointer(unsafe.StringData(s))}
}

func absTime(seconds int64, zone int) Value {
	return Value{kind: KindAbsTime, bits: uint64(seconds), zone: int32(zone)}
}

func relTime(seconds float64) Value {
	return Value{kind: KindRelTime, bits: math.Float64bits(seconds)}
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// Int returns the number of an integer; ok is false for every other kind.
func (v Value) Int() (n int64, ok bool) { return int64(v.bits), v.kind == KindInteger }

// Text returns the text of a string; ok is false for every other kind.
func (v Value) Text() (s string, ok bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.text(), true
}

// Number returns an integer, a real or a boolean (0 or 1) as a float64; ok is false for every other kind.
func (v Value) Number() (x float64, ok bool) {
	switch v.kind {
	case KindInteger:
		return float64(int64(v.bits)), true
	case KindReal:
		return v.real(), true
	case KindBoolean:
		return float64(v.bits), true
	}
	return 0, false
}

// True reports whether v counts as true: the boolean true, or a number other than zero.
func (v Value) True() bool {
	b, ok := v.Bool()
	return b && ok
}

// Bool returns a boolean, or whether a number is not zero; ok is false for every other kind.
func (v Value) Bool() (b, ok bool) {
	switch v.kind {
	case KindBoolean, KindInteger:
		return v.bits != 0, true
	case KindReal:
		return v.real() != 0, true
	}
	return false, false
}

// String returns the value as an expression in the old style: strings have their quotes. A list or an ad with a text of about 256 MB or
// more is "error"; a list that holds the same list over and over can have such a text.
func (v Value) String() string {
	if v.kind == KindList || v.kind == KindClassAd {
		left := maxBytes
		if weigh(&literal{v}, &left); left < 0 {
			v = Error()
		}
	}
	return string(appendValue(nil, v, StyleOld))
}

// List returns the values of a list's elements; ok is false for every other kind. Elements are evaluated where the list was written.
func (v Value) List(c *Context) (items []Value, ok bool) {
	if v.kind != KindList {
		return nil, false
	}
	st := newState(c, nil, nil)
	items = make([]Value, 0, v.size())
	for i := range v.size() {
		items = append(items, st.item(v, i))
	}
	st.charge()
	return items, true // st is not reused: the values may refer to it
}

// Ad returns a copy of a ClassAd value; ok is false for every other kind. What its expressions refer to outside it is lost.
func (v Value) Ad() (ad *Ad, ok bool) {
	if v.kind != KindClassAd {
		return nil, false
	}
	return v.scope().ad.Flat(), true
}

// float returns a number or a boolean as a float64.
func (v Value) float() float64 {
	if v.kind == KindReal {
		return v.real()
	}
	return float64(int64(v.bits))
}

func (v Value) real() float64     { return math.Float64frombits(v.bits) }
func (v Value) exceptional() bool { return v.kind <= KindError }
func (v Value) size() int         { return len(v.scope().items) }

// listOf makes a list of values.
func listOf(values []Value) Value {
	items := make([]*Expr, len(values))
	exprs := make([]Expr, len(values))
	for i, v := range values {
		exprs[i].lit = v
		items[i] = &exprs[i]
	}
	return scoped(KindList, &scope{items: items})
}

// scanConstant reads a text that is just an ordinary constant: a number, true, false, undefined, error, or a string without a backslash.
// Such a text means the same in both dialects, and makes up most of ads; ok is false for everything else, which the parser reads. A
// string shares the bytes of the text: kept copies them.
func scanConstant(b []byte) (v Value, ok bool) {
	if len(b) == 0 {
		return Value{}, false
	}
	switch c := b[0]; {
	case c == '"':
		inner := b[1:]
		end := bytes.IndexByte(inner, '"')
		if end < 0 || end != len(inner)-1 || bytes.IndexByte(inner, '\\') >= 0 || bytes.IndexByte(inner, 0) >= 0 {
			return Value{}, false
		}
		return str(unsafe.String(unsafe.SliceData(inner), end)), true
	case digit(c) || c == '-' || c == '.':
		return scanNumber(b)
	}
	return scanWord(b)
}

func scanWord(b []byte) (v Value, ok bool) {
	switch len(b) {
	case 4:
		return Bool(true), strings.EqualFold(string(b), "true")
	case 5:
		if caseless.Lower(b[0]) == 'f' {
			return Bool(false), strings.EqualFold(string(b), "false")
		}
		return Error(), strings.EqualFold(string(b), "error")
	case 9:
		return Undefined(), strings.EqualFold(string(b), "undefined")
	}
	return Value{}, false
}

// maxShortInt is how many digits surely fit an int64.
const maxShortInt = 18

func scanNumber(b []byte) (v Value, ok bool) {
	digits := b
	negative := b[0] == '-'
	if negative {
		digits = b[1:]
	}
	n, i := int64(0), 0
	for i < len(digits) && i < maxShortInt && digit(digits[i]) {
		n = 10*n + int64(digits[i]-'0')
		i++
	}
	if i == len(digits) {
		if i == 0 || i > 1 && digits[0] == '0' {
			return Value{}, false
		}
		if negative {
			n = -n
		}
		return Int(n), true
	}
	if digits[i] != '.' || !plainFraction(digits[i+1:]) {
		return Value{}, false
	}
	x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	return Real(x), err == nil
}

// plainFraction reports whether b is digits and nothing else.
func plainFraction(b []byte) bool {
	for _, c := range b {
		if !digit(c) {
			return false
		}
	}
	return len(b) > 0
}

// kept returns v with a text that lasts.
func (v Value) kept(in *recenttext.Texts) Value {
	if v.kind != KindString {
		return v
	}
	return str(in.Keep(v.text()))
}

// seed is fixed for the life of the process. It decides places in memory only, never a visible order.
var seed = maphash.MakeSeed()

// hash spreads scalars.
func (v Value) hash() uint64 {
	if v.kind == KindString {
		return maphash.String(seed, v.text())
	}
	return (v.bits ^ uint64(v.kind)<<56) * 0x9e3779b97f4a7c15 >> 32
}

// identicalTo reports whether two scalars are the same value of the same kind.
func (v Value) identicalTo(w Value) bool {
	if v.kind == KindString && w.kind == KindString {
		return v.text() == w.text()
	}
	return v.kind == w.kind && v.bits == w.bits && v.zone == w.zone && v.kind <= KindReal
}

// exceptionalOf applies the rule of the strict operators: an ERROR among the operands makes ERROR, else an UNDEFINED makes UNDEFINED.
func exceptionalOf(a, b Value) (Value, bool) {
	switch {
	case a.kind == KindError || b.kind == KindError:
		return Error(), true
	case a.kind == KindUndefined || b.kind == KindUndefined:
		return Undefined(), true
	}
	return Value{}, false
}

// shortCut decides && and
//
// by the left side alone, if it can. A value that is neither boolean, number nor UNDEFINED is ERROR.
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

// combine is && or || when the left side has not decided: it is UNDEFINED, or true for &&, or false for ||.
func combine(o op, l, r Value) Value {
	b, ok := r.Bool()
	switch {
	case !ok && r.kind != KindUndefined:
		return Error()
	case !ok:
		return Undefined()
	case l.kind == KindUndefined && (o == opOr || b):
		// An UNDEFINED left side gives way to false on the right of && and to nothing on the right of ||, except true.
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

// compare is one of == != < <= > >= on values that are neither UNDEFINED nor ERROR.
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

// orderedTexts is ordered for strings, without regard to case.
func orderedTexts(o op, l, r string) Value {
	switch o {
	case opEq:
		return Bool(caseless.Equal(l, r))
	case opNe:
		return Bool(!caseless.Equal(l, r))
	}
	return ordered(o, caseless.Compare(l, r), 0)
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

// bits are the operators on the bits of integers. Shift counts are taken modulo 64.
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

// truncate is the integer part of x. NaN is 0; what an int64 cannot hold is the nearest one it can.
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

package classad

import (
	"math"
	"strings"
)

// listFunctions ask about the elements of lists.
var listFunctions = map[string]*function{
	"member":          strictly(2, member).truthful(),
	"identicalmember": strictly(2, identicalMember).truthful(),
	"anycompare":      strictly(3, anyCompare).truthful(),
	"allcompare":      strictly(3, allCompare).truthful(),
}

func member(st *state, a []Value) Value {
	x, list := a[0], a[1]
	switch {
	case x.kind == KindError || list.kind == KindError:
		return Error()
	case x.kind == KindUndefined || list.kind == KindUndefined:
		return Undefined()
	case list.kind != KindList || x.kind == KindList || x.kind == KindClassAd:
		return Error()
	}
	for i := range list.size() {
		if applyBinary(opEq, st.item(list, i), x).True() {
			return Bool(true)
		}
	}
	return Bool(false)
}

func identicalMember(st *state, a []Value) Value {
	x, list := a[0], a[1]
	switch {
	case list.kind == KindUndefined:
		return list
	case list.kind != KindList || x.kind == KindList || x.kind == KindClassAd:
		return Error()
	}
	for i := range list.size() {
		if identical(true, st.item(list, i), x).True() {
			return Bool(true)
		}
	}
	return Bool(false)
}

var comparisons = map[string]op{
	"<": opLt, "<=": opLe, "==": opEq, "!=": opNe, ">": opGt, ">=": opGe, "is": opIs, "isnt": opIsnt,
}

// comparison checks the arguments that anyCompare and allCompare share.
func comparison(a []Value) (o op, bad Value, ok bool) {
	switch {
	case a[0].kind == KindUndefined || a[1].kind == KindUndefined:
		return 0, Undefined(), false
	case a[0].kind != KindString || a[1].kind != KindList:
		return 0, Error(), false
	}
	o, ok = comparisons[a[0].text()]
	return o, Error(), ok
}

func anyCompare(st *state, a []Value) Value {
	o, bad, ok := comparison(a)
	if !ok {
		return bad
	}
	for i := range a[1].size() {
		switch v := applyBinary(o, st.item(a[1], i), a[2]); {
		case v.kind == KindError:
			return v
		case v.kind == KindUndefined:
			return Bool(false) // even if a later element would do, as in HTCondor
		case v.True():
			return Bool(true)
		}
	}
	return Bool(false)
}

func allCompare(st *state, a []Value) Value {
	o, bad, ok := comparison(a)
	if !ok {
		return bad
	}
	for i := range a[1].size() {
		switch v := applyBinary(o, st.item(a[1], i), a[2]); {
		case v.kind == KindError:
			return v
		case !v.True():
			return Bool(false)
		}
	}
	return Bool(true)
}

// stringListFunctions work on texts that are lists, their items set apart by
// delimiters.
var stringListFunctions = map[string]*function{
	"stringlistsize": between(1, 2, func(st *state, a []Value) Value {
		n := 0
		if !st.tokens(a, 1, numberDelimiters, func(string) bool { n++; return true }) {
			return Error()
		}
		return Int(int64(n))
	}),
	"stringlistsum": between(1, 2, func(st *state, a []Value) Value {
		return st.numbers(a, 0, Real(0), func(sum, x float64, _ int) float64 { return sum + x })
	}),
	"stringlistavg": between(1, 2, func(st *state, a []Value) Value {
		return st.numbers(a, 0, Real(0), func(avg, x float64, n int) float64 { return avg + (x-avg)/float64(n) })
	}),
	"stringlistmin": between(1, 2, func(st *state, a []Value) Value {
		return st.numbers(a, math.MaxFloat64, Undefined(), func(m, x float64, _ int) float64 { return math.Min(m, x) })
	}),
	// HTCondor begins with the smallest positive float: lists of negative
	// numbers have that as their greatest.
	"stringlistmax": between(1, 2, func(st *state, a []Value) Value {
		return st.numbers(a, 1.175494350822288e-38, Undefined(), func(m, x float64, _ int) float64 { return math.Max(m, x) })
	}),
	"stringlistmember":       between(2, 3, stringMember(func(x, y string) bool { return x == y })).truthful(),
	"stringlistimember":      between(2, 3, stringMember(equalFold)).truthful(),
	"stringlistsubsetmatch":  between(2, 3, stringSubset(func(x, y string) bool { return x == y })).truthful(),
	"stringlistisubsetmatch": between(2, 3, stringSubset(equalFold)).truthful(),
	"stringlistsintersect":   between(2, 3, stringsIntersect).truthful(),
	"stringlist_regexpmember": between(2, 4, func(st *state, a []Value) Value {
		return st.stringRegexp(a)
	}).truthful(),
}

const (
	numberDelimiters = ", "
	memberDelimiters = ", \t\r\n"
)

// delimiters returns the argument at place i, or what holds without it.
func delimiters(a []Value, i int, otherwise string) (string, bool) {
	if len(a) <= i {
		return otherwise, true
	}
	return a[i].Text()
}

// tokens calls f for the items of the text a[0] until it returns false. It
// returns false if the arguments are not texts.
func (st *state) tokens(a []Value, delimitersAt int, otherwise string, f func(string) bool) bool {
	set, ok := delimiters(a, delimitersAt, otherwise)
	s, isText := a[0].Text()
	if !ok || !isText || !st.spend(len(s)) {
		return false
	}
	eachToken(s, set, f)
	return true
}

// eachToken calls f for every item that is not empty, without the blanks
// around it, until f returns false.
func eachToken(s, set string, f func(string) bool) {
	var ends [256]bool
	for i := range len(set) {
		ends[set[i]] = true
	}
	for s != "" {
		i := 0
		for i < len(s) && !ends[s[i]] {
			i++
		}
		token := trimmed(s[:i])
		s = s[min(i+1, len(s)):]
		if token != "" && !f(token) {
			return
		}
	}
}

// numbers runs over the numbers of a string list. The result is an integer if all
// of them are written as integers; empty is the result without any.
func (st *state) numbers(a []Value, start float64, empty Value, f func(so, x float64, n int) float64) Value {
	n, whole, bad := 0, true, false
	result := start
	ok := st.tokens(a, 1, numberDelimiters, func(token string) bool {
		x, isNumber := leadingFloat(token)
		bad = !isNumber
		n++
		whole = whole && strings.Trim(token, "+-0123456789") == ""
		result = f(result, x, n)
		return isNumber
	})
	switch {
	case !ok || bad:
		return Error()
	case n == 0:
		return empty
	case whole:
		return Int(truncate(result))
	}
	return Real(result)
}

// twoTexts returns two arguments as texts: UNDEFINED is empty, unless both
// are.
func twoTexts(a []Value) (x, y string, bad Value, ok bool) {
	if a[0].kind == KindUndefined && a[1].kind == KindUndefined {
		return "", "", Undefined(), false
	}
	for _, v := range a[:2] {
		if v.kind != KindUndefined && v.kind != KindString {
			return "", "", Error(), false
		}
	}
	return a[0].text(), a[1].text(), Value{}, true
}

// memberDelimitersOf returns the delimiters of a list of names: UNDEFINED ones
// are none.
func memberDelimitersOf(a []Value) (string, bool) {
	if len(a) == 3 && a[2].kind == KindUndefined {
		return "", true
	}
	return delimiters(a, 2, memberDelimiters)
}

func stringMember(equal func(x, y string) bool) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		set, isText := memberDelimitersOf(a)
		x, list, bad, ok := twoTexts(a)
		switch {
		case !ok:
			return bad
		case !isText || !st.spend(len(list)):
			return Error()
		}
		return Bool(hasToken(list, set, x, equal))
	}
}

func hasToken(list, set, x string, equal func(x, y string) bool) bool {
	found := false
	eachToken(list, set, func(token string) bool {
		found = equal(token, x)
		return !found
	})
	return found
}

func stringSubset(equal func(x, y string) bool) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		set, isText := memberDelimitersOf(a)
		part, list, bad, ok := twoTexts(a)
		switch {
		case !ok:
			return bad
		case !isText:
			return Error()
		}
		all := part == "" // as in HTCondor nothing but delimiters is no list at all
		eachToken(part, set, func(token string) bool {
			all = st.spend(len(list)) && hasToken(list, set, token, equal)
			return all
		})
		return Bool(all)
	}
}

func stringsIntersect(st *state, a []Value) Value {
	if v, bad := worst(a); bad {
		return v
	}
	set, isText := delimiters(a, 2, numberDelimiters)
	x, y, bad, ok := twoTexts(a)
	switch {
	case !ok:
		return bad
	case !isText:
		return Error()
	}
	found := false
	eachToken(x, set, func(token string) bool {
		found = st.spend(len(y)) && hasToken(y, set, token, func(x, y string) bool { return x == y })
		return !found && !st.failed
	})
	return Bool(found)
}

// stringRegexp is stringList_regexpMember(pattern, list[, delimiters[, options]]).
func (st *state) stringRegexp(a []Value) Value {
	for _, v := range a {
		if v.kind != KindString {
			return Error()
		}
	}
	set, _ := delimiters(a, 2, numberDelimiters)
	options, _ := delimiters(a, 3, "")
	re := st.regexp(a[0].text(), options)
	if re == nil || !st.spend(re.cost(a[1].text())) {
		return Error()
	}
	any, found := false, false
	eachToken(a[1].text(), set, func(token string) bool {
		any, found = true, re.matches(token)
		return !found
	})
	if !any {
		return Undefined()
	}
	return Bool(found)
}

package classad

import (
	"fairspool/lib/caseless"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// listFunctions ask about the elements of lists.
var listFunctions = map[string]*function{
	"member":          strictly(2, member).truthful(),
	"identicalmember": strictly(2, identicalMember).truthful(),
	"anycompare":      strictly(3, compareEach(false)).truthful(),
	"allcompare":      strictly(3, compareEach(true)).truthful(),
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
	return has(st, list, func(item Value) Value { return applyBinary(opEq, item, x) })
}

func identicalMember(st *state, a []Value) Value {
	x, list := a[0], a[1]
	switch {
	case list.kind == KindUndefined:
		return list
	case list.kind != KindList || x.kind == KindList || x.kind == KindClassAd:
		return Error()
	}
	return has(st, list, func(item Value) Value { return identical(true, item, x) })
}

// has returns whether something is true of an item of a list.
func has(st *state, list Value, of func(Value) Value) Value {
	for i := range list.size() {
		if of(st.item(list, i)).True() {
			return Bool(true)
		}
	}
	return Bool(false)
}

var comparisons = map[string]op{
	"<": opLt, "<=": opLe, "==": opEq, "!=": opNe, ">": opGt, ">=": opGe, "is": opIs, "isnt": opIsnt,
}

// compareEach compares the elements of a list with a value: it is whether all are as the comparison says, or any is.
func compareEach(all bool) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		o, ok := comparisons[a[0].text()]
		switch {
		case a[0].kind == KindUndefined || a[1].kind == KindUndefined:
			return Undefined()
		case !ok || a[0].kind != KindString || a[1].kind != KindList:
			return Error()
		}
		for i := range a[1].size() {
			switch v := applyBinary(o, st.item(a[1], i), a[2]); {
			case v.kind == KindError:
				return v
			case v.kind == KindUndefined:
				return Bool(false) // even if a later element would do, as in HTCondor
			case v.True() != all:
				return Bool(!all)
			}
		}
		return Bool(all)
	}
}

// stringListFunctions work on texts that are lists, their items set apart by delimiters.
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
	// HTCondor begins with the smallest positive float: lists of negative numbers have that as their greatest.
	"stringlistmax": between(1, 2, func(st *state, a []Value) Value {
		return st.numbers(a, 1.175494350822288e-38, Undefined(), func(m, x float64, _ int) float64 { return math.Max(m, x) })
	}),
	"stringlistmember":        between(2, 3, stringMember(func(x, y string) bool { return x == y })).truthful(),
	"stringlistimember":       between(2, 3, stringMember(caseless.Equal)).truthful(),
	"stringlistsubsetmatch":   between(2, 3, stringSubset(func(x, y string) bool { return x == y })).truthful(),
	"stringlistisubsetmatch":  between(2, 3, stringSubset(caseless.Equal)).truthful(),
	"stringlistsintersect":    between(2, 3, stringsIntersect).truthful(),
	"stringlist_regexpmember": between(2, 4, (*state).stringRegexp).truthful(),
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

// tokens calls f for the items of the text a[0] until it returns false. It returns false if the arguments are not texts.
func (st *state) tokens(a []Value, delimitersAt int, otherwise string, f func(string) bool) bool {
	set, ok := delimiters(a, delimitersAt, otherwise)
	s, isText := a[0].Text()
	if !ok || !isText || !st.spend(len(s)) {
		return false
	}
	eachToken(s, set, f)
	return true
}

// eachToken calls f for every item that is not empty, without the blanks around it, until f returns false.
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

// twoTexts returns two arguments as texts: UNDEFINED is empty, unless both are.
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

// memberDelimitersOf returns the delimiters of a list of names. UNDEFINED means none.
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
		all := part == "" // as in HTCondor a text of delimiters alone is no list at all
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

// processFunctions convert the texts of arguments and environments in job ads, and look up users.
//
// In the newer of the two syntaxes (V2) items are set apart by blanks, and
// single quotes keep blanks together; a quote inside them is doubled.
var processFunctions = map[string]*function{
	"envv1tov2":        strictly(1, envV1ToV2),
	"mergeenvironment": between(0, -1, mergeEnvironment),
	"listtoargs":       between(1, 2, listToArgs),
	"argstolist":       between(1, 2, argsToList),
	"userhome":         between(1, 2, userHome).seeing(seesClock),
	"usermap":          between(2, 4, userMap).seeing(seesClock),
}

// quoteItem writes an item in the V2 syntax: runs of blanks and quotes are quoted, as HTCondor does.
func quoteItem(b *strings.Builder, item string) {
	special := func(c byte) bool { return space(c) || c == '\'' }
	if item == "" {
		b.WriteString("''")
	}
	for i := 0; i < len(item); {
		if !special(item[i]) {
			b.WriteByte(item[i])
			i++
			continue
		}
		b.WriteByte('\'')
		for i < len(item) && special(item[i]) {
			if item[i] == '\'' {
				b.WriteByte('\'')
			}
			b.WriteByte(item[i])
			i++
		}
		b.WriteByte('\'')
	}
}

// splitItems reads the V2 syntax; false when a quote is not closed.
func splitItems(s string) (items []string, ok bool) {
	var item strings.Builder
	inItem := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			inItem = true
			for i++; ; i++ {
				if i >= len(s) {
					return nil, false
				}
				if s[i] == '\'' {
					if i+1 >= len(s) || s[i+1] != '\'' {
						break
					}
					i++
				}
				item.WriteByte(s[i])
			}
		case space(c):
			if inItem {
				items = append(items, item.String())
				item.Reset()
			}
			inItem = false
		default:
			inItem = true
			item.WriteByte(c)
		}
	}
	if inItem {
		items = append(items, item.String())
	}
	return items, true
}

// environment keeps variables by name; a later one replaces an earlier.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(item string) bool {
	name, value, ok := strings.Cut(item, "=")
	if !ok || name == "" {
		return false
	}
	if e.values == nil {
		e.values = map[string]string{}
	}
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
	return true
}

// text writes the variables in the V2 syntax, sorted by name.
func (e *environment) text() string {
	var b strings.Builder
	for i, name := range slices.Sorted(slices.Values(e.names)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteItem(&b, name+"="+e.values[name])
	}
	return b.String()
}

// envV1ToV2 reads NAME=value;NAME=value, or the same with a bar where it begins with one.
func envV1ToV2(st *state, a []Value) Value {
	if a[0].kind == KindUndefined {
		return a[0]
	}
	s, ok := a[0].Text()
	if !ok {
		return Error()
	}
	delimiter := ";"
	if strings.HasPrefix(s, "|") {
		delimiter, s = "|", s[1:]
	}
	var env environment
	for item := range strings.SplitSeq(s, delimiter) {
		if item = strings.TrimLeft(item, " \t\n\v\f\r"); item != "" && !env.set(item) {
			return Error()
		}
	}
	return st.charged(env.text())
}

func mergeEnvironment(st *state, a []Value) Value {
	var env environment
	for _, v := range a {
		if v.kind == KindUndefined {
			continue
		}
		items, ok := splitItems(v.text())
		if v.kind != KindString || !ok {
			return Error()
		}
		for _, item := range items {
			if !env.set(item) {
				return Error()
			}
		}
	}
	return st.charged(env.text())
}

// syntaxVersion reads the argument that says which syntax arguments have.
func syntaxVersion(a []Value) (int64, bool) {
	if len(a) < 2 {
		return 2, true
	}
	n, ok := a[1].Int()
	return n, ok && (n == 1 || n == 2)
}

func listToArgs(st *state, a []Value) Value {
	version, ok := syntaxVersion(a)
	if !ok || a[0].kind != KindList {
		return Error()
	}
	var b strings.Builder
	for i := range a[0].size() {
		item, ok := st.item(a[0], i).Text()
		if !ok {
			return Error()
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case version == 2:
			quoteItem(&b, item)
		case item == "" || strings.ContainsAny(item, " \t\n\v\f\r\""):
			return Error() // the old syntax cannot say it
		default:
			b.WriteString(item)
		}
	}
	return st.charged(b.String())
}

func argsToList(st *state, a []Value) Value {
	version, ok := syntaxVersion(a)
	s, isText := a[0].Text()
	if !ok || !isText {
		return Error()
	}
	var items []string
	if version == 1 {
		items = strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && space(byte(r)) })
	} else if items, ok = splitItems(s); !ok {
		return Error()
	}
	values := make([]Value, len(items))
	for i, item := range items {
		values[i] = str(item)
	}
	return st.list(values)
}

// userHome is userHome(user[, default]): the home directory in the Context. An empty default counts as none.
func userHome(st *state, a []Value) Value {
	if user, ok := a[0].Text(); ok && st.look != nil && st.look.UserHome != nil {
		if directory, ok := st.look.UserHome(user); ok {
			return st.charged(directory)
		}
	}
	if len(a) == 2 && (a[1].kind != KindString || a[1].text() != "") {
		return a[1]
	}
	if a[0].kind != KindString && a[0].kind != KindUndefined {
		return Error()
	}
	return Undefined()
}

// userMap is userMap(map, user[, preferred[, default]]): all names that the Context's map has for the user, or, if a preferred one is
// asked for, that one if it is among them, else the first. Case does not matter.
func userMap(st *state, a []Value) Value {
	names, ok := st.mapped(a[0], a[1])
	switch {
	case a[0].kind == KindError || a[1].kind == KindError:
		return Error()
	case !ok && len(a) == 4:
		return a[3]
	case !ok:
		return Undefined()
	case len(a) == 2:
		return st.charged(names)
	}
	preferred, _ := a[2].Text()
	first := ""
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if caseless.Equal(name, preferred) {
			return st.charged(name)
		}
		if first == "" {
			first = name
		}
	}
	return st.charged(first)
}

// mapped asks the Context's map.
func (st *state) mapped(mapName, user Value) (names string, ok bool) {
	m, isName := mapName.Text()
	u, isUser := user.Text()
	if !isName || !isUser || st.look == nil || st.look.UserMap == nil {
		return "", false
	}
	return st.look.UserMap(m, u)
}

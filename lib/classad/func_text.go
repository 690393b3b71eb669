package classad

import (
	"strings"
)

// textFunctions work on strings.
var textFunctions = map[string]*function{
	"strcat":        {min: 0, max: -1, lazy: strcat},
	"join":          between(0, -1, join),
	"substr":        between(2, 3, substr),
	"strcmp":        strictly(2, comparing(func(s string) string { return s })),
	"stricmp":       strictly(2, comparing(fold)),
	"toupper":       strictly(1, mapping(upper)),
	"tolower":       strictly(1, mapping(lower)),
	"size":          strictly(1, size),
	"split":         between(1, 2, splitText),
	"splitusername": strictly(1, func(_ *state, a []Value) Value { return splitAt(a[0], true) }),
	"splitslotname": strictly(1, func(_ *state, a []Value) Value { return splitAt(a[0], false) }),
}

// strcat joins its arguments up to the first that is UNDEFINED or ERROR.
func strcat(st *state, sc *scope, c *callCode) Value {
	var b strings.Builder
	for i := range c.args {
		v := st.toText(c.args[i].value(st, sc))
		if v.exceptional() {
			return v
		}
		if !st.spend(len(v.text())) {
			return Error()
		}
		b.WriteString(v.text())
	}
	return str(b.String())
}

// join puts the first argument between the others, or between the elements of
// a list that stands alone behind it or is the only argument.
func join(st *state, a []Value) Value {
	if len(a) == 0 {
		return str("")
	}
	sep, items := a[0], a[1:]
	if len(a) == 1 && sep.kind == KindUndefined {
		return sep
	}
	if len(a) <= 2 && a[len(a)-1].kind == KindList {
		list := a[len(a)-1]
		items = make([]Value, list.size())
		for i := range items {
			items[i] = st.item(list, i)
		}
		if len(a) == 1 {
			sep = Undefined()
		}
	}
	between := st.toText(sep)
	if between.kind == KindError {
		return between
	}
	var text strings.Builder
	allUndefined := len(items) > 0
	for _, item := range items {
		v := st.toText(item)
		switch v.kind {
		case KindUndefined:
			continue
		case KindError:
			return v
		}
		allUndefined = false
		if text.Len() > 0 {
			text.WriteString(between.text())
		}
		if !st.spend(len(between.text()) + len(v.text())) {
			return Error()
		}
		text.WriteString(v.text())
	}
	if allUndefined {
		return Undefined()
	}
	return str(text.String())
}

func substr(_ *state, a []Value) Value {
	for _, v := range a {
		if v.kind == KindUndefined {
			return v
		}
	}
	s, ok := a[0].Text()
	off, isInt := a[1].Int()
	if !ok || !isInt {
		return Error()
	}
	n := int64(len(s))
	if off < 0 {
		off = max(off+n, 0)
	}
	if off > n {
		return str("")
	}
	end := n
	if len(a) == 3 {
		length, isInt := a[2].Int()
		switch {
		case !isInt:
			return Error()
		case length < 0:
			end = max(n+length, off)
		case length < n-off:
			end = off + length
		}
	}
	return str(s[off:end])
}

func comparing(prepare func(string) string) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		x, y := st.toText(a[0]), st.toText(a[1])
		switch {
		case x.kind == KindUndefined || y.kind == KindUndefined:
			return Undefined()
		case x.kind != KindString || y.kind != KindString:
			return Error()
		}
		return Int(int64(strings.Compare(prepare(x.text()), prepare(y.text()))))
	}
}

func mapping(f func(byte) byte) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		v := st.toText(a[0])
		if v.exceptional() {
			return v
		}
		return st.charged(mapBytes(v.text(), f))
	}
}

func size(_ *state, a []Value) Value {
	switch v := a[0]; v.kind {
	case KindUndefined:
		return v
	case KindString:
		return Int(int64(len(v.text())))
	case KindList:
		return Int(int64(v.size()))
	case KindClassAd:
		return Int(int64(v.scope().ad.Len()))
	}
	return Error()
}

// splitText cuts a string at separators. An empty field counts only between
// two of the same separator; a blank is not remembered as one.
func splitText(st *state, a []Value) Value {
	seps := ", \t"
	if len(a) == 2 {
		var ok bool
		if seps, ok = a[1].Text(); !ok {
			return Error()
		}
	}
	s, ok := a[0].Text()
	if !ok || !st.spend(len(s)) {
		return Error()
	}
	var fields []Value
	var last byte
	start := 0
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(seps, c) < 0 {
			continue
		}
		if i > start || last == c {
			fields = append(fields, str(s[start:i]))
			if itemCost*len(fields) > maxBytes-st.bytes {
				break // too many; list says so
			}
		}
		start = i + 1
		if !space(c) {
			last = c
		}
	}
	if start < len(s) {
		fields = append(fields, str(s[start:]))
	}
	return st.list(fields)
}

// splitAt cuts a name at its first @. Without one the other part is empty.
func splitAt(v Value, whole bool) Value {
	s, ok := v.Text()
	if !ok {
		return Error()
	}
	before, after, found := strings.Cut(s, "@")
	if !found && !whole {
		before, after = "", s
	}
	return listOf([]Value{str(before), str(after)})
}

// versionFunctions compare texts the way version numbers are ordered.
var versionFunctions = map[string]*function{
	"versioncmp": strictly(2, versions(func(c int) Value { return Int(int64(c)) })),
	"versionlt":  strictly(2, versions(func(c int) Value { return Bool(c < 0) })).truthful(),
	"versionle":  strictly(2, versions(func(c int) Value { return Bool(c <= 0) })).truthful(),
	"versioneq":  strictly(2, versions(func(c int) Value { return Bool(c == 0) })).truthful(),
	"versionge":  strictly(2, versions(func(c int) Value { return Bool(c >= 0) })).truthful(),
	"versiongt":  strictly(2, versions(func(c int) Value { return Bool(c > 0) })).truthful(),
	"version_in_range": strictly(3, func(st *state, a []Value) Value {
		v, lo, hi := st.toText(a[0]), st.toText(a[1]), st.toText(a[2])
		switch {
		case v.kind == KindString && (lo.kind == KindUndefined || hi.kind == KindUndefined):
			return Undefined()
		case v.kind != KindString || lo.kind != KindString || hi.kind != KindString:
			return Error()
		}
		return Bool(versionCompare(lo.text(), v.text()) <= 0 && versionCompare(v.text(), hi.text()) <= 0)
	}).truthful(),
}

func versions(f func(int) Value) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		x, y := st.toText(a[0]), st.toText(a[1])
		switch {
		case x.kind == KindUndefined || y.kind == KindUndefined:
			return Undefined()
		case x.kind != KindString || y.kind != KindString:
			return Error()
		}
		return f(versionCompare(x.text(), y.text()))
	}
}

// versionCompare orders texts by bytes, runs of digits by their number; of
// runs with leading zeros the one with more of them comes first. Only the sign
// of the result means something; the number is that of glibc's strverscmp.
func versionCompare(a, b string) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return 0
	}
	byteOf := func(s string, i int) int {
		if i < len(s) {
			return int(s[i])
		}
		return 0
	}
	difference := byteOf(a, at) - byteOf(b, at)
	start := at
	for start > 0 && digit(a[start-1]) {
		start--
	}
	digitAt := func(s string, i int) bool { return i < len(s) && digit(s[i]) }
	if start == at && !(digitAt(a, at) && digitAt(b, at)) {
		return difference
	}
	zeros := func(s string) int {
		n := 0
		for byteOf(s, start+n) == '0' && digitAt(s, start+n+1) {
			n++
		}
		return n
	}
	length := func(s string) int {
		n := 0
		for digitAt(s, start+n) {
			n++
		}
		return n
	}
	za, zb := zeros(a), zeros(b)
	switch {
	case za != zb:
		return zb - za
	case za > 0:
		return difference
	}
	if la, lb := length(a), length(b); la != lb {
		return la - lb
	}
	return difference
}

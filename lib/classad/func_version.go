package classad

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

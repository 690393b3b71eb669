package classad

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

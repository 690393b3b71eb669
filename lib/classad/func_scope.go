package classad

import (
	"strings"
)

// scopeFunctions evaluate, print or look into expressions where they stand. It
// is a function and not a table because eval needs the parser, and the parser
// the tables.
func scopeFunctions() map[string]*function {
	return map[string]*function{
		"eval":              {min: 1, max: 1, lazy: evalText},
		"debug":             strictly(1, func(_ *state, a []Value) Value { return a[0] }),
		"unparse":           {min: 1, max: 1, lazy: unparse},
		"unresolved":        {min: 1, max: 2, lazy: unresolved},
		"countmatches":      {min: 2, max: 2, lazy: countMatches},
		"evalineachcontext": {min: 2, max: 2, lazy: evalInEachContext},
	}
}

func evalText(st *state, sc *scope, args []node) Value {
	text := st.toText(st.eval(args[0], sc))
	if text.exceptional() || !st.spend(len(text.text)) {
		return Error()
	}
	e, err := ParseExpr(text.text)
	if err != nil {
		return Error()
	}
	return st.eval(e.root, sc)
}

func unparse(_ *state, sc *scope, args []node) Value {
	r, ok := args[0].(*reference)
	if !ok {
		return Error()
	}
	if e := sc.ad.lookup(r.key, r.hash); e != nil {
		return String(string(appendPretty(nil, e.root, 0)))
	}
	return str("")
}

// unresolved lists the names that an attribute's expression takes from
// elsewhere, or says whether one of them matches a pattern.
func unresolved(st *state, sc *scope, args []node) Value {
	r, ok := args[0].(*reference)
	if !ok {
		return Error()
	}
	e := sc.ad.lookup(r.key, r.hash)
	if e == nil {
		return Undefined()
	}
	_, names, ok := st.references(e, sc)
	if !ok {
		return Error()
	}
	if len(args) == 1 {
		return st.charged(strings.Join(names, ","))
	}
	pattern := st.eval(args[1], sc)
	if pattern.kind != KindString {
		return Error()
	}
	re := st.regexp(pattern.text, "i")
	if re == nil {
		return Error()
	}
	for _, name := range names {
		if matches(re, name) {
			return Bool(true)
		}
	}
	return Bool(false)
}

// inEach evaluates an expression in every ad of a list and hands f the values:
// UNDEFINED for elements that are undefined, ERROR for those that are not ads.
// If the expression is a name that stands for something here, what it stands
// for is evaluated. It returns false if the second argument is not a list.
func inEach(st *state, sc *scope, args []node, f func(Value)) (bad Value, ok bool) {
	list := st.eval(args[1], sc)
	if list.kind != KindList {
		return list, false
	}
	n := args[0]
	if e := st.meaning(n, sc); e != nil {
		n = e.root
	}
	for i := range list.size() {
		item := st.item(list, i)
		switch item.kind {
		case KindClassAd:
			in := *item.ref
			in.open = true
			f(st.eval(n, &in))
		case KindUndefined:
			f(item)
		default:
			f(Error())
		}
	}
	return Value{}, true
}

// meaning returns the expression that a name stands for, or nil.
func (st *state) meaning(n node, sc *scope) *Expr {
	var a *attribute
	switch n := n.(type) {
	case *paren:
		return st.meaning(n.x, sc)
	case *reference:
		a = &n.attribute
	case *selection:
		base := st.eval(n.base, sc)
		if base.kind != KindClassAd {
			return nil
		}
		a, sc = &n.attribute, base.ref
	default:
		return nil
	}
	for s := sc; s != nil; s = s.up {
		if e := s.ad.lookup(a.key, a.hash); e != nil {
			return e
		}
	}
	return nil
}

func countMatches(st *state, sc *scope, args []node) Value {
	count := int64(0)
	bad, ok := inEach(st, sc, args, func(v Value) {
		if v.True() {
			count++
		}
	})
	if !ok && bad.kind != KindUndefined {
		return Error()
	}
	return Int(count)
}

func evalInEachContext(st *state, sc *scope, args []node) Value {
	var values []Value
	bad, ok := inEach(st, sc, args, func(v Value) { values = append(values, v) })
	switch {
	case ok:
		return st.list(values)
	case bad.kind == KindUndefined:
		return bad
	}
	return Error()
}

// appendPretty prints an expression in the new form; if it is an ad, each
// attribute on a line of its own.
func appendPretty(b []byte, n node, indent int) []byte {
	r, ok := n.(*record)
	if !ok {
		return appendNode(b, n, NewForm)
	}
	line := func(depth int) { b = append(append(b, '\n'), strings.Repeat("    ", depth)...) }
	line(indent + 1)
	b = append(b, '[')
	for i, e := range orderedEntries(r.ad, NewForm) {
		if i > 0 {
			b = append(b, "; "...)
		}
		line(indent + 2)
		b = append(appendName(b, e.name), " = "...)
		b = appendPretty(b, e.expr.root, indent+2)
	}
	line(indent + 1)
	return append(b, ']')
}

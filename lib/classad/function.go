package classad

import (
	"fairspool/lib/caseless"
	"maps"
	"strings"
)

// function is one function of the language. A strict function gets its
// arguments evaluated, a lazy one evaluates what it wants, in the scope of the
// call. Some are so common that they have code of their own.
type function struct {
	min, max int // how many arguments it takes; max -1: any number
	strict   func(st *state, args []Value) Value
	lazy     func(st *state, sc *scope, c *callCode) Value
	choice   bool // it is ifThenElse
	search   bool // it is regexp
	parses   bool // it is eval
	truth    bool // its value is a boolean, UNDEFINED or ERROR
	sees     sight
}

// sight is what a function depends on besides the values of its arguments.
type sight uint8

const (
	seesClock  sight = 1 << iota // the time, the local zone, or look-ups by the Context
	seesChance                   // random numbers
	seesScope                    // expressions unevaluated, or the ads around the call
)

// seeing marks a function as one that sees more than its arguments.
func (f *function) seeing(s sight) *function {
	f.sees |= s
	return f
}

// truthful marks a function as having a boolean, UNDEFINED or ERROR as value.
func (f *function) truthful() *function {
	f.truth = true
	return f
}

// functions holds every function by its name in lower case. It is filled once,
// from one table a family, and never changes.
var functions map[string]*function

func init() {
	functions = map[string]*function{}
	for _, family := range []map[string]*function{
		typeFunctions, numberFunctions, textFunctions, versionFunctions, listFunctions,
		stringListFunctions, regexpFunctions, timeFunctions, scopeFunctions(), processFunctions,
	} {
		maps.Copy(functions, family)
	}
}

// functionNamed returns a function, or nil when there is none of that name.
func functionNamed(name string) *function { return functions[caseless.Fold(name)] }

// strictly makes a function of a fixed number of evaluated arguments.
func strictly(n int, f func(st *state, args []Value) Value) *function {
	return &function{min: n, max: n, strict: f}
}

// between makes a function of lo to hi evaluated arguments; hi -1: any number.
func between(lo, hi int, f func(st *state, args []Value) Value) *function {
	return &function{min: lo, max: hi, strict: f}
}

// worst returns ERROR if one of the values is, else UNDEFINED if one is.
func worst(args []Value) (Value, bool) {
	undefined := false
	for _, v := range args {
		switch v.kind {
		case KindError:
			return v, true
		case KindUndefined:
			undefined = true
		}
	}
	return Undefined(), undefined
}

// list returns a list that an evaluation made.
func (st *state) list(values []Value) Value {
	if !st.spend(itemCost * (1 + len(values))) {
		return Error()
	}
	return listOf(values)
}

const itemCost = 64 // bytes that one element of a list takes, about

// charged returns a string that an evaluation made.
func (st *state) charged(s string) Value {
	if !st.spend(len(s)) {
		return Error()
	}
	return String(s)
}

// scopeFunctions evaluate, print or look into expressions where they stand. It
// is a function and not a table because eval needs the parser, and the parser
// the tables.
func scopeFunctions() map[string]*function {
	return map[string]*function{
		"eval":              {min: 1, max: 1, lazy: evalText, parses: true, sees: seesScope},
		"debug":             strictly(1, func(_ *state, a []Value) Value { return a[0] }),
		"unparse":           {min: 1, max: 1, lazy: unparse, sees: seesScope},
		"unresolved":        {min: 1, max: 2, lazy: unresolved, sees: seesScope},
		"countmatches":      {min: 2, max: 2, lazy: countMatches, sees: seesScope},
		"evalineachcontext": {min: 2, max: 2, lazy: evalInEachContext, sees: seesScope},
	}
}

func evalText(st *state, sc *scope, c *callCode) Value {
	text := st.toText(c.args[0].value(st, sc))
	const treeCost = 128 // bytes that parsing one byte takes
	if text.exceptional() || !st.spend(treeCost*len(text.text())) {
		return Error()
	}
	parse := ParseExpr
	if st.strict {
		parse = ParseStrictExpr
	}
	e, err := parse(text.text())
	if err != nil {
		return Error()
	}
	return st.runDeeper(e, sc, c.level)
}

const printCost = 4 // bytes that printing a byte of an expression counts for

// unparse is unparse(name): the text of the own ad's attribute that has the argument's text for
// its name, empty without such an attribute. As in HTCondor TARGET.x is such a name, too.
func unparse(st *state, sc *scope, c *callCode) Value {
	n := c.node.args[0]
	switch n.(type) {
	case *reference, *absolute, *selection:
	default:
		return Error()
	}
	if !st.affords(n) {
		return Error()
	}
	text := string(appendNode(nil, n, StyleNew))
	if !st.spend(len(text)) {
		return Error()
	}
	name := newAttribute(text)
	e := sc.ad.get(&name)
	switch {
	case e == nil:
		return str("")
	case !st.affords(e.tree()):
		return Error()
	}
	text = string(appendPretty(nil, e.tree(), 0))
	if !st.spend(printCost * len(text)) {
		return Error()
	}
	return String(text)
}

// affords reports whether the text of a node may be made.
func (st *state) affords(n node) bool {
	left := (maxBytes - st.bytes) / 4 // a byte may be printed as four
	if weigh(n, &left); left < 0 {
		st.failed = true
	}
	return !st.failed
}

// unresolved lists the names that an attribute's expression takes from
// elsewhere, or reports whether one of them matches a pattern.
func unresolved(st *state, sc *scope, c *callCode) Value {
	r, ok := c.node.args[0].(*reference)
	if !ok {
		return Error()
	}
	e := sc.ad.get(&r.attribute)
	if e == nil {
		return Undefined()
	}
	_, names, ok := st.references(e, sc)
	if !ok {
		return Error()
	}
	if len(c.args) == 1 {
		return st.charged(strings.Join(names, ","))
	}
	pattern := c.args[1].value(st, sc)
	if pattern.kind != KindString {
		return Error()
	}
	re := st.regexp(pattern.text(), "i")
	if re == nil {
		return Error()
	}
	for _, name := range names {
		if re.matches(name) {
			return Bool(true)
		}
	}
	return Bool(false)
}

// inEach evaluates an expression in every ad of a list and calls f with the values:
// UNDEFINED for elements that are undefined, ERROR for elements that are not ads. If the
// expression is a name with a meaning here, that meaning is evaluated. It returns false
// if the second argument is not a list.
func inEach(st *state, sc *scope, c *callCode, f func(Value)) (bad Value, ok bool) {
	list := c.args[1].value(st, sc)
	if list.kind != KindList {
		return list, false
	}
	e := st.meaning(&c.args[0], sc)
	for i := range list.size() {
		item := list.scope().items[i]
		st.steps += lookCost
		v := st.runDeeper(item, list.scope().up, c.level)
		switch v.kind {
		case KindClassAd:
			in := *v.scope()
			in.open, in.plain = true, false
			if e != nil {
				f(st.runDeeper(e, &in, c.level))
			} else {
				if st.steps += c.size; st.steps > maxSteps {
					st.failed = true
					return Error(), false
				}
				f(c.args[0].value(st, &in))
			}
		case KindUndefined:
			f(v)
		default:
			f(Error())
		}
	}
	return Value{}, true
}

// meaning returns the expression that a name stands for, or nil.
func (st *state) meaning(o *operand, sc *scope) *Expr {
	var name *attribute
	switch x := o.code.(type) {
	case *countedCode:
		return st.meaning(&x.operand, sc)
	case *nameCode:
		name = &x.name
	case *bareCode:
		name = &x.mine.attribute
	case *selectCode:
		return st.selected(x, sc)
	case *sideCode:
		return st.selected(&x.any, sc)
	default:
		return nil
	}
	return st.sought(name, sc)
}

// sought returns the expression of a name in a scope or the ads around it, or nil.
func (st *state) sought(name *attribute, sc *scope) *Expr {
	e, in := find(name, sc)
	for ; sc != nil && sc != in; sc = sc.up {
		st.steps += lookCost
	}
	return e
}

// lookCost is the number of steps for looking a name up in an ad around the one in which an
// expression stands.
const lookCost = 4

// selected returns the expression that base.name stands for, or nil.
func (st *state) selected(c *selectCode, sc *scope) *Expr {
	if base := c.base.value(st, sc); base.kind == KindClassAd {
		return st.sought(&c.name, base.scope())
	}
	return nil
}

func countMatches(st *state, sc *scope, c *callCode) Value {
	count := int64(0)
	bad, ok := inEach(st, sc, c, func(v Value) {
		if v.True() {
			count++
		}
	})
	if !ok && bad.kind != KindUndefined {
		return Error()
	}
	return Int(count)
}

func evalInEachContext(st *state, sc *scope, c *callCode) Value {
	var values []Value
	bad, ok := inEach(st, sc, c, func(v Value) { values = append(values, v) })
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
		return appendNode(b, n, StyleNew)
	}
	line := func(depth int) { b = append(append(b, '\n'), strings.Repeat("    ", depth)...) }
	line(indent + 1)
	b = append(b, '[')
	for i, e := range orderedEntries(r.ad, StyleNew) {
		if i > 0 {
			b = append(b, "; "...)
		}
		line(indent + 2)
		b = append(appendName(b, e.name), " = "...)
		b = appendPretty(b, e.expr.tree(), indent+2)
	}
	line(indent + 1)
	return append(b, ']')
}

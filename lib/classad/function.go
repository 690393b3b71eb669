package classad

import "maps"

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

// sight is what a function sees besides the values of its arguments.
type sight uint8

const (
	seesClock  sight = 1 << iota // the time, the local zone, or what the Context looks up
	seesChance                   // random numbers
	seesScope                    // expressions unevaluated, or the ads around the call
)

// seeing marks a function as one that sees more than its arguments.
func (f *function) seeing(s sight) *function {
	f.sees |= s
	return f
}

// truthful marks a function whose value is a boolean, UNDEFINED or ERROR.
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
func functionNamed(name string) *function { return functions[fold(name)] }

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

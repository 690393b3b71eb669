package classad

import (
	"slices"
	"sync/atomic"
)

// node is one step of a compiled expression. Nodes never change once parsed.
type node interface{ isNode() }

type (
	literal struct{ v Value }
	// zoneless is absTime("...") without a zone: a moment on the wall clock
	// of whoever evaluates it.
	zoneless struct{ seconds int64 }
	// span is relTime("..."). It evaluates to a real number, not to a
	// relative time, as it does in HTCondor.
	span struct{ seconds float64 }
	// reference is a bare name.
	reference struct{ attribute }
	// absolute is .name: looked up in the outermost ad only.
	absolute struct{ attribute }
	// selection is base.name.
	selection struct {
		base node
		attribute
	}
	subscript struct{ base, index node }
	unary     struct {
		op op
		x  node
	}
	binary struct {
		op   op
		l, r node
	}
	conditional struct{ c, t, f node }
	elvis       struct{ a, b node }
	paren       struct{ x node }
	call        struct {
		name string // as written
		fn   *function
		args []node
	}
	listing struct {
		items []*Expr
		fixed *scope // when all items are literals: the list itself
	}
	record struct{ ad *Ad }
)

func (*literal) isNode()     {}
func (*zoneless) isNode()    {}
func (*span) isNode()        {}
func (*reference) isNode()   {}
func (*absolute) isNode()    {}
func (*selection) isNode()   {}
func (*subscript) isNode()   {}
func (*unary) isNode()       {}
func (*binary) isNode()      {}
func (*conditional) isNode() {}
func (*elvis) isNode()       {}
func (*paren) isNode()       {}
func (*call) isNode()        {}
func (*listing) isNode()     {}
func (*record) isNode()      {}

// bared returns a node without the parentheses around it.
func bared(n node) node {
	for {
		p, ok := n.(*paren)
		if !ok {
			return n
		}
		n = p.x
	}
}

// attribute is a name in an expression, hashed once.
type attribute struct {
	name    string // as written
	hash    uint32 // without regard to case
	special special
}

func newAttribute(name string) attribute {
	return attribute{name: name, hash: hashName(name), special: specialOf(name)}
}

// means reports whether the attribute has a name.
func (a *attribute) means(name string) bool { return equalFold(a.name, name) }

// special marks the names that mean a scope when no attribute has that name.
type special uint8

const (
	ordinary special = iota
	specialSelf
	specialParent
	specialRoot
	specialTarget
	specialNow
)

// isScope reports whether the name can be the base of a selection.
func (s special) isScope() bool { return s != ordinary && s != specialNow }

var specials = [...]struct {
	name    string
	special special
}{
	{"my", specialSelf}, {"self", specialSelf}, {"target", specialTarget}, {"other", specialTarget},
	{"parent", specialParent}, {"root", specialRoot}, {"toplevel", specialRoot}, {"currenttime", specialNow},
}

// specialOf returns what a name means when no attribute has it.
func specialOf(name string) special {
	for i := range specials {
		if s := &specials[i]; equalFold(name, s.name) {
			return s.special
		}
	}
	return ordinary
}

// op is an operator.
type op uint8

const (
	opOr op = iota
	opAnd
	opBitOr
	opBitXor
	opBitAnd
	opEq
	opNe
	opIs
	opIsnt
	opLt
	opLe
	opGt
	opGe
	opShiftLeft
	opShiftRight
	opShiftLogical
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opNeg
	opPlus
	opNot
	opBitNot
)

var opText = [...]string{
	"||", "&&", "|", "^", "&", "==", "!=", "=?=", "=!=", "<", "<=", ">", ">=",
	"<<", ">>", ">>>", "+", "-", "*", "/", "%", "-", "+", "!", "~",
}

// Expr is a compiled expression. It never changes. Its methods take a nil one
// for UNDEFINED.
type Expr struct {
	lit  Value // the value of a literal; else of kind kindProgram
	root node  // nil for a literal
	prog atomic.Pointer[program]
}

// Literal returns the expression that is the value v. A list or an ad loses
// what its elements referred to outside of it.
func Literal(v Value) *Expr {
	switch v.kind {
	case KindList:
		items := slices.Clone(v.scope().items)
		for i, e := range items {
			if e.lit.kind == KindList || e.lit.kind == KindClassAd {
				items[i] = Literal(e.lit)
			}
		}
		return newExpr(newListing(items))
	case KindClassAd:
		return AdExpr(v.scope().ad)
	}
	return &Expr{lit: v}
}

// ListExpr returns the expression that is a list of others, which are
// evaluated when an element is asked for. A nil item is UNDEFINED.
func ListExpr(items []*Expr) *Expr {
	items = slices.Clone(items)
	for i, e := range items {
		if e == nil {
			items[i] = Literal(Undefined())
		}
	}
	return newExpr(newListing(items))
}

// AdExpr returns the expression that is an ad inside another one: a copy of
// ad with its inherited attributes. Expressions almost as deep as the parser
// allows print in there, but do not all read back.
func AdExpr(ad *Ad) *Expr { return newExpr(&record{ad.Flat()}) }

func newExpr(n node) *Expr {
	if l, ok := n.(*literal); ok {
		return &Expr{lit: l.v}
	}
	return &Expr{lit: Value{kind: kindProgram}, root: n}
}

// constant reports whether the expression is nothing but a value: lit.
func (e *Expr) constant() bool { return e.lit.kind < kindProgram }

// orUndefined lets a missing expression be UNDEFINED.
func (e *Expr) orUndefined() *Expr {
	if e == nil {
		return new(Expr)
	}
	return e
}

// tree returns the expression as it was parsed.
func (e *Expr) tree() node {
	if e.constant() {
		return &literal{e.lit}
	}
	return e.root
}

// Constant returns the value of an expression that is a literal, perhaps in
// parentheses; ok is false for every other expression.
func (e *Expr) Constant() (v Value, ok bool) {
	e = e.orUndefined()
	if e.constant() {
		return e.lit, true
	}
	switch x := bared(e.root).(type) {
	case *literal:
		return x.v, true
	case *span:
		return Real(x.seconds), true
	}
	return Value{}, false
}

func newListing(items []*Expr) *listing {
	l := &listing{items: items}
	for _, e := range items {
		if !e.constant() {
			return l
		}
	}
	l.fixed = &scope{items: items}
	return l
}

package classad

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
		items []node
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

// attribute is a name in an expression, folded and hashed once.
type attribute struct {
	name    string // as written
	key     string // in lower case
	hash    uint64 // of key
	special special
}

func newAttribute(name string) attribute {
	key := fold(name)
	return attribute{name: name, key: key, hash: hashFolded(key), special: specials[key]}
}

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

var specials = map[string]special{
	"self": specialSelf, "my": specialSelf, "parent": specialParent,
	"root": specialRoot, "toplevel": specialRoot,
	"target": specialTarget, "other": specialTarget,
	"currenttime": specialNow,
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

// Expr is a compiled expression. It never changes.
type Expr struct{ root node }

// Literal returns the expression that is the value v. A list or an ad loses
// what its elements referred to outside of it.
func Literal(v Value) *Expr {
	switch v.kind {
	case KindList:
		return &Expr{newListing(v.ref.items)}
	case KindClassAd:
		return &Expr{&record{v.ref.ad.Flat()}}
	}
	return &Expr{&literal{v}}
}

// Constant returns the value of an expression that is a literal, perhaps in
// parentheses; ok is false for every other expression.
func (e *Expr) Constant() (v Value, ok bool) {
	n := e.root
	for {
		switch x := n.(type) {
		case *paren:
			n = x.x
		case *literal:
			return x.v, true
		case *span:
			return Real(x.seconds), true
		default:
			return Value{}, false
		}
	}
}

func newListing(items []node) *listing {
	l := &listing{items: items}
	for _, n := range items {
		if _, ok := n.(*literal); !ok {
			return l
		}
	}
	l.fixed = &scope{items: items}
	return l
}

package classad

import (
	"fairspool/lib/caseless"
	"slices"
	"sync"
	"sync/atomic"

	"fairspool/lib/classad/internal/recenttext"
)

// node is one step of a compiled expression. Nodes never change once parsed.
type node interface{ isNode() }

type (
	literal struct{ v Value }
	// zoneless is absTime("...") without a zone: a moment on the wall clock of the evaluating Context.
	zoneless struct{ seconds int64 }
	// span is relTime("..."). It evaluates to a real number, not to a relative time, as it does in HTCondor.
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
	return attribute{name: name, hash: caseless.Hash(name), special: specialOf(name)}
}

// means reports whether the attribute has a name.
func (a *attribute) means(name string) bool { return caseless.Equal(a.name, name) }

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

// specialOf returns the meaning of a name when no attribute has it.
func specialOf(name string) special {
	for i := range specials {
		if s := &specials[i]; caseless.Equal(name, s.name) {
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

// Expr is a compiled expression. It never changes. Its methods take a nil one for UNDEFINED.
type Expr struct {
	lit  Value // the value of a literal; else of kind kindProgram
	root node  // nil for a literal
	prog atomic.Pointer[program]
}

// Literal returns the expression that is the value v. A list or an ad loses what its elements referred to outside of it.
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
	return constantOf(v)
}

// small are the expressions of the integers that most attributes have.
var small = func() (of [128]*Expr) {
	for n := range of {
		of[n] = &Expr{lit: Int(int64(n))}
	}
	return of
}()

func constantOf(v Value) *Expr {
	if v.kind == KindInteger && v.bits < uint64(len(small)) {
		return small[v.bits]
	}
	return &Expr{lit: v}
}

// ListExpr returns the expression that is a list of others, which are evaluated when an element is asked for. A nil item is UNDEFINED.
func ListExpr(items []*Expr) *Expr {
	items = slices.Clone(items)
	for i, e := range items {
		if e == nil {
			items[i] = Literal(Undefined())
		}
	}
	return newExpr(newListing(items))
}

// AdExpr returns the expression that is an ad inside another one: a copy of ad with its inherited attributes. Expressions almost as deep
// as the parser allows print in there, but do not all read back.
func AdExpr(ad *Ad) *Expr { return newExpr(&record{ad.Flat()}) }

func newExpr(n node) *Expr {
	if l, ok := n.(*literal); ok {
		return &Expr{lit: l.v}
	}
	return &Expr{lit: Value{kind: kindProgram}, root: n}
}

// constant reports whether the expression is only a value: lit.
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

// Constant returns the value of an expression that is a literal, perhaps in parentheses; ok is false for every other expression.
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

// Interner lets equal texts share one compiled expression, so that ten thousand slot ads cost only the memory of their differences, and
// lets ads with the same names share the list of these. The zero Interner knows nothing yet and is ready. It may be used by several
// goroutines.
type Interner struct {
	mu     sync.Mutex
	exprs  map[internKey]*Expr
	bytes  int // of the texts in exprs
	names  map[string]attribute
	shapes map[uint64]*shape
	orders map[*shape]*layout // of some of the shapes
	paths  map[transition]*shape
	texts  recenttext.Texts
	recent []*Expr // constants
	slab   []Expr
}

type internKey struct {
	text string
	old  bool
}

// transition is how the names of an ad become those of another: one more, or one less where name is empty.
type transition struct {
	from *shape
	name string
	gone int // its place
}

// What an Interner remembers is bounded, for streams that never repeat themselves.
const (
	maxInternedExprs  = 1 << 17
	maxInternedBytes  = 16 << 20 // of their texts; compiled they take many times that
	maxInternedText   = 64 << 10 // of one of them
	maxInternedNames  = 1 << 16
	maxInternedName   = 256 // bytes
	maxInternedShapes = 1 << 10
	maxInternedPaths  = 1 << 12
)

// NewInterner returns an Interner that knows nothing yet.
func NewInterner() *Interner { return new(Interner) }

// Expr compiles text as ParseExpr does, or returns what it compiled before.
// Constants are remembered for a while only, bad texts not at all.
func (i *Interner) Expr(text string) (*Expr, error) { return i.ExprBytes([]byte(text)) }

// ExprBytes is Expr for a text that does not stay: nothing of it is kept.
func (i *Interner) ExprBytes(text []byte) (*Expr, error) {
	if v, ok := scanConstant(text); ok {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.constant(v), nil
	}
	return i.compiled(text)
}

// compiled is ExprBytes for a text that scanConstant does not read.
func (i *Interner) compiled(text []byte) (*Expr, error) {
	if e := i.known(text, false); e != nil {
		return e, nil
	}
	kept := string(text)
	e, err := ParseExpr(kept)
	if err != nil {
		return nil, err
	}
	return i.remember(kept, false, e), nil
}

// constant returns an expression that is v, one made not long ago if there is.
func (i *Interner) constant(v Value) *Expr {
	if i.recent == nil {
		i.recent = make([]*Expr, recentConstants)
	}
	slot := &i.recent[v.hash()%recentConstants]
	if e := *slot; e != nil && e.lit.identicalTo(v) {
		return e
	}
	if len(i.slab) == 0 {
		i.slab = make([]Expr, slabSize)
	}
	e := &i.slab[0]
	i.slab = i.slab[1:]
	e.lit = v.kept(&i.texts)
	*slot = e
	return e
}

const (
	recentConstants = 4096
	slabSize        = 32 // expressions made at once: one by one they would cost more
)

// known returns the expression compiled from an equal text before, or nil.
func (i *Interner) known(text []byte, old bool) *Expr {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.exprs[internKey{string(text), old}]
}

// remember keeps an expression for its text, and returns it, or the one that another goroutine kept meanwhile. When there is no more room
// it begins anew, for what comes often comes again.
func (i *Interner) remember(text string, old bool, e *Expr) *Expr {
	i.mu.Lock()
	defer i.mu.Unlock()
	k := internKey{text, old}
	if known := i.exprs[k]; known != nil {
		return known
	}
	if len(text) > maxInternedText {
		return e
	}
	if len(i.exprs) >= maxInternedExprs || i.bytes+len(text) > maxInternedBytes {
		clear(i.exprs)
		i.bytes = 0
	}
	if i.exprs == nil {
		i.exprs = map[internKey]*Expr{}
	}
	i.exprs[k] = e
	i.bytes += len(text)
	return e
}

// made returns a list or an ad that was not parsed but put together, or an equal
// expression that is kept already; any other expression as it is.
func (i *Interner) made(e *Expr) *Expr {
	switch e.root.(type) {
	case *listing, *record:
	default:
		return e
	}
	return i.remember(e.Format(StyleSpool), false, e)
}

// name returns a name ready to look up.
func (i *Interner) name(name []byte) attribute {
	i.mu.Lock()
	defer i.mu.Unlock()
	if a, ok := i.names[string(name)]; ok {
		return a
	}
	a := newAttribute(string(name))
	if i.names == nil {
		i.names = map[string]attribute{}
	}
	if len(i.names) < maxInternedNames && len(name) <= maxInternedName {
		i.names[a.name] = a
	}
	return a
}

// shape returns a frozen shape with the names of s in their order, and whether it was met before.
func (i *Interner) shape(s *shape) (shared *shape, known bool) {
	hash := uint64(s.len())
	for t := s; t != nil; t = t.more {
		for _, name := range t.names {
			hash = (hash ^ uint64(caseless.Hash(name))) * 0x9e3779b97f4a7c15
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if t := i.shapes[hash]; t != nil && t.sameNames(s) {
		return t, true
	}
	s.frozen.Store(true)
	if i.shapes == nil {
		i.shapes = map[uint64]*shape{}
	}
	if len(i.shapes) < maxInternedShapes {
		i.shapes[hash] = s
	}
	return s, false
}

// Share makes the reading of an ad like that of earlier ads with the same names: looking
// at one after the other is faster. Nobody else reads the ad meanwhile.
func (i *Interner) Share(ad *Ad) {
	if ad.shape != nil {
		ad.shape, _ = i.shape(ad.shape)
	}
}

// Set does as the ad's own Set. Ads that begin alike and get the same attributes read alike, as with Share.
func (i *Interner) Set(ad *Ad, name string, e *Expr) {
	n := newAttribute(untilNUL(name))
	if at := ad.shape.found(&n); at >= 0 {
		*ad.at(at) = e.cell()
	} else if ad.shape != nil && !ad.shape.frozen.Load() {
		ad.add(&n, e.cell())
	} else {
		from := ad.shape
		ad.shape = i.reached(transition{from: from, name: n.name}, func() *shape { s := from.own(); s.add(&n); return s })
		ad.cells = append(ad.cells, e.cell())
	}
}

// Delete does as the ad's own Delete, and as Share.
func (i *Interner) Delete(ad *Ad, name string) {
	from, gone := ad.shape, ad.shape.named(name)
	if gone < 0 {
		return
	}
	if !from.frozen.Load() || ad.front != nil {
		ad.Delete(name)
		i.Share(ad)
		return
	}
	ad.shape = i.reached(transition{from: from, gone: gone}, func() *shape { s, _ := i.shape(from.without(gone)); return s })
	ad.cells = slices.Delete(ad.cells, gone, gone+1)
}

// reached returns the shape at the end of a transition, which made makes: frozen, as the first is.
func (i *Interner) reached(to transition, made func() *shape) *shape {
	i.mu.Lock()
	s := i.paths[to]
	i.mu.Unlock()
	if s != nil {
		return s
	}
	s = made()
	s.frozen.Store(true)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.paths == nil || len(i.paths) >= maxInternedPaths {
		i.paths = map[transition]*shape{}
	}
	i.paths[to] = s
	return s
}

// layout returns the layout for ads whose lines have the names of a shape, one for all Readers.
func (i *Interner) layout(lines *shape) *layout {
	i.mu.Lock()
	defer i.mu.Unlock()
	if l := i.orders[lines]; l != nil {
		return l
	}
	l := newLayout(lines)
	if i.orders == nil {
		i.orders = map[*shape]*layout{}
	}
	if len(i.orders) < maxInternedShapes {
		i.orders[lines] = l
	}
	return l
}

package classad

import "sync"

// Interner lets equal texts share one compiled expression, so that ten
// thousand slot ads cost the memory of what differs between them, and lets ads
// with the same names share the list of these. The zero Interner knows nothing
// yet and is ready. It may be used by several goroutines.
type Interner struct {
	mu     sync.Mutex
	exprs  map[internKey]*Expr
	bytes  int // of the texts in exprs
	names  map[string]attribute
	shapes map[uint64]*shape
	orders map[*shape]*layout // of some of the shapes
	texts  texts
	recent []*Expr // constants
	slab   []Expr
}

type internKey struct {
	text string
	old  bool
}

// What an Interner remembers is bounded, for streams that never repeat
// themselves.
const (
	maxInternedExprs  = 1 << 17
	maxInternedBytes  = 16 << 20 // of their texts; what they are compiled to takes many times that
	maxInternedText   = 64 << 10 // of one of them
	maxInternedNames  = 1 << 16
	maxInternedName   = 256 // bytes
	maxInternedShapes = 1 << 10
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
	e.lit = i.texts.keep(v)
	*slot = e
	return e
}

const (
	recentConstants = 4096
	slabSize        = 32 // expressions made at once: one by one they would cost more
)

// known returns what was compiled from a text before, or nil.
func (i *Interner) known(text []byte, old bool) *Expr {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.exprs[internKey{string(text), old}]
}

// remember keeps an expression for its text, and returns it or the one that
// somebody else kept meanwhile. When there is no more room it begins anew, for
// what comes often comes again.
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

// made returns a list or an ad that was not parsed but put together, or the
// equal expression that somebody has already; any other expression as it is.
func (i *Interner) made(e *Expr) *Expr {
	switch e.root.(type) {
	case *listing, *record:
	default:
		return e
	}
	text := e.Format(StyleSpool)
	if known := i.known([]byte(text), false); known != nil {
		return known
	}
	return i.remember(text, false, e)
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

// shape returns a frozen shape with the names of s in their order, and whether
// it was met before.
func (i *Interner) shape(s *shape) (shared *shape, known bool) {
	hash := uint64(s.len())
	for t := s; t != nil; t = t.more {
		for _, name := range t.names {
			hash = (hash ^ uint64(hashName(name))) * 0x9e3779b97f4a7c15
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

// layout returns the layout for ads whose lines have the names of a shape, one
// for all Readers.
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

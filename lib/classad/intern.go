package classad

import "sync"

// Interner lets equal texts share one compiled expression, so that ten
// thousand slot ads cost the memory of what differs between them, and lets ads
// with the same names share the list of these. It may be used by several
// goroutines.
type Interner struct {
	mu     sync.Mutex
	exprs  map[internKey]*Expr
	names  map[string]attribute
	shapes map[uint64]*shape
	texts  texts
}

type internKey struct {
	text string
	old  bool
}

// What an Interner remembers is bounded, for streams that never repeat
// themselves.
const (
	maxInternedExprs  = 1 << 17
	maxInternedNames  = 1 << 16
	maxInternedShapes = 1 << 10
)

// NewInterner returns an Interner that knows nothing yet.
func NewInterner() *Interner {
	return &Interner{exprs: map[internKey]*Expr{}, names: map[string]attribute{}, shapes: map[uint64]*shape{}}
}

// Expr compiles text as ParseExpr does, or returns what it compiled before.
// Constants are too small to share. Bad texts are not remembered.
func (i *Interner) Expr(text string) (*Expr, error) {
	if v, ok := scanConstant([]byte(text)); ok {
		i.mu.Lock()
		defer i.mu.Unlock()
		return &Expr{lit: i.texts.keep(v)}, nil
	}
	if e := i.known([]byte(text), false); e != nil {
		return e, nil
	}
	e, err := ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return i.remember(text, false, e), nil
}

// known returns what was compiled from a text before, or nil.
func (i *Interner) known(text []byte, old bool) *Expr {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.exprs[internKey{string(text), old}]
}

// remember keeps an expression for its text, and returns it or the one that
// somebody else kept meanwhile.
func (i *Interner) remember(text string, old bool, e *Expr) *Expr {
	i.mu.Lock()
	defer i.mu.Unlock()
	k := internKey{text, old}
	if known := i.exprs[k]; known != nil {
		return known
	}
	if len(i.exprs) < maxInternedExprs {
		i.exprs[k] = e
	}
	return e
}

// name returns a name ready to look up.
func (i *Interner) name(name []byte) attribute {
	i.mu.Lock()
	defer i.mu.Unlock()
	if a, ok := i.names[string(name)]; ok {
		return a
	}
	a := newAttribute(string(name))
	if len(i.names) < maxInternedNames {
		i.names[a.name] = a
	}
	return a
}

// shape returns a frozen shape with the names of s in their order, and whether
// it was met before.
func (i *Interner) shape(s *shape) (shared *shape, known bool) {
	hash := uint64(s.len())
	for t := s; t != nil; t = t.more {
		for _, h := range t.hashes {
			hash = (hash ^ uint64(h)) * 0x9e3779b97f4a7c15
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if t := i.shapes[hash]; t != nil && t.sameNames(s) {
		return t, true
	}
	s.frozen.Store(true)
	if len(i.shapes) < maxInternedShapes {
		i.shapes[hash] = s
	}
	return s, false
}

package classad

import (
	"slices"
	"sync/atomic"
	"unique"
)

// key is a name in lower case. Equal names are the same pointer, so that names
// compare in one instruction.
type key = unique.Handle[string]

// shape is the names of an ad's attributes and at which place each stands. Ads
// that read alike share one, so that ten thousand slots ask one small table
// that stays in the processor's cache. A frozen shape never changes.
type shape struct {
	names  []string // as first spelled
	keys   []key
	hashes []uint32
	table  []place // open addressing; nil for a small ad
	scopes bool    // a name is one of those that mean a scope, such as MY
	frozen atomic.Bool
}

// place is an entry of a shape's table: a name and its place plus one.
type place struct {
	key key
	at  int32
}

// smallShape is the size up to which looking at every name is fastest.
const smallShape = 8

// find returns the place of a name, or -1.
func (s *shape) find(a *attribute) int {
	if s.table == nil {
		for i, k := range s.keys {
			if k == a.key {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(s.table) - 1)
	for i := a.hash & mask; ; i = (i + 1) & mask {
		switch p := &s.table[i]; {
		case p.key == a.key:
			return int(p.at) - 1
		case p.at == 0:
			return -1
		}
	}
}

// findName is find for a name that comes from outside.
func (s *shape) findName(name string) int {
	if s.table == nil {
		for i, n := range s.names {
			if equalFold(n, name) {
				return i
			}
		}
		return -1
	}
	hash := hashName(name)
	mask := uint32(len(s.table) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at := s.table[i].at - 1
		if at < 0 {
			return -1
		}
		if s.hashes[at] == hash && equalFold(s.names[at], name) {
			return int(at)
		}
	}
}

// add appends a name that the shape does not have.
func (s *shape) add(a *attribute) {
	s.names = append(s.names, a.name)
	s.keys = append(s.keys, a.key)
	s.hashes = append(s.hashes, a.hash)
	s.scopes = s.scopes || a.special.isScope()
	switch n := len(s.keys); {
	case n <= smallShape:
	case 2*n > len(s.table):
		s.tabulate()
	default:
		s.place(n - 1)
	}
}

func (s *shape) place(at int) {
	mask := uint32(len(s.table) - 1)
	i := s.hashes[at] & mask
	for s.table[i].at != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = place{s.keys[at], int32(at + 1)}
}

// tabulate makes the table anew, with room to grow.
func (s *shape) tabulate() {
	s.table = nil
	if len(s.keys) <= smallShape {
		return
	}
	size := 4 * smallShape
	for size < 3*len(s.keys) {
		size *= 2
	}
	s.table = make([]place, size)
	for i := range s.keys {
		s.place(i)
	}
}

// without returns a copy of its own that lacks the name at a place.
func (s *shape) without(at int) *shape {
	t := new(shape)
	for i := range s.keys {
		if i != at {
			t.names, t.keys, t.hashes = append(t.names, s.names[i]), append(t.keys, s.keys[i]), append(t.hashes, s.hashes[i])
			t.scopes = t.scopes || newAttribute(s.names[i]).special.isScope()
		}
	}
	t.tabulate()
	return t
}

// own returns a copy that may change.
func (s *shape) own() *shape {
	return &shape{
		names: slices.Clone(s.names), keys: slices.Clone(s.keys), hashes: slices.Clone(s.hashes),
		table: slices.Clone(s.table), scopes: s.scopes,
	}
}

// sameNames reports whether two shapes have the same names in the same order
// and spelling.
func (s *shape) sameNames(t *shape) bool { return slices.Equal(s.names, t.names) }

// first returns a shape of the first n names, which may grow.
func (s *shape) first(n int) *shape {
	t := &shape{names: slices.Clone(s.names[:n]), keys: slices.Clone(s.keys[:n]), hashes: slices.Clone(s.hashes[:n])}
	for _, name := range t.names {
		t.scopes = t.scopes || s.scopes && newAttribute(name).special.isScope()
	}
	t.tabulate()
	return t
}

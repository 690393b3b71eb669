package classad

import (
	"slices"
	"sync/atomic"
)

// shape is the names of an ad's attributes and at which place each stands. Ads
// that read alike share one, so that ten thousand slots ask one small table
// that stays in the processor's cache. A frozen shape never changes.
type shape struct {
	table  []place // open addressing
	more   *shape  // names of a few ads only; their places follow
	scopes bool    // a name is one of those that mean a scope, such as MY
	frozen atomic.Bool
	wants  [2]int32 // places plus one of Requirements and Rank; 0: there is none
	names  []string // as first spelled
}

// place is an entry of a shape's table: the hash of a name, and its place plus
// one.
type place struct {
	hash uint32
	at   int32
}

// smallTable is the size of the first table.
const smallTable = 16

// find returns the place of a name, or -1.
func (s *shape) find(a *attribute) int {
	for i := a.hash; ; i++ {
		p := &s.table[i&uint32(len(s.table)-1)]
		if p.hash == a.hash && p.at != 0 && equalFold(s.names[p.at-1], a.name) {
			return int(p.at) - 1
		}
		if p.at == 0 {
			return s.findMore(a)
		}
	}
}

func (s *shape) findMore(a *attribute) int {
	if s.more == nil {
		return -1
	}
	if i := s.more.find(a); i >= 0 {
		return i + len(s.names)
	}
	return -1
}

// len returns how many names there are.
func (s *shape) len() int {
	if s.more == nil {
		return len(s.names)
	}
	return len(s.names) + s.more.len()
}

// at returns the name at a place.
func (s *shape) at(i int) attribute {
	if i >= len(s.names) {
		return s.more.at(i - len(s.names))
	}
	a := attribute{name: s.names[i], hash: hashName(s.names[i])}
	if s.scopes {
		a.special = specialOf(a.name)
	}
	return a
}

// name is the name at a place, for those who need no more of it.
func (s *shape) name(i int) string {
	for ; i >= len(s.names); s = s.more {
		i -= len(s.names)
	}
	return s.names[i]
}

func newShape() *shape { return &shape{table: make([]place, smallTable)} }

// add appends a name that the shape does not have.
func (s *shape) add(a *attribute) {
	if s.more != nil {
		s.more.add(a)
		s.include(s.more)
		return
	}
	if s.names == nil {
		s.names = make([]string, 0, smallTable/2)
	}
	s.names = append(s.names, a.name)
	s.scopes = s.scopes || a.special.isScope()
	for i := range wanted {
		if a.hash == wanted[i].hash && a.means(wanted[i].name) {
			s.wants[i] = int32(len(s.names))
		}
	}
	if 2*len(s.names) > len(s.table) {
		s.grow()
	}
	s.place(a.hash, int32(len(s.names)))
}

func (s *shape) place(hash uint32, at int32) {
	mask := uint32(len(s.table) - 1)
	i := hash & mask
	for s.table[i].at != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = place{hash, at}
}

// grow makes the table larger.
func (s *shape) grow() {
	old := s.table
	s.table = make([]place, 4*len(old))
	for _, p := range old {
		if p.at != 0 {
			s.place(p.hash, p.at)
		}
	}
}

// pick returns a new shape, which may change, with the names at some places in
// that order.
func (s *shape) pick(places []int) *shape {
	t := newShape()
	for _, i := range places {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// own returns a copy that may change. One of many names shares their table and
// has what is added to it besides, as with does it: an ad that has been given
// an attribute still reads like those it was copied from.
func (s *shape) own() *shape {
	added := newShape()
	if s.more != nil {
		added = s.more.copied()
	}
	if 2*(added.len()+1) > len(s.names) {
		return s.copied()
	}
	return &shape{names: s.names, table: s.table, scopes: s.scopes, wants: s.wants, more: added}
}

// copied returns a copy that may change and shares nothing.
func (s *shape) copied() *shape {
	t := &shape{
		names: slices.Clone(s.names), table: slices.Clone(s.table), scopes: s.scopes, wants: s.wants,
	}
	for i := len(s.names); i < s.len(); i++ {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// with returns a frozen shape that has the names of more besides its own. It
// shares the table of its own names.
func (s *shape) with(more *shape) *shape {
	t := &shape{names: s.names, table: s.table, wants: s.wants, scopes: s.scopes, more: more}
	t.include(more)
	t.frozen.Store(true)
	return t
}

// include notes what is special about the names of more.
func (s *shape) include(more *shape) {
	s.scopes = s.scopes || more.scopes
	for i, at := range more.wants {
		if at > 0 {
			s.wants[i] = at + int32(len(s.names))
		}
	}
}

// sameNames reports whether two shapes have the same names at the same places
// in the same spelling.
func (s *shape) sameNames(t *shape) bool {
	return slices.Equal(s.names, t.names) && (s.more == nil) == (t.more == nil) && (s.more == nil || s.more.sameNames(t.more))
}

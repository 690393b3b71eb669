package classad

import (
	"fairspool/lib/caseless"
	"slices"
	"sync"
)

// Unread stands for the attributes that were not read from ads. Ads with only some attributes read are chained to its Ad, and it notes
// look-ups of other names: if there were none, the results are those of the whole ads. It may be used by several goroutines.
type Unread struct {
	ad    *Ad
	read  *shape
	begin string // in lower case

	mu     sync.Mutex
	missed map[string]bool
	all    bool // the names of all attributes were asked for
}

// NewUnread returns the Unread for all attributes except those with the names in read, those whose names begin with begin unless it is
// empty, Requirements, Rank, and those that are called like a scope.
func NewUnread(read []string, begin string) *Unread {
	u := &Unread{read: newShape(), begin: caseless.Fold(begin), missed: map[string]bool{}}
	add := func(name string) {
		if a := newAttribute(name); u.read.find(&a) < 0 {
			u.read.add(&a)
		}
	}
	for _, w := range wanted {
		add(w.name)
	}
	for _, s := range specials {
		add(s.name)
	}
	for _, name := range read {
		add(name)
	}
	none := newShape()
	none.unread = u
	none.frozen.Store(true)
	u.ad = &Ad{shape: none}
	return u
}

// Ad returns the ad to chain others to. It has no attributes.
func (u *Unread) Ad() *Ad { return u.ad }

// Read returns the names of the attributes that are read, as they were first spelled, and how the names
// of others begin that are, too; empty: there are no others.
func (u *Unread) Read() (names []string, begin string) { return slices.Clone(u.read.names), u.begin }

// Missed returns the names of the attributes, sorted, that were looked up and not read. all
// reports whether the names of all attributes were asked for.
func (u *Unread) Missed() (names []string, all bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name := range u.missed {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, u.all
}

// look notes that a name was looked up.
func (u *Unread) look(a *attribute) {
	if u.read.find(a) >= 0 || begins(a.name, u.begin) {
		return // it was read: the ad has no such attribute
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.missed[caseless.Fold(a.name)] = true
}

// begins reports whether a name begins with a text that is not empty.
func begins(name, with string) bool {
	return with != "" && len(name) >= len(with) && caseless.Equal(name[:len(with)], with)
}

// standsFor returns for what an ad stands that has no attributes, or nil.
func standsFor(a *Ad) *Unread {
	if a.shape == nil {
		return nil
	}
	return a.shape.unread
}

// lookThrough notes that all attributes of an ad were asked for.
func lookThrough(a *Ad) {
	if u := standsFor(a); u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all = true
	}
}

// NamesFrom returns the names of all attributes, own and inherited, that begin with a text, in no order.
func (a *Ad) NamesFrom(begin string) (names []string) {
	for ; a != nil; a = a.parent {
		if u := standsFor(a); u != nil && !begins(begin, u.begin) {
			lookThrough(a)
		}
		for i := range a.len() {
			if name := a.shape.name(i); begins(name, begin) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Spelling returns the name as the ad that has such an attribute writes it, a itself or one that it is chained to; empty if none has.
func Spelling(a *Ad, name string) string {
	for at := newAttribute(name); a != nil; a = a.parent {
		if a.shape != nil {
			if i := a.shape.find(&at); i >= 0 {
				return a.shape.name(i)
			}
		}
	}
	return ""
}

// Origin finds where ads have some attributes from. It is for one goroutine.
type Origin struct {
	names []*Name
	among map[*shape]bool
	last  [2]*shape // asked for, near and far in the chain: ads that follow each other mostly have the same
	found [2]bool   // the answers
}

// NewOrigin returns one for the attributes of these names.
func NewOrigin(names ...*Name) *Origin { return &Origin{names: names, among: map[*shape]bool{}} }

// Of returns the first of an ad and those that it is chained to that has one of the attributes itself,
// the last if none has: ads of the same origin have the same of them.
func (o *Origin) Of(a *Ad) *Ad {
	for depth := 0; a.parent != nil && !o.has(a.shape, depth&1); depth++ {
		a = a.parent
	}
	return a
}

func (o *Origin) has(s *shape, depth int) bool {
	if s == nil || s == o.last[depth] {
		return s != nil && o.found[depth]
	}
	has, known := o.among[s]
	if !known {
		s.frozen.Store(true) // or its names could change
		for _, n := range o.names {
			has = has || s.find(&n.finder.attribute) >= 0
		}
		o.among[s] = has
	}
	o.last[depth], o.found[depth] = s, has
	return has
}

// Simple reports whether all of an ad's own attributes are constants.
func (a *Ad) Simple() bool {
	for i := range a.len() {
		if a.at(i).kind == kindProgram {
			return false
		}
	}
	return true
}

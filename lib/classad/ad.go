package classad

import (
	"slices"
	"strings"
)

// Ad is a set of named expressions. Names compare without regard to case and
// keep the spelling they were first set with. The zero Ad is empty and ready.
// The methods that only read accept a nil Ad, which is empty.
type Ad struct {
	entries []entry
	index   []int32 // open addressing into entries (place+1); nil for a small ad
	parent  *Ad
}

type entry struct {
	name string
	hash uint64
	expr *Expr
}

// smallAd is the size up to which looking at every hash is fastest.
const smallAd = 8

// New returns an empty ad.
func New() *Ad { return new(Ad) }

// find returns the place of a name among the own attributes, or -1.
func (a *Ad) find(name string, hash uint64) int {
	if a.index == nil {
		for i := range a.entries {
			if e := &a.entries[i]; e.hash == hash && equalFold(e.name, name) {
				return i
			}
		}
		return -1
	}
	mask := uint64(len(a.index) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		place := a.index[at]
		if place == 0 {
			return -1
		}
		if e := &a.entries[place-1]; e.hash == hash && equalFold(e.name, name) {
			return int(place - 1)
		}
	}
}

// lookup finds a name here or in the chained parents; nil when it is missing.
func (a *Ad) lookup(name string, hash uint64) *Expr {
	for ; a != nil; a = a.parent {
		if i := a.find(name, hash); i >= 0 {
			return a.entries[i].expr
		}
	}
	return nil
}

// Set gives an attribute an expression. A nil expression deletes it. Like all
// texts of the language, the name ends before a NUL byte.
func (a *Ad) Set(name string, e *Expr) {
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	if e == nil {
		a.Delete(name)
		return
	}
	hash := hashName(name)
	if i := a.find(name, hash); i >= 0 {
		a.entries[i].expr = e
		return
	}
	a.entries = append(a.entries, entry{name, hash, e})
	if len(a.entries) <= smallAd {
		return
	}
	if len(a.entries)*2 > len(a.index) {
		a.reindex()
		return
	}
	a.place(len(a.entries) - 1)
}

func (a *Ad) place(i int) {
	mask := uint64(len(a.index) - 1)
	at := a.entries[i].hash & mask
	for a.index[at] != 0 {
		at = (at + 1) & mask
	}
	a.index[at] = int32(i + 1)
}

func (a *Ad) reindex() {
	a.index = nil
	if len(a.entries) <= smallAd {
		return
	}
	size := 4 * smallAd
	for size < 3*len(a.entries) {
		size *= 2
	}
	a.index = make([]int32, size)
	for i := range a.entries {
		a.place(i)
	}
}

// SetInt gives an attribute an integer.
func (a *Ad) SetInt(name string, n int64) { a.Set(name, Literal(Int(n))) }

// SetReal gives an attribute a real number.
func (a *Ad) SetReal(name string, x float64) { a.Set(name, Literal(Real(x))) }

// SetString gives an attribute a string.
func (a *Ad) SetString(name string, s string) { a.Set(name, Literal(String(s))) }

// SetBool gives an attribute a boolean.
func (a *Ad) SetBool(name string, b bool) { a.Set(name, Literal(Bool(b))) }

// Delete removes an own attribute. An inherited one of that name shows again.
func (a *Ad) Delete(name string) {
	if i := a.find(name, hashName(name)); i >= 0 {
		a.entries = slices.Delete(a.entries, i, i+1)
		a.reindex()
	}
}

// Lookup returns an attribute's expression: the ad's own, else an inherited
// one.
func (a *Ad) Lookup(name string) (*Expr, bool) {
	e := a.lookup(name, hashName(name))
	return e, e != nil
}

// Has reports whether the ad has an attribute, its own or inherited.
func (a *Ad) Has(name string) bool {
	_, ok := a.Lookup(name)
	return ok
}

// Chain lets a see the attributes of parent where it has none of its own, and
// returns a. A nil parent undoes it. Making an ad its own ancestor is refused
// and changes nothing.
func (a *Ad) Chain(parent *Ad) *Ad {
	for p := parent; p != nil; p = p.parent {
		if p == a {
			return a
		}
	}
	a.parent = parent
	return a
}

// Parent returns the ad that a is chained to, or nil.
func (a *Ad) Parent() *Ad {
	if a == nil {
		return nil
	}
	return a.parent
}

// Len returns the number of attributes, own and inherited.
func (a *Ad) Len() int {
	if a == nil {
		return 0
	}
	if a.parent == nil {
		return len(a.entries)
	}
	return len(a.all())
}

// all returns every attribute once: own ones in the order they were set, then
// the inherited ones.
func (a *Ad) all() []entry {
	if a == nil {
		return nil
	}
	if a.parent == nil {
		return a.entries
	}
	out := slices.Clone(a.entries)
	for p := a.parent; p != nil; p = p.parent {
		for _, e := range p.entries {
			hidden := false
			for q := a; q != p && !hidden; q = q.parent {
				hidden = q.find(e.name, e.hash) >= 0
			}
			if !hidden {
				out = append(out, e)
			}
		}
	}
	return out
}

// Names returns the names of all attributes, own and inherited, sorted without
// regard to case.
func (a *Ad) Names() []string { return sortedNames(a.all()) }

// OwnNames returns the names of the ad's own attributes, sorted without regard
// to case.
func (a *Ad) OwnNames() []string {
	if a == nil {
		return nil
	}
	return sortedNames(a.entries)
}

func sortedNames(entries []entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	slices.SortFunc(names, compareFold)
	return names
}

// Clone returns a copy with the same own attributes and the same parent.
func (a *Ad) Clone() *Ad {
	if a == nil {
		return New()
	}
	return &Ad{entries: slices.Clone(a.entries), index: slices.Clone(a.index), parent: a.parent}
}

// Flat returns a copy without a parent that has every attribute, own and
// inherited.
func (a *Ad) Flat() *Ad {
	if a == nil || a.parent == nil {
		return a.Clone()
	}
	flat := &Ad{entries: a.all()}
	flat.reindex()
	return flat
}

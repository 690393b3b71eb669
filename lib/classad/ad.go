package classad

import (
	"fairspool/lib/caseless"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Ad is a set of named expressions. Names compare without regard to case and keep the spelling they were first set with. The zero Ad is
// empty and ready. The methods that only read accept a nil Ad, which is empty. An Ad is copied by Clone, never by assignment.
type Ad struct {
	_      noCopy
	shape  *shape // nil: no attributes
	front  *front // the cells of the first places; nil: they are in cells
	cells  []cell // by the places of the shape
	parent *Ad
}

// noCopy lets go vet find copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// cell is the expression of an attribute: a constant itself, so that looking
// at it is looking at memory that lies together, or of kind kindProgram.
type cell struct{ Value }

func (e *Expr) cell() cell {
	if e.constant() {
		return cell{e.lit}
	}
	return cell{Value{kind: kindProgram, ref: unsafe.Pointer(e)}}
}

// program returns the expression of a cell that is no constant.
func (c *cell) program() *Expr { return (*Expr)(c.ref) }

func (c *cell) expr() *Expr {
	if c.kind == kindProgram {
		return c.program()
	}
	return constantOf(c.Value)
}

// front is where a Reader puts the attributes that expressions use most: those of many
// ads are adjacent, so that going through the ads reads memory from one end to the other.
type front [frontSize]cell

const frontSize = 20

// at returns the cell at a place.
func (a *Ad) at(i int) *cell {
	if a.front != nil {
		if i < frontSize {
			return &a.front[i]
		}
		i -= frontSize
	}
	return &a.cells[i]
}

// table returns the table of the ad's own names, or nil.
func (a *Ad) table() *place {
	if a == nil || a.shape == nil {
		return nil
	}
	return unsafe.SliceData(a.shape.table)
}

// len returns how many own attributes there are.
func (a *Ad) len() int {
	if a.front != nil {
		return frontSize + len(a.cells)
	}
	return len(a.cells)
}

// entry is an attribute for loops over all of them.
type entry struct {
	name string
	expr *Expr
}

// New returns an empty ad.
func New() *Ad { return new(Ad) }

// own returns the cell of an attribute that is not inherited, or nil.
func (a *Ad) own(name *attribute) *cell {
	if i := a.shape.found(name); i >= 0 {
		return a.at(i)
	}
	return nil
}

// cell finds an attribute here or in the chained parents; nil when it is missing.
func (a *Ad) cell(name *attribute) *cell {
	for ; a != nil; a = a.parent {
		if c := a.own(name); c != nil {
			return c
		}
	}
	return nil
}

// get is cell for callers that want an expression.
func (a *Ad) get(name *attribute) *Expr {
	if c := a.cell(name); c != nil {
		return c.expr()
	}
	return nil
}

// named returns the place of a name, or -1.
func (s *shape) named(name string) int {
	n := attribute{name: name, hash: caseless.Hash(name)}
	return s.found(&n)
}

// found is find for a shape that may be nil.
func (s *shape) found(name *attribute) int {
	if s == nil {
		return -1
	}
	return s.find(name)
}

// cellNamed is cell for a name that comes from outside.
func (a *Ad) cellNamed(name string) *cell {
	n := attribute{name: name, hash: caseless.Hash(name)}
	return a.cell(&n)
}

// Set gives an attribute an expression. A nil expression deletes it. Like all texts of the language, the name ends before a NUL byte.
func (a *Ad) Set(name string, e *Expr) {
	name = untilNUL(name)
	if e == nil {
		a.Delete(name)
		return
	}
	a.set(name, e.cell())
}

func untilNUL(name string) string {
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return name
}

func (a *Ad) set(name string, c cell) {
	n := newAttribute(name)
	if i := a.shape.found(&n); i >= 0 {
		*a.at(i) = c
		return
	}
	a.add(&n, c)
}

// add appends an attribute that the ad does not have.
func (a *Ad) add(name *attribute, c cell) {
	switch {
	case a.shape == nil:
		a.shape = newShape()
		a.cells = make([]cell, 0, smallTable/2)
	case a.shape.frozen.Load():
		a.shape = a.shape.own()
	}
	a.shape.add(name)
	a.cells = append(a.cells, c)
}

// entries returns the own attributes in the order they were set.
func (a *Ad) entries() []entry {
	entries := make([]entry, a.len())
	constants := make([]Expr, len(entries)) // most are
	for i := range entries {
		e, c := &constants[i], a.at(i)
		if c.kind == kindProgram {
			e = c.program()
		} else {
			e.lit = c.Value
		}
		entries[i] = entry{a.shape.name(i), e}
	}
	return entries
}

// SetInt gives an attribute an integer.
func (a *Ad) SetInt(name string, n int64) { a.set(untilNUL(name), cell{Int(n)}) }

// SetReal gives an attribute a real number.
func (a *Ad) SetReal(name string, x float64) { a.set(untilNUL(name), cell{Real(x)}) }

// SetString gives an attribute a string.
func (a *Ad) SetString(name string, s string) { a.set(untilNUL(name), cell{String(s)}) }

// SetBool gives an attribute a boolean.
func (a *Ad) SetBool(name string, b bool) { a.set(untilNUL(name), cell{Bool(b)}) }

// Delete removes an own attribute. An inherited one of that name shows again.
func (a *Ad) Delete(name string) {
	gone := a.shape.named(name)
	if gone < 0 {
		return
	}
	cells := make([]cell, 0, a.len()-1)
	for i := range a.len() {
		if i != gone {
			cells = append(cells, *a.at(i))
		}
	}
	a.shape, a.front, a.cells = a.shape.without(gone), nil, cells
}

// Lookup returns an attribute's expression: the ad's own, else an inherited one.
func (a *Ad) Lookup(name string) (*Expr, bool) {
	if c := a.cellNamed(name); c != nil {
		return c.expr(), true
	}
	return nil, false
}

// Has reports whether the ad has an attribute, its own or inherited.
func (a *Ad) Has(name string) bool {
	return a.cellNamed(name) != nil
}

// Chain lets a see the attributes of parent where it has none of its own, and returns a. A nil parent undoes it. Making an ad its own
// ancestor is refused and changes nothing.
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
		return a.len()
	}
	return len(a.all())
}

// all returns every attribute once: own ones in the order they were set, then the inherited ones.
func (a *Ad) all() []entry {
	if a == nil {
		return nil
	}
	out := a.entries()
	for p := a.parent; p != nil; p = p.parent {
		lookThrough(p)
		for i := range p.len() {
			name := p.shape.at(i)
			hidden := false
			for q := a; q != p && !hidden; q = q.parent {
				hidden = q.own(&name) != nil
			}
			if !hidden {
				out = append(out, entry{name.name, p.at(i).expr()})
			}
		}
	}
	return out
}

// Names returns the names of all attributes, own and inherited, sorted without regard to case.
func (a *Ad) Names() (names []string) {
	for _, e := range a.all() {
		names = append(names, e.name)
	}
	slices.SortFunc(names, caseless.Compare)
	return names
}

// OwnNames returns the names of the ad's own attributes, sorted without regard to case.
func (a *Ad) OwnNames() []string {
	if a == nil {
		return nil
	}
	for p := a.parent; p != nil; p = p.parent {
		lookThrough(p)
	}
	names := make([]string, a.len())
	for i := range names {
		names[i] = a.shape.name(i)
	}
	slices.SortFunc(names, caseless.Compare)
	return names
}

// Clone returns a copy with the same own attributes and the same parent. It costs little: names and expressions are shared.
func (a *Ad) Clone() *Ad {
	if a == nil {
		return New()
	}
	if a.shape != nil {
		a.shape.frozen.Store(true)
	}
	copied := &Ad{shape: a.shape, cells: slices.Clone(a.cells), parent: a.parent}
	if a.front != nil {
		f := *a.front
		copied.front = &f
	}
	return copied
}

// With returns a copy of a with other values for its own attributes, in the order in which they were set, and a parent.
func With(a, parent *Ad, values ...Value) *Ad {
	var ad *Ad
	if len(values) <= 4 {
		s := new(struct {
			Ad
			room [4]cell
		})
		ad, s.cells = &s.Ad, s.room[:0]
	} else {
		ad = &Ad{cells: make([]cell, 0, len(values))}
	}
	ad.shape, ad.parent = a.shape, parent
	for _, v := range values {
		ad.cells = append(ad.cells, cell{v})
	}
	return ad
}

// Flat returns a copy without a parent that has every attribute, own and inherited.
func (a *Ad) Flat() *Ad {
	if a == nil || a.parent == nil {
		return a.Clone()
	}
	flat := New()
	for _, e := range a.all() {
		n := newAttribute(e.name)
		flat.add(&n, e.expr.cell())
	}
	return flat
}

// String returns the ad on one line, as Format(StyleOld) does, so that fmt prints what an ad says.
func (a *Ad) String() string { return a.Format(StyleOld) }

// SameNames reports whether two ads are known to have attributes of the same names in the same places, as ads that one Reader read mostly
// have, and the same parent. False means that it is not known.
func (a *Ad) SameNames(b *Ad) bool {
	return a != nil && b != nil && a.shape != nil && a.shape == b.shape && a.parent == b.parent
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func mapBytes(s string, f func(byte) byte) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = f(c)
	}
	return string(b)
}

// plainName reports whether a name needs no quotes.
func plainName(s string) bool {
	if s == "" || !nameStart(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !nameStart(s[i]) && !digit(s[i]) {
			return false
		}
	}
	switch len(s) {
	case 2, 4, 5, 6, 9:
		switch caseless.Fold(s) {
		case "is", "true", "isnt", "error", "false", "parent", "undefined":
			return false
		}
	}
	return true
}

// trimmed returns s without the white space around it.
func trimmed(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

func nameStart(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool     { return '0' <= c && c <= '9' }
func space(c byte) bool     { return c == ' ' || '\t' <= c && c <= '\r' }

// Name is the name of an attribute made ready for being looked up in many ads. It may be used by several goroutines.
type Name struct{ finder finder }

// NewName returns a name ready to look up.
func NewName(name string) *Name {
	n := new(Name)
	n.finder.attribute = newAttribute(name)
	return n
}

// String returns the name as it was given.
func (n *Name) String() string { return n.finder.name }

// Get returns an attribute, the ad's own or an inherited one: the value of one that is a constant, and the expression, which is nil for a
// constant. It makes no expression for a constant, as Lookup does. ok is false when the attribute is missing.
func (a *Ad) Get(name *Name) (v Value, e *Expr, ok bool) {
	if a == nil {
		return v, nil, false
	}
	i := name.finder.again(a)
	if i == unknown {
		a, i = name.finder.search(a)
	}
	if i < 0 {
		return v, nil, false
	}
	if c := a.at(i); c.kind != kindProgram {
		v = c.Value
	} else {
		e = c.program()
	}
	return v, e, true
}

// finder is a name in a program. It remembers the places of the name in ads of four kinds, and most ads of a pool are of a few.
type finder struct {
	attribute
	memo   [4]atomic.Pointer[foundAt]
	misses atomic.Uint32 // how often the memo was of no use
}

type foundAt struct {
	table *place // of the shape, which is frozen
	at    int    // -1: it has no such name
}

// again returns the place of the name in an ad without parents of the kind remembered last, -1 if the kind lacks it; else unknown.
func (f *finder) again(ad *Ad) int {
	if m := f.memo[0].Load(); m != nil && ad.shape != nil && m.table == unsafe.SliceData(ad.shape.table) && (m.at >= 0 || ad.shape.more == nil && ad.parent == nil) {
		return m.at
	}
	return unknown
}

const unknown = -2

// search returns the ad that has the name, ad or one that it is chained to, and the place; -1 if no ad has it.
func (f *finder) search(ad *Ad) (*Ad, int) {
	for ; ad != nil; ad = ad.parent {
		if ad.shape == nil {
			continue
		}
		if ad.shape.unread != nil {
			ad.shape.unread.look(&f.attribute)
			continue
		}
		if i := f.in(ad); i >= 0 {
			return ad, i
		}
	}
	return nil, -1
}

// in returns the place of the name among an ad's own, or -1.
func (f *finder) in(ad *Ad) int {
	s := ad.shape
	for i := range f.memo {
		if m := f.memo[i].Load(); m != nil && m.table == unsafe.SliceData(s.table) {
			if m.at < 0 && s.more != nil {
				return s.findMore(&f.attribute)
			}
			return m.at
		}
	}
	at := s.find(&f.attribute)
	if f.changesMind() {
		s.frozen.Store(true)
		own := at
		if own >= len(s.names) {
			own = -1
		}
		for i := len(f.memo) - 1; i > 0; i-- { // two calls at once may lose a place
			f.memo[i].Store(f.memo[i-1].Load())
		}
		f.memo[0].Store(&foundAt{unsafe.SliceData(s.table), own})
	}
	return at
}

// changesMind reports whether a miss is worth remembering. If ads differ all the time, remembering costs more than finding the name, so
// it is done ever more rarely; but it does not stop, as the memo may be of exceptional ads.
func (f *finder) changesMind() bool {
	n := f.misses.Load() + 1
	f.misses.Store(n) // two at once may count as one
	return n&(n-1) == 0 || n%1024 == 0
}

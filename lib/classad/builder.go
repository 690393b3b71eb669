package classad

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// builder makes the ads of a stream. They come in a few kinds, and the ads of a
// kind have the same names in the same order and many of the same values: as
// long as that is so, names are compared rather than looked up. An ad is
// expected to be of the kind of the one before; the first name that is not
// expected tells its kind.
type builder struct {
	kinds []*kind // the last maxKinds, the one expected first
	room  []roomyAd

	// Of the ad being read:
	follows  bool   // its names so far are those expected, or none of them
	line     int    // how many of those expected were there; their cells are in the kind
	building *shape // its other names
	others   []cell // their cells
}

// kind is what ads that read alike have in common.
type kind struct {
	*layout
	before []lastSeen // by lines
	room   int        // bytes that the texts may still take
}

// lastSeen is the text of an attribute and what it meant. An empty text stands
// for one that is not known.
type lastSeen struct {
	text []byte
	cell cell
}

// What is kept to compare with is bounded, for streams that are not of a few
// kinds.
const (
	maxKinds     = 32
	maxKindNames = 1 << 12
	maxKindTexts = 1 << 18 // bytes, in one kind
)

// begin gets ready for the next ad.
func (b *builder) begin() {
	b.follows, b.line, b.building = len(b.kinds) > 0, 0, nil
	if b.others = b.others[:0]; cap(b.others) > maxKindNames {
		b.others = nil
	}
}

// next returns the kind that is followed if there is a name that it expects.
func (b *builder) next() *kind {
	if !b.follows || b.line == len(b.kinds[0].names) {
		return nil
	}
	return b.kinds[0]
}

// follow sets the attribute that is expected.
func (b *builder) follow(text []byte, c cell) {
	b.kinds[0].see(b.line, text, c)
	b.line++
}

func (k *kind) see(line int, text []byte, c cell) {
	s := &k.before[line]
	s.cell = c
	before := cap(s.text)
	if len(text)-before > k.room {
		text = nil
	}
	s.text = append(s.text[:0], text...)
	k.room -= cap(s.text) - before
}

// set sets an attribute of the ad being read.
// The text is that of the value, to be compared with the next one's.
func (b *builder) set(a attribute, text []byte, c cell) {
	if b.follows {
		if k := b.next(); k != nil && k.names[b.line] == a.name || b.turn(a.name) {
			b.follow(text, c)
			return
		}
		if b.kinds[0].shape.find(&a) >= 0 {
			b.leave()
		}
	}
	if b.building == nil {
		b.building = newShape()
	}
	if i := b.building.find(&a); i >= 0 {
		b.others[i] = c
		return
	}
	b.building.add(&a)
	b.others = append(b.others, c)
}

// turn follows another kind, one that has the names so far and this one next,
// if there is one.
func (b *builder) turn(name string) bool {
	return b.turnTo(func(k *kind) bool { return b.line < len(k.names) && k.names[b.line] == name })
}

// turnTo follows another kind that has the names so far and fits, if there is
// one.
func (b *builder) turnTo(fits func(*kind) bool) bool {
	if b.building != nil {
		return false
	}
	was := b.kinds[0]
	for i, k := range b.kinds[1:] {
		if fits(k) && slices.Equal(k.names[:b.line], was.names[:b.line]) {
			for line, seen := range was.before[:b.line] {
				k.see(line, seen.text, seen.cell)
			}
			b.expect(k, i+1)
			return true
		}
	}
	return false
}

// expect makes a kind the first, which was at index i.
func (b *builder) expect(k *kind, i int) {
	copy(b.kinds[1:i+1], b.kinds[:i])
	b.kinds[0] = k
}

// leave stops following: the names so far become those of the ad.
func (b *builder) leave() {
	more, cells := b.building, b.others
	b.building, b.others, b.follows = newShape(), nil, false
	k := b.kinds[0]
	for line, name := range k.names[:b.line] {
		a := newAttribute(name)
		b.building.add(&a)
		b.others = append(b.others, k.before[line].cell)
	}
	for i := range cells {
		a := more.at(i)
		a.special = specialOf(a.name)
		b.building.add(&a)
	}
	b.others = append(b.others, cells...)
}

// finish returns the ad. The next one is expected to be like it, unless no two
// were like it so far.
func (b *builder) finish(in *Interner) *Ad {
	if b.line == 0 && b.building == nil {
		return New()
	}
	if b.follows && !b.complete() {
		b.leave()
	}
	if !b.follows {
		return b.settle(in)
	}
	k := b.kinds[0]
	ad := k.open(&b.room)
	for line, place := range k.places {
		*ad.at(place) = k.before[line].cell
	}
	ad.shape = k.shape
	if b.building != nil {
		ad.shape, _ = in.shape(k.shape.with(b.building))
		ad.cells = slices.Concat(ad.cells, b.others)
	}
	return ad
}

// complete reports whether all names of the kind were there, or of one that has
// no more than these, and not too many others.
func (b *builder) complete() bool {
	if names := len(b.kinds[0].names); b.line == names {
		return b.building == nil || b.building.len() <= names
	}
	return b.turnTo(func(k *kind) bool { return len(k.names) == b.line })
}

// settle returns an ad that is not as expected.
func (b *builder) settle(in *Interner) *Ad {
	s, known := in.shape(b.building)
	if !known && len(b.kinds) > 0 || s.len() > maxKindNames {
		return &Ad{shape: s, cells: slices.Clone(b.others)}
	}
	if len(b.kinds) == 0 && len(b.room) == 0 {
		b.room = make([]roomyAd, 1) // there may be only one
	}
	k := b.kindOf(in.layout(s))
	ad := k.open(&b.room)
	ad.shape = k.shape
	for line, c := range b.others {
		*ad.at(k.places[line]) = c
	}
	return ad
}

// kindOf returns the kind of a layout, which is expected from now on.
func (b *builder) kindOf(l *layout) *kind {
	for i, k := range b.kinds {
		if k.layout == l {
			b.expect(k, i)
			return k
		}
	}
	k := &kind{layout: l, before: make([]lastSeen, len(l.names)), room: maxKindTexts}
	if len(b.kinds) < maxKinds {
		b.kinds = append(b.kinds, nil)
	}
	b.expect(k, len(b.kinds)-1)
	return k
}

// Builder makes ads from attributes that somebody else reads, one at a time, in
// the new dialect, as ParseExpr and StyleSpool have it. It is as fast as a
// Reader: an attribute like one of the ads before is only compared. Names,
// expressions and the lists of names are shared with the other ads of its
// Interner.
//
//	b := NewBuilder(nil)
//	for _, lines := range ads {
//		b.Begin()
//		for _, line := range lines {
//			if err := b.Line(line); err != nil {
//				return err
//			}
//		}
//		use(b.Finish())
//	}
//
// The ad is that of New and Set with the expressions of ExprBytes, in the same
// order: the last expression of a name counts, and its first spelling.
//
// After an error the ad is as if the bad attribute had not been given, and it
// may go on, be finished, or be dropped by Begin. The zero Builder is ready. A
// Builder is not for several goroutines at once, but its Interner is.
type Builder struct {
	in    *Interner
	ads   builder
	texts texts
	begun bool
}

// NewBuilder returns a Builder that shares what the Interner knows; nil stands
// for an Interner of its own.
func NewBuilder(in *Interner) *Builder { return &Builder{in: in} }

// Begin begins the next ad. One that was begun and not finished is dropped. The
// first attribute, too, begins an ad when none is begun.
func (b *Builder) Begin() {
	if b.in == nil {
		b.in = NewInterner()
	}
	b.ads.begin()
	b.begun = true
}

// Finish returns the ad; it is empty when no attribute was set.
func (b *Builder) Finish() *Ad {
	if !b.begun {
		return New()
	}
	b.begun = false
	return b.ads.finish(b.in)
}

// Line sets the attribute of a line "Name = expression", without a line break
// and with one blank on either side of the equals sign. The name is of letters,
// digits and underscores and does not begin with a digit; Set takes any other.
// An error says that the line is not of this form, or is the one of ExprBytes
// about the expression. Nothing of the line is kept.
func (b *Builder) Line(line []byte) error {
	k := b.next()
	if k != nil && k.usual[b.ads.line] {
		if text, ok := afterName(line, k.names[b.ads.line]); ok {
			return b.follow(k, text)
		}
	}
	name, text, ok := bytes.Cut(line, []byte(" = "))
	if !ok || !usualName(name) {
		return fmt.Errorf("%.60q: not an attribute: want Name = expression", line)
	}
	return b.set(name, text)
}

// Set sets an attribute of any name. Like all texts of the language, the name
// ends before a NUL byte. An error is that of ExprBytes about the text, nothing
// of which is kept.
func (b *Builder) Set(name string, text []byte) error {
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	if k := b.next(); k != nil && k.names[b.ads.line] == name {
		return b.follow(k, text)
	}
	return b.set([]byte(name), text)
}

// next returns the kind that is followed if there is a name that it expects.
func (b *Builder) next() *kind {
	if !b.begun {
		b.Begin()
	}
	return b.ads.next()
}

// follow sets the attribute that is expected.
func (b *Builder) follow(k *kind, text []byte) error {
	if len(text) > 0 && bytes.Equal(text, k.before[b.ads.line].text) {
		b.ads.line++
		return nil
	}
	c, err := b.cell(text)
	if err == nil {
		b.ads.follow(text, c)
	}
	return err
}

// set sets an attribute that may be another than the one expected.
func (b *Builder) set(name, text []byte) error {
	c, err := b.cell(text)
	if err == nil {
		b.ads.set(b.in.name(name), text, c)
	}
	return err
}

// cell returns what a text means.
func (b *Builder) cell(text []byte) (cell, error) {
	if v, ok := scanConstant(text); ok {
		return cell{b.texts.keep(v)}, nil
	}
	e, err := b.in.compiled(text)
	if err != nil {
		return cell{}, err
	}
	return e.cell(), nil
}

// usualName reports whether a name looks like one, be it a word of the language
// such as true.
func usualName[T string | []byte](name T) bool {
	for i := range len(name) {
		if !nameStart(name[i]) && (i == 0 || !digit(name[i])) {
			return false
		}
	}
	return len(name) > 0
}

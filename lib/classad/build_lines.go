package classad

import (
	"bytes"
	"fmt"
	"strings"
)

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

package classad

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
	"unsafe"
)

// scanConstant reads a text that is nothing but an ordinary constant: a number,
// true, false, undefined, error, or a string without a backslash. Such a text
// means the same in both dialects. It is most of what ads are made of; ok is
// false for everything else, which the parser reads. A string's bytes are
// those of the text: keep copies them.
func scanConstant(b []byte) (v Value, ok bool) {
	if len(b) == 0 {
		return Value{}, false
	}
	switch c := b[0]; {
	case c == '"':
		inner := b[1:]
		end := bytes.IndexByte(inner, '"')
		if end < 0 || end != len(inner)-1 || bytes.IndexByte(inner, '\\') >= 0 || bytes.IndexByte(inner, 0) >= 0 {
			return Value{}, false
		}
		return str(unsafe.String(unsafe.SliceData(inner), end)), true
	case digit(c) || c == '-' || c == '.':
		return scanNumber(b)
	}
	return scanWord(b)
}

func scanWord(b []byte) (v Value, ok bool) {
	switch len(b) {
	case 4:
		return Bool(true), strings.EqualFold(string(b), "true")
	case 5:
		if lower(b[0]) == 'f' {
			return Bool(false), strings.EqualFold(string(b), "false")
		}
		return Error(), strings.EqualFold(string(b), "error")
	case 9:
		return Undefined(), strings.EqualFold(string(b), "undefined")
	}
	return Value{}, false
}

// maxShortInt is how many digits surely fit an int64.
const maxShortInt = 18

func scanNumber(b []byte) (v Value, ok bool) {
	digits := b
	negative := b[0] == '-'
	if negative {
		digits = b[1:]
	}
	n, i := int64(0), 0
	for i < len(digits) && i < maxShortInt && digit(digits[i]) {
		n = 10*n + int64(digits[i]-'0')
		i++
	}
	if i == len(digits) {
		if i == 0 || i > 1 && digits[0] == '0' {
			return Value{}, false
		}
		if negative {
			n = -n
		}
		return Int(n), true
	}
	if digits[i] != '.' || !plainFraction(digits[i+1:]) {
		return Value{}, false
	}
	x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	return Real(x), err == nil
}

// plainFraction reports whether b is digits and nothing else.
func plainFraction(b []byte) bool {
	for _, c := range b {
		if !digit(c) {
			return false
		}
	}
	return len(b) > 0
}

// constants makes expressions of constants, and lets equal ones met not long
// ago share memory.
type constants struct {
	recent [2048]*Expr
	slab   []Expr
	texts  strings.Builder
}

const (
	slabSize  = 64
	textsSize = 16 << 10
)

// expr returns the expression that is v. Its text is copied if it is kept.
func (c *constants) expr(v Value) *Expr {
	slot := &c.recent[v.hash()%uint64(len(c.recent))]
	if e := *slot; e != nil && e.lit.identicalTo(v) {
		return e
	}
	e := c.fresh()
	e.lit = v
	if v.kind == KindString {
		e.lit = str(c.keep(v.text()))
	}
	*slot = e
	return e
}

// fresh returns an expression to be filled. One by one they would cost more to
// allocate than to read.
func (c *constants) fresh() *Expr {
	if len(c.slab) == 0 {
		c.slab = make([]Expr, slabSize)
	}
	e := &c.slab[0]
	c.slab = c.slab[1:]
	return e
}

// keep returns a copy of a short text from a block of many, and of a long one
// by itself.
func (c *constants) keep(s string) string {
	if len(s) > textsSize/16 {
		return strings.Clone(s)
	}
	if c.texts.Cap()-c.texts.Len() < len(s) {
		c.texts = strings.Builder{}
		c.texts.Grow(textsSize)
	}
	at := c.texts.Len()
	c.texts.WriteString(s)
	return c.texts.String()[at:]
}

// hash spreads scalars.
func (v Value) hash() uint64 {
	if v.kind == KindString {
		return maphash.String(seed, v.text())
	}
	return (v.bits ^ uint64(v.kind)<<56) * 0x9e3779b97f4a7c15 >> 32
}

// identicalTo reports whether two scalars are the same value of the same kind.
func (v Value) identicalTo(w Value) bool {
	if v.kind != w.kind || v.bits != w.bits || v.zone != w.zone {
		return false
	}
	return v.kind != KindString || v.text() == w.text()
}

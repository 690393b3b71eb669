package classad

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Names compare without regard to case, ASCII letters only.

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// fold returns s in lower case, s itself when it is.
func fold(s string) string {
	for i := range len(s) {
		if lower(s[i]) != s[i] {
			return mapBytes(s, lower)
		}
	}
	return s
}

func mapBytes(s string, f func(byte) byte) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = f(c)
	}
	return string(b)
}

// compareFold orders strings by their bytes in lower case.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c, d := lower(a[i]), lower(b[i]); c != d {
			return int(c) - int(d)
		}
	}
	return len(a) - len(b)
}

func equalFold(a, b string) bool { return len(a) == len(b) && (a == b || compareFold(a, b) == 0) }

// seed is fixed for the life of the process. It decides places in memory only,
// never an order that anybody can see.
var seed = maphash.MakeSeed()

// hashName hashes a name without regard to case.
func hashName(name string) uint32 {
	var buf [64]byte
	if len(name) > len(buf) {
		return hashFolded(fold(name))
	}
	for i := range len(name) {
		buf[i] = lower(name[i])
	}
	return uint32(maphash.Bytes(seed, buf[:len(name)]))
}

func hashFolded(key string) uint32 { return uint32(maphash.String(seed, key)) }

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
		switch fold(s) {
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

// Name is the name of an attribute made ready for being looked up in many ads.
// It may be used by several goroutines.
type Name struct{ finder finder }

// NewName returns a name ready to look up.
func NewName(name string) *Name {
	n := new(Name)
	n.finder.attribute = newAttribute(name)
	return n
}

// String returns the name as it was given.
func (n *Name) String() string { return n.finder.name }

// Get returns an attribute, the ad's own or an inherited one: the value of one
// that is a constant, and the expression, which is nil for a constant. It makes
// no expression for a constant, as Lookup does. ok is false when the attribute
// is missing.
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

// finder is a name in a program. It remembers where it found the name in the
// ads that it met last, which mostly all read alike.
type finder struct {
	attribute
	memo   atomic.Pointer[foundAt]
	misses atomic.Uint32 // how often the memo was of no use
}

type foundAt struct {
	table *place // of the shape, which is frozen
	at    int    // -1: it has no such name
}

// again returns the place of the name in an ad without parents if it was found
// there before, -1 if it was missed before; else unknown, and search tells.
func (f *finder) again(ad *Ad) int {
	if m := f.memo.Load(); m != nil && ad.shape != nil && m.table == unsafe.SliceData(ad.shape.table) && (m.at >= 0 || ad.shape.more == nil && ad.parent == nil) {
		return m.at
	}
	return unknown
}

const unknown = -2

// search returns the ad that has the name, ad or one that it is chained to,
// and the place; -1 when there is none.
func (f *finder) search(ad *Ad) (*Ad, int) {
	for ; ad != nil; ad = ad.parent {
		if ad.shape == nil {
			continue
		}
		if i := f.in(ad.shape); i >= 0 {
			return ad, i
		}
	}
	return nil, -1
}

// in returns the place of the name in a shape, or -1.
func (f *finder) in(s *shape) int {
	m := f.memo.Load()
	if m != nil && m.table == unsafe.SliceData(s.table) {
		if m.at < 0 && s.more != nil {
			return s.findMore(&f.attribute)
		}
		return m.at
	}
	at := s.find(&f.attribute)
	if f.changesMind() {
		s.frozen.Store(true)
		own := at
		if own >= len(s.names) {
			own = -1
		}
		f.memo.Store(&foundAt{unsafe.SliceData(s.table), own})
	}
	return at
}

// changesMind reports whether a miss is worth remembering. Where ads differ
// all the time that costs more than finding the name, so it is done ever more
// rarely; but a memo of an ad that was an exception must not stay for good.
func (f *finder) changesMind() bool {
	n := f.misses.Load() + 1
	f.misses.Store(n) // two at once may count as one
	return n&(n-1) == 0 || n%1024 == 0
}

// Package rowtext writes a row of a small table of the spool as an ad in one line, and reads it. Times
// are milliseconds since 1970 in it, and numbers are not rounded.
package rowtext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairspool/lib/classad"
)

// Attributes is what a row is written to: an ad, or text at once.
type Attributes interface {
	SetString(name, s string)
	SetInt(name string, n int64)
	SetReal(name string, x float64)
}

// Append appends to b the row whose attributes write sets, of which there is one at least: "[ Name = 1 ]".
func Append(b []byte, write func(to Attributes)) []byte {
	t := text{b: b, separator: '['}
	write(&t)
	return append(t.b, " ]"...)
}

// Read returns what read makes of the row that a text is. Read may be called twice. The error says what
// is wrong with a text that is no such row.
func Read[V any](text string, read func(*Row) (V, error)) (V, error) {
	from := plainRows.Get().(*Row)
	defer plainRows.Put(from)
	from.plain, from.names, from.Err = from.plain[:0], 0, nil
	if from.readPlain(text) {
		if v, err := read(from); err == nil && !from.odd() {
			return v, nil
		}
	}
	ad, err := classad.ParseAd(text)
	if err != nil {
		var none V
		return none, err
	}
	return read(&Row{ad: ad, c: &classad.Context{}})
}

// SetTime sets a time that is not zero.
func SetTime(to Attributes, name string, t time.Time) {
	if !t.IsZero() {
		to.SetInt(name, t.UnixMilli())
	}
}

// SetInt sets an integer that is not 0.
func SetInt(to Attributes, name string, n int64) {
	if n != 0 {
		to.SetInt(name, n)
	}
}

// SetReal sets a number that is not 0. That below zero is one.
func SetReal(to Attributes, name string, x float64) {
	if math.Float64bits(x) != 0 {
		to.SetReal(name, x)
	}
}

// SetText sets a text that is not empty.
func SetText(to Attributes, name, text string) {
	if text != "" {
		to.SetString(name, text)
	}
}

// SetSums sets checksums, if there are any, with blanks between.
func SetSums(to Attributes, name string, sums []uint32) {
	var b []byte
	for i, sum := range sums {
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%08x", sum)
	}
	SetText(to, name, string(b))
}

// Sums reads a text that SetSums sets, or an empty one.
func Sums(text string) (sums []uint32, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, " ") {
		sum, err := strconv.ParseUint(one, 16, 32)
		if err != nil || len(one) != 8 || strings.ToLower(one) != one {
			return nil, fmt.Errorf("%.20q: not a checksum", one)
		}
		sums = append(sums, uint32(sum))
	}
	return sums, nil
}

// SetFlag sets 1 for true.
func SetFlag(to Attributes, name string, set bool) {
	if set {
		to.SetInt(name, 1)
	}
}

// SetList sets a list of words, if there are any, with a blank between two.
func SetList[T any](to Attributes, name string, list []T) {
	if len(list) == 0 {
		return
	}
	var b []byte
	for i, v := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		switch v := any(v).(type) {
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case fmt.Stringer:
			b = append(b, v.String()...)
		default:
			b = fmt.Append(b, v)
		}
	}
	to.SetString(name, string(b))
}

// Row is a row to be read, as an ad or as its plain attributes.
type Row struct {
	ad    *classad.Ad
	c     *classad.Context
	plain []plain // without an ad
	names uint64  // the bits of their names
	// Err is the first error of reading it.
	Err error
}

// Has reports whether the row has an attribute.
func (r *Row) Has(name string) bool {
	return r.find(name) != nil || r.ad != nil && r.ad.Has(name)
}

// Text reads a text, which must be there.
func (r *Row) Text(name string) string {
	var v string
	var ok bool
	if r.ad != nil {
		v, ok = r.ad.EvalString(r.c, name)
	} else if p := r.find(name); p != nil && p.kind == plainText {
		v, ok = p.text, true
	}
	if !ok && r.Err == nil {
		r.Err = fmt.Errorf("%s: missing or no string", name)
	}
	return v
}

// Optional reads a text, empty if it is not there.
func (r *Row) Optional(name string) string {
	if !r.Has(name) {
		return ""
	}
	return r.Text(name)
}

// Int reads an integer, 0 if it is not there.
func (r *Row) Int(name string) int64 {
	v, _ := r.integer(name)
	return v
}

// integer reads an integer, and reports whether there is one.
func (r *Row) integer(name string) (v int64, ok bool) {
	if p := r.find(name); p != nil {
		v, ok = p.integer()
	} else if r.ad == nil || !r.ad.Has(name) {
		return 0, false
	} else {
		v, ok = r.ad.EvalInt(r.c, name)
	}
	if !ok && r.Err == nil {
		r.Err = fmt.Errorf("%s: no integer", name)
	}
	return v, ok
}

// Real reads a number, 0 if it is not there.
func (r *Row) Real(name string) (v float64) {
	var ok bool
	if p := r.find(name); p != nil {
		v, ok = p.number()
	} else if r.ad == nil || !r.ad.Has(name) {
		return 0
	} else {
		v, ok = r.ad.EvalNumber(r.c, name)
	}
	if !ok && r.Err == nil {
		r.Err = fmt.Errorf("%s: no number", name)
	}
	return v
}

// Time reads a time, zero if it is not there.
func (r *Row) Time(name string) time.Time {
	ms, ok := r.integer(name)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Flag reports whether a number is there that is not 0.
func (r *Row) Flag(name string) bool { return r.Int(name) != 0 }

// List reads a list of words, which may be missing.
func List[T any](r *Row, name string, parse func(word string) (T, error)) (list []T) {
	for word := range strings.FieldsSeq(r.Optional(name)) {
		v, err := parse(word)
		r.fail(name, err)
		list = append(list, v)
	}
	return list
}

// Parsed reads what a text says, which must be there.
func Parsed[T any](r *Row, name string, parse func(text string) (T, error)) T {
	v, err := parse(r.Text(name))
	r.fail(name, err)
	return v
}

// fail notes what is wrong with the value of an attribute.
func (r *Row) fail(name string, err error) {
	if err != nil && r.Err == nil {
		r.Err = fmt.Errorf("%s: %w", name, err)
	}
}

// plain is one attribute of a row as the spool writes almost all of them: a
// text without escapes, or a decimal number.
type plain struct {
	name, text string
	kind       byte // one of those below
	used       bool
}

// The kinds of plain values.
const (
	plainText    = '"'
	plainInteger = 'i'
	plainReal    = 'r'
)

// plainRows are for readers of rows, which are many: the room for the attributes is used again.
var plainRows = sync.Pool{New: func() any { return new(Row) }}

// readPlain reads a row that consists of plain attributes, at a twentieth of the cost of
// reading it as the ad that it is. Of anything else it says so, and the row is to
// be read as an ad.
func (r *Row) readPlain(text string) bool {
	rest, ok := strings.CutPrefix(text, "[ ")
	for ok {
		n := nameIn(rest)
		if n == 0 || !strings.HasPrefix(rest[n:], " = ") {
			return false
		}
		p := plain{name: rest[:n]}
		if rest, ok = p.value(rest[n+3:]); !ok {
			return false
		}
		r.plain, r.names = append(r.plain, p), r.names|bit(p.name)
		if rest == " ]" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, "; ")
	}
	return false
}

// nameIn returns how many letters s begins with.
func nameIn(s string) int {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return i
		}
	}
	return len(s)
}

// bit returns one of 64 bits for a name, which few other names have.
func bit(name string) uint64 {
	n := len(name)
	return 1 << ((uint(n) + 7*uint(name[0]) + 3*uint(name[n-1])) & 63)
}

// value reads a value and returns what follows it.
func (p *plain) value(s string) (rest string, ok bool) {
	if s == "" {
		return "", false
	}
	if s[0] != plainText {
		end := 0
		for end < len(s) && s[end] != ';' && s[end] != ' ' {
			end++
		}
		p.text = s[:end]
		p.kind = numeral(p.text)
		return s[end:], p.kind != 0
	}
	p.kind = plainText
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == plainText:
			p.text = s[1:i]
			return s[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return "", false
		}
	}
	return "", false
}

// numeral returns the kind of a number of at most 18 digits, 0 for what is none.
func numeral(s string) byte {
	kind, digits := byte(plainInteger), 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '-' && i == 0:
		case c == '.' && kind == plainInteger && digits > 0:
			kind = plainReal
		default:
			return 0
		}
	}
	if digits == 0 || digits > 18 || s[len(s)-1] == '.' {
		return 0
	}
	// A number in ads does not begin with a needless zero.
	if s = strings.TrimPrefix(s, "-"); len(s) > 1 && s[0] == '0' && s[1] != '.' {
		return 0
	}
	return kind
}

// find returns the attribute with a name, and notes that it was asked for.
func (r *Row) find(name string) *plain {
	if r.names&bit(name) == 0 {
		return nil
	}
	for i := range r.plain {
		if p := &r.plain[i]; p.name == name {
			p.used = true
			return p
		}
	}
	return nil
}

// odd reports whether a plain row has to be read as an ad after all: something was not
// of its kind, or some name was not asked for, since it is unknown, stands there
// twice, or is spelled otherwise.
func (r *Row) odd() bool {
	for _, p := range r.plain {
		if !p.used {
			return true
		}
	}
	return r.Err != nil
}

func (p *plain) integer() (int64, bool) {
	if p.kind != plainInteger {
		return 0, false
	}
	n, err := strconv.ParseInt(p.text, 10, 64)
	return n, err == nil
}

func (p *plain) number() (float64, bool) {
	if p.kind == plainText {
		return 0, false
	}
	x, err := strconv.ParseFloat(p.text, 64)
	return x, err == nil
}

// text writes attributes of usual names in the order in which they are set.
type text struct {
	b         []byte
	separator byte
}

func (t *text) name(name string) {
	t.b = append(append(append(t.b, t.separator, ' '), name...), " = "...)
	t.separator = ';'
}

func (t *text) SetInt(name string, n int64) {
	t.name(name)
	t.b = strconv.AppendInt(t.b, n, 10)
}

func (t *text) SetReal(name string, x float64) {
	t.name(name)
	t.b = classad.Literal(classad.Real(x)).AppendTo(t.b, classad.StyleSpool)
}

func (t *text) SetString(name, s string) {
	t.name(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == plainText {
			t.b = classad.Literal(classad.String(s)).AppendTo(t.b, classad.StyleSpool)
			return
		}
	}
	t.b = append(append(append(t.b, plainText), s...), plainText)
}

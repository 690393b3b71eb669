package spool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"unicode/utf8"

	"fairspool/lib/classad"
)

// A dump is ads in long form, a blank line behind each. The first line of an ad
// is its MyType, and what follows are words of the dump's own in a fixed order.
// An ad with the word Attributes, last, is the heading of the ad behind it,
// which has so many attributes and nothing of ours, so that no attribute can be
// taken for a word; with none, it is not there.
//
//	MyType = "Cluster"
//	Cluster = 12
//	Attributes = 2
//
//	Cmd = "/bin/echo"
//	Odd1 = "Environment = \"two%5Cnlines\""
//
//	MyType = "Procs"
//	Cluster = 12
//	First = 0
//	Last = 999
//	Seq = 42
//	Attributes = 0
//
// Texts of ours have \" for a quote and %XX for a percent sign, a backslash and
// bytes that are no character or none that prints.
//
// Attributes are written so that whoever reads the long form gets the same ad.
// What it cannot hold stands as text in an attribute Odd1, Odd2...: the
// line that the journal would have. So does an attribute that is itself
// called that.

// dumpedAd is how many bytes an ad of a dump may have. (Other readers of the
// long form take 64 MB.)
const dumpedAd = 256 << 20

const hexDigits = "0123456789ABCDEF"

// appendText writes a text of ours.
func appendText(b []byte, s string) []byte {
	valid := utf8.ValidString(s)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			b = append(b, '\\', '"')
		case c == '%' || c == '\\' || c < ' ' || c == 0x7f || c >= 0x80 && !valid:
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// parseText is the inverse of appendText; it returns what follows the text.
func parseText(b []byte) (s string, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		return "", nil, fmt.Errorf("%.80q: not a text", b)
	}
	var text []byte // not as long as b, of which a list may make many
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return string(text), b[i+1:], nil
		case c == '\\' && i+1 < len(b) && b[i+1] == '"':
			text = append(text, '"')
			i++
		case c == '%' && i+2 < len(b):
			n, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8)
			if err != nil {
				return "", nil, fmt.Errorf("%.80q: %w", b, err)
			}
			text = append(text, byte(n))
			i += 2
		default:
			text = append(text, c)
		}
	}
	return "", nil, fmt.Errorf("%.80q: a text without an end", b)
}

// appendTexts writes a list of texts.
func appendTexts(b []byte, list []string) []byte {
	b = append(b, '{')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, ' '), s)
	}
	return append(b, " }"...)
}

// parseTexts is the inverse of appendTexts.
func parseTexts(b []byte) (list []string, err error) {
	b, ok := bytes.CutPrefix(b, []byte("{ "))
	for ok && !bytes.Equal(b, []byte("}")) {
		var s string
		if s, b, err = parseText(b); err != nil {
			return nil, err
		}
		list = append(list, s)
		if b, ok = bytes.CutPrefix(b, []byte(", ")); !ok {
			b, ok = bytes.CutPrefix(b, []byte(" "))
			ok = ok && bytes.Equal(b, []byte("}"))
		}
	}
	if !ok {
		return nil, errors.New("not a list of texts")
	}
	return list, nil
}

// appendDumped writes a line "Name = expression" of the journal as an attribute
// of the long form, and tells whether it could.
func appendDumped(b, line []byte) ([]byte, bool) {
	if !prints(line) || !ordinary(line) {
		return b, false
	}
	if sameInBoth(line) {
		return append(b, line...), true
	}
	name, text, _ := bytes.Cut(line, []byte(" = "))
	e, err := classad.ParseExpr(string(text))
	if err != nil {
		return b, false
	}
	start := len(b)
	b = append(append(b, name...), " = "...)
	b = e.AppendTo(b, classad.StyleOld)
	if back, err := undumped(nil, b[start:]); err != nil || !bytes.Equal(back, line) || !prints(b[start:]) {
		return b[:start], false
	}
	return b, true
}

// undumped appends the journal's line for an attribute of the long form.
func undumped(b, line []byte) ([]byte, error) {
	if !ordinary(line) {
		return b, fmt.Errorf("%.80q: not an attribute", line)
	}
	if sameInBoth(line) {
		return append(b, line...), nil
	}
	name, text, _ := bytes.Cut(line, []byte(" = "))
	e, err := classad.ParseLongExpr(string(text))
	if err != nil {
		return b, err
	}
	return e.AppendTo(append(append(b, name...), " = "...), classad.StyleSpool), nil
}

// prints reports whether a line is text that a terminal can show.
func prints(line []byte) bool {
	for _, c := range line {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(line)
}

// ordinary reports whether a line begins with a name that needs no quotes and
// is none of ours, and an equals sign.
func ordinary(line []byte) bool {
	n := 0
	for n < len(line) && nameByte(line[n], n) {
		n++
	}
	return n > 0 && bytes.HasPrefix(line[n:], []byte(" = ")) && len(line) > n+3 && !isOdd(line[:n])
}

func nameByte(c byte, at int) bool {
	letter := c | 0x20
	return letter >= 'a' && letter <= 'z' || c == '_' || at > 0 && c >= '0' && c <= '9'
}

// isOdd reports whether a name is Odd and a number.
func isOdd(name []byte) bool {
	if len(name) < 4 || !bytes.EqualFold(name[:3], []byte("Odd")) {
		return false
	}
	for _, c := range name[3:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// sameInBoth reports whether the journal and the long form read the same from a
// line: strings differ in what a backslash means, save before a quote.
func sameInBoth(line []byte) bool {
	for {
		i := bytes.IndexByte(line, '\\')
		if i < 0 {
			return true
		}
		if i+1 == len(line) || line[i+1] != '"' {
			return false
		}
		line = line[i+2:]
	}
}

// adWriter writes the ads of a dump.
type adWriter struct {
	to   io.Writer
	b    []byte // not written yet
	from int    // where in b the ad begins
	sum  uint32 // of what was written, up to the ad
	ads  int
	odd  int // attributes of the ad
}

// dumpBuffer is how much of a dump is written or read at a time.
const dumpBuffer = 1 << 20

// begin begins an ad of ours.
func (w *adWriter) begin(kind string) { w.text("MyType", kind) }

func (w *adWriter) text(name, s string) {
	w.b = append(appendText(append(append(w.b, name...), " = "...), s), '\n')
}

func (w *adWriter) texts(name string, list []string) {
	w.b = append(appendTexts(append(append(w.b, name...), " = "...), list), '\n')
}

func (w *adWriter) number(name string, n int64) {
	w.b = append(strconv.AppendInt(append(append(w.b, name...), " = "...), n, 10), '\n')
}

// attribute writes a line "Name = expression" of the journal.
func (w *adWriter) attribute(line []byte) {
	b, ok := appendDumped(w.b, line)
	if !ok {
		w.odd++
		b = appendText(fmt.Appendf(b, "Odd%d = ", w.odd), string(line))
	}
	w.b = append(b, '\n')
}

// end ends an ad.
func (w *adWriter) end() error {
	w.b = append(w.b, '\n')
	if n := len(w.b) - w.from; n > dumpedAd {
		return fmt.Errorf("an ad of %d bytes: a dump holds ads of up to %d", n, dumpedAd)
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.b[w.from:])
	w.from, w.odd = len(w.b), 0
	w.ads++
	if len(w.b) < dumpBuffer {
		return nil
	}
	return w.flush()
}

func (w *adWriter) flush() error {
	_, err := w.to.Write(w.b)
	w.b, w.from = w.b[:0], 0
	if err != nil {
		return &unwritten{err}
	}
	return nil
}

// unwritten is an error of what a dump is written to, which says nothing about
// the spool.
type unwritten struct{ error }

func (u *unwritten) Unwrap() error { return u.error }

// attributes ends a heading and writes the ad that it is the heading of.
func (w *adWriter) attributes(lines [][]byte) error {
	w.number("Attributes", int64(len(lines)))
	if err := w.end(); err != nil || len(lines) == 0 {
		return err
	}
	for _, line := range lines {
		w.attribute(line)
	}
	return w.end()
}

// row writes a row of a small table, whose attributes are all ours.
func (w *adWriter) row(kind string, ad *classad.Ad) error {
	w.begin(kind)
	for _, name := range ad.OwnNames() {
		e, _ := ad.Lookup(name)
		w.attribute(appendAttribute(nil, name, e)[1:])
	}
	return w.end()
}

// adReader reads the ads of a dump.
type adReader struct {
	in     *lineReader
	ad     lines
	line   int    // where the ad begins
	ads    int    // this one too
	before uint32 // the checksum of all before the ad
}

var errNotWhole = errors.New("the dump ends in the middle of an ad: it is not whole")

// notWhole is what an end means where something is missing.
func notWhole(err error) error {
	if errors.Is(err, io.EOF) {
		return errNotWhole
	}
	return err
}

// next reads an ad; io.EOF at the end.
func (r *adReader) next() error {
	r.ad.clear()
	r.line, r.before = r.in.n+1, r.in.sum
	for {
		line, err := r.in.next()
		switch {
		case err != nil && len(r.ad.ends) == 0:
			return err
		case err != nil:
			return notWhole(err)
		case r.in.torn:
			return errNotWhole
		case len(line) == 0 && len(r.ad.ends) == 0:
			return errors.New("an ad is missing here")
		case len(line) == 0:
			r.ads++
			return nil
		case len(r.ad.all)+len(line) > dumpedAd:
			return fmt.Errorf("an ad of more than %d bytes", dumpedAd)
		}
		r.ad.add(line)
	}
}

// words are the lines of an ad of ours, which are read one after the other.
type words struct {
	lines [][]byte
	err   error // the first
}

// value returns the text behind a name, which the next line must begin with.
func (w *words) value(name string) []byte {
	if w.err != nil {
		return nil
	}
	if len(w.lines) > 0 {
		line := w.lines[0]
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if rest, ok = bytes.CutPrefix(rest, []byte(" = ")); ok {
				w.lines = w.lines[1:]
				return rest
			}
		}
		w.err = fmt.Errorf("%s is expected, and here is %.80q", name, line)
		return nil
	}
	w.err = fmt.Errorf("%s is missing", name)
	return nil
}

// next reports whether the next line is that of a name.
func (w *words) next(name string) bool {
	return w.err == nil && len(w.lines) > 0 && bytes.HasPrefix(w.lines[0], []byte(name+" = "))
}

func (w *words) fail(name string, err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (w *words) text(name string) string {
	b := w.value(name)
	if w.err != nil {
		return ""
	}
	s, rest, err := parseText(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%.80q: more than a text", b)
	}
	w.fail(name, err)
	return s
}

func (w *words) texts(name string) []string {
	b := w.value(name)
	if w.err != nil {
		return nil
	}
	list, err := parseTexts(b)
	w.fail(name, err)
	return list
}

// number reads an integer that lies between two.
func (w *words) number(name string, least, most int64) int64 {
	b := w.value(name)
	if w.err != nil {
		return least
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err == nil && (n < least || n > most) {
		err = fmt.Errorf("%d: not between %d and %d", n, least, most)
	}
	w.fail(name, err)
	if err != nil {
		return least
	}
	return n
}

// rest returns the lines that were not read.
func (w *words) rest() [][]byte { return w.lines }

// end reports the first error, or what is too much.
func (w *words) end() error {
	if w.err == nil && len(w.lines) > 0 {
		w.err = fmt.Errorf("%.80q: not expected here", w.lines[0])
	}
	return w.err
}

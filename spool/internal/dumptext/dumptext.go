// Package dumptext is the text of a dump of a spool: ads that are written and read one behind the other.
//
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
// Attributes are written so that a reader of the long form gets the same ad. What it
// cannot hold stands as text in an attribute Odd1, Odd2...: the line that the journal
// would have. So does an attribute that is itself called that.
package dumptext

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"fairspool/lib/classad"
)

// castagnoli is the CRC polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// LineReader reads lines and sums them up.
type LineReader struct {
	From *bufio.Reader
	Sum  uint32 // CRC-32C of what was read
	N    int    // lines
	torn bool   // the last line read has no newline
	long []byte // a line that the buffer has no room for
}

// NewLineReader returns one of the lines of r.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{From: bufio.NewReaderSize(r, 64<<10)}
}

// Next returns a line without its newline, until the next call; io.EOF at the
// end.
func (r *LineReader) Next() ([]byte, error) {
	line, err := r.piece()
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if line, err = r.piece(); len(r.long)+len(line) > MostBytes {
				return nil, fmt.Errorf("a line longer than %d bytes", MostBytes)
			}
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	r.N++
	line, whole := bytes.CutSuffix(line, []byte("\n"))
	r.torn = !whole
	return line, nil
}

func (r *LineReader) piece() ([]byte, error) {
	b, err := r.From.ReadSlice('\n')
	r.Sum = crc32.Update(r.Sum, castagnoli, b)
	return b, err
}

// Lines collects lines that a reader does not keep.
type Lines struct {
	All  []byte // without newlines
	ends []int
}

// Add adds a copy of a line.
func (l *Lines) Add(line []byte) {
	l.All = append(l.All, line...)
	l.ends = append(l.ends, len(l.All))
}

// Clear forgets the lines.
func (l *Lines) Clear() { l.All, l.ends = l.All[:0], l.ends[:0] }

// Split returns the lines, until more are added.
func (l *Lines) Split() [][]byte {
	list := make([][]byte, len(l.ends))
	from := 0
	for i, end := range l.ends {
		list[i] = l.All[from:end]
		from = end
	}
	return list
}

// MostBytes is how many bytes an ad of a dump may have. (Other readers of the
// long form take 64 MB.)
const MostBytes = 256 << 20

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

// AppendTexts writes a list of texts.
func AppendTexts(b []byte, list []string) []byte {
	b = append(b, '{')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, ' '), s)
	}
	return append(b, " }"...)
}

// ParseTexts is the inverse of AppendTexts.
func ParseTexts(b []byte) (list []string, err error) {
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
// of the long form, and reports whether it could.
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
// line: strings differ in what a backslash means, except before a quote.
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

// Writer writes the ads of a dump.
type Writer struct {
	To   io.Writer
	b    []byte // not written yet
	from int    // where in b the ad begins
	Sum  uint32 // of what was written, up to the ad
	Ads  int    // written
	odd  int    // attributes of the ad
}

// Buffer is how much of a dump is written or read at a time.
const Buffer = 1 << 20

// Begin begins an ad of ours.
func (w *Writer) Begin(kind string) { w.Text("MyType", kind) }

// Text writes a word that is a text.
func (w *Writer) Text(name, s string) {
	w.b = append(appendText(append(append(w.b, name...), " = "...), s), '\n')
}

// Texts writes a word that is a list of texts.
func (w *Writer) Texts(name string, list []string) {
	w.b = append(AppendTexts(append(append(w.b, name...), " = "...), list), '\n')
}

// Number writes a word that is a number.
func (w *Writer) Number(name string, n int64) {
	w.b = append(strconv.AppendInt(append(append(w.b, name...), " = "...), n, 10), '\n')
}

// Attribute writes a line "Name = expression" of the journal.
func (w *Writer) Attribute(line []byte) {
	b, ok := appendDumped(w.b, line)
	if !ok {
		w.odd++
		b = appendText(fmt.Appendf(b, "Odd%d = ", w.odd), string(line))
	}
	w.b = append(b, '\n')
}

// End ends an ad.
func (w *Writer) End() error {
	w.b = append(w.b, '\n')
	if n := len(w.b) - w.from; n > MostBytes {
		return fmt.Errorf("an ad of %d bytes: a dump holds ads of up to %d", n, MostBytes)
	}
	w.Sum = crc32.Update(w.Sum, castagnoli, w.b[w.from:])
	w.from, w.odd = len(w.b), 0
	w.Ads++
	if len(w.b) < Buffer {
		return nil
	}
	return w.Flush()
}

// Flush writes what is not written yet. Its error is an *Unwritten.
func (w *Writer) Flush() error {
	_, err := w.To.Write(w.b)
	w.b, w.from = w.b[:0], 0
	if err != nil {
		return &Unwritten{err}
	}
	return nil
}

// Unwritten is an error of what a dump is written to, which says nothing about
// the spool.
type Unwritten struct{ Err error }

func (u *Unwritten) Error() string { return u.Err.Error() }
func (u *Unwritten) Unwrap() error { return u.Err }

// Attributes ends a heading and writes the ad that it is the heading of.
func (w *Writer) Attributes(lines [][]byte) error {
	w.Number("Attributes", int64(len(lines)))
	if err := w.End(); err != nil || len(lines) == 0 {
		return err
	}
	for _, line := range lines {
		w.Attribute(line)
	}
	return w.End()
}

// Reader reads the ads of a dump.
type Reader struct {
	In     *LineReader
	Ad     Lines
	Line   int    // where the ad begins
	Ads    int    // this one too
	Before uint32 // the checksum of all before the ad
}

var errNotWhole = errors.New("the dump ends in the middle of an ad: it is not whole")

// NotWhole is what an end means where something is missing.
func NotWhole(err error) error {
	if errors.Is(err, io.EOF) {
		return errNotWhole
	}
	return err
}

// Next reads an ad; io.EOF at the end.
func (r *Reader) Next() error {
	r.Ad.Clear()
	r.Line, r.Before = r.In.N+1, r.In.Sum
	for {
		line, err := r.In.Next()
		switch {
		case err != nil && len(r.Ad.ends) == 0:
			return err
		case err != nil:
			return NotWhole(err)
		case r.In.torn:
			return errNotWhole
		case len(line) == 0 && len(r.Ad.ends) == 0:
			return errors.New("an ad is missing here")
		case len(line) == 0:
			r.Ads++
			return nil
		case len(r.Ad.All)+len(line) > MostBytes:
			return fmt.Errorf("an ad of more than %d bytes", MostBytes)
		}
		r.Ad.Add(line)
	}
}

// Words are the lines of an ad of ours, which are read one after the other.
type Words struct {
	Lines [][]byte // that are not read yet
	Err   error    // the first
}

// value returns the text behind a name, which the next line must begin with.
func (w *Words) value(name string) []byte {
	if w.Err != nil {
		return nil
	}
	if len(w.Lines) > 0 {
		line := w.Lines[0]
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if rest, ok = bytes.CutPrefix(rest, []byte(" = ")); ok {
				w.Lines = w.Lines[1:]
				return rest
			}
		}
		w.Err = fmt.Errorf("%s is expected, and here is %.80q", name, line)
		return nil
	}
	w.Err = fmt.Errorf("%s is missing", name)
	return nil
}

// Next reports whether the next line is that of a name.
func (w *Words) Next(name string) bool {
	return w.Err == nil && len(w.Lines) > 0 && bytes.HasPrefix(w.Lines[0], []byte(name+" = "))
}

func (w *Words) fail(name string, err error) {
	if w.Err == nil && err != nil {
		w.Err = fmt.Errorf("%s: %w", name, err)
	}
}

// Text reads a text.
func (w *Words) Text(name string) string {
	b := w.value(name)
	if w.Err != nil {
		return ""
	}
	s, rest, err := parseText(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%.80q: more than a text", b)
	}
	w.fail(name, err)
	return s
}

// Texts reads a list of texts.
func (w *Words) Texts(name string) []string {
	b := w.value(name)
	if w.Err != nil {
		return nil
	}
	list, err := ParseTexts(b)
	w.fail(name, err)
	return list
}

// Number reads an integer that lies between two.
func (w *Words) Number(name string, least, most int64) int64 {
	b := w.value(name)
	if w.Err != nil {
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

// End reports the first error, or what is too much.
func (w *Words) End() error {
	if w.Err == nil && len(w.Lines) > 0 {
		w.Err = fmt.Errorf("%.80q: not expected here", w.Lines[0])
	}
	return w.Err
}

// AppendAttribute appends the line "Name = expression" of the journal for an
// attribute of the dump.
func AppendAttribute(b, line []byte) ([]byte, error) {
	name, text, ok := bytes.Cut(line, []byte(" = "))
	if !ok || !isOdd(name) {
		return undumped(b, line)
	}
	odd, rest, err := parseText(text)
	if err == nil && (len(rest) > 0 || odd == "" || strings.Contains(odd, "\n")) {
		err = fmt.Errorf("%.80q: not the text of an attribute", line)
	}
	return append(b, odd...), err
}

package classad

import (
	"bufio"
	"bytes"
	"errors"
	"fairspool/lib/caseless"
	"fairspool/lib/classad/internal/recenttext"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Reader reads a stream of ads. The first byte that is not blank tells the form: "[" begins new-form ads, or JSON if a "{" or a "]" alone
// follows; "{" begins JSON, "<" XML, everything else is the long form. SetForm sets it beforehand.
//
// A bad ad is a *SyntaxError, and the next call goes on after its presumed end: in the long form behind the next blank line, in the new
// form at the next line that begins with "[".
//
// In the long form, ads stand between blank lines. Lines that begin with # are comments, and so are the headings "-- Schedd: ..." of
// condor_q; a line of three stars and more, as in history files, separates ads like a blank line. An expression that is not complete at
// the end of its line goes on in the next line if that is indented. A bad line makes its whole ad an error. A NUL byte makes an ad an
// error wherever it stands, except in a comment between long-form lines.
//
// Equal names and expressions of the ads share memory, see Intern. New-form, JSON and XML ads are returned as soon as their end is read,
// long-form ones with the blank line or the end of the stream behind them.
type Reader struct {
	r      *bufio.Reader
	file   string
	form   Form
	line   int // of the line read last
	start  int // of the ad returned last
	intern *Interner
	texts  recenttext.Texts
	begun  bool
	blanks int // of the first line, read already

	ads   builder
	long  longForm
	new   newForm
	other stream // of JSON and XML
}

// NewReader returns a Reader of r. The file's name is for messages only. The
// first error of r ends the stream, io.EOF too: r is not read any more.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{r: bufio.NewReaderSize(&source{r: r}, 64<<10), file: file}
}

// source is the reader that a Reader reads from, with its first error for ever:
// what comes behind a gap must not be taken for what goes on.
type source struct {
	r   io.Reader
	err error
}

// Read reads something or returns an error.
func (s *source) Read(b []byte) (n int, err error) {
	for range maxIdleReads {
		if s.err != nil {
			return 0, s.err
		}
		n, s.err = s.r.Read(b)
		if n > 0 || len(b) == 0 {
			return n, s.err
		}
	}
	if s.err == nil {
		s.err = io.ErrNoProgress
	}
	return 0, s.err
}

// maxIdleReads is how often a reader may return nothing and no error.
const maxIdleReads = 100

// Intern makes later ads share equal expressions and names with those of other Readers with the same Interner. A nil one changes nothing.
func (r *Reader) Intern(i *Interner) {
	if i == nil {
		return
	}
	r.intern = i
	if r.other != nil {
		r.other.share(i)
	}
}

// SetForm says which form the stream has. It is called before the first Next.
func (r *Reader) SetForm(f Form) { r.form = f }

// Line returns the line, from 1, on which the ad last returned began. With an error it is where the bad ad began.
func (r *Reader) Line() int {
	if r.other != nil {
		return r.other.start()
	}
	return r.start
}

// Next returns the next ad. It returns io.EOF at the end, a *SyntaxError for an ad that is not one or is larger than 64 MB, and errors of
// the underlying reader as they are, again and again. An ad that such an error cuts off is lost.
func (r *Reader) Next() (*Ad, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	switch {
	case r.other != nil:
		return r.other.next()
	case r.form == FormNew:
		return r.nextNew()
	}
	return r.nextLong()
}

// byteOrderMark is what some editors put before UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// begin looks at the first bytes that are not blank.
func (r *Reader) begin() error {
	if r.intern == nil {
		r.intern = NewInterner()
	}
	if err := r.skipMark(); err != nil {
		return err
	}
	for {
		c, err := r.r.ReadByte()
		switch {
		case err != nil:
			return err
		case c == '\n':
			r.line++
			r.blanks = 0
		case !space(c):
			if err := r.r.UnreadByte(); err != nil {
				return err
			}
			if r.form == FormAuto {
				r.form = r.guess(c)
			}
			r.begun = true
			r.open()
			return nil
		case r.blanks == maxAdText:
			r.blanks, r.start = 0, r.line+1
			return r.tooLong(r.start, 1)
		default:
			r.blanks++
		}
	}
}

// skipMark passes a byte order mark. It waits for no more than the first byte when that begins none.
func (r *Reader) skipMark() error {
	if first, err := r.r.Peek(1); err != nil || first[0] != byteOrderMark[0] {
		return err
	}
	if mark, _ := r.r.Peek(len(byteOrderMark)); string(mark) != byteOrderMark {
		return nil
	}
	_, err := r.r.Discard(len(byteOrderMark))
	return err
}

// guess tells the form by its first byte.
func (r *Reader) guess(first byte) Form {
	switch first {
	case '{':
		return FormJSON
	case '<':
		return FormXML
	case '[':
		return r.guessList()
	}
	return FormLong
}

// guessList tells new-form ads from a JSON array. It reads no more than it must, for what comes later may come much later.
func (r *Reader) guessList() Form {
	const far = 512
	for i := 1; i < far; i++ {
		ahead, err := r.r.Peek(i + 1)
		if err != nil {
			break // which comes again
		}
		switch c := ahead[i]; {
		case c == '{' || c == ']':
			return FormJSON
		case !space(c):
			return FormNew
		}
	}
	return FormNew
}

// open begins a form.
func (r *Reader) open() {
	switch r.form {
	case FormNew:
		r.new.col = r.blanks
		r.line++
	case FormJSON, FormXML:
		r.openOther()
	}
}

// stream is a form that is read by itself.
type stream interface {
	next() (*Ad, error)
	start() int
	share(i *Interner)
}

// openOther begins JSON or XML. The bytes read so far count, so that lines and columns are the file's.
func (r *Reader) openOther() {
	if r.form == FormXML {
		s := newXMLStream(r.r, r.file)
		s.lines, s.blanks = r.line, r.blanks
		r.other = s
	} else {
		s := newJSONStream(r.r, r.file)
		s.line, s.lineAt = r.line+1, -int64(r.blanks)
		r.other = s
	}
	r.other.share(r.intern)
}

// maxAdText is how many bytes the text of one ad may have. Real ads have a few ten thousand; without a limit one hostile ad, or one
// string that never ends, would be read until the memory is full. Tests make it less.
var maxAdText = 64 << 20

const readSize = 64 << 10

var errTooLong = errors.New("an ad of more than 64 MB")

// window reads a stream and holds only the piece of it that is looked at.
type window struct {
	r     io.Reader
	buf   []byte
	at    int   // the next byte, in buf
	keep  int   // the first byte still needed, in buf; -1: the next one
	base  int64 // where in the stream buf begins
	limit int64 // where in the stream the reading must stop; 0: nowhere
	err   error // why there is nothing more to read
}

// offset returns where in the stream the next byte is.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// more reads on. It moves the bytes in buf, so that at and keep are others
// afterwards; false means that nothing was read, see overlong and err.
func (w *window) more() bool {
	if w.err != nil || w.overlong() {
		return false
	}
	w.slide()
	if cap(w.buf)-len(w.buf) < readSize/2 {
		w.buf = slices.Grow(w.buf, max(readSize, len(w.buf)))
	}
	for range maxIdleReads {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf, w.err = w.buf[:len(w.buf)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// slide forgets what is no longer needed.
func (w *window) slide() {
	from := w.keep
	if from < 0 {
		from = w.at
	} else {
		w.keep = 0
	}
	w.base += int64(from)
	w.at -= from
	w.buf = w.buf[:copy(w.buf, w.buf[from:])]
}

// overlong reports whether the limit keeps more from reading.
func (w *window) overlong() bool { return w.limit > 0 && w.base+int64(len(w.buf)) >= w.limit }

// atEnd reports whether the stream is read to its end, or to its error.
func (w *window) atEnd() bool { return w.at >= len(w.buf) && !w.more() }

// peek returns the next byte, 0 at the end and at the limit.
func (w *window) peek() byte {
	if w.at < len(w.buf) || w.more() {
		return w.buf[w.at]
	}
	return 0
}

// ReadByte makes a window what an XML decoder reads from without a buffer of its own.
func (w *window) ReadByte() (byte, error) {
	if w.at >= len(w.buf) && !w.more() {
		if w.err == nil {
			return 0, errTooLong
		}
		return 0, w.err
	}
	c := w.buf[w.at]
	w.at++
	return c, nil
}

// Read is there because a decoder wants an io.Reader. It reads by ReadByte.
func (w *window) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := w.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

const escapedNUL = "an escaped NUL byte: strings have none"

// unescapeJSON appends the first character of a JSON string's text to b, which may be written as an escape. It returns how many bytes of
// text it took, and the problem, if there is one.
func unescapeJSON(b, text []byte) (_ []byte, size int, why string) {
	if text[0] != '\\' {
		return append(b, text[0]), 1, ""
	}
	if len(text) < 2 {
		return b, 1, "a backslash with nothing behind it"
	}
	const letters = "\"\"\\\\//b\bf\fn\nr\rt\t"
	for k := 0; k < len(letters); k += 2 {
		if text[1] == letters[k] {
			return append(b, letters[k+1]), 2, ""
		}
	}
	if text[1] != 'u' {
		return b, 2, "an escape that JSON does not have: " + strconv.Quote(string(text[:2]))
	}
	r, ok := hexRune(text)
	switch {
	case !ok:
		return b, 2, `expected four hexadecimal digits behind \u`
	case r == 0:
		return b, 6, escapedNUL
	case !utf16.IsSurrogate(r):
		return utf8.AppendRune(b, r), 6, ""
	}
	if low, ok := hexRune(text[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return utf8.AppendRune(b, pair), 12, ""
		}
	}
	return utf8.AppendRune(b, utf8.RuneError), 6, "" // half a pair
}

// hexRune reads \u and four hexadecimal digits.
func hexRune(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n := rune(0)
	for _, c := range text[2:6] {
		switch c = caseless.Lower(c); {
		case digit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | rune(c)
	}
	return n, true
}

// unescapeXML resolves the escapes of the new dialect in a string: HTCondor
// writes them in XML too, between <s> and </s>, where quotes need none.
func unescapeXML(text []byte) (out []byte, why string) {
	const letters = "a\ab\bf\fn\nr\rt\tv\v"
	out = make([]byte, 0, len(text))
next:
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) { // a backslash at the end stands for itself
			out = append(out, c)
			continue
		}
		i++
		c = text[i]
		for k := 0; k < len(letters); k += 2 {
			if c == letters[k] {
				out = append(out, letters[k+1])
				continue next
			}
		}
		if '0' <= c && c <= '7' {
			n, size := octalByte(text[i:])
			if n == 0 {
				return nil, escapedNUL
			}
			c = n
			i += size - 1
		}
		out = append(out, c)
	}
	return out, ""
}

// octalByte reads up to three octal digits that make a byte.
func octalByte(text []byte) (n byte, size int) {
	for size < min(3, len(text)) && '0' <= text[size] && text[size] <= '7' && n < 0o40 {
		n = n<<3 | (text[size] - '0')
		size++
	}
	return n, size
}

// xmlChar returns how many bytes the first character of a text takes, which may be a reference, and how many bytes it stands for.
func xmlChar(raw []byte) (size, decoded int) {
	switch {
	case raw[0] == '\r' && len(raw) > 1 && raw[1] == '\n':
		return 1, 0 // the two count as one line break
	case raw[0] != '&':
		return 1, 1
	}
	end := bytes.IndexByte(raw, ';')
	if end < 0 {
		return 1, 1
	}
	if raw[1] != '#' {
		return end + 1, 1 // one of the five
	}
	number, base := string(raw[2:end]), 10
	if hex, ok := strings.CutPrefix(number, "x"); ok {
		number, base = hex, 16
	}
	r, err := strconv.ParseUint(number, base, 31)
	if err != nil {
		return end + 1, 1
	}
	return end + 1, max(utf8.RuneLen(rune(r)), 1)
}

// badExpr notes the error of the expression in <e> at the place where it stands in the file; raw is the text there.
func (s *xmlStream) badExpr(raw []byte, err error) {
	msg := err.Error()
	var se *SyntaxError
	if errors.As(err, &se) {
		msg = se.Msg
		for n := max(se.Col, 1) - 1; n > 0 && len(raw) > 0 && raw[0] != '<'; {
			size, decoded := xmlChar(raw)
			if n -= decoded; n < 0 {
				break
			}
			s.col += size
			if raw[0] == '\n' {
				s.line, s.col = s.line+1, 1
			}
			raw = raw[size:]
		}
	}
	s.spoil(msg)
}

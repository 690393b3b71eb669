package classad

import (
	"bytes"
	"errors"
	"fairspool/lib/caseless"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonStream reads ads from JSON: objects one behind the other with any white space between them, arrays of objects, or a mixture.
//
// true and false become booleans, numbers without point and exponent integers (reals when they are too large), other numbers reals, null
// UNDEFINED, arrays lists and objects nested ads. A string written "\/Expr(TEXT)\/" is the expression TEXT in the new dialect. Only with
// the backslashes before the outer slashes, as HTCondor writes and demands them: a string "/Expr(x)/" in an ad stays a string.
//
// It has a scanner of its own, since that of encoding/json replaces bytes that are not UTF-8, does not say how a string was written, and is
// slower by a multiple; it also cannot go on behind malformed JSON.
type jsonStream struct {
	window
	file   string
	intern *Interner
	ads    builder

	line   int   // of the next byte
	lineAt int64 // where in the stream that line begins
	fresh  bool  // only blanks were seen on the line
	first  int64 // where in the stream the line's first byte is that is not blank

	place   jsonPlace
	adLine  int // where the ad returned last began
	indent  int // the column it began at when it was the first on its line, else 1
	bad     *SyntaxError
	scratch []byte
}

// jsonPlace is what stands around the next ad.
type jsonPlace uint8

const (
	jsonOutside    jsonPlace = iota // in no array
	jsonArrayStart                  // behind [
	jsonBehindAd                    // in an array
	jsonBehindComma
	jsonLost // behind malformed JSON: brackets and commas mean nothing
)

var jsonExpected = [...]string{
	jsonOutside: "{ or [", jsonArrayStart: "{ or ]", jsonBehindAd: "a comma or ]",
	jsonBehindComma: "{", jsonLost: "{",
}

// newJSONStream returns a stream of the ads in r. The file's name is for messages only.
func newJSONStream(r io.Reader, file string) *jsonStream {
	return &jsonStream{
		window: window{r: r, keep: -1}, file: file, intern: NewInterner(),
		line: 1, fresh: true, indent: 1,
	}
}

// share makes the ads to come share what equal ones have that know the same Interner.
func (s *jsonStream) share(i *Interner) { s.intern = i }

// start returns the line, from 1, on which the ad last returned began. With an error it is where the bad ad began.
func (s *jsonStream) start() int { return s.adLine }

// next returns the next ad. It returns io.EOF at the end, a *SyntaxError for an ad that is not one, and errors of the underlying reader as
// they are.
//
// When the JSON itself was malformed, the stream goes on at the next line that begins with { or with a comma and {, and is not indented
// more than the bad ad was. JSON strings have no line breaks, so such a line is not inside a string. What stands before it is lost.
func (s *jsonStream) next() (*Ad, error) {
	s.bad, s.limit = nil, 0
	var ad *Ad
	found := s.seek()
	s.adLine = s.line
	whole := false
	if found {
		s.limit = s.offset() + int64(maxAdText)
		ad, whole = s.outermost()
		s.limit = 0
	}
	switch {
	case s.bad == nil && whole:
		return ad, nil
	case s.bad == nil:
		return nil, s.err // of the reader, io.EOF among them
	case !whole:
		s.resume()
	}
	return nil, s.bad
}

// seek goes to the { of the next ad.
func (s *jsonStream) seek() bool {
	for {
		s.skipBlank()
		if s.atEnd() {
			if s.place != jsonOutside && s.place != jsonLost {
				s.expected(jsonExpected[s.place])
			}
			return false
		}
		switch c, p := s.peek(), s.place; {
		case p == jsonLost && (c == '[' || c == ']' || c == ','):
		case c == '{' && p != jsonBehindAd:
			if p == jsonArrayStart || p == jsonBehindComma {
				s.place = jsonBehindAd
			}
			s.indent = 1
			if s.offset() == s.first {
				s.indent = s.col(s.offset())
			}
			return true
		case c == '[' && p == jsonOutside:
			s.place = jsonArrayStart
		case c == ']' && (p == jsonArrayStart || p == jsonBehindAd):
			s.place = jsonOutside
		case c == ',' && p == jsonBehindAd:
			s.place = jsonBehindComma
		default:
			return s.expected(jsonExpected[p])
		}
		s.at++
	}
}

// resume looks for a line where an ad may begin.
func (s *jsonStream) resume() {
	s.place = jsonLost
	for !s.atEnd() {
		if s.offset() == s.first && s.col(s.first) <= s.indent {
			if s.peek() == ',' {
				s.at++
				s.skipBlank()
			}
			if s.peek() == '{' {
				return
			}
		}
		s.skipLine()
		s.skipBlank()
	}
}

func (s *jsonStream) skipLine() {
	s.keep = -1
	for !s.atEnd() {
		i := bytes.IndexByte(s.buf[s.at:], '\n')
		if i >= 0 {
			s.at += i
			return
		}
		s.at = len(s.buf)
	}
}

// skipBlank passes white space. The next byte begins a token: from here on the window keeps what it reads.
func (s *jsonStream) skipBlank() {
	s.keep = -1
	for {
		for s.at < len(s.buf) {
			switch s.buf[s.at] {
			case ' ', '\t', '\r':
				s.at++
				continue
			case '\n':
				s.at++
				s.line++
				s.lineAt, s.fresh = s.offset(), true
				continue
			}
			if s.fresh {
				s.fresh, s.first = false, s.offset()
			}
			s.keep = s.at
			return
		}
		if !s.more() {
			return
		}
	}
}

// col returns the column of a byte of this line.
func (s *jsonStream) col(offset int64) int { return int(offset-s.lineAt) + 1 }

// spoil notes an error; the first one counts. The JSON may go on.
func (s *jsonStream) spoil(offset int64, msg string) {
	if s.bad == nil {
		s.bad = &SyntaxError{File: s.file, Line: s.line, Col: s.col(offset), Msg: msg}
	}
}

// expected notes that something else must stand here, unless the reader failed. It returns false: the JSON is malformed.
func (s *jsonStream) expected(what string) bool {
	found := s.found()
	switch {
	case s.at < len(s.buf) || errors.Is(s.err, io.EOF):
		s.spoil(s.offset(), "expected "+what+", found "+found)
	case s.overlong():
		s.spoil(s.offset(), errTooLong.Error())
	}
	return false
}

// found describes what stands here.
func (s *jsonStream) found() string {
	if s.atEnd() {
		return "the end of the text"
	}
	if s.peek() == 0 {
		return "a NUL byte"
	}
	const most = 30
	n := -1
	for n < 0 {
		n = bytes.IndexAny(s.buf[s.at:], " \t\r\n,:[]{}\"\x00")
		if n < 0 && (len(s.buf)-s.at > most || !s.more()) {
			n = len(s.buf) - s.at
		}
	}
	text := s.buf[s.at:]
	if n > most {
		return strconv.Quote(string(text[:most]) + "...")
	}
	return strconv.Quote(string(text[:max(n, 1)]))
}

// token goes to the next token and passes it when it is the byte c.
func (s *jsonStream) token(c byte) bool {
	s.skipBlank()
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// outermost reads the object that is an ad in no other one. It returns false when it is malformed.
func (s *jsonStream) outermost() (*Ad, bool) {
	s.ads.begin()
	if !s.object(1, func(name attribute, e *Expr) {
		s.ads.set(name, nil, s.intern.made(e).cell())
	}) {
		return nil, false
	}
	if s.bad != nil {
		return nil, true
	}
	return s.ads.finish(s.intern), true
}

// inner reads an object in another one.
func (s *jsonStream) inner(level int) (*Expr, bool) {
	ad := New()
	whole := s.object(level, func(name attribute, e *Expr) { ad.Set(name.name, e) })
	if !whole || s.bad != nil {
		return nil, whole
	}
	return AdExpr(ad), true
}

// object reads an object. It returns false when it is malformed. The level is how deep the parser would be in the text of such an ad, so
// that whatever is read here can be printed and parsed.
func (s *jsonStream) object(level int, set func(attribute, *Expr)) bool {
	s.at++
	if level > maxNesting {
		return s.tooDeep()
	}
	if s.token('}') {
		return true
	}
	what := "an attribute name in quotes or }"
	for {
		if s.peek() != '"' {
			return s.expected(what)
		}
		raw, escaped, ok := s.quoted()
		if !ok {
			return false
		}
		name := s.intern.name(s.decode(raw, escaped))
		if !s.token(':') {
			return s.expected(": behind the attribute name")
		}
		s.skipBlank()
		e, ok := s.value(level + 3)
		if !ok {
			return false
		}
		if s.bad == nil {
			set(name, e)
		}
		if s.token('}') {
			return true
		}
		if s.peek() != ',' {
			return s.expected("a comma or }")
		}
		s.at++
		s.skipBlank()
		what = "an attribute name in quotes"
	}
}

func (s *jsonStream) tooDeep() bool {
	s.spoil(s.offset(), "the ad is nested too deeply")
	return false
}

// value reads a value. The expression is nil when the ad is spoilt.
func (s *jsonStream) value(level int) (*Expr, bool) {
	if level > maxNesting {
		return nil, s.tooDeep()
	}
	switch c := s.peek(); {
	case c == '"':
		return s.text()
	case c == '-' || digit(c):
		return s.number()
	case c == '[':
		return s.list(level)
	case c == '{':
		return s.inner(level + 1)
	case c == 't':
		return s.word("true", Bool(true))
	case c == 'f':
		return s.word("false", Bool(false))
	case c == 'n':
		return s.word("null", Undefined())
	}
	return nil, s.expected("a value")
}

func (s *jsonStream) list(level int) (*Expr, bool) {
	s.at++
	var items []*Expr
	if s.token(']') {
		return ListExpr(nil), true
	}
	for {
		e, ok := s.value(level + 3)
		if !ok {
			return nil, false
		}
		if s.bad == nil {
			items = append(items, e)
		}
		if s.token(']') {
			break
		}
		if s.peek() != ',' {
			return nil, s.expected("a comma or ]")
		}
		s.at++
		s.skipBlank()
	}
	if s.bad != nil {
		return nil, true
	}
	return ListExpr(items), true
}

func (s *jsonStream) word(word string, v Value) (*Expr, bool) {
	for i := range len(word) {
		if s.peek() != word[i] {
			s.at = s.keep
			return nil, s.expected("a value")
		}
		s.at++
	}
	return Literal(v), true
}

// number reads a number. An integer that is too large becomes a real.
func (s *jsonStream) number() (*Expr, bool) {
	if s.peek() == '-' {
		s.at++
	}
	integer := true
	switch c := s.peek(); {
	case c == '0':
		s.at++
	case !s.digits():
		return nil, s.expected("a digit")
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return nil, s.expected("a digit behind the point")
		}
		integer = false
	}
	if caseless.Lower(s.peek()) == 'e' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return nil, s.expected("a digit of the exponent")
		}
		integer = false
	}
	raw := s.buf[s.keep:s.at]
	if integer {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return Literal(Int(n)), true
		}
	}
	x, _ := strconv.ParseFloat(string(raw), 64) // out of range gives an infinity, as in expressions
	return Literal(Real(x)), true
}

// digits passes digits and reports whether there were any.
func (s *jsonStream) digits() bool {
	some := false
	for digit(s.peek()) {
		s.at++
		some = true
	}
	return some
}

// text reads a string, or the expression in it.
func (s *jsonStream) text() (*Expr, bool) {
	raw, escaped, ok := s.quoted()
	if !ok {
		return nil, false
	}
	text := s.decode(raw, escaped)
	if s.bad != nil {
		return nil, true
	}
	if !escaped || !bytes.HasPrefix(raw, []byte(`\/`)) || !bytes.HasSuffix(raw, []byte(`\/`)) {
		return Literal(String(string(text))), true
	}
	expr, isExpr := strings.CutSuffix(string(text), ")/")
	if !isExpr || len(expr) < len("/Expr(") || !caseless.Equal(expr[:len("/Expr(")], "/Expr(") {
		return Literal(String(string(text))), true
	}
	e, err := s.intern.Expr(expr[len("/Expr("):])
	if err != nil {
		s.badExpr(raw, err)
		return nil, true
	}
	return e, true
}

// badExpr notes the error of the expression in a string at the place where it stands in the file.
func (s *jsonStream) badExpr(raw []byte, err error) {
	at, msg := s.base+int64(s.keep)+1, err.Error()
	var se *SyntaxError
	if errors.As(err, &se) {
		msg = se.Msg
		at += int64(rawIndex(raw, len("/Expr(")+max(se.Col, 1)-1))
	}
	s.spoil(at, msg)
}

// rawIndex returns where in the text of a string its decoded byte n stands.
func rawIndex(raw []byte, n int) int {
	var buf [utf8.UTFMax]byte
	i := 0
	for decoded := 0; i < len(raw) && decoded < n; {
		b, size, _ := unescapeJSON(buf[:0], raw[i:])
		decoded += len(b)
		if decoded > n {
			break
		}
		i += size
	}
	return i
}

// quoted passes a string and returns what stands between its quotes, which is good until more is read, and whether there is an escape in
// it.
func (s *jsonStream) quoted() (raw []byte, escaped, ok bool) {
	s.at++
	for {
		for s.at < len(s.buf) {
			c := s.buf[s.at]
			switch {
			case c == '"':
				raw = s.buf[s.keep+1 : s.at]
				s.at++
				return raw, escaped, true
			case c < ' ':
				s.spoil(s.offset(), "expected the closing quote of the string, found "+controlName(c))
				return nil, false, false
			case c == '\\':
				escaped = true
				s.at++
				if c := s.peek(); c < ' ' {
					continue // the same complaint, or the end of the text
				}
			}
			s.at++
		}
		if !s.more() {
			return nil, false, s.expected("the closing quote of the string")
		}
	}
}

func controlName(c byte) string {
	switch c {
	case 0:
		return "a NUL byte"
	case '\n':
		return "the end of the line"
	}
	return "the control character " + strconv.Quote(string(rune(c)))
}

// decode resolves the escapes of a string. The result is good until the next call or until more is read.
func (s *jsonStream) decode(raw []byte, escaped bool) []byte {
	if !escaped {
		return raw
	}
	out := s.scratch[:0]
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			out = append(out, raw[i:]...)
			break
		}
		out = append(out, raw[i:i+n]...)
		i += n
		b, size, why := unescapeJSON(out, raw[i:])
		if why != "" {
			s.spoil(s.base+int64(s.keep+1+i), why)
		}
		out = b
		i += size
	}
	s.scratch = out
	return out
}

package classad

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// jsonStream reads ads from JSON: objects one behind the other with any white
// space between them, arrays of objects, or a mixture.
//
// true and false become booleans, numbers without point and exponent integers
// (reals when they are too large), other numbers reals, null UNDEFINED, arrays
// lists and objects nested ads. A string written "\/Expr(TEXT)\/" is the
// expression TEXT in the new dialect. Only with the backslashes before the
// outer slashes, as HTCondor writes and demands them: a string "/Expr(x)/" that
// somebody put into an ad stays a string.
//
// It has a scanner of its own, since that of encoding/json replaces bytes that
// are not UTF-8, does not say how a string was written, and is slower by a
// multiple; it also cannot go on behind malformed JSON.
type jsonStream struct {
	window
	file   string
	intern *Interner
	ads    builder

	line   int   // of the next byte
	lineAt int64 // where in the stream that line begins
	fresh  bool  // nothing but blanks was seen on the line
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

// newJSONStream returns a stream of the ads in r. The file's name is for
// messages only.
func newJSONStream(r io.Reader, file string) *jsonStream {
	return &jsonStream{
		window: window{r: r, keep: -1}, file: file, intern: NewInterner(),
		line: 1, fresh: true, indent: 1,
	}
}

// share makes the ads to come share what equal ones have that know the same
// Interner.
func (s *jsonStream) share(i *Interner) { s.intern = i }

// start returns the line, from 1, on which the ad last returned began. With an
// error it is where the bad ad began.
func (s *jsonStream) start() int { return s.adLine }

// next returns the next ad. It returns io.EOF at the end, a *SyntaxError for
// an ad that is not one, and errors of the underlying reader as they are.
//
// When the JSON itself was malformed, the stream goes on at the next line that
// begins with { or with a comma and {, and is not indented more than the bad ad
// was. JSON strings have no line breaks, so such a line is not inside a string.
// What stands before it is lost.
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

// skipBlank passes white space. The next byte begins a token: from here on the
// window keeps what it reads.
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

// spoil notes an error, of which the first one counts. The JSON may go on.
func (s *jsonStream) spoil(offset int64, msg string) {
	if s.bad == nil {
		s.bad = &SyntaxError{File: s.file, Line: s.line, Col: s.col(offset), Msg: msg}
	}
}

// expected notes that something else must stand here, unless the reader failed.
// It returns false: the JSON is malformed.
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

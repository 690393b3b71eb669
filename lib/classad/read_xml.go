package classad

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fairspool/lib/caseless"
	"io"
	"strconv"
	"strings"
)

// xmlStream reads ads from XML as HTCondor's tools write it: <c> elements,
// within <classads> or bare, of one document or of several one behind the
// other.
//
//	<c><a n="Name"><i>1</i></a>...</c>
//
// A value is <i> an integer, <r> a real (INF, -INF and NaN too), <s> a string,
// <b v="t"/> a boolean, <un/> UNDEFINED, <er/> ERROR, <at> and <rt> an absolute
// and a relative time, <e> an expression, <l> a list of values, or a nested
// <c>. The expressions are in the new dialect, and strings have its escapes:
// so they come from HTCondor, and so HTCondor reads them.
//
// The decoder of encoding/xml is strict, and knows only the five entities of XML itself:
// using an entity that a DOCTYPE declares is an error, so no entity can grow. A window
// counts for it, and remembers the text of <e>.
type xmlStream struct {
	window window
	dec    *xml.Decoder
	file   string
	intern *Interner
	ads    builder

	lines, blanks int // before the decoder's input
	line, col     int // where the token read last began
	depth         int // how many elements are open
	adLine        int
	bad           *SyntaxError // of this ad
	end           error        // why the stream has ended
	scratch       []byte
}

// maxOpenElements is how deep elements may nest that mean nothing here. The
// decoder remembers each of them.
const maxOpenElements = 10000

var errNotUTF8 = errors.New("expected UTF-8")

// newXMLStream returns a stream of the ads in r. The file's name is for
// messages only.
func newXMLStream(r io.Reader, file string) *xmlStream {
	s := &xmlStream{window: window{r: r, keep: -1}, file: file, intern: NewInterner()}
	s.dec = xml.NewDecoder(&s.window)
	s.dec.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errNotUTF8 }
	return s
}

// share makes the ads to come share what equal ones have that know the same
// Interner.
func (s *xmlStream) share(i *Interner) { s.intern = i }

// position returns where the decoder is.
func (s *xmlStream) position() (line, col int) {
	line, col = s.dec.InputPos()
	if line == 1 && col > 0 {
		col += s.blanks
	}
	return line + s.lines, col
}

// start returns the line, from 1, on which the ad last returned began. With an
// error it is where the bad ad began.
func (s *xmlStream) start() int { return s.adLine }

// next returns the next ad. It returns io.EOF at the end, a *SyntaxError for
// an ad that is not one, and errors of the underlying reader as they are.
// Malformed XML ends the stream.
func (s *xmlStream) next() (*Ad, error) {
	s.bad = nil
	for s.end == nil {
		s.window.limit = s.window.offset() + int64(maxAdText)
		t, ok := s.token()
		if !ok {
			s.adLine = s.line
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "classads" && s.depth == 1 {
				continue
			}
			s.adLine = s.line
			return s.outermost(t)
		case xml.CharData:
			if !blankBytes(t) {
				s.adLine = s.line
				return nil, s.errorHere("expected <classads> or <c>, found text")
			}
		}
	}
	err := s.end
	if _, malformed := err.(*SyntaxError); malformed {
		s.end = io.EOF
	}
	return nil, err
}

// outermost reads an ad that is in no other. Whatever is wrong in it, what
// comes next is behind it.
func (s *xmlStream) outermost(t xml.StartElement) (*Ad, error) {
	outside := s.depth - 1
	var ad *Ad
	if t.Name.Local == "c" {
		ad = s.whole()
	} else {
		s.spoil("expected <classads> or <c>, found <" + t.Name.Local + ">")
	}
	for s.bad != nil && s.end == nil && s.depth > outside {
		s.token()
	}
	switch {
	case s.bad != nil:
		return nil, s.bad
	case s.end != nil:
		return s.next()
	}
	return ad, nil
}

// token reads a token; false means that the stream has ended.
func (s *xmlStream) token() (xml.Token, bool) {
	s.line, s.col = s.position()
	t, err := s.dec.Token()
	if err != nil {
		s.stop(err)
		return nil, false
	}
	switch t.(type) {
	case xml.StartElement:
		if s.depth++; s.depth > maxOpenElements {
			s.end = s.errorHere("elements are nested too deeply")
			return nil, false
		}
	case xml.EndElement:
		s.depth--
	}
	return t, true
}

// stop ends the stream with an error of the decoder, or of its input.
func (s *xmlStream) stop(err error) {
	if err == io.EOF || s.window.err != nil && !errors.Is(s.window.err, io.EOF) && errors.Is(err, s.window.err) {
		s.end = err
		return
	}
	if line, col := s.position(); col > 0 { // it loses the column when it puts a line break back
		s.line, s.col = line, col
	}
	msg := "malformed XML: " + strings.TrimPrefix(err.Error(), "xml: ")
	var malformed *xml.SyntaxError
	switch {
	case errors.Is(err, errTooLong):
		msg = err.Error()
	case errors.As(err, &malformed):
		msg = "malformed XML: " + malformed.Msg
	}
	s.end = s.errorHere(msg)
}

// errorHere is an error at the token read last. The message may have the names of
// elements in it, which may have any length.
func (s *xmlStream) errorHere(msg string) *SyntaxError {
	if len(msg) > 200 {
		msg = msg[:200] + "..."
	}
	return &SyntaxError{File: s.file, Line: s.line, Col: s.col, Msg: msg}
}

// spoil notes an error of the ad; the first one counts.
func (s *xmlStream) spoil(msg string) {
	if s.bad == nil {
		s.bad = s.errorHere(msg)
	}
}

// part reads the next start or end of an element. Comments and white space do
// not count. It returns nil when the ad is spoilt or the stream has ended.
func (s *xmlStream) part(what string) xml.Token {
	for s.bad == nil {
		t, ok := s.token()
		if !ok {
			break
		}
		switch t := t.(type) {
		case xml.StartElement, xml.EndElement:
			return t
		case xml.CharData:
			if !blankBytes(t) {
				s.spoil("expected " + what + ", found text")
			}
		}
	}
	return nil
}

// whole reads the inside of a <c> that is in no other one, as attributes does.
func (s *xmlStream) whole() *Ad {
	s.ads.begin()
	if !s.attributes(1, func(name attribute, e *Expr) {
		s.ads.set(name, nil, s.intern.made(e).cell())
	}) {
		return nil
	}
	return s.ads.finish(s.intern)
}

// inner reads the inside of a <c> in another one.
func (s *xmlStream) inner(level int) *Expr {
	ad := New()
	if !s.attributes(level, func(name attribute, e *Expr) { ad.Set(name.name, e) }) {
		return nil
	}
	return AdExpr(ad)
}

// attributes reads the inside of <c>, up to its end. The level is how deep the
// parser would be in the text of such an ad. Where false or nil is returned,
// the ad is spoilt or the stream has ended; so it is with all that follows.
func (s *xmlStream) attributes(level int, set func(attribute, *Expr)) bool {
	const what = `<a n="..."> or </c>`
	for {
		switch t := s.part(what).(type) {
		case xml.EndElement:
			return true
		case xml.StartElement:
			name, ok := xmlAttr(t, "n")
			if t.Name.Local != "a" || !ok {
				s.spoil("expected " + what + ", found <" + t.Name.Local + ">")
				return false
			}
			e := s.only(level + 3)
			if e == nil {
				return false
			}
			set(s.intern.name([]byte(name)), e)
		default:
			return false
		}
	}
}

func xmlAttr(t xml.StartElement, name string) (string, bool) {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// only reads the one value in <a> and the end of that.
func (s *xmlStream) only(level int) *Expr {
	switch t := s.part("a value").(type) {
	case xml.StartElement:
		if e := s.value(t, level); e != nil && s.closed("a") {
			return e
		}
	case xml.EndElement:
		s.spoil("expected a value, found </a>")
	}
	return nil
}

// closed reads the end of an element.
func (s *xmlStream) closed(name string) bool {
	switch t := s.part("</" + name + ">").(type) {
	case xml.EndElement:
		return true
	case xml.StartElement:
		s.spoil("expected </" + name + ">, found <" + t.Name.Local + ">")
	}
	return false
}

// value reads the rest of the element that is a value.
func (s *xmlStream) value(t xml.StartElement, level int) *Expr {
	if level > maxNesting {
		s.spoil("the ad is nested too deeply")
		return nil
	}
	name := t.Name.Local
	switch name {
	case "i", "r", "s", "e", "at", "rt":
		return s.worded(name)
	case "l":
		return s.list(level)
	case "c":
		return s.inner(level + 1)
	}
	var v Value
	switch name {
	case "b":
		word, _ := xmlAttr(t, "v")
		b, ok := xmlBool(word)
		if !ok {
			s.spoil("expected v to be t or f in <b>, found " + strconv.Quote(word))
			return nil
		}
		v = Bool(b)
	case "un":
		v = Undefined()
	case "er":
		v = Error()
	default:
		s.spoil("expected a value, found <" + name + ">")
		return nil
	}
	if !s.closed(name) {
		return nil
	}
	return Literal(v)
}

func xmlBool(word string) (b, ok bool) {
	switch caseless.Fold(word) {
	case "t", "true", "1":
		return true, true
	case "f", "false", "0":
		return false, true
	}
	return false, false
}

func (s *xmlStream) list(level int) *Expr {
	var items []*Expr
	for {
		switch t := s.part("a value or </l>").(type) {
		case xml.StartElement:
			e := s.value(t, level+3)
			if e == nil {
				return nil
			}
			items = append(items, e)
		case xml.EndElement:
			return ListExpr(items)
		default:
			return nil
		}
	}
}

// worded reads the text of an element and its end.
func (s *xmlStream) worded(name string) *Expr {
	line, col := s.position()
	s.window.keep = s.window.at
	text, ok := s.text(name)
	raw := s.window.buf[s.window.keep:s.window.at]
	s.window.keep = -1
	if !ok {
		return nil
	}
	s.line, s.col = line, col
	if name == "s" {
		return s.string(text)
	}
	if name == "e" {
		e, err := s.intern.Expr(string(text))
		if err != nil {
			s.badExpr(raw, err)
			return nil
		}
		return e
	}
	return s.scalar(name, string(bytes.TrimSpace(text)))
}

// text reads the text of an element up to its end; it is good until the next
// call.
func (s *xmlStream) text(name string) ([]byte, bool) {
	s.scratch = s.scratch[:0]
	for {
		t, ok := s.token()
		if !ok {
			return nil, false
		}
		switch t := t.(type) {
		case xml.CharData:
			s.scratch = append(s.scratch, t...)
		case xml.EndElement:
			return s.scratch, true
		case xml.StartElement:
			s.spoil("expected text and </" + name + ">, found <" + t.Name.Local + ">")
			return nil, false
		}
	}
}

func (s *xmlStream) string(text []byte) *Expr {
	if bytes.IndexByte(text, '\\') >= 0 {
		plain, why := unescapeXML(text)
		if why != "" {
			s.spoil(why)
			return nil
		}
		text = plain
	}
	return Literal(String(string(text)))
}

// scalar makes a number or a time of a text.
func (s *xmlStream) scalar(name, text string) *Expr {
	var what string
	switch name {
	case "i":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Literal(Int(n))
		}
		what = "an integer of 64 bits in <i>"
	case "r":
		x, err := strconv.ParseFloat(text, 64)
		if (err == nil || errors.Is(err, strconv.ErrRange)) && !strings.ContainsAny(text, "xXpP_") {
			return Literal(Real(x))
		}
		what = "a real number in <r>"
	case "at", "rt":
		f := "absTime("
		if name == "rt" {
			f = "relTime("
		}
		e, err := ParseExpr(f + Quoted(text) + ")")
		if err == nil {
			return e
		}
		what = "a time in <" + name + ">"
	}
	if len(text) > 30 {
		text = text[:30] + "..."
	}
	s.spoil("expected " + what + ", found " + strconv.Quote(text))
	return nil
}

func blankBytes(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

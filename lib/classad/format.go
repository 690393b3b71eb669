package classad

import (
	"bytes"
	"fairspool/lib/caseless"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Style is a way to print expressions and ads.
type Style uint8

const (
	// StyleOld is what tools print and long-form ads are written in: strings are
	// raw, except their quotes, and reals have at most 16 digits.
	StyleOld Style = iota
	// StyleNew has strings with escapes, reals with an exponent, and the words is and isnt.
	StyleNew
	// StyleSpool is for files: always one line, and ParseExpr reads back the identical expression.
	StyleSpool
)

// Format returns the expression as text, with the parentheses of the source.
func (e *Expr) Format(s Style) string { return string(e.AppendTo(nil, s)) }

// AppendTo appends the expression as text to b.
func (e *Expr) AppendTo(b []byte, s Style) []byte {
	if e = e.orUndefined(); e.constant() {
		return appendValue(b, e.lit, s)
	}
	return appendNode(b, e.root, s)
}

// Quoted returns the text of a string literal, which ParseExpr reads back.
func Quoted(text string) string { return Literal(String(text)).Format(StyleSpool) }

// String returns the expression in the old style.
func (e *Expr) String() string { return e.Format(StyleOld) }

func appendNode(b []byte, n node, s Style) []byte {
	switch n := n.(type) {
	case *literal:
		return appendValue(b, n.v, s)
	case *span:
		return appendSpan(b, n.seconds, s)
	case *zoneless:
		return appendZoneless(b, n.seconds, s)
	case *reference:
		return appendName(b, n.name)
	case *absolute:
		return appendSelected(append(b, '.'), n.name, s)
	case *selection:
		b = appendNode(b, n.base, s)
		if _, ok := n.base.(*literal); ok && s == StyleSpool {
			b = append(b, ' ') // 5.a would be a bad number
		}
		return appendSelected(append(b, '.'), n.name, s)
	case *subscript:
		b = append(appendNode(b, n.base, s), '[')
		return append(appendNode(b, n.index, s), ']')
	case *unary:
		return appendUnary(b, n, s)
	case *binary:
		return appendBinary(b, n, s)
	case *conditional:
		b = append(appendNode(b, n.c, s), " ? "...)
		b = append(appendNode(b, n.t, s), " : "...)
		return appendNode(b, n.f, s)
	case *elvis:
		b = append(appendNode(b, n.a, s), " ?: "...)
		return appendNode(b, n.b, s)
	case *paren:
		return append(appendNode(append(b, '('), n.x, s), ')')
	case *call:
		if s == StyleSpool {
			b = append(appendName(b, n.name), '(')
		} else {
			b = append(append(b, n.name...), '(')
		}
		return append(appendNodes(b, n.args, s), ')')
	case *listing:
		return appendList(b, n.items, s)
	case *record:
		return appendAd(b, n.ad, s)
	}
	return b
}

func appendNodes(b []byte, nodes []node, s Style) []byte {
	for i, n := range nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNode(b, n, s)
	}
	return b
}

func appendList(b []byte, items []*Expr, s Style) []byte {
	b = append(b, "{ "...)
	for i, e := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendTo(b, s)
	}
	return append(b, " }"...)
}

func appendUnary(b []byte, n *unary, s Style) []byte {
	if s != StyleSpool {
		b = append(b, ' ')
	}
	b = append(b, opText[n.op]...)
	at := len(b)
	b = appendNode(b, n.x, s)
	if s == StyleSpool && (digit(b[at]) || b[at] == '.') {
		b = slices.Insert(b, at, ' ') // -1 would be a number
	}
	return b
}

func appendBinary(b []byte, n *binary, s Style) []byte {
	b = append(appendNode(b, n.l, s), ' ')
	switch {
	case s == StyleNew && n.op == opIs:
		b = append(b, "is"...)
	case s == StyleNew && n.op == opIsnt:
		b = append(b, "isnt"...)
	default:
		b = append(b, opText[n.op]...)
	}
	return appendNode(append(b, ' '), n.r, s)
}

func appendValue(b []byte, v Value, s Style) []byte {
	switch v.kind {
	case KindError:
		return append(b, "error"...)
	case KindBoolean:
		return strconv.AppendBool(b, v.bits != 0)
	case KindInteger:
		return strconv.AppendInt(b, int64(v.bits), 10)
	case KindReal:
		return appendReal(b, v.real(), s)
	case KindString:
		if s == StyleOld {
			return appendOldString(b, v.text())
		}
		return appendEscaped(b, v.text(), '"', s == StyleSpool && utf8.ValidString(v.text()))
	case KindAbsTime:
		return appendMoment(b, v, s)
	case KindRelTime:
		if s == StyleSpool { // the literal would be read as a real number
			return append(appendReal(append(b, "relTime("...), v.real(), s), ')')
		}
		return appendSpan(b, v.real(), s)
	case KindList:
		return appendList(b, v.scope().items, s)
	case KindClassAd:
		return appendAd(b, v.scope().ad, s)
	}
	return append(b, "undefined"...)
}

func appendReal(b []byte, x float64, s Style) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `real("NaN")`...)
	case math.IsInf(x, 0) && s == StyleSpool:
		// 1e999 is read as the literal INF; real("INF") would be a call.
		if x < 0 {
			b = append(b, '-')
		}
		return append(b, "1e999"...)
	case math.IsInf(x, 1):
		return append(b, `real("INF")`...)
	case math.IsInf(x, -1):
		return append(b, `real("-INF")`...)
	}
	at := len(b)
	switch s {
	case StyleNew:
		if x != 0 {
			return strconv.AppendFloat(b, x, 'E', 15, 64)
		}
		b = strconv.AppendFloat(b, x, 'f', -1, 64)
	case StyleSpool:
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	default:
		b = strconv.AppendFloat(b, x, 'G', 16, 64)
	}
	for _, c := range b[at:] {
		if c == '.' || c == 'E' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendOldString(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		if text[i] == '"' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return append(b, '"')
}

// appendEscaped appends text in quotes with the escapes of the new dialect; with raw, bytes of 0x80 and above stand for themselves.
func appendEscaped(b []byte, text string, quote byte, raw bool) []byte {
	const letters = "\aa\bb\ff\nn\rr\tt\vv"
	b = append(b, quote)
next:
	for i := range len(text) {
		c := text[i]
		for k := 0; k < len(letters); k += 2 {
			if c == letters[k] {
				b = append(b, '\\', letters[k+1])
				continue next
			}
		}
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f || c > 0x7f && !raw:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}

func appendName(b []byte, name string) []byte {
	if plainName(name) {
		return append(b, name...)
	}
	return appendEscaped(b, name, '\'', false)
}

// appendSelected appends a name behind a point, where HTCondor never quotes.
func appendSelected(b []byte, name string, s Style) []byte {
	if s == StyleSpool {
		return appendName(b, name)
	}
	return append(b, name...)
}

// Format returns the ad on one line, [ a = 1; b = 2 ], with inherited attributes. Names are sorted by length and then without regard to
// case, as HTCondor does; in the Spool style without regard to case.
func (a *Ad) Format(s Style) string { return string(appendAd(nil, a, s)) }

func appendAd(b []byte, a *Ad, s Style) []byte {
	b = append(b, "[ "...)
	for i, e := range orderedEntries(a, s) {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(appendName(b, e.name), " = "...)
		b = appendNode(b, e.expr.tree(), s)
	}
	return append(b, " ]"...)
}

func orderedEntries(a *Ad, s Style) []entry {
	entries := a.all()
	slices.SortFunc(entries, func(x, y entry) int {
		if s != StyleSpool && len(x.name) != len(y.name) {
			return len(x.name) - len(y.name)
		}
		return caseless.Compare(x.name, y.name)
	})
	return entries
}

// AppendLong appends the ad in the long form, a line "Name = expression" for each attribute, own and inherited, sorted by name without
// regard to case. A line break inside a string or a name becomes a blank: the long form has no way to write one.
func (a *Ad) AppendLong(b []byte) []byte {
	for _, e := range orderedEntries(a, StyleSpool) {
		at := len(b)
		b = append(append(b, e.name...), " = "...)
		b = e.expr.AppendTo(b, StyleOld)
		for i := at; i < len(b); i++ {
			if b[i] == '\n' || b[i] == '\r' {
				b[i] = ' '
			}
		}
		b = append(b, '\n')
	}
	return b
}

// MarshalJSON returns the ad as a JSON object, inherited attributes included, sorted by name without regard to case. Literals, lists and
// nested ads become JSON values, UNDEFINED becomes null, any other expression the string "\/Expr(...)\/" with the expression in the Spool
// style, as HTCondor's tools mark them. Bytes that are not UTF-8 become U+FFFD.
func (a *Ad) MarshalJSON() ([]byte, error) { return appendJSONAd(nil, a), nil }

// UnmarshalJSON sets the ad from a JSON object, without parent; a null changes nothing. Strings that MarshalJSON marked become
// expressions again. The error is a *SyntaxError, and leaves the ad as it was.
func (a *Ad) UnmarshalJSON(b []byte) error {
	s := newJSONStream(bytes.NewReader(b), "")
	if s.skipBlank(); s.peek() != '{' {
		if string(bytes.TrimSpace(b)) == "null" {
			return nil
		}
		s.expected("{")
		return s.bad
	}
	ad, err := s.next()
	if err != nil {
		return err
	}
	if s.skipBlank(); !s.atEnd() {
		s.expected("the end of the text behind }")
		return s.bad
	}
	a.shape, a.front, a.cells, a.parent = ad.shape, ad.front, ad.cells, nil
	return nil
}

func appendJSONAd(b []byte, a *Ad) []byte {
	b = append(b, '{')
	for i, e := range orderedEntries(a, StyleSpool) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONString(b, e.name), ':')
		b = appendJSONExpr(b, e.expr)
	}
	return append(b, '}')
}

func appendJSONExpr(b []byte, e *Expr) []byte {
	if !e.constant() {
		return appendJSONNode(b, e.root)
	}
	switch v := e.lit; v.kind {
	case KindUndefined:
		return append(b, "null"...)
	case KindBoolean, KindInteger:
		return appendValue(b, v, StyleSpool)
	case KindString:
		return appendJSONString(b, v.text())
	case KindReal:
		if x := v.real(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return appendReal(b, x, StyleSpool)
		}
	case KindList:
		return appendJSONList(b, v.scope().items)
	case KindClassAd:
		return appendJSONAd(b, v.scope().ad)
	}
	return appendMarked(b, e.tree())
}

func appendJSONNode(b []byte, n node) []byte {
	switch n := n.(type) {
	case *listing:
		return appendJSONList(b, n.items)
	case *record:
		return appendJSONAd(b, n.ad)
	}
	return appendMarked(b, n)
}

// appendMarked appends an expression that JSON has no value for.
func appendMarked(b []byte, n node) []byte {
	b = append(b, `"\/Expr(`...)
	quoted := appendJSONString(nil, string(appendNode(nil, n, StyleSpool)))
	b = append(b, quoted[1:len(quoted)-1]...)
	return append(b, `)\/"`...)
}

func appendJSONList(b []byte, items []*Expr) []byte {
	b = append(b, '[')
	for i, e := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONExpr(b, e)
	}
	return append(b, ']')
}

// appendJSONString appends a JSON string.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for len(s) > 0 {
		n := 0
		for n < len(s) && jsonPlain[s[n]] {
			n++
		}
		b, s = append(b, s[:n]...), s[n:]
		if s == "" {
			break
		}
		c := s[0]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s)
			b, s = utf8.AppendRune(b, r), s[size:]
			continue
		}
		s = s[1:]
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(b, '"')
}

// jsonPlain are the bytes that stand for themselves in a JSON string.
var jsonPlain = func() (plain [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

package classad

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// MarshalJSON returns the ad as a JSON object, inherited attributes included,
// sorted by name without regard to case. Literals, lists and nested ads become
// JSON values, UNDEFINED becomes null, any other expression the string
// "\/Expr(...)\/" with the expression in the Spool style, as HTCondor's tools
// mark them. Bytes that are not UTF-8 become U+FFFD.
func (a *Ad) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON returns.
func (a *Ad) AppendJSON(b []byte) []byte { return appendJSONAd(b, a) }

// UnmarshalJSON makes the ad what a JSON object says, without parent; a null
// changes nothing. Strings that MarshalJSON marked become expressions again. The
// error is a *SyntaxError, and leaves the ad as it was.
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

package spool

import (
	"bytes"
	"errors"
	"fmt"
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

// prints tells whether a line is text that a terminal can show.
func prints(line []byte) bool {
	for _, c := range line {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(line)
}

// ordinary tells whether a line begins with a name that needs no quotes and
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

// isOdd tells whether a name is Odd and a number.
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

// sameInBoth tells whether the journal and the long form read the same from a
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

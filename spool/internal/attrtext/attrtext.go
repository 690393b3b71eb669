// Package attrtext writes and reads the attributes of the lines of a spool: "Name = expression".
package attrtext

import (
	"bytes"
	"fmt"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/spool/internal/quotedtext"
)

// Append writes " Name = expression".
func Append(b []byte, name string, e *classad.Expr) []byte {
	b = append(AppendName(append(b, ' '), name), " = "...)
	return e.AppendTo(b, classad.StyleSpool)
}

// AppendName writes an attribute's name, in quotes unless it is a usual one (Usual):
// foreign ads may call an attribute anything.
func AppendName(b []byte, name string) []byte {
	if !Usual(name) {
		return strconv.AppendQuote(b, name)
	}
	return append(b, name...)
}

// Usual reports whether a name consists of letters, digits and underscores and
// does not begin with a digit.
func Usual(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && name[i] != '_' && (i == 0 || name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	return name != ""
}

// ParseName is the inverse of AppendName; it returns what follows the name.
func ParseName(b []byte) (name string, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		i := bytes.IndexByte(b, ' ')
		if i < 0 {
			i = len(b)
		}
		return string(b[:i]), b[i:], nil
	}
	text := string(b)
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", nil, err
	}
	name, err = strconv.Unquote(quoted)
	return name, b[len(quoted):], err
}

// Split cuts "Name = expression" in two.
func Split(b []byte) (name string, text []byte, err error) {
	name, rest, err := ParseName(b)
	if err != nil {
		return "", nil, err
	}
	text, ok := bytes.CutPrefix(rest, []byte(" = "))
	if !ok {
		return "", nil, fmt.Errorf("%q: not an attribute", b)
	}
	return name, text, nil
}

// Surely reports whether what was written for an expression reads back for sure,
// since it is a plain text or a number of few digits.
func Surely(b []byte) bool {
	if n := len(b); n > 1 && b[0] == '"' && b[n-1] == '"' {
		return quotedtext.Plainly(b[1 : n-1])
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0 && len(b) < 16
}

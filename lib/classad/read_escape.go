package classad

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const escapedNUL = "an escaped NUL byte: strings have none"

// unescapeJSON appends the first character of a JSON string's text to b, which
// may be written as an escape. It returns how many bytes of text it took, and
// what is wrong with it, if anything is.
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
		switch c = lower(c); {
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

// xmlChar returns how many bytes the first character of a text takes, which
// may be a reference, and how many bytes it stands for.
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

// badExpr notes the error of the expression in <e> at the place where it
// stands in the file; raw is the text there.
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

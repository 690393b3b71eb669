package adprint

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// harmless writes to a terminal, with ? in place of characters that could steer it:
// jobs' and slots' ads may come from anybody. What is no UTF-8 goes the same way. A
// character is written by one Write.
type harmless struct{ to io.Writer }

func (h harmless) Write(b []byte) (int, error) {
	if !steers(b) {
		return h.to.Write(b)
	}
	out := make([]byte, 0, len(b))
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if steering(r, n) {
			out = append(out, '?')
		} else {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	if _, err := h.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

func steers(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if steering(r, n) {
			return true
		}
		b = b[n:]
	}
	return false
}

// steering tells whether a character of n bytes could, or turn the direction of
// writing. Lines and columns of ours end in newlines and tabs.
func steering(r rune, n int) bool {
	return r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

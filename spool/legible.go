package spool

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// legible makes what was read in a damaged file fit for a terminal: bytes that
// are no character, and characters that do not print, become escapes.
func legible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

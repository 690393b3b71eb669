package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

var lineBreaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// oneLine keeps a value on its line: strings are printed as they are, and may
// have line breaks.
func oneLine(text string) string { return lineBreaks.Replace(text) }

// visible is text from an ad as people are shown it: on one line, and without
// characters that a terminal would act on.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\r':
			b.WriteString(oneLine(text[:n]))
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// The bytes of a value and of a clause that are shown to people.
const (
	valueBytes  = 100
	clauseBytes = 400
)

// short makes text visible and cuts it to some bytes.
func short(text string, most int) string {
	if len(text) <= most {
		return visible(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return visible(text[:most]) + "..."
}

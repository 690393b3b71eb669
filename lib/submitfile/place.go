package submitfile

import (
	"fmt"
	"strings"
	"unicode"
)

// Place is where something stands. The zero Place is the description as a
// whole.
type Place struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	Col    int    // in characters from 1; 0: the line as a whole
	Source string // the line's text
}

// prefix returns "file:line: ", as far as it is known.
func (p Place) prefix() string {
	switch {
	case p.File == "" && p.Line == 0:
		return ""
	case p.Line == 0 || p.File == commandLine:
		return p.File + ": "
	case p.File == "":
		return fmt.Sprintf("%d: ", p.Line)
	}
	return fmt.Sprintf("%s:%d: ", p.File, p.Line)
}

// mostSource is how many characters of a line an excerpt shows.
const mostSource = 100

// Excerpt returns the line and a caret under the place, as two indented
// lines; empty when column or text are unknown. Of a long line it shows what
// stands around the place.
func (p Place) Excerpt() string {
	if p.Col < 1 || p.Source == "" || p.Col > len(p.Source)+1 {
		return ""
	}
	line, at := []rune(legible(p.Source)), p.Col-1
	if at > len(line) {
		return ""
	}
	before, behind := "", ""
	if from := at - mostSource*3/4; from > 0 && len(line) > mostSource {
		before, line, at = "...", line[from:], at-from
	}
	if len(line) > mostSource {
		behind, line = "...", line[:mostSource]
	}
	const indent = "    "
	width := len(before)
	for _, r := range line[:at] {
		width += columns(r)
	}
	return indent + before + string(line) + behind + "\n" + indent + strings.Repeat(" ", width) + "^"
}

// columns returns how many columns of a terminal a character takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		0x3000 <= r && r <= 0x303e, 0xff01 <= r && r <= 0xff60, 0x1f300 <= r && r <= 0x1faff:
		return 2
	}
	return 1
}

// legible puts a blank for each control character, a tab included, so that
// columns stay what they are, and a replacement character for each byte that is
// none of UTF-8.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// Error is something wrong with a description.
type Error struct {
	Place
	Msg string
	Err error // the cause, may be nil; Msg has its text
}

// Error returns "file:line: msg".
func (e *Error) Error() string { return e.prefix() + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Warning is something in a description that may be a mistake.
type Warning struct {
	Place
	Msg       string
	Undefined string // the name of a macro that stands there and is not defined; empty: it is about something else
}

// String returns "file:line: msg".
func (w Warning) String() string { return w.prefix() + w.Msg }

// Shorten returns a quoted text as a message may have it: not too long, and on one
// line.
func Shorten(text string) string {
	const most = 60
	text = legible(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

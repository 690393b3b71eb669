// Package clean takes out of a text what could steer the terminal that shows it: control
// characters, characters that turn the direction of writing, and bytes that are no UTF-8, which a
// terminal may take for control characters. A ? stands for each. For messages it also keeps quoted
// texts on one line.
package clean

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text for one line: newlines, tabs and other separators of lines are replaced, too.
func Line(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return string(replaced([]byte(text[:i]), []byte(text[i:]), ofLine))
		}
	}
	return text
}

// Escaped returns a text with line breaks written as \n and \r.
func Escaped(text string) string { return escape.Replace(text) }

var escape = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Blanked returns a text on one line, with a blank for each control character and separator of
// lines, and U+FFFD for bytes that are no UTF-8. It is for texts of files that are quoted.
func Blanked(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Shortened returns the first most characters of the Blanked text, with dots for the rest.
func Shortened(text string, most int) string {
	text = Blanked(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}

// Lines returns a text of lines: newlines and tabs stay. It returns the text itself where nothing is
// to be replaced.
func Lines(text []byte) []byte {
	i := sound(text)
	if i == len(text) {
		return text
	}
	return replaced(append(make([]byte, 0, len(text)), text[:i]...), text[i:], steers)
}

// sound returns the length of the beginning of a text that stays as it is.
func sound(text []byte) int {
	for i := 0; i < len(text); {
		if i+8 <= len(text) && plain(binary.LittleEndian.Uint64(text[i:])) {
			i += 8
			continue
		}
		switch c := text[i]; {
		case c >= ' ' && c < 0x7f || c == '\n' || c == '\t':
			i++
		case c < utf8.RuneSelf:
			return i
		default:
			r, n := utf8.DecodeRune(text[i:])
			if steers(r, n) {
				return i
			}
			i += n
		}
	}
	return len(text)
}

// plain reports whether all eight bytes of a word are from the blank to the tilde.
func plain(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	below := (w - ones*' ') &^ w     // a high bit where a byte is below the blank, or behind such a byte
	delete := (w ^ ones*0x7f) - ones // a high bit where a byte is DEL, or behind such a byte
	return (w|below|delete&^(w^ones*0x7f))&highs == 0
}

// replaced appends a text to b, with ? for each character for which bad is true.
func replaced(b, text []byte, bad func(r rune, n int) bool) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if bad(r, n) {
			b = append(b, '?')
		} else {
			b = append(b, text[:n]...)
		}
		text = text[n:]
	}
	return b
}

// steers reports whether a character of n bytes is replaced in a text of lines.
func steers(r rune, n int) bool {
	return r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// ofLine reports whether one is replaced in a line.
func ofLine(r rune, n int) bool {
	return r == '\n' || r == '\t' || unicode.In(r, unicode.Zl, unicode.Zp) || steers(r, n)
}

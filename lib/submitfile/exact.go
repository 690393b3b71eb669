package submitfile

import (
	"strings"
	"unicode/utf8"
)

// Exact is a text that JSON keeps byte for byte. JSON has no bytes that are not
// UTF-8, as paths may have: there each of them is the character behind firstByte
// that has its number.
type Exact string

// firstByte stands for the byte 0, the last character there is for the byte 255.
// Nobody has a meaning for these characters, and where they occur their bytes are
// written one by one as well.
const firstByte = utf8.MaxRune - 255

// MarshalText is that of encoding.TextMarshaler. It never fails.
func (e Exact) MarshalText() ([]byte, error) {
	text := string(e)
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r >= firstByte || r == utf8.RuneError && size == 1 {
			for _, c := range []byte(text[:size]) {
				out = utf8.AppendRune(out, firstByte+rune(c))
			}
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out, nil
}

// UnmarshalText is that of encoding.TextUnmarshaler. It never fails.
func (e *Exact) UnmarshalText(text []byte) error {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r >= firstByte {
			b.WriteByte(byte(r - firstByte))
		} else {
			b.Write(text[:size])
		}
		text = text[size:]
	}
	*e = Exact(b.String())
	return nil
}

// Texts is the inverse of Exactly.
func Texts(list []Exact) []string {
	var out []string
	for _, e := range list {
		out = append(out, string(e))
	}
	return out
}

// Exactly returns texts as those that are kept exactly.
func Exactly(texts []string) []Exact {
	var out []Exact
	for _, text := range texts {
		out = append(out, Exact(text))
	}
	return out
}

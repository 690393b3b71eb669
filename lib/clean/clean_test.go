package clean

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

func TestLines(t *testing.T) {
	for _, c := range []struct{ text, lines, line string }{
		{"a = \"é\"\n\tb\n", "a = \"é\"\n\tb\n", "a = \"é\"??b?"},
		{"\x1b[2Ja\x07\r\n", "?[2Ja??\n", "?[2Ja???"},
		{"\u009b2J \x7f", "?2J ?", "?2J ?"},
		{"\x9b2J", "?2J", "?2J"},
		{"\xc2 \xff", "? ?", "? ?"},
		{"\ufffd 世界", "\ufffd 世界", "\ufffd 世界"},
		{"a\u202eb\u2066c\u2069", "a?b?c?", "a?b?c?"},
		{"a\u2028b\u2029", "a\u2028b\u2029", "a?b?"},
		{"é世\u0301", "é世\u0301", "é世\u0301"},
		{"", "", ""},
	} {
		if got := string(Lines([]byte(c.text))); got != c.lines {
			t.Errorf("Lines(%q) = %q, want %q", c.text, got, c.lines)
		}
		if got := Line(c.text); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.text, got, c.line)
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, c := range []struct{ text, escaped, blanked, shortened string }{
		{"plain é", "plain é", "plain é", "plai..."},
		{"a\r\n\tb", `a\r\n` + "\tb", "a   b", "a   ..."},
		{"a\x1b\u2028", "a\x1b\u2028", "a  ", "a  "},
		{"\xff\xffa\x00", "\xff\xffa\x00", "\ufffda ", "\ufffda "},
		{"", "", "", ""},
	} {
		if got := Escaped(c.text); got != c.escaped {
			t.Errorf("Escaped(%q) = %q, want %q", c.text, got, c.escaped)
		}
		if got := Blanked(c.text); got != c.blanked {
			t.Errorf("Blanked(%q) = %q, want %q", c.text, got, c.blanked)
		}
		if got := Shortened(c.text, 4); got != c.shortened {
			t.Errorf("Shortened(%q, 4) = %q, want %q", c.text, got, c.shortened)
		}
	}
}

// Each byte is looked at, wherever it stands among others.
func TestEveryByte(t *testing.T) {
	for b := range 256 {
		for at := range 20 {
			text := bytes.Repeat([]byte("~"), 20)
			text[at] = byte(b)
			got := Lines(text)
			stays := b >= ' ' && b < 0x7f || b == '\n' || b == '\t'
			if stays != (got[at] == byte(b)) && b != '?' || len(got) != 20 {
				t.Errorf("Lines of byte %#x at %d = %q", b, at, got)
			}
		}
	}
}

// What is clean is UTF-8, stays as it is, and has as many characters as before.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.String().Draw(t, "text"))
		text = append(text, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
		got := Lines(text)
		if !utf8.Valid(got) || utf8.RuneCount(got) != utf8.RuneCount(text) || !bytes.Equal(Lines(got), got) {
			t.Fatalf("Lines(%q) = %q", text, got)
		}
		if line := Line(string(text)); line != Line(string(got)) || strings.ContainsAny(line, "\n\t") {
			t.Fatalf("Line(%q) = %q, and of the clean text %q", text, line, Line(string(got)))
		}
	})
}

func BenchmarkLines(b *testing.B) {
	line := "   1234.0 0.500 longjobname alice        qw    11/22/2026 21:53:01                    1 \n"
	text := []byte(strings.Repeat(line, 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lines(text)
	}
}

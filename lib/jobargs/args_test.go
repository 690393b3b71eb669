package jobargs

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var v2Table = []struct {
	text  string
	words []string
}{
	{``, nil},
	{"  \t ", nil},
	{`one two`, []string{"one", "two"}},
	{`'two words'`, []string{"two words"}},
	{`a' 'b' 'c`, []string{"a b c"}},
	{`'' x ''`, []string{"", "x", ""}},
	{`'it''s'`, []string{"it's"}},
	{`''''`, []string{"'"}},
	{`a''b`, []string{"ab"}},
	{`x"y"`, []string{`x"y"`}},
	{`-n 'a  b' 'c'd`, []string{"-n", "a  b", "cd"}},
	{"tab\there", []string{"tab", "here"}},
	{`é 'ü ö'`, []string{"é", "ü ö"}},
}

func TestParseV2(t *testing.T) {
	for _, c := range v2Table {
		got, err := ParseV2(c.text)
		if err != nil || !slices.Equal(got, c.words) {
			t.Errorf("ParseV2(%q) = %q, %v, want %q", c.text, got, err, c.words)
		}
	}
	for _, bad := range []string{`'`, `a 'b`, `a''b'''`} {
		if got, err := ParseV2(bad); err == nil {
			t.Errorf("ParseV2(%q) = %q, want an error", bad, got)
		}
	}
}

func TestFormatV2(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, ``},
		{[]string{""}, `''`},
		{[]string{"output.txt", "hello world"}, `output.txt hello' 'world`},
		{[]string{"python /x 0"}, `python' '/x' '0`},
		{[]string{"it's"}, `it''''s`},
		{[]string{" a", "b "}, `' 'a b' '`},
		{[]string{"a  b"}, `a'  'b`},
	} {
		if got := FormatV2(c.words); got != c.want {
			t.Errorf("FormatV2(%q) = %s, want %s", c.words, got, c.want)
		}
	}
}

func TestV1(t *testing.T) {
	if got, want := ParseV1(" a 'b c'\t\"d\" "), []string{"a", "'b", "c'", `"d"`}; !slices.Equal(got, want) {
		t.Errorf("ParseV1 = %q, want %q", got, want)
	}
}

// TestFormatLiteral is a law: whatever the words are, they are read again, and no reference
// to the slot is among them.
func TestFormatLiteral(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"$", "(", "$$(", "$$(Name)", "'", " ", "\n", "\"", "\\", "\xff", ""}), rapid.String())
		word := rapid.Map(rapid.SliceOfN(piece, 0, 6), func(list []string) string { return strings.Join(list, "") })
		words := rapid.SliceOf(word).Draw(r, "words")
		text := FormatLiteral(words)
		if got, err := ParseV2(text); err != nil || !slices.Equal(got, words) {
			r.Errorf("ParseV2(%q) = %q, %v, want %q", text, got, err, words)
		}
		if strings.Contains(text, "$$(") {
			r.Errorf("FormatLiteral(%q) = %q, which has a reference", words, text)
		}
	})
}

// FuzzV2 checks that whatever parses is said again by FormatV2.
func FuzzV2(f *testing.F) {
	for _, c := range v2Table {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := ParseV2(text)
		if err != nil {
			return
		}
		again, err := ParseV2(FormatV2(words))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("ParseV2(FormatV2(%q)) = %q, %v", words, again, err)
		}
	})
}

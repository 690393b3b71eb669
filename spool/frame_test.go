package spool

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"fairspool/spool/internal/logtext"
)

// TestUnquoteFirst holds that the short way reads the same as the long one.
func TestUnquoteFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]string{`"`, `\`, "a", " ", "é", "\xff", "\n", "\x00", `\x41`, "`", "'"})
		s := rapid.SampledFrom([]string{`"`, "", "x"}).Draw(t, "begin")
		for _, piece := range rapid.SliceOfN(alphabet, 0, 10).Draw(t, "pieces") {
			s += piece
		}
		if rapid.Bool().Draw(t, "quote") {
			s = strconv.Quote(s) + " " + s
		}
		want := ""
		prefix, wantErr := strconv.QuotedPrefix(s)
		if wantErr == nil {
			want, wantErr = strconv.Unquote(prefix)
		}
		got, rest, err := logtext.UnquoteFirst(s)
		if (err == nil) != (wantErr == nil) || err == nil && (got != want || rest != s[len(prefix):]) {
			t.Fatalf("unquoteFirst(%q) = %q, %q, %v, want %q, %q, %v", s, got, rest, err, want, s[len(prefix):], wantErr)
		}
	})
}

func TestLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"its checksum is 07f20806": "its checksum is 07f20806",
		`slot "ü" is lost`:         `slot "ü" is lost`,
		"recorded is \xff\xc3ü":    `recorded is \xff\xc3ü`,
		"a\tb\nc\x1b[2J\u202e\x7f": `a\tb\nc\x1b[2J\u202e\x7f`,
		"\ufffd":                   "\ufffd",
	} {
		if got := legible(text); got != want {
			t.Errorf("legible(%q) = %q, want %q", text, got, want)
		}
	}
}

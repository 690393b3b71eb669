package quotedtext

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestFirst holds that the short way reads the same as the long one.
func TestFirst(t *testing.T) {
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
		got, rest, err := First(s)
		if (err == nil) != (wantErr == nil) || err == nil && (got != want || rest != s[len(prefix):]) {
			t.Fatalf("First(%q) = %q, %q, %v, want %q, %q, %v", s, got, rest, err, want, s[len(prefix):], wantErr)
		}
	})
}

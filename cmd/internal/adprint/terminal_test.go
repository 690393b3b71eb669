package adprint

import (
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = \"é\"\n\tb\n", "a = \"é\"\n\tb\n"},
		{"\x1b[2Ja\x07\r\n", "?[2Ja??\n"},
		{"\u009b2J \x7f", "?2J ?"},
		{"\xc2 \xff", "? ?"},
		{"\ufffd", "\ufffd"},
		{"a\u202eb", "a?b"},
	} {
		var b strings.Builder
		if n, err := (harmless{&b}).Write([]byte(c.text)); n != len(c.text) || err != nil || b.String() != c.want {
			t.Errorf("Write(%q) = %d, %v, writes %q, want %q", c.text, n, err, b.String(), c.want)
		}
	}
}

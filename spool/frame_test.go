package spool

import "testing"

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

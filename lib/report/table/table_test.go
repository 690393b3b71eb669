package table

import (
	"strings"
	"testing"
)

// A character of two places takes two of a column's, on the terminal and elsewhere.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"ab", 3, "ab "}, {"", 2, "  "},
		{"éèê", 3, "éèê"}, {"éèêë", 3, "éèê"}, {"é", 3, "é  "},
		{"世界人", 5, "世界 "}, {"世界人", 6, "世界人"}, {"世", 1, " "}, {"a世", 4, "a世 "},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"e\u0301ea", 2, "e\u0301e"},
	} {
		got := string(Append(nil, c.text, c.width))
		if got != c.want || Width(got) != c.width {
			t.Errorf("Append(%q, %d) = %q of %d places, want %q", c.text, c.width, got, Width(got), c.want)
		}
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"without rows", nil, ""},
		{"numbers to the right", [][]string{{"slot1", "1", "x"}, {"s", "16"}}, "Name   Cpus  Why\nslot1     1  x\ns        16\n"},
		{"wide characters", [][]string{{"世界人", "1", ""}}, "Name    Cpus  Why\n世界人     1\n"},
		{"what steers is cleaned", [][]string{{"a\x1b\n", "1", "b\tc"}}, "Name  Cpus  Why\na??      1  b?c\n"},
	} {
		var b strings.Builder
		err := Write(&b, []Column{{Head: "Name"}, {Head: "Cpus", Right: true}, {Head: "Why"}}, c.rows)
		if err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, b.String(), c.want)
		}
	}
}

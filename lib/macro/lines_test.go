package macro

import (
	"fmt"
	"strings"
	"testing"
)

// allLines returns each logical line with the places of its pieces, as line:column.
func allLines(text string) []string {
	var out []string
	l := NewLines(text)
	for {
		text, pieces, ok := l.Next()
		if !ok {
			return out
		}
		for i, p := range pieces {
			text += fmt.Sprintf("%c%d:%d", "@,"[min(i, 1)], p.Line, p.Column)
		}
		out = append(out, text)
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"\n \n\t\n", nil},
		{"# a\n  # b\\\n", nil},
		{"a", []string{"a@1:1"}},
		{"a\nb\n", []string{"a@1:1", "b@2:1"}},
		{"  a b \r\n\r\n\tb\r\n", []string{"a b@1:3", "b@3:2"}},
		{"\uFEFF a", []string{"a@1:2"}},
		{"X = a, \\\n  b, \\   \n\tc", []string{"X = a, b, c@1:1,2:3,3:2"}},
		{"X = a \\\n# b \\\n c\nY = 3", []string{"X = a c@1:1,3:2", "Y = 3@4:1"}},
		{"X = a \\\n# b\n c", []string{"X = a c@1:1,3:2"}},
		{"# no \\\nX = 1", []string{"X = 1@2:1"}},
		{"X = a \\\n\nY = 1", []string{"X = a@1:1,2:1", "Y = 1@3:1"}},
		{"X = a \\", []string{"X = a@1:1"}},
		{"\\\n", []string{"@1:1"}},
		{"\\\n X\n", []string{"X@1:1,2:2"}},
		{"a\\\n\\\nb", []string{"ab@1:1,2:1,3:1"}},
		{"a\\\\\nb", []string{`a\b@1:1,2:1`}},
		{"\u00a0é = 1", []string{"é = 1@1:2"}},
	} {
		if got := allLines(c.text); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("lines of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	l := NewLines("\n  é = a \\\n# no\n\t \\\n   bc\nlast")
	text, pieces, ok := l.Next()
	if !ok {
		t.Fatal("Next() = none, want a line")
	}
	for _, c := range []struct{ offset, line, column int }{ // of "é = a bc"
		{-1, 2, 3}, {0, 2, 3}, {2, 2, 4}, {5, 2, 7}, {6, 2, 8}, {7, 5, 4}, {8, 5, 5}, {9, 5, 6}, {99, 5, 6},
	} {
		if line, column := Place(text, pieces, c.offset); line != c.line || column != c.column {
			t.Errorf("Place(%d) = %d, %d, want %d, %d", c.offset, line, column, c.line, c.column)
		}
	}
	if line, column := Place("", nil, 0); line != 0 || column != 0 {
		t.Errorf("Place without pieces = %d, %d, want 0, 0", line, column)
	}
}

func TestUntil(t *testing.T) {
	for _, c := range []struct {
		text, want string
		closed     bool
	}{
		{"@end\nrest", "", true},
		{" a\n# b\\\n\n  c\n @end \nrest", " a\n# b\\\n\n  c", true},
		{"a\r\n@end\r\nrest", "a", true},
		{"\n\n@end\nrest", "\n", true},
		{"a\n@END\n@end2\n@ end\nrest", "a\n@END\n@end2\n@ end\nrest", false},
		{"", "", false},
	} {
		l := NewLines("X @=end\n" + c.text)
		l.Next()
		got, pieces, closed := l.Until("end")
		if got != c.want || closed != c.closed {
			t.Errorf("Until(end) of %q = %q, %v, want %q, %v", c.text, got, closed, c.want, c.closed)
		}
		for i, p := range pieces {
			if p.Line != i+2 || p.Column != 1 || !strings.HasPrefix(got[p.Offset:], l.Source(p.Line)) {
				t.Errorf("Until(end) of %q: piece %d = %v, want line %d", c.text, i, p, i+2)
			}
		}
		if rest, _, ok := l.Next(); ok != c.closed || ok && rest != "rest" {
			t.Errorf("Next() behind %q = %q, %v, want rest", c.text, rest, ok)
		}
	}
}

func TestSource(t *testing.T) {
	l := NewLines("\uFEFFa\r\n\n  b \\\nc")
	if !l.Marked() || NewLines("a").Marked() {
		t.Errorf("Marked() = %v, want true for a text with a byte order mark alone", l.Marked())
	}
	for line, want := range map[int]string{-1: "", 0: "", 1: "a", 2: "", 3: `  b \`, 4: "c", 5: ""} {
		if got := l.Source(line); got != want {
			t.Errorf("Source(%d) = %q, want %q", line, got, want)
		}
	}
}

// TestLinesHostile holds that long texts are read at once.
func TestLinesHostile(t *testing.T) {
	const n = 1 << 20
	for name, text := range map[string]string{
		"continued": strings.Repeat("\\\n", n),
		"joined":    strings.Repeat("a\\\n", n),
		"comments":  strings.Repeat("#\n", n),
		"blanks":    strings.Repeat(" ", n) + "a",
		"returns":   strings.Repeat("\r", n) + "a",
	} {
		l := NewLines(text)
		logical, pieces, _ := l.Next()
		_, _, more := l.Next()
		line, column := Place(logical, pieces, len(logical))
		if more || len(logical) > n || (len(pieces) > 0) != (line > 0 && column > 0) {
			t.Errorf("%s: %d bytes at %d:%d, more %v, want one line that is somewhere", name, len(logical), line, column, more)
		}
	}
}

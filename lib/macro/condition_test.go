package macro

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairspool/internal/testenv"
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

// carryOut runs statements such as "if 1; a; else; b; endif" and returns what is taken,
// and misplaced statements in parentheses.
func carryOut(text string) string {
	var b Branches
	var out []string
	for i, statement := range strings.Split(text, "; ") {
		word, rest, _ := strings.Cut(statement, " ")
		holds := func() (bool, error) {
			if rest == "bad" {
				return false, errors.New("bad condition")
			}
			return rest == "1", nil
		}
		var err error
		switch word {
		case "if":
			err = b.If(i+1, holds)
		case "elif":
			err = b.Elif(holds)
		case "else":
			err = b.Else()
		case "endif":
			err = b.Endif()
		default:
			if b.Taken() {
				out = append(out, statement)
			}
		}
		if err != nil {
			out = append(out, "("+err.Error()+")")
		}
	}
	if _, open := b.Open(); open {
		out = append(out, "open")
	}
	return strings.Join(out, " ")
}

func TestBranches(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a", "a"},
		{"if 1; a; else; b; endif; c", "a c"},
		{"if 0; a; else; b; endif; c", "b c"},
		{"if 0; a; elif 1; b; elif 1; c; else; d; endif", "b"},
		{"if 0; a; elif 0; b; else; c; endif", "c"},
		{"if 1; if 0; a; else; b; endif; c; endif", "b c"},
		{"if 0; if 1; a; else; b; endif; else; c; endif", "c"},
		{"if 0; if bad; a; elif bad; b; else; c; endif; endif; d", "d"},
		{"if 1; a; elif bad; b; endif", "a"},
		{"if bad; a; endif; b", "(bad condition) b"},
		{"if 0; elif bad; a; endif; b", "(bad condition) b"},
		{"elif 1; a", "(elif without if) a"},
		{"else; endif", "(else without if) (endif without if)"},
		{"if 1; else; else; a; endif", "(else after else)"},
		{"if 0; else; a; elif 1; b; endif", "a (elif after else)"},
		{"if 0; else; elif 1; a; else; b; endif", "(elif after else) (else after else)"},
		{"if 1; a", "a open"},
		{"if 1; if 1; endif", "open"},
	} {
		if got := carryOut(c.text); got != c.want {
			t.Errorf("%s = %s, want %s", c.text, got, c.want)
		}
	}
}

func TestBranchesOpen(t *testing.T) {
	var b Branches
	yes := func() (bool, error) { return true, nil }
	if line, open := b.Open(); open {
		t.Errorf("Open() = %d, true, want none", line)
	}
	for _, line := range []int{3, 7} {
		testenv.OK(t, b.If(line, yes))
	}
	for _, want := range []int{7, 3} {
		if line, open := b.Open(); line != want || !open {
			t.Errorf("Open() = %d, %v, want %d", line, open, want)
		}
		testenv.OK(t, b.Endif())
	}
	var misplaced Misplaced
	if err := b.Endif(); !errors.As(err, &misplaced) {
		t.Errorf("Endif() = %v, want Misplaced", err)
	}
}

func TestCondition(t *testing.T) {
	defined := func(name string) bool { return name == "X" }
	for _, c := range []struct{ text, want string }{
		{"true", "true"}, {"TRUE", "true"}, {"t", "true"}, {"yes", "true"}, {"Y", "true"}, {"1", "true"}, {"-2", "true"}, {"0.5", "true"}, {"1e3", "true"},
		{"false", "false"}, {"f", "false"}, {"no", "false"}, {"N", "false"}, {"0", "false"}, {"0.0", "false"}, {"", "false"}, {"  ", "false"},
		{"!true", "false"}, {" ! false ", "true"}, {"!", "true"}, {"! 0", "true"},
		{"defined X", "true"}, {"Defined\tX", "true"}, {"defined Y", "false"}, {"!defined Y", "true"}, {"defined", "false"}, {"! defined", "true"},
		{"defined 5", "true"}, {"defined false", "true"},
		{"version >= 8.1.6", "true"}, {"version>=25", "true"}, {"version >= 25.3", "false"}, {"version == 25.2", "true"}, {"version == 25.2.1", "false"},
		{"version <= 25.2", "true"}, {"! version < 25", "true"}, {"VERSION != 24.0", "true"}, {"version != 25.2.0", "false"}, {"version > 25.1.9", "true"},
		{"banana", "banana: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"1 > 2", "1 > 2: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"!!true", "!true: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"nan", "nan: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"1e999", "1e999: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"definedX", "definedX: want true, false, a number, defined NAME, or version with ==, >= or <="},
		{"defined a b", "defined a b: want the name of a macro"},
		{"version 8", "version 8: want ==, >= or <=, then x.y.z"},
		{"version = 8", "version = 8: want ==, >= or <=, then x.y.z"},
		{"version >= 8.x", "version >= 8.x: want ==, >= or <=, then x.y.z"},
		{"version >= 8.1.2.3", "version >= 8.1.2.3: want ==, >= or <=, then x.y.z"},
		{"version >= ", "version >=: want ==, >= or <=, then x.y.z"},
		{"a\nb", "a b: want true, false, a number, defined NAME, or version with ==, >= or <="},
	} {
		got := ""
		condition, err := ParseCondition(c.text)
		if err != nil {
			got = err.Error()
		} else if got = "false"; condition.Holds(defined, [3]int{25, 2, 0}) {
			got = "true"
		}
		if got != c.want {
			t.Errorf("ParseCondition(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

// TestConditionParts holds that what the condition is made of is told even where it is
// none.
func TestConditionParts(t *testing.T) {
	for _, c := range []struct {
		text string
		want Condition
	}{
		{"!version oops", Condition{Not: true, Word: "version", Rest: "oops"}},
		{"defined a b", Condition{Word: "defined", Rest: "a b"}},
		{"! 1 > 2", Condition{Not: true, Rest: "1 > 2"}},
	} {
		if got, err := ParseCondition(c.text); got != c.want || err == nil {
			t.Errorf("ParseCondition(%q) = %+v, %v, want %+v and an error", c.text, got, err, c.want)
		}
	}
}

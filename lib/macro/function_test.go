package macro

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestSubstring has the examples of HTCondor's manual first.
func TestSubstring(t *testing.T) {
	for _, c := range []struct {
		text          string
		start, length int
		bounded       bool
		want          string
	}{
		{"abcdef", 2, 0, false, "cdef"},
		{"abcdef", 0, -2, true, "abcd"},
		{"abcdef", 1, 3, true, "bcd"},
		{"abcdef", -1, 0, false, "f"},
		{"abcdef", 4, -3, true, ""},
		{"abcdef", -9, 2, true, "ab"},
		{"abcdef", 9, 2, true, ""},
		{"abcdef", 6, 0, false, ""},
		{"abcdef", -3, 2, true, "de"},
		{"abcdef", 0, 0, true, ""},
		{"", -1, -1, true, ""},
		{"abcdef", math.MinInt, math.MinInt, true, ""},
		{"abcdef", math.MaxInt, math.MaxInt, true, ""},
	} {
		if got := Substring(c.text, c.start, c.length, c.bounded); got != c.want {
			t.Errorf("Substring(%q, %d, %d, %v) = %q, want %q", c.text, c.start, c.length, c.bounded, got, c.want)
		}
	}
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		index int
		items []string
		want  string
	}{
		{0, []string{"a", "b"}, "a"},
		{1, []string{"a", "b"}, "b"},
		{2, []string{"a", "b"}, "index 2: want 0 to 1"},
		{-1, []string{"a"}, "index -1: want 0 to 0"},
		{0, nil, "index 0: the list is empty"},
	} {
		got, err := Choice(c.index, c.items)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Choice(%d, %q) = %q, want %q", c.index, c.items, got, c.want)
		}
	}
}

func TestRandomInteger(t *testing.T) {
	first := func(int64) int64 { return 0 }
	last := func(n int64) int64 { return n - 1 }
	for _, c := range []struct {
		min, max, step int64
		want           string // the smallest and the greatest
	}{
		{0, 8, 2, "0 8"},
		{0, 9, 2, "0 8"},
		{-3, 3, 1, "-3 3"},
		{5, 5, 7, "5 5"},
		{0, math.MaxInt64, 2, "0 9223372036854775806"},
		{math.MinInt64, math.MaxInt64, 1 << 62, "-9223372036854775808 4611686018427387904"},
		{1, 0, 1, "1 to 0: want the smaller number first"},
		{0, 1, 0, "step 0: want 1 or more"},
		{0, 1, -1, "step -1: want 1 or more"},
		{0, math.MaxInt64, 1, "0 to 9223372036854775807: too many numbers to choose from"},
		{math.MinInt64, math.MaxInt64, 1, "-9223372036854775808 to 9223372036854775807: too many numbers to choose from"},
	} {
		low, err := RandomInteger(first, c.min, c.max, c.step)
		high, _ := RandomInteger(last, c.min, c.max, c.step)
		got := fmt.Sprint(low, high)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("RandomInteger(%d, %d, %d) = %s, want %s", c.min, c.max, c.step, got, c.want)
		}
	}
}

// TestFilename has the examples of HTCondor's manual first.
func TestFilename(t *testing.T) {
	for _, c := range []struct{ letters, name, want string }{
		{"n", "/tmp/simulate.exe", "simulate"},
		{"x", "/tmp/simulate.exe", ".exe"},
		{"p", "/tmp/simulate.exe", "/tmp/"},
		{"nx", "/tmp/simulate.exe", "simulate.exe"},
		{"xn", "/tmp/simulate.exe", "simulate.exe"},
		{"d", "/a/b/c.d", "b/"},
		{"dd", "/x/a/b/c.d", "a/b/"},
		{"ddd", "a/b/c.d", "a/b/"},
		{"dn", "/a/b/c.d", "b/c"},
		{"dnx", "/a/b/c.d", "b/c.d"},
		{"pn", "/a/b/c.d", "/a/b/c"},
		{"pnx", "/a/b/c.d", "/a/b/c.d"},
		{"bp", "/a/b/c.d", "/a/b"},
		{"db", "/a/b/c.d", "b"},
		{"bx", "/a/b/c.d", "d"},
		{"bn", "/a/b/c.d", "c"},
		{"bnx", "/a/b/c.d", "c.d"},
		{"bdx", "/a/b/c.d", "b/c.d"}, {"px", "/a/b/c.d", "/a/b/c.d"}, {"xb", "/a/b/c.d", "d"}, {"NX", "/a/b/c.d", "c.d"}, {"PQA", "/a/b", "'/a/'"},
		{"bp", "/c", ""},
		{"d", "/c", "/"},
		{"d", "c", ""}, {"p", "c", ""}, {"pn", "c.d", "c"}, {"dx", "c.d", ".d"}, {"bdx", "c.d", "d"},
		{"x", "a.b/c", ""}, {"n", ".profile", ".profile"}, {"x", ".profile", ""}, {"x", "a.tar.gz", ".gz"}, {"n", "a.tar.gz", "a.tar"}, {"x", "a.", "."},
		{"", "/a/b", "/a/b"}, {"", `"a b"`, "a b"}, {"b", "/a/b.c", "/a/b.c"},
		{"f", "a.b", "/home/u/a.b"}, {"f", "./a.b", "/home/u/a.b"}, {"f", "/a.b", "/a.b"}, {"fn", "d/a.b", "a"}, {"fp", "a.b", "/home/u/"}, {"fdb", "a.b", "u"},
		{"q", "a b", `"a b"`}, {"q", `"a b"`, `"a b"`}, {"qa", "a b", "'a b'"}, {"qn", `'/x/a b.c'`, `"a b"`}, {"a", "x", "x"}, {"q", `"`, `"""`},
		{"w", "/a/b", `\a\b`}, {"pw", "/a/b", `\a\`}, {"u", `a\b`, "a/b"}, {"un", `C:\a\b.c`, "b"}, {"n", `C:\a\b.c`, `C:\a\b`}, {"fw", "a", `\home\u\a`},
	} {
		if got := Filename(c.letters, c.name, "/home/u"); got != c.want {
			t.Errorf("Filename(%q, %q) = %q, want %q", c.letters, c.name, got, c.want)
		}
	}
	for _, c := range []struct{ name, dir, want string }{{"a", "", "a"}, {"a", "/", "/a"}, {"a", "/x/", "/x/a"}, {"../a", "/x", "/x/../a"}} {
		if got := Filename("f", c.name, c.dir); got != c.want {
			t.Errorf("Filename(f, %q, %q) = %q, want %q", c.name, c.dir, got, c.want)
		}
	}
}

func TestDirnameBasename(t *testing.T) {
	for _, c := range []struct{ name, suffix, dir, base string }{
		{"/a/b.c", "", "/a/", "b.c"},
		{"/a/b.c", ".c", "/a/", "b"},
		{"/a/b.c", ".d", "/a/", "b.c"},
		{"b", "", "", "b"},
		{"a/", "", "a/", ""},
		{"", "", "", ""},
	} {
		if dir, base := Dirname(c.name), Basename(c.name, c.suffix); dir != c.dir || base != c.base {
			t.Errorf("Dirname(%q), Basename(%[1]q, %q) = %q, %q, want %q, %q", c.name, c.suffix, dir, base, c.dir, c.base)
		}
	}
}

// TestFormat has the examples of HTCondor's manual first.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ function, value, format, want string }{
		{"INT", "2 * 6", "", "12"},
		{"INT", "2 * 6", "%04d", "0012"},
		{"INT", "2 * 6", "Area=%d", "Area=12"},
		{"STRING", `toLower("host.DOMAIN")`, "", "host.domain"},
		{"STRING", `toLower("host.DOMAIN")`, "Name: %s", "Name: host.domain"},
		{"EVAL", `"a,B,c"`, "", "a,B,c"},
		{"EVAL", `tolower("a,B,c")`, "", "a,b,c"},
		{"EVAL", `split("a,B,c")`, "", `{ "a","B","c" }`},
		{"EVAL", `size(split("a,B,c")) * 10`, "", "30"},
		{"EVAL", `join(";",split("a,b,c"))`, "", "a;b;c"},

		{"INT", "7.9", "", "7"}, {"INT", "-7.9", "", "-7"}, {"INT", "true", "", "1"}, {"INT", "1 > 2", "", "0"}, {"INT", " 9223372036854775807 ", "", "9223372036854775807"},
		{"INT", "255", "%x", "ff"}, {"INT", "255", "0%X!", "0FF!"}, {"INT", "8", "%o", "10"}, {"INT", "-1", "%x", "ffffffffffffffff"}, {"INT", "5", "%i", "5"},
		{"INT", "5", "%+d", "+5"}, {"INT", "5", "%-4d|", "5   |"}, {"INT", "5", "%4lld", "   5"}, {"INT", "5", "%.3d", "005"}, {"INT", "50", "%d%%", "50%"}, {"INT", "5", " %d ", " 5 "},
		{"INT", "5", "%u", "5"}, {"INT", "-5", "%04d", "-005"},
		{"INT", "Memory", "", "Memory: want a constant expression"}, {"INT", "", "", ": want a constant expression"}, {"INT", `"a"`, "", `"a": want a number`},
		{"INT", "time()", "", "time(): want a constant expression"}, {"INT", `real("INF")`, "", `real("INF"): want a number`}, {"INT", "1e19", "", "1e19: want a number of 64 bits"},
		{"INT", "1", "%s", "format %s: want one of d, i, o, x, X, u behind %, once"}, {"INT", "1", "%d%d", "format %d%d: want one of d, i, o, x, X, u behind %, once"},
		{"INT", "1", "none", "format none: want one of d, i, o, x, X, u behind %, once"}, {"INT", "1", "%9999d", "format %9999d: want one of d, i, o, x, X, u behind %, once"},

		{"REAL", "1.0 / 4", "", "0.25"}, {"REAL", "1e7", "", "10000000"}, {"REAL", "100000", "", "100000"}, {"REAL", "3", "%.2f", "3.00"},
		{"REAL", "0.25", "%e", "2.500000e-01"}, {"REAL", "0.25", "%G", "0.25"}, {"REAL", "1.0/3", "%g", "0.333333"}, {"REAL", "1.5", "%5.1lf|", "  1.5|"}, {"REAL", "1e-5", "%g", "1e-05"},
		{"REAL", "2", "%F", "2.000000"}, {"REAL", "false", "%.0f", "0.0"}, {"REAL", "2", "%g", "2.0"}, {"REAL", "2", "v=%.0f s", "v=2 s.0"}, {"REAL", "1e20", "%g", "1e+20"}, {"REAL", "2", "", "2"},
		{"REAL", "007.50", "", "7.5"}, {"REAL", "08", "", "8"}, {"INT", "08", "", "8"}, {"INT", "-012", "", "-12"}, {"INT", "+3", "", "3"},
		{"INT", "12", "%#x", "0xc"}, {"INT", "0", "%#x", "0"}, {"INT", "8", "%#o", "010"}, {"STRING", "a", "%#3s", "  a"},
		{"REAL", "1", "%d", "format %d: want one of e, E, f, F, g, G behind %, once"}, {"REAL", "x", "", "x: want a constant expression"},

		{"STRING", "plain text", "", "plain text"}, {"STRING", "host.domain", "", "host.domain"}, {"STRING", "3 * 4", "", "3 * 4"}, {"STRING", "", "<%s>", "<>"},
		{"STRING", `"ab"`, "%5s|", "   ab|"}, {"STRING", `"ab"`, "%-5s|", "ab   |"}, {"STRING", `"abc"`, "%.2s", "ab"}, {"STRING", `"ab"`, "%05s", "   ab"}, {"STRING", `"a\b"`, "", `a\b`},
		{"STRING", `"a"`, "%d", "format %d: want one of s behind %, once"}, {"STRING", "string(time())", "", "string(time()): depends on the time or on chance"},

		{"EVAL", "a b", "", "a b"}, {"EVAL", "nosuch", "", "undefined"}, {"EVAL", "1 + 1.5", "", "2.5"}, {"EVAL", "1/0", "", "1/0: its value is error"}, {"EVAL", "true", "", "true"},
		{"EVAL", "random(9)", "", "random(9): depends on the time or on chance"},
		{"ENV", "1", "%d", "$ENV: not a function with a format"},
	} {
		got, err := Format(c.function, c.value, c.format)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Format(%s, %q, %q) = %q, want %q", c.function, c.value, c.format, got, c.want)
		}
	}
}

// TestFormatBounds holds that no format makes a text much longer than it is.
func TestFormatBounds(t *testing.T) {
	for _, format := range []string{"%999d", "%.99d", "%+999.99d"} {
		if got, err := Format("INT", "1", format); err != nil || len(got) > 1000 {
			t.Errorf("Format(INT, 1, %s) = %d bytes, %v, want at most 1000", format, len(got), err)
		}
	}
	if got, err := Format("STRING", strings.Repeat("(", 100_000), ""); err != nil || len(got) != 100_000 {
		t.Errorf("Format(STRING) of parentheses = %d bytes, %v, want the text as it stands", len(got), err)
	}
}

func TestConstant(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"24*60*60", "86400"}, {"1e10", "10000000000.0"}, {`size("a\b\"")`, "4"},
		{"Cpus", ""}, {"time()", ""}, {"random()", ""}, {"1/0", ""}, {"MY.A", ""}, {"undefined", ""}, {"", ""}, {"1 2", ""},
	} {
		v, ok := Constant(c.text)
		if got := v.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("Constant(%q) = %s, %v, want %q", c.text, got, ok, c.want)
		}
	}
}

func TestExpression(t *testing.T) {
	_, got, err := Expression("size(\"a\\b\\\"\"\n)")
	if want := `size("a\\b\"" )`; got != want || err != nil {
		t.Errorf("Expression with a backslash = %s, %v, want %s", got, err, want)
	}
}

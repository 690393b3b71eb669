package macro

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// scraps are what texts of laws and of the fuzzers are made of.
var scraps = []string{
	"a", "B", "1", "é", " ", "\t", "\n", "\n", "\r\n", "\\\n", "\\ \n", "\\", "#", "# c\n", "=", "@=", "@t", ",", ":", ".",
	"$", "$", "$$", "$(", "$(a)", "$(a:", "(", ")", "$$(", "$$([", "])", "]", "$ENV(", "$Fp(", "$INT(a,%d)", "$no(", "\uFEFF", "\"", "%", "\x80",
}

func anyText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(scraps), 0, 60).Draw(t, "scraps"), "")
}

// checkSplit holds that parts are the text, that literal ones do not follow each other,
// and that references are put together as they say.
func checkSplit(t interface{ Errorf(string, ...any) }, text string) {
	parts := Split(text)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p.Text)
		switch {
		case p.Text == "":
			t.Errorf("Split(%q): part %d is empty", text, i)
		case p.Ref && p.Text != "$"+p.Function+"("+p.Body+")":
			t.Errorf("Split(%q): %+v is not put together of its parts", text, p)
		case p.Ref && p.Function != "" && p.Function != "$" && !IsFunction(p.Function):
			t.Errorf("Split(%q): %+v is no function", text, p)
		case !p.Ref && i > 0 && !parts[i-1].Ref:
			t.Errorf("Split(%q): literal parts %q and %q follow each other", text, parts[i-1].Text, p.Text)
		case !p.Ref && len(Split(p.Text)) != 1:
			t.Errorf("Split(%q): literal %q has references", text, p.Text)
		}
	}
	if b.String() != text {
		t.Errorf("Split(%q) joined = %q, want the text", text, b.String())
	}
	if got, ok := Replace(text, len(text), func(Part) (string, bool) { return "", false }); got != text || !ok {
		t.Errorf("Replace(%q) of nothing = %q, %v, want the text", text, got, ok)
	}
	first, _ := Replace(text, len(text), func(p Part) (string, bool) { return p.Text, true })
	if first != text {
		t.Errorf("Replace(%q) by itself = %q, want the text", text, first)
	}
}

func TestSplitLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSplit(t, anyText(t)) })
}

// checkLines holds that each piece of a logical line is what stands at its place, that
// places go forward, and that every byte's place is within the file.
func checkLines(t interface{ Errorf(string, ...any) }, text string) {
	l := NewLines(text)
	last := 0
	for {
		logical, pieces, ok := l.Next()
		if !ok {
			return
		}
		if strings.TrimSpace(logical) != logical || strings.Contains(logical, "\n") {
			t.Errorf("lines of %q: %q, want no blanks around it, on one line", text, logical)
		}
		for i, p := range pieces {
			end := len(logical)
			if i+1 < len(pieces) {
				end = min(pieces[i+1].Offset, end)
			}
			piece := logical[min(p.Offset, end):end]
			source := l.Source(p.Line)
			if p.Line <= last || !strings.HasPrefix(behind(source, p.Column), piece) {
				t.Errorf("lines of %q: %q is to stand in line %d after %d, column %d", text, piece, p.Line, last, p.Column)
			}
			last = p.Line
		}
		for offset := range len(logical) + 1 {
			line, column := Place(logical, pieces, offset)
			if n := utf8.RuneCountInString(l.Source(line)); line < 1 || column < 1 || column > n+1 {
				t.Errorf("lines of %q: Place(%d) = %d, %d, want it in the file", text, offset, line, column)
			}
		}
	}
}

// behind returns the text from a column on.
func behind(text string, column int) string {
	for ; column > 1 && text != ""; column-- {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}

func TestLinesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkLines(t, anyText(t)) })
}

// TestSubstringLaw holds that what $SUBSTR takes and what it leaves are the text.
func TestSubstringLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(0, len(text)).Draw(t, "n")
		if got := Substring(text, 0, n, true) + Substring(text, n, 0, false); got != text {
			t.Errorf("Substring(%q) up to %d and from it = %q, want the text", text, n, got)
		}
		if n > 0 && Substring(text, -n, 0, false) != text[len(text)-n:] {
			t.Errorf("Substring(%q, -%d) = %q, want the last bytes", text, n, Substring(text, -n, 0, false))
		}
		if got := Substring(text, 0, -n, true); n > 0 && got != text[:len(text)-n] {
			t.Errorf("Substring(%q, 0, -%d) = %q, want all but the last bytes", text, n, got)
		}
	})
}

// TestFilenameLaw holds that directory, name and extension are the file name.
func TestFilenameLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-c./\\ ]{0,12}`).Draw(t, "name")
		if got := Filename("p", name, "") + Filename("n", name, "") + Filename("x", name, ""); got != name {
			t.Errorf("$Fp, $Fn and $Fx of %q = %q, want the name", name, got)
		}
		if got := Dirname(name) + Basename(name, ""); got != name {
			t.Errorf("$DIRNAME and $BASENAME of %q = %q, want the name", name, got)
		}
	})
}

// TestRandomIntegerLaw holds that the number is one of those that may be chosen.
func TestRandomIntegerLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high := rapid.Int64().Draw(t, "min"), rapid.Int64().Draw(t, "max")
		step := rapid.Int64Range(1, 1<<62).Draw(t, "step")
		pick := func(n int64) int64 { return rapid.Int64Range(0, n-1).Draw(t, "pick") }
		n, err := RandomInteger(pick, low, high, step)
		if err == nil && (n < low || n > high || (uint64(n)-uint64(low))%uint64(step) != 0) {
			t.Errorf("RandomInteger(%d, %d, %d) = %d, want one of the steps", low, high, step, n)
		}
	})
}

func addSeeds(f *testing.F) {
	for i := range scraps {
		f.Add(strings.Join(scraps[:i], ""))
		f.Add(strings.Join(scraps[i:], ""))
	}
	f.Add("$$([ strcat(\"(\", $(A:x)) ]) $Fpn($(B$(C:1)))")
	f.Add("X @=t\n a\n@t\nY = 1 \\\n # c\n\n")
}

func FuzzSplit(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) { checkSplit(t, text) })
}

func FuzzLines(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			t.Skip("too long for a look at the place of each byte")
		}
		checkLines(t, text)
		l := NewLines(text)
		l.Next()
		value, pieces, _ := l.Until("t")
		if line, column := Place(value, pieces, len(value)); len(pieces) > 0 && (line < 1 || column < 1) {
			t.Errorf("Place behind %q = %d, %d, want it in the file", value, line, column)
		}
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("INT", "2 * 6", "Area=%04d")
	f.Add("REAL", "1.0/3", "%-8.3lf%%")
	f.Add("STRING", `toLower("A")`, "<%5s>")
	f.Add("EVAL", "split(\"a b\")", "")
	f.Fuzz(func(t *testing.T, function, value, format string) {
		got, err := Format(function, value, format)
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("Format(%q, %q, %q) = %q, want one line", function, value, format, err)
		}
		if strings.Contains(got, "%!") && !strings.Contains(format+value, "%!") && !strings.Contains(format, "%%") {
			t.Errorf("Format(%q, %q, %q) = %q, want no complaint of printf", function, value, format, got)
		}
	})
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{"!defined X", "version >= 8.1.6", "1e3", "! yes", "defined", "version != 9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("ParseCondition(%q) = %q, want one line", text, err)
			}
			return
		}
		never := func(string) bool { return false }
		turned, err := ParseCondition("!" + text)
		if err == nil && !c.Not && turned.Holds(never, [3]int{9, 1, 2}) == c.Holds(never, [3]int{9, 1, 2}) {
			t.Errorf("ParseCondition(%q) holds like its contrary", text)
		}
	})
}

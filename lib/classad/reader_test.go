package classad

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"fairspool/internal/testenv"
)

func TestReader(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n \n", ""},
		{"two ads", "\n# head\nA = 1\n# c\nB = \"x\\y\"\n\n\n A=2\r\nB = 3", `[ A = 1; B = "x\\y" ] | [ A = 2; B = 3 ]`},
		{"junk behind an expression", "A = 1K\nB = 3 foo\nC = \"x\" \"y\"", `[ A = 1; B = 3; C = "x" ]`},
		{"bad ad among good ones", "A = 1\n\nA = 1\nB = (2\nC = 3\n\nA = 4\n", `[ A = 1 ] | f:4:7: expected an operator or ), found the end of the text | [ A = 4 ]`},
		{"no equals sign", "A = 1\nnothing\n", "f:2:1: expected Name = expression, found no ="},
		{"no name", " = 1\n", "f:1:1: expected an attribute name before ="},
		{"compared", "A == 1\n", `f:1:4: expected a value, a name or (, found "="`},
		{"names are not checked", "My.A = 1\nA B = 2\n", "[ 'A B' = 2; 'My.A' = 1 ]"},
		{"continued", "A = b &&\n    (c ||\n\td)\nB = 1\n", "[ A = b && (c || d); B = 1 ]"},
		{"not continued", "A = 1 +\nB = 1\n\nC = 1", "f:1:8: expected a value, a name or (, found the end of the text | [ C = 1 ]"},
		{"not continued by an indented line", "  A = 1 +\n  B = 1\n\nC = 1", "f:1:10: expected a value, a name or (, found the end of the text | [ C = 1 ]"},
		{"headings of condor_q", "-- Schedd: a : <1.2.3.4?b=c>\n  A = 1\n  -- more\n", "[ A = 1 ]"},
		{"history", "A = 1\n*** Offset = 0\nA = 2\n***", "[ A = 1 ] | [ A = 2 ]"},
		{"new form", " \n[ A = 1; ] [B = \"\\n\"]\n\n[ C = 2 ]", `[ A = 1 ] | [ B = "\n" ] | [ C = 2 ]`},
		{"a NUL byte behind an expression", "A = 1\nB = \"x\"\x00\n\nC = 1", "f:2:8: a NUL byte | [ C = 1 ]"},
		{"a NUL byte in a string", "A = \"x\x00\"", "f:1:7: a NUL byte"},
		{"a NUL byte in a name", "A\x00 = 1", "f:1:2: a NUL byte"},
		{"a NUL byte in a continued line", "A = b &&\n  c\x00\n\nC = 1", "f:2:4: a NUL byte | [ C = 1 ]"},
		{"a NUL byte in new form", "[ A = \"x\x00\" ]\n[ B = 1\x00 ]", `f:1:7: a NUL byte | f:2:8: a character that has no meaning here: "\x00"`},
		{"columns of new form", "[ a = 1 ][ b = 2; ] [c=3", "[ a = 1 ] | [ b = 2 ] | f:1:25: expected an operator, ; or ], found the end of the text"},
		{"columns of indented new form", "\n  [ b = (2 ]\n", `f:2:12: expected an operator or ), found "]"`},
		{"a byte order mark", "\xef\xbb\xbfA = 1\n", "[ A = 1 ]"},
		{"a byte order mark and new form", "\xef\xbb\xbf[ A = 1 ]", "[ A = 1 ]"},
		{"a byte order mark and JSON", "\xef\xbb\xbf{\"A\": 1}", "[ A = 1 ]"},
		{"indented JSON", "\n  {\"A\" 1}", `f:2:8: expected : behind the attribute name, found "1"`},
		{"indented XML", "\n  <c>x</c>", `f:2:6: expected <a n="..."> or </c>, found text`},
		{"the second line of indented XML", "\n  <c>\n x</c>", `f:2:6: expected <a n="..."> or </c>, found text`},
		{"a list that is not closed", "[ \n", "f:2:1: expected an attribute name or ], found the end of the text"},
		{"a comment without end in new form", "[ A = 1 ] [ B = /* ]\n[ C = 2 ]\n[ D = /* ]", "[ A = 1 ] | f:1:17: a comment /* that does not end"},
		{"a string without end in new form", "[ A = \" ]\n[ C = 2 ]", "f:1:7: a string without its closing quote | [ C = 2 ]"},
		{"many semicolons", "[;; a = 1;; A = 2; ]\n[]", "[ a = 2 ] | [  ]"},
		{"bad new form", "[ A = 1 ]\n[ A = ; ]\n[ B = 2 ]\nx\n[ C = 3", `[ A = 1 ] | f:2:7: expected a value, a name or (, found ";" | [ B = 2 ] | f:4:1: expected [, found "x" | f:5:8: expected an operator, ; or ], found the end of the text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readerText(NewReader(strings.NewReader(c.text), "f"))
			if got != c.want {
				t.Errorf("Reader = %s, want %s", got, c.want)
			}
			bytewise := NewReader(iotest.OneByteReader(strings.NewReader(c.text)), "f")
			if got := readerText(bytewise); got != c.want {
				t.Errorf("Reader, byte by byte = %s, want %s", got, c.want)
			}
		})
	}
}

// readerText reads everything: ads in the spool style and errors.
func readerText(r *Reader) string {
	var out []string
	for {
		ad, err := r.Next()
		switch {
		case err == io.EOF:
			return strings.Join(out, " | ")
		case err != nil:
			out = append(out, err.Error())
		default:
			out = append(out, ad.Format(StyleSpool))
		}
	}
}

func TestReaderKnowsLines(t *testing.T) {
	for _, text := range []string{"\n#\nA = 1\n\n\nA = 2\n", "\n\n[ A = 1\n]\n\n[ A = 2 ]"} {
		r := NewReader(strings.NewReader(text), "f")
		var lines []int
		for {
			if _, err := r.Next(); err != nil {
				break
			}
			lines = append(lines, r.Line())
		}
		if got, want := fmt.Sprint(lines), "[3 6]"; got != want {
			t.Errorf("Line of %q = %s, want %s", text, got, want)
		}
	}
}

func TestReaderOfLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	ad, err := NewReader(strings.NewReader("A = \""+long+"\"\nB = 2"), "f").Next()
	testenv.OK(t, err)
	if s, _ := ad.EvalString(nil, "A"); s != long {
		t.Errorf("A has %d bytes, want %d", len(s), len(long))
	}
}

func TestInternedAdsShareExpressions(t *testing.T) {
	in := NewInterner()
	read := func(text string) *Expr {
		r := NewReader(strings.NewReader(text), "f")
		r.Intern(in)
		ad, err := r.Next()
		testenv.OK(t, err)
		e, _ := ad.Lookup("A")
		return e
	}
	if read("A = b + 1\n") != read("a = b + 1\nB = 2\n") {
		t.Error("equal expressions of two ads are compiled twice")
	}
	old := read(`A = "x\y"`)
	spool, err := in.Expr(` "x\y"`)
	testenv.OK(t, err)
	if old.String() == spool.String() {
		t.Errorf("the old and new dialects share %s", old)
	}
}

func TestInternerWithoutNew(t *testing.T) {
	in := new(Interner)
	a, err := in.Expr("b + 1")
	testenv.OK(t, err)
	if b, _ := in.Expr("b + 1"); a != b {
		t.Error("equal expressions of a zero Interner are compiled twice")
	}
	for _, text := range []string{"A = b + 1\n\nA = b + 1\n", "[ A = b + 1 ] [ A = b + 1 ]", `{"A":"\/Expr(b + 1)\/"}{"A":"\/Expr(b + 1)\/"}`} {
		r := NewReader(strings.NewReader(text), "f")
		r.Intern(nil)
		for range 2 {
			ad, err := r.Next()
			testenv.OK(t, err)
			e, _ := ad.Lookup("A")
			if r.Intern(nil); e.String() != "b + 1" {
				t.Errorf("A of %q = %v, want b + 1", text, e)
			}
			r.Intern(in)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("Next of %q = %v, want %v", text, err, io.EOF)
		}
	}
}

// parts gives its texts one by one, and an error for an empty one.
type parts struct {
	texts []string
	asked int
}

func (p *parts) Read(b []byte) (int, error) {
	p.asked++
	if len(p.texts) == 0 {
		return 0, io.EOF
	}
	text := p.texts[0]
	p.texts = p.texts[1:]
	if text == "" {
		return 0, errDisk
	}
	return copy(b, text), nil
}

func TestNothingIsReadBehindAnError(t *testing.T) {
	for _, texts := range [][]string{
		{"A = 1\n", "", "B = 2\n\n"}, {"A = 1\n\nB = (\n", "", " 1)\n\n"}, {"A = 1\n\nB = 2", "", "3\n\n"},
		{"[ A = 1 ]\n[ A = 1; B = 2", "", "3 ]"}, {"[", "", "A = 1 ]"}, {"[ A = 1 ] [ A = ; ]", "", "\n[ B = 1 ]"}, {"[ A = 1 ]", "", "[ B = 1 ]"},
		{"", "A = 1\n\n"}, {" ", "", "A = 1\n\n"}, {`{"A":1}`, "", `{"B":1}`}, {`[{"A":1},{"B":2`, "", `3}]`}, {`<c><a n="A"><i>1`, "", `2</i></a></c>`},
	} {
		r := NewReader(&parts{texts: texts}, "f")
		var err error
		for range 5 {
			var ad *Ad
			if ad, err = r.Next(); err == nil && ad.Format(StyleSpool) != "[ A = 1 ]" {
				t.Errorf("Next of %q = %v, want no part of an ad", texts, ad)
			}
		}
		if err != errDisk {
			t.Errorf("last error of %q = %v, want %v", texts, err, errDisk)
		}
	}
}

func TestReaderStopsWhenNothingComes(t *testing.T) {
	for _, form := range []Form{FormAuto, FormLong, FormNew, FormJSON, FormXML} {
		r := NewReader(neverReader{}, "f")
		r.SetForm(form)
		if _, err := r.Next(); err != io.ErrNoProgress {
			t.Errorf("Next in form %v = %v, want %v", form, err, io.ErrNoProgress)
		}
	}
}

// An ad that is there must not wait for what comes behind it.
func TestReaderDeliversWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		texts []string
		more  int // how often it may read on
	}{
		{[]string{"[ A = 1 ]"}, 1}, {[]string{"[", " A = 1 ", "]", "[ B = 1 ]"}, 3}, {[]string{"A = 1\n\n"}, 1}, {[]string{`{"A":1}`}, 1},
		{[]string{"[ \n", `{"A":1},`, "{}"}, 2}, {[]string{"[ A = 1; ] [ B = "}, 1}, {[]string{`<c><a n="A"><i>1</i></a></c>`}, 1},
	} {
		in := &parts{texts: c.texts}
		ad, err := NewReader(in, "f").Next()
		if err != nil || ad.Format(StyleSpool) != "[ A = 1 ]" || in.asked != c.more {
			t.Errorf("Next of %q = %v, %v after reading %d times, want [ A = 1 ] after %d", c.texts, ad, err, in.asked, c.more)
		}
	}
	in := &parts{texts: []string{"[ A = ; ]"}}
	if _, err := NewReader(in, "f").Next(); err == nil || in.asked != 1 {
		t.Errorf("Next of a bad ad = %v after reading %d times, want the error after 1", err, in.asked)
	}
}

// limitAds makes the limit of an ad's text 64 times as long as the text that it returns,
// and so less than it is.
func limitAds(t *testing.T) (long string) {
	long = strings.Repeat("x", 1<<16)
	t.Cleanup(func(n int) func() { return func() { maxAdText = n } }(maxAdText))
	maxAdText = 64 * len(long)
	return long
}

func TestReaderLimitsTheSizeOfAds(t *testing.T) {
	long := limitAds(t)
	line := func(name string) string { return name + " = \"" + long + "\"\n" }
	for _, c := range []struct {
		name   string
		text   io.Reader
		errors string
	}{
		{"a long line", io.MultiReader(strings.NewReader("A = \""), repeated(65, long), strings.NewReader("\"\nB = 1\n\n\n")), "f:1:1: "},
		{"many lines", io.MultiReader(strings.NewReader("B = 1\n"), repeated(70, line("A")), strings.NewReader("\n")), "f:65:1: "},
		{"many short lines", io.MultiReader(repeated(140, line("A")[:len(long)/2]+"\"\n"), strings.NewReader("\n")), "f:128:1: "},
		{"a bad line before", io.MultiReader(strings.NewReader("B\n"), repeated(70, line("A")), strings.NewReader("\n")), "f:1:1: expected Name = expression, found no ="},
		{"continued lines", io.MultiReader(strings.NewReader("A = (\n"), repeated(4, " "+strings.Repeat(long, 17)+" &&\n"), strings.NewReader("\n")), "f:5:1: "},
		{"a comment", io.MultiReader(strings.NewReader("#"), repeated(65, long), strings.NewReader("\n\n")), "f:1:1: "},
		{"new form", io.MultiReader(strings.NewReader("[ A = \""), repeated(65, long), strings.NewReader("\" ]\n")), "f:1:1: "},
		{"indented new form", io.MultiReader(repeated(64, strings.Repeat(" ", len(long))), strings.NewReader(" [")), "f:1:1: "},
	} {
		last, want := "\nA = 1\n", c.errors
		if strings.HasSuffix(c.name, "new form") {
			last = "\n[ A = 1 ]"
		}
		if strings.HasSuffix(want, ": ") {
			want += errTooLong.Error()
		}
		got := readerText(NewReader(io.MultiReader(c.text, strings.NewReader(last)), "f"))
		if c.name == "indented new form" {
			want += " | f:2:1: expected an attribute name or ], found \"[\" | [ A = 1 ]"
		} else {
			want += " | [ A = 1 ]"
		}
		if got != want {
			t.Errorf("%s = %.300s, want %s", c.name, got, want)
		}
	}
}

// What is bad may hide what follows, but must not be read again for every line.
func TestReaderReadsBadTextFewTimes(t *testing.T) {
	const n = 40000
	for _, c := range []struct {
		line string
		most int // errors that are told; each may cost a passage through the text
	}{{"[/*\n", 1}, {"[a={/**/2,/*\n", 100}, {"[a='b'+/**/2+/*\n", n / 10}} {
		got := readerText(NewReader(strings.NewReader(strings.Repeat(c.line, n)), "f"))
		if count := strings.Count(got, "f:"); count < 1 || count > c.most {
			t.Errorf("%d lines %q = %d errors, want 1 to %d", n, c.line, count, c.most)
		}
	}
}

func TestErrorsSayWhatWasExpected(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "column 1: expected a value, a name or (, found the end of the text"},
		{"a +", "column 4: expected a value, a name or (, found the end of the text"},
		{"a == = 1", `column 6: expected a value, a name or (, found "="`},
		{"(a", "column 3: expected an operator or ), found the end of the text"},
		{"1K", `column 2: expected an operator or the end of the expression, found "K"`},
		{"a = 1", `column 3: expected an operator or the end of the expression, found "="; equality is ==`},
		{"f(1,)", `column 5: expected a value, a name or (, found ")"`},
		{`"abc`, "column 1: a string without its closing quote"},
		{"a =? b", "column 3: =? (is =?= meant?)"},
		{"010", "column 1: an integer must not begin with 0"},
		{"a.1", `column 2: expected an operator or the end of the expression, found ".1"`},
		{"a # b", `column 3: a character that has no meaning here: "#"`},
		{"a ? b", "column 6: expected an operator or the : of ? :, found the end of the text"},
		{`absTime("x")`, "column 1: absTime(...): the text is not a time"},
		{"1 /* x", "column 3: a comment /* that does not end"},
	} {
		_, err := ParseExpr(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("ParseExpr(%s) error = %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"A = 1\nB = \"C:\\\\dir\\\"\n\nA = 2", "# c\n\n[ A = 1; B = {} ]\n[", "A = b &&\n  c\n", "A = (\n \n B = 1", "***\nA == 1", "-- Schedd: x\nA = 'q'", "[a=\"\n[b=1]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, bytewise := readerText(NewReader(strings.NewReader(text), "f")), readerText(NewReader(iotest.OneByteReader(strings.NewReader(text)), "f"))
		if whole != bytewise {
			t.Errorf("read byte by byte = %s, want %s", bytewise, whole)
		}
		r := NewReader(strings.NewReader(text), "f")
		for {
			ad, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "f:") {
					t.Errorf("error = %q, want it to begin with the file", err)
				}
				continue
			}
			if ad.Len() > 0 && r.Line() < 1 {
				t.Errorf("Line = %d, want at least 1", r.Line())
			}
			again, err := ParseAd(ad.Format(StyleSpool))
			if err != nil {
				t.Fatalf("ParseAd(%q): %v", ad.Format(StyleSpool), err)
			}
			if !equalAds(ad, again) {
				t.Errorf("read back = %s, want %s", again.Format(StyleSpool), ad.Format(StyleSpool))
			}
		}
	})
}

package classad

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// aLongTime is what nothing may take, however slow the machine: an evaluation
// is bounded by its limits, and reading by the length of the text.
const aLongTime = testenv.Longest

// fuzzAd makes an ad of whatever text.
func fuzzAd(text string) *Ad {
	if ad, err := ParseAd(text); err == nil {
		return ad
	}
	ad, err := NewReader(strings.NewReader(text), "f").Next()
	if err != nil {
		return New()
	}
	return ad
}

func fuzzExpr(text string, old bool) (*Expr, error) {
	if old {
		return ParseLongExpr(text)
	}
	return ParseExpr(text)
}

func FuzzEval(f *testing.F) {
	for _, seed := range [][3]string{
		{"A + TARGET.A * 2", "[ A = B; B = 3 ]", "[ A = TARGET.B ]"}, {"countMatches(P, { TARGET, N, MY })", "[ P = C; C = D; N = [ D = true ] ]", "[ C = P; D = C ?: true ]"},
		{`regexp(strcat("a", S), L[0]) && undefined || !X`, "S = \"b.*\"\nL = { \"xab\", 1 }\n", "X = MY.X && false"}, {"eval(eval(S)) =?= MY.MY.A ? parent.A : .A", `[ S = "S"; A = "A"; MY = [ A = 1 ] ]`, "[]"},
		{"(A ?: B) && (true && (A || B)) && 5 && error", "A = B\nB = A", "A = 1"}, {`relTime("1:05") + absTime("2024-01-01T00:00:00") - time()`, "", "CurrentTime = 1"}, {`evalInEachContext(A, N)[1].x`, "N = { [ x = A ], [ A = [ x = TARGET.A ] ] }", "A = random(10)"},
		{`unparse(A) == unresolved(A)`, "A = TARGET.B + C", "C = A"}, {`splitTime(absTime(5e17)).Year`, "", ""}, {"A[B]", "[ A = [ c = B ]; B = \"c\" ]", ""}, {"ifThenElse(A, 1/0, -(-9223372036854775808))", "A = real(\"NaN\")", ""},
		{`relTime("-")`, "", ""}, // was -0.0, and 0.0 when printed and read again
	} {
		f.Add(seed[0], seed[1], seed[2], false)
		f.Add(seed[0], seed[1], seed[2], true)
	}
	f.Fuzz(func(t *testing.T, text, my, target string, old bool) {
		e, err := fuzzExpr(text, old)
		if err != nil {
			return
		}
		begun := time.Now()
		for _, c := range []*Context{noon, {Now: noon.Now, Strict: true}} {
			checkAgree(func(format string, args ...any) {
				t.Fatalf("%.4000s", fmt.Sprintf(format, args...))
			}, c, e, fuzzAd(my), fuzzAd(target))
		}
		for _, style := range []Style{StyleOld, StyleNew, StyleSpool} {
			_ = e.Format(style)
		}
		again, err := ParseExpr(e.Format(StyleSpool))
		if err != nil {
			if !strings.Contains(err.Error(), "too deep") { // an old-form text may nest as deep as allowed
				t.Fatalf("ParseExpr(%q): %v", e.Format(StyleSpool), err)
			}
		} else if !equalNodes(e.tree(), again.tree()) {
			t.Fatalf("read back = %q, want %q", again.Format(StyleSpool), e.Format(StyleSpool))
		}
		if took := time.Since(begun); took > aLongTime {
			t.Errorf("evaluating %q took %v", text, took)
		}
	})
}

func FuzzMatcher(f *testing.F) {
	for _, seed := range [][2]string{
		{"[ Requirements = TARGET.Memory > MemoryWanted; MemoryWanted = 5; Rank = TARGET.Rank ]", "[ Memory = 6; Requirements = START; START = TARGET.MemoryWanted < 10 && Rank > 1; Rank = 2 ]"},
		{"[ Requirements = countMatches(A, { TARGET, MY }) > 0; A = B; B = C ]", "[ Requirements = true; A = C; C = B; B = true ]"},
		{"Requirements = TARGET.Requirements\nRank = random()", "Requirements = TARGET.Requirements ?: true\nRank = random(5)"}, {"MY = 1\nRequirements = true", "Requirements = MY.A\nA = TARGET.MY == 1"},
		{"Requirements = A\nA = B\nB = TARGET.B\nC = [ x = B ]", "Requirements = C.x\nB = TARGET.C.x ?: true\nC = TARGET.C"}, {"Requirements = eval(T)\nT = \"TARGET.T\"", "Requirements = eval(TARGET.T) == T\nT = \"true\""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		my, other := fuzzAd(one), fuzzAd(two)
		for _, ads := range [][2]*Ad{{my, other}, {other, my}, {my, my}} {
			for _, name := range []string{"Requirements", "Rank"} {
				for _, side := range [][2]*Ad{{ads[0], ads[1]}, {ads[1], ads[0]}} {
					if e, ok := side[0].Lookup(name); ok {
						if _, near := evalLimited(e, noon, side[0], side[1]); near {
							return // a Matcher may stay within a limit because it has less to do
						}
					}
				}
			}
			checkMatcher(t.Fatalf, noon, ads[0], ads[1])
			checkMatcher(t.Fatalf, &Context{Strict: true}, ads[0], ads[1])
		}
	})
}

// inPieces hands out a text in pieces of changing sizes, and now and then
// nothing, as readers may.
type inPieces struct {
	text string
	size int
	end  error // with the last piece; nil: behind it
}

func (r *inPieces) Read(p []byte) (int, error) {
	if r.text == "" {
		if r.end == nil {
			return 0, io.EOF
		}
		return 0, r.end
	}
	r.size = r.size*5%17 + 1
	if r.size == 6 {
		return 0, nil
	}
	n := copy(p, r.text[:min(r.size%7+1, len(r.text))])
	r.text = r.text[n:]
	if r.text == "" {
		return n, r.end
	}
	return n, nil
}

// readForm reads everything and describes it. It checks what must be true of
// every ad and error.
func readForm(t *testing.T, in io.Reader, form Form, size int) (out []string) {
	t.Helper()
	r := NewReader(in, "f")
	r.SetForm(form)
	for range size + 2 {
		ad, err := r.Next()
		if err == io.EOF {
			if again, more := r.Next(); more != io.EOF {
				t.Fatalf("Next behind the end = %v, %v, want io.EOF", again, more)
			}
			return out
		}
		var bad *SyntaxError
		if errors.As(err, &bad) {
			if bad.File != "f" || bad.Line < 1 || bad.Col < 1 || bad.Msg == "" || strings.ContainsAny(bad.Msg, "\r\n") {
				t.Fatalf("error = %q, want one line with file, line and column", err)
			}
			out = append(out, fmt.Sprint(r.Line(), err))
			continue
		}
		if err != nil {
			t.Fatalf("error = %v, want a *SyntaxError", err)
		}
		spool := ad.Format(StyleSpool)
		out = append(out, fmt.Sprint(r.Line(), spool))
		if r.Line() < 1 {
			t.Fatalf("Line = %d, want at least 1", r.Line())
		}
		again, err := ParseAd(spool)
		if err != nil {
			if strings.Contains(err.Error(), "too deep") { // an expression as deep as allowed, now in an ad
				continue
			}
			t.Fatalf("ParseAd(%q): %v", spool, err)
		}
		if !equalAds(ad, again) {
			t.Fatalf("read back = %q, want %q", again.Format(StyleSpool), spool)
		}
	}
	t.Fatalf("the stream of %d bytes has more ads and errors than bytes", size)
	return nil
}

var readForms = []Form{FormAuto, FormLong, FormNew, FormJSON, FormXML}

func FuzzReaders(f *testing.F) {
	for _, seed := range []string{
		"A = 1\nB = \"C:\\\\dir\\\"\n\nA = 2\nB = 3\n\nA = 2\nC = 1\nb = 2\nA = 5", "[ A = 1; B = {} ]\n[ C = \"]\" /* ] */ ]\n[", "[{\"A\":1,\"B\":\"\\/Expr(A + 1)\\/\"}\n,{\"A\":{\"C\":[null]}}]", "<classads><c><a n=\"A\"><e>1 + B</e></a></c>\n<c/></classads>",
		"A = b &&\n  c\r\n\r\nA = (\n \n\nB = 1\n***\nA = 1K", " \r\n\t{\"A\":1}", "[]", "[\n]\n[a=1]", "[ a = \"x\n[b = 1]\n", "-- Schedd: x\n A=1\n\x00\n\nA = 1", "[a=1][b=2]x\n[c='d\n e']", "<c><a n='A'><s>\\",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range readForms {
			begun := time.Now()
			want := readForm(t, strings.NewReader(text), form, len(text))
			for size := range 2 {
				if got := readForm(t, &inPieces{text: text, size: size + 1, end: []error{nil, io.EOF}[size]}, form, len(text)); !slices.Equal(got, want) {
					t.Fatalf("in pieces as %v: %q, want %q", form, got, want)
				}
			}
			if took := time.Since(begun); took > aLongTime {
				t.Errorf("reading %q as %v took %v", text, form, took)
			}
		}
	})
}

package classad

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// deepTexts are texts that are as deep as they are long. In all of them n is how
// often something is repeated.
var deepTexts = map[string]func(n int) string{
	"parentheses":        func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
	"open parentheses":   func(n int) string { return strings.Repeat("(", n) },
	"lists":              func(n int) string { return strings.Repeat("{", n) + strings.Repeat("}", n) },
	"ads":                func(n int) string { return strings.Repeat("[a=", n) + "1" + strings.Repeat("]", n) },
	"open ads":           func(n int) string { return strings.Repeat("[a=", n) },
	"not":                func(n int) string { return strings.Repeat("!", n) + "a" },
	"minus":              func(n int) string { return strings.Repeat("- ", n) + "1" },
	"elvis":              func(n int) string { return strings.Repeat("a ?: ", n) + "1" },
	"conditions":         func(n int) string { return strings.Repeat("a ? b : ", n) + "1" },
	"conditions inside":  func(n int) string { return strings.Repeat("a ? ", n) + "1" + strings.Repeat(" : b", n) },
	"calls":              func(n int) string { return strings.Repeat("f(", n) + strings.Repeat(")", n) },
	"choices":            func(n int) string { return strings.Repeat("ifThenElse(a,", n) + "1" + strings.Repeat(",2)", n) },
	"subscripts":         func(n int) string { return "a" + strings.Repeat("[a", n) + strings.Repeat("]", n) },
	"rows of subscripts": func(n int) string { return "a" + strings.Repeat("[1]", n) },
	"selections":         func(n int) string { return "a" + strings.Repeat(".a", n) },
	"sums":               func(n int) string { return "1" + strings.Repeat(" + a", n) },
	"conjunctions":       func(n int) string { return "a" + strings.Repeat(" && a", n) },
	"mixed":              func(n int) string { return "1" + strings.Repeat(" + a * b == c && d || e", n) },
	"both ways":          func(n int) string { return strings.Repeat("1 || a && b == c + d * (", n) },
	"comments":           func(n int) string { return strings.Repeat("/* */", n) + "1" },
	"long comments":      func(n int) string { return strings.Repeat("/*", n) },
	"strings":            func(n int) string { return strings.Repeat(`"a" `, n) },
	"escapes":            func(n int) string { return `"` + strings.Repeat(`\`, n) },
	"a long list":        func(n int) string { return "{1" + strings.Repeat(",a", n) + "}" },
	"a large ad":         func(n int) string { return "[" + strings.Repeat("a=1;", n) + "]" },
	"arguments":          func(n int) string { return "strcat(1" + strings.Repeat(",a", n) + ")" },
	"eval in eval":       func(n int) string { return strings.Repeat("eval(", n) + `"1"` + strings.Repeat(")", n) },
}

// checkCost runs f, which may not need much more memory than its text is long.
func checkCost(t *testing.T, what string, size int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	// Stacks do not shrink at once, so what is there behind is the most there was.
	if grown, limit := int64(after.StackSys)-int64(before.StackSys), int64(16<<20); grown > limit {
		t.Errorf("%s of %d bytes needs %d MB of stack, want at most %d", what, size, grown>>20, limit>>20)
	}
	if made, limit := after.TotalAlloc-before.TotalAlloc, uint64(size)*2000+(64<<20); made > limit {
		t.Errorf("%s of %d bytes allocates %d MB, want at most %d", what, size, made>>20, limit>>20)
	}
}

func TestDeepTextsAreCheap(t *testing.T) {
	const repeats = 50_000
	ad := mustAd(t, "[ a = a; b = 1; c = TARGET.c ]")
	for _, name := range slices.Sorted(mapKeysOf(deepTexts)) {
		for _, n := range []int{30, 160, 450, repeats} {
			text := deepTexts[name](n)
			what := fmt.Sprint(n, " ", name)
			checkCost(t, what, len(text), func() {
				for _, old := range []bool{false, true} {
					e, err := fuzzExpr(text, old)
					if err != nil {
						continue
					}
					v := e.Eval(noon, ad, ad)
					if r := e.Specialize(noon, ad, nil); n <= 160 && !sameValue(r.Eval(noon, ad, ad), v) {
						t.Errorf("%s specialised = %v, want %v", what, r.Eval(noon, ad, ad), v)
					}
					References(e, ad)
					e.Clauses()
					if again, err := ParseExpr(e.Format(StyleSpool)); err == nil && again.Format(StyleSpool) != e.Format(StyleSpool) {
						t.Errorf("%s reads back as something else", what)
					}
				}
			})
		}
	}
}

func TestDeepTextsAreCheapToRead(t *testing.T) {
	const repeats = 50_000
	for _, name := range slices.Sorted(mapKeysOf(deepTexts)) {
		text := deepTexts[name](repeats)
		for _, stream := range []string{
			"A = " + text + "\n\nB = 1\n", "[ A = " + text + " ]\n[ B = 1 ]\n", `{"A":"\/Expr(` + text + `)\/"}` + "\n{\"B\":1}\n", "<c><a n=\"A\"><e>" + text + "</e></a></c>\n<c><a n=\"B\"><i>1</i></a></c>\n", text,
		} {
			checkCost(t, name+" in "+stream[:min(len(stream), 12)], len(stream), func() {
				r := NewReader(strings.NewReader(stream), "f")
				for {
					if _, err := r.Next(); err == io.EOF {
						break
					}
				}
			})
		}
	}
}

// hostile are streams of n pieces that would cost the square of their length
// if every piece were paid for with a look at the rest.
var hostile = map[string]func(n int) string{
	"comments that do not end": func(n int) string { return strings.Repeat("[/*\n", n) },
	"strings that do not end":  func(n int) string { return "[a=\"" + strings.Repeat("\n[a=\\\"", n) },
	"names that do not end":    func(n int) string { return strings.Repeat("['\n[\"\n", n) },
	"ads in one line":          func(n int) string { return strings.Repeat("[a=1]", n) },
	"bad ads in one line":      func(n int) string { return strings.Repeat("[a=]", n) },
	"new ads that do not end":  func(n int) string { return strings.Repeat("[a=1;\n", n) },
	"JSON that does not end":   func(n int) string { return strings.Repeat("{\"A\":\n", n) },
	"JSON strings":             func(n int) string { return strings.Repeat("{\"A\":\"x\n", n) },
	"XML that does not end":    func(n int) string { return strings.Repeat("<c><a n=\"A\"><i>\n", n) },
	"XML comments":             func(n int) string { return "<c>" + strings.Repeat("<!--\n<c>", n) },
	"open parentheses":         func(n int) string { return strings.Repeat("A = (\n ", n) },
	"continued lines":          func(n int) string { return "A = (" + strings.Repeat("1 +\n ", n) },
	"strings continued":        func(n int) string { return strings.Repeat("A = \"\n ", n) },
	"a large ad, many small":   func(n int) string { return manyNames(n/2) + manyAds(n/2, "\n\n") },
	"a large ad, many other ones": func(n int) string {
		return manyNames(n/2) + "\n" + strings.Repeat("A0 = 1\nB = 1\n\nA0 = 1\nC = 2\n\n", n/4)
	},
	"one name again and again": func(n int) string { return strings.Repeat("A = 1\n", n) },
	"ads of many names":        func(n int) string { return manyNames(n) + "\n" + manyNames(n) },
	"blank lines":              func(n int) string { return strings.Repeat(" \n", n) },
	"separators":               func(n int) string { return "A = 1\n" + strings.Repeat("***\n", n) },
	"NUL bytes":                func(n int) string { return strings.Repeat("\x00", n) },
}

// manyNames is one long-form ad with n attributes.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "A%d = %d\n", i, i)
	}
	return b.String() + "\n"
}

// manyAds is n long-form ads of one attribute each, all with another name.
func manyAds(n int, apart string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "A0 = 1\nB%d = %d%s", i, i, apart)
	}
	return b.String()
}

func TestHostileStreamsAreCheap(t *testing.T) {
	const pieces = 25_000
	for _, name := range slices.Sorted(mapKeysOf(hostile)) {
		text := hostile[name](pieces)
		checkCost(t, name, len(text), func() {
			r := NewReader(strings.NewReader(text), "f")
			for {
				if _, err := r.Next(); err == io.EOF {
					break
				}
			}
		})
	}
}

// repeatedly is a stream of n pieces that are made when they are read.
type repeatedly struct {
	n     int
	piece func(i int) string
	rest  string
}

func (r *repeatedly) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.piece(r.n)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestReadersForgetWhatNeverComesAgain reads long texts, none of them twice.
func TestReadersForgetWhatNeverComesAgain(t *testing.T) {
	const pieces, size, limit = 6000, 8000, 40 << 20 // of 48 MB
	filler := strings.Repeat("x", size)
	for what, piece := range map[string]func(i int) string{
		"expressions": func(i int) string { return fmt.Sprintf("A = b == %d && %s\n\n", i, filler) },
		"strings":     func(i int) string { return fmt.Sprintf("A = \"%d \\\"%s\"\n\n", i, filler) },
		"names":       func(i int) string { return fmt.Sprintf("A%d%s = 1\n\n", i, filler) },
	} {
		r := NewReader(&repeatedly{n: pieces, piece: piece}, "f")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for {
			_, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > limit {
			t.Errorf("a Reader of %d long %s holds %d MB, want at most %d", pieces, what, grown>>20, limit>>20)
		}
		runtime.KeepAlive(r)
	}
}

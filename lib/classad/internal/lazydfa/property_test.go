package lazydfa

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// atoms of patterns: a small alphabet, so that texts often match, and letters
// whose cases are spread over bytes and other characters.
var atoms = []string{
	"a", "b", "A", "k", "K", "s", "_", "0", " ", `\n`, ".", "é", "É", "ÿ", "Ÿ", "µ", "ß", "ẞ", "ſ", "\u212a", "Å", "\u212b", `\x80`, `\x{39c}`, `\x{fffd}`,
	"[ab]", "[^a]", "[^ab]", "[a-c_]", "[^\\n]", `[k\x{17f}]`, `[^k]`, `[^\x{212a}s]`, "[à-ÿ]", `[\x{100}-\x{200}]`, `[\x{80}-\x{200}]`, `[^\x00-\x{10ffff}]`,
	`\w`, `\W`, `\d`, `\s`, `\S`, `\pL`, `\PL`, `\p{Lu}`, "[[:alpha:]]", "[[:^alnum:]]",
}

// places match without reading.
var places = []string{"", "^", "$", `\A`, `\z`, `\b`, `\B`, "(?m:^)", "(?m:$)", "(?-m:^)", "(?-m:$)"}

var (
	repeats = []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{2,}", "{0}"}
	flags   = []string{"", "?:", "?i:", "?m:", "?s:", "?U:", "?im:", "?-i:", "?-s:"}
)

// drawPattern draws a pattern of at most the given depth.
func drawPattern(t *rapid.T, depth int) string {
	what := rapid.IntRange(0, 11)
	if depth == 0 {
		what = rapid.IntRange(0, 3)
	}
	switch n := what.Draw(t, "what"); n {
	case 0, 1, 2:
		return rapid.SampledFrom(atoms).Draw(t, "atom")
	case 3:
		return rapid.SampledFrom(places).Draw(t, "place")
	case 4, 5, 6, 7:
		var b strings.Builder
		for range rapid.IntRange(2, 4).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "with place") {
				b.WriteString(rapid.SampledFrom(places).Draw(t, "place"))
			}
			b.WriteString(drawPattern(t, depth-1))
		}
		return b.String()
	case 8:
		return "(?:" + drawPattern(t, depth-1) + ")" + rapid.SampledFrom(repeats).Draw(t, "repeat")
	case 9, 10:
		return "(" + drawPattern(t, depth-1) + "|" + drawPattern(t, depth-1) + ")"
	}
	flag := rapid.SampledFrom(flags).Draw(t, "flag")
	return "(" + flag + drawPattern(t, depth-1) + ")"
}

// pattern draws a pattern with options in front.
func pattern(t *rapid.T) string {
	options := rapid.SampledFrom([]string{"", "", "(?i)", "(?m)", "(?s)", "(?ims)"}).Draw(t, "options")
	return options + drawPattern(t, rapid.IntRange(1, 4).Draw(t, "depth"))
}

var texts = rapid.Map(
	rapid.SliceOfN(rapid.SampledFrom([]byte("aabbckKsS_0 \n\n\x80\xb5\xc5\xc9\xdf\xe5\xe9\xff\xfd")), 0, 12),
	func(b []byte) string { return string(b) },
)

// shortTexts are all texts of up to three bytes out of a few.
var shortTexts = func() []string {
	all, longest := []string{""}, []string{""}
	for range 3 {
		var longer []string
		for _, text := range longest {
			for _, b := range []byte("abK_ \n\xe5\xdf") {
				longer = append(longer, text+string([]byte{b}))
			}
		}
		all, longest = append(all, longer...), longer
	}
	return all
}()

func TestMatchIsThatOfRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if got := difference(pattern(t), texts.Draw(t, "text")); got != "" {
			t.Error(got)
		}
	})
}

// TestPlaces has any three conditions around what may be read between them.
func TestPlaces(t *testing.T) {
	for _, p := range places {
		for _, q := range places {
			for _, r := range places {
				for _, middle := range []string{"%s[aÿ]?%s\\n?%s", "%s.%s(?s:.)%s", "(%s|b)%s(_|%s)+"} {
					pattern := fmt.Sprintf(middle, p, q, r)
					m, err := Compile(pattern)
					if err != nil {
						t.Fatal(err)
					}
					re := regexp.MustCompile(pattern)
					for _, text := range []string{"", "a", "\n", " ", "\xff", "a\n", "\na", "aa", "a ", " a", "\n\n", "\xff\n", "b_", "_\n", "a\n\xff", "\n\na", "a\na", " a "} {
						if got, want := m.Match(text), re.MatchString(Widen(text)); got != want {
							t.Errorf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
						}
					}
				}
			}
		}
	}
}

// TestOneMatcherManyTexts has the states that one text built used by the next.
func TestOneMatcherManyTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := pattern(t)
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatalf("Compile(%q): %v", pattern, err)
		}
		m, err := compile(pattern, rapid.SampledFrom([]int{maxCache, 1000, 3000}).Draw(t, "cache"))
		if err != nil {
			t.Fatalf("compile(%q): %v", pattern, err)
		}
		for _, text := range append(rapid.SliceOfN(texts, 1, 10).Draw(t, "texts"), shortTexts...) {
			if got, want := m.Match(text), re.MatchString(Widen(text)); got != want {
				t.Fatalf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
			}
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, c := range benchmarks {
		f.Add(c.pattern, c.text[:min(30, len(c.text))])
	}
	for _, pattern := range []string{
		`(?im)^a|\bb\B|c$`, `(?s).*[^a-k]\z`, `(a|b)*a(a|b){5}`, `(?i)\x{17f}\x{212a}[ß-ÿ]`, `((a*)*|b)+?$`, `\pL{2,}\W`, `(?m)$^\n*`, `(?i:K)(?-s:.)\Q.*\E`,
	} {
		f.Add(pattern, "ab\nc_K\xdf\xff")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			t.Skip("too long to be quick")
		}
		if got := difference(pattern, text); got != "" {
			t.Error(got)
		}
	})
}

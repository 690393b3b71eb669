package lazydfa

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{``, []string{"", "a"}, nil},
		{`a`, []string{"a", "ba", "ab"}, []string{"", "b", "A"}},
		{`abc`, []string{"ababc", "abcabc"}, []string{"ab", "acb"}},
		{`ab+c`, []string{"xabbc", "abxabc"}, []string{"ac", "abbx", "ab"}},
		{`a|bc|`, []string{"", "x"}, nil},
		{`(a|ab)(c|bcd)$`, []string{"abcd", "ac", "abc"}, []string{"abd", "acd"}},
		{`a{2,3}b`, []string{"aab", "aaaaab"}, []string{"ab", "aacb"}},
		{`x*`, []string{"", "y"}, nil},
		{`(|a)+b`, []string{"b", "aab"}, []string{"", "aa"}},
		{`a.b`, []string{"a b", "a\xffb"}, []string{"a\nb", "ab"}},
		{`(?s)a.b`, []string{"a\nb"}, []string{"ab"}},
		{`[^a]`, []string{"\n", "ab"}, []string{"", "aa"}},
		{`[^\x00-\x{10ffff}]`, nil, []string{"", "a"}},
		{`a[^\x00-\x{10ffff}]|b`, []string{"b"}, []string{"", "a", "aa"}},

		// Texts and lines.
		{`^a`, []string{"a", "ab"}, []string{"ba", "\na", ""}},
		{`a$`, []string{"a", "ba"}, []string{"ab", "a\n", ""}},
		{`^$`, []string{""}, []string{"\n", "a"}},
		{`$^`, []string{""}, []string{"\n", "a"}},
		{`\Aa\z`, []string{"a"}, []string{"a\n", "\na"}},
		{`(?m)^a`, []string{"a", "b\na"}, []string{"ba", ""}},
		{`(?m)a$`, []string{"a", "a\nb"}, []string{"ab", ""}},
		{`(?m)^$`, []string{"", "a\n", "\na", "a\n\nb"}, []string{"a", "a\nb"}},
		{`(?m)$^`, []string{"", "a\n", "a\n\nb"}, []string{"a", "a\nb"}},
		{`(?m)a$\n^b`, []string{"a\nb"}, []string{"ab", "a\n\nb"}},
		{`(?m)\A^a`, []string{"a"}, []string{"b\na"}},
		{`(?m)a\z$`, []string{"a", "\na"}, []string{"a\n", "a\nb"}},
		{`(?m)$\n(\A|b)`, []string{"\nb"}, []string{"", "\n", "a\n"}},
		{`a$b`, nil, []string{"ab", "a\nb", "a"}},
		{`a^b`, nil, []string{"ab", "a\nb", "a"}},
		{`(^|,)a(,|$)`, []string{"a", "b,a", "a,b", "b,a,b"}, []string{"ba", "ab", "b,ab", "\na"}},
		{`(?:^a|b)c`, []string{"ac", "bc", "abc"}, []string{"bac", "c"}},

		// Words; bytes from 0x80 on are in none.
		{`\ba\b`, []string{"a", " a ", "-a", "\xe9a\xe9"}, []string{"ab", "ba", "_a", "a1", ""}},
		{`\Ba`, []string{"ba", "_a"}, []string{"a", " a", "\xe9a"}},
		{`a\B`, []string{"ab", "a_"}, []string{"a", "a ", "a\xe9"}},
		{`\b`, []string{"a", " a"}, []string{"", " ", "\xe9"}},
		{`\B`, []string{"", " ", "ab"}, []string{"a", "_"}},
		{`^\B`, []string{"", " a"}, []string{"a"}},
		{`\b\B`, nil, []string{"", "a", "a b"}},
		{`(\b|^)(\B|$)`, []string{"", " ", "a"}, nil},
		{`a\b.\bb`, []string{"a b"}, []string{"acb", "a  b"}},
		{`(?m)a\b$\n\b^b`, []string{"a\nb"}, []string{"a\n b"}},

		// Letter case. Some letters have relatives that are no bytes.
		{`(?i)k`, []string{"k", "K"}, []string{"\xe2", ""}},
		{`(?i)\x{212a}`, []string{"k", "K"}, []string{"a"}},
		{`\x{212a}`, nil, []string{"k", "K", "\x2a"}},
		{`(?i)[\x{212a}]`, []string{"k", "K"}, []string{"a"}},
		{`(?i)\x{17f}x`, []string{"sx", "SX"}, []string{"x"}},
		{`(?i)[^\x{17f}]`, []string{"x"}, []string{"s", "S"}},
		{`(?i)[^s]`, []string{"x"}, []string{"s", "S"}},
		{`(?i)\x{1e9e}`, []string{"\xdf"}, []string{"ss", "s"}},
		{`(?i)\x{178}`, []string{"\xff"}, []string{"y", "\x78"}},
		{`\x{178}`, nil, []string{"\xff", "\x78"}},
		{`(?i)\xff`, []string{"\xff"}, []string{"y"}},
		{`(?i)\x{3bc}`, []string{"\xb5"}, []string{"m"}},
		{`(?i)\x{39c}|\x{c5}`, []string{"\xb5", "\xe5", "\xc5"}, []string{"m"}},
		{`(?i)\x{212b}`, []string{"\xe5", "\xc5"}, []string{"a"}},
		{`(?i)\xe9`, []string{"\xe9", "\xc9"}, []string{"e"}},
		{`\xe9`, []string{"\xe9"}, []string{"\xc9", "é"[:1]}},
		{`(?i)[a-\x{fffff}]`, []string{"A", "z", "\x80", "{"}, []string{"@", "["}},
		{`[\x{100}-\x{200}]`, nil, []string{"a", "\xff", "\x00"}},
		{`\x{fffd}`, nil, []string{"\xff", "\xfd", "a"}},
		{`a\x{fffd}`, nil, []string{"a\xff", "a"}},
		{"\u0109", nil, []string{"\t", "a"}},
		{`\pL`, []string{"a", "\xe9", "\xaa"}, []string{"1", "\xd7", "_"}},
		{`(?i)^\PL$`, []string{"1", "\xd7"}, []string{"a", "\xe9"}},
		{`[[:^ascii:]]`, []string{"\x80", "\xff"}, []string{"\x7f"}},

		// Of real pools.
		{`(?i)^(c|big)[0-9]+\.cluster\.example\.org$`, []string{"c0869.cluster.example.org", "BIG1.Cluster.example.org"}, []string{"arm852.cluster.example.org", "c.cluster.example.org", "c0869.cluster.example.org."}},
		{`(?i)^(group_(physics|bio|chem)\.)`, []string{"group_physics.alice", "Group_Bio."}, []string{"group_physics", "agroup_bio.", "group_biochem."}},
	} {
		m, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", c.pattern, err)
			continue
		}
		for want, texts := range map[bool][]string{true: c.yes, false: c.not} {
			for _, text := range texts {
				if got := m.Match(text); got != want {
					t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, text, got, want)
				}
			}
		}
		for _, text := range append(c.yes, c.not...) {
			if got := difference(c.pattern, text); got != "" {
				t.Error(got)
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, pattern := range []string{`(`, `a)`, `*`, `[b-a]`, `\`, `(?=a)`, `a{1001}`, "\xff", `\1`, strings.Repeat("(", 2000) + strings.Repeat(")", 2000)} {
		_, want := regexp.Compile(pattern)
		if _, err := Compile(pattern); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("Compile(%.20q) = %v, want %v", pattern, err, want)
		}
	}
}

// difference says what is wrong with the match of pattern and text, judged by
// package regexp: with a cache as large as always, once cold and once warm,
// and with caches that are soon full.
func difference(pattern, text string) string {
	re, wantErr := regexp.Compile(pattern)
	m, err := Compile(pattern)
	if (err == nil) != (wantErr == nil) {
		return fmt.Sprintf("Compile(%q) = %v, want %v", pattern, err, wantErr)
	}
	if err != nil {
		return ""
	}
	want := re.MatchString(Widen(text))
	for _, state := range []string{"cold", "warm"} {
		if got := m.Match(text); got != want {
			return fmt.Sprintf("Match(%q, %q) = %v, want %v (cache: %s)", pattern, text, got, want, state)
		}
	}
	for _, cache := range []int{0, 500, 2000} {
		m, err := compile(pattern, cache)
		if err != nil {
			return fmt.Sprintf("compile(%q, %d) = %v", pattern, cache, err)
		}
		// All beginnings of the text first, so that it meets a cache that
		// has been filled by others.
		for i := 0; i <= len(text); i += 1 + len(text)/8 {
			m.Match(text[i:])
		}
		if got := m.Match(text); got != want {
			return fmt.Sprintf("Match(%q, %q) = %v, want %v (cache: %d bytes)", pattern, text, got, want, cache)
		}
	}
	return ""
}

package classad

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"fairspool/lib/classad/internal/lazydfa"
)

// pattern is a regular expression of package regexp (RE2). Its texts are
// bytes, not UTF-8: see widen.
type pattern struct {
	search *lazydfa.Matcher      // says whether a text matches
	size   int                   // about how many places there are in it
	groups func() *regexp.Regexp // says where, for the few that ask
}

// compilePattern compiles a pattern with the options i, m, s and x; others are
// ignored. It returns nil for a pattern that is not one.
func compilePattern(text, options string) *pattern {
	flags := ""
	for _, c := range "ims" {
		if strings.ContainsRune(options, c) {
			flags += string(c)
		}
	}
	if strings.Contains(options, "x") {
		text = withoutBlanks(text)
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	text = flags + widen(text)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	size := patternSize(tree)
	if size > maxPattern || tree.MaxCap() > maxGroups {
		return nil
	}
	search, err := lazydfa.Compile(text)
	if err != nil {
		return nil
	}
	return &pattern{search, size, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

const (
	maxPattern = 8192 // places in a pattern
	maxGroups  = 99
)

// patternSize is about how many instructions a pattern compiles to, but never
// much more than maxPattern.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if size += patternSize(sub); size > maxPattern {
			break
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPattern+1)
}

// cost is what a search counts for: without an automaton each byte is held
// against every place of the pattern.
func (p *pattern) cost(text string) int { return len(text) * (1 + p.size/4) }

func (p *pattern) matches(s string) bool { return p.search.Match(s) }

// withoutBlanks removes white space and comments from a pattern, save those in
// brackets and behind a backslash: option x.
func withoutBlanks(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			if pattern[i] == ' ' {
				b.WriteString(`\x20`)
			} else {
				b.WriteByte(c)
				b.WriteByte(pattern[i])
			}
			continue
		case c == '[' && !inClass:
			inClass = true
			literal := i + 1 // a ] that stands first in brackets does not close them
			if literal < len(pattern) && pattern[literal] == '^' {
				literal++
			}
			if literal < len(pattern) && pattern[literal] == ']' {
				b.WriteString(pattern[i:literal])
				i, c = literal, ']'
			}
		case c == ']':
			inClass = false
		case !inClass && space(c):
			continue
		case !inClass && c == '#':
			for i+1 < len(pattern) && pattern[i+1] != '\n' {
				i++
			}
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// widen turns bytes of 0x80 and above into the characters of that number, so
// that one byte is one character for package regexp.
func widen(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			b := make([]byte, 0, 2*len(s))
			for j := range len(s) {
				b = utf8.AppendRune(b, rune(s[j]))
			}
			return string(b)
		}
	}
	return s
}

// narrow undoes widen.
func narrow(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			b := make([]byte, 0, len(s))
			for _, r := range s {
				b = append(b, byte(r))
			}
			return string(b)
		}
	}
	return s
}

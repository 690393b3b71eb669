package jobad

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatches holds patterns to what a regular expression makes of them.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(text)
		if got := matches(pattern, text); got != want {
			t.Errorf("matches(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

func TestPatterns(t *testing.T) {
	wanted, unwanted := patterns("PATH, !LD_*; Home\t*X ! ")
	if want := []string{"path", "home", "*x"}; !slices.Equal(wanted, want) {
		t.Errorf("patterns wanted = %q, want %q", wanted, want)
	}
	if want := []string{"ld_*", ""}; !slices.Equal(unwanted, want) {
		t.Errorf("patterns unwanted = %q, want %q", unwanted, want)
	}
}

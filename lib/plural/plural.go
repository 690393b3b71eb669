// Package plural words numbers of things and lists of them, as every message does: "1 job",
// "2 jobs", "a, b and c".
package plural

import (
	"strconv"
	"strings"
)

// Count returns a number and its noun: "1 job", "2 jobs". The noun is given in the
// singular.
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Noun(n, noun) }

// Noun returns a noun, given in the singular, in the form that n of the thing have:
// "job", "jobs"; "entry", "entries"; "match", "matches".
func Noun(n int, noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return noun
	case isY && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e"):
		return stem + "ies"
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}

// List joins texts as a sentence does: "a", "a and b", "a, b and c".
func List(texts []string) string {
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " and " + texts[last]
	}
	return strings.Join(texts, "")
}

// Some joins texts that stand for more: "a, b", "a, b, and another", "a, b, and 3 others".
func Some(texts []string, more int) string {
	text := strings.Join(texts, ", ")
	if more > 0 {
		text += Pick(more, ", and another", ", and %d others")
	}
	return text
}

// Pick returns one for 1, else many with n in the place of its %d, if it has one.
func Pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return strings.Replace(many, "%d", strconv.Itoa(n), 1)
}

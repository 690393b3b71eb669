// Package nearest finds the known name that a user probably meant by an unknown one: for
// flags, configuration keys, submit commands and submitters.
//
// It knows names only, not what they name.
package nearest

import "strings"

// Name returns the known name that resembles word most, without regard to
// case and with underscores, dashes, dots and blanks left out. ok is false when
// none is close: more than one edit in three letters apart, where a word of
// two letters may have one too. Among equally close names the first counts. An
// edit is a letter put in, left out, changed, or swapped with the next.
func Name(word string, known []string) (name string, ok bool) {
	plain := fold(word)
	if len(plain) < 2 {
		return "", false
	}
	best := max(1, len(plain)/3) + 1
	for _, k := range known {
		if d := distance(plain, fold(k)); d < best {
			best, name = d, k
		}
	}
	return name, name != ""
}

// Hint returns `; did you mean NAME?` for the nearest known name, or nothing.
func Hint(word string, known []string) string {
	if name, ok := Name(word, known); ok {
		return "; did you mean " + name + "?"
	}
	return ""
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

func fold(s string) string { return separators.Replace(strings.ToLower(s)) }

// distance is the number of edits from a to b (optimal string alignment). Both
// are cut at 64 bytes: no name is longer, and hostile input stays cheap.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

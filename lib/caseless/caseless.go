// Package caseless finds names without regard to case.
package caseless

import (
	"slices"
	"strings"
)

// Contains reports whether names has a name.
func Contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Compare orders names without regard to the case of ASCII letters; it is 0 for names that differ
// only in that.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := lower(a[i]), lower(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

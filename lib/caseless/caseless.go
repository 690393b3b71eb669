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

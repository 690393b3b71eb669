package pool

import "strings"

// CompareNames orders slot names as people number them, slot2 before slot10,
// and returns a negative number, 0 or a positive one. Runs of digits compare as
// numbers, other bytes as they are; names that differ in leading zeros alone
// compare as text, so only equal names give 0.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if len(nx) != len(ny) {
			return len(nx) - len(ny)
		}
		if c := strings.Compare(nx, ny); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

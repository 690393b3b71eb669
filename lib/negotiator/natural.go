package negotiator

import "strings"

// natural compares names so that numbers in them count as numbers: slot2
// comes before slot10. Names that differ only in leading zeros are ordered
// byte by byte.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !digit(x[0]) || !digit(y[0]) {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var m, n string
		m, x = number(x)
		n, y = number(y)
		if len(m) != len(n) {
			return len(m) - len(n)
		}
		if d := strings.Compare(m, n); d != 0 {
			return d
		}
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

// number cuts the digits that text begins with, without leading zeros.
func number(text string) (digits, rest string) {
	n := 0
	for n < len(text) && digit(text[n]) {
		n++
	}
	return strings.TrimLeft(text[:n], "0"), text[n:]
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

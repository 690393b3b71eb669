// Package quoted says which texts of expressions read back for sure.
package quoted

// Plainly reports whether a text stands for itself between quotes: it is printing
// ASCII without quotes and backslashes.
func Plainly(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Surely reports whether what was written for an expression reads back for sure,
// since it is a plain text or a number of few digits.
func Surely(b []byte) bool {
	if n := len(b); n > 1 && b[0] == '"' && b[n-1] == '"' {
		return Plainly(b[1 : n-1])
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0 && len(b) < 16
}

package macro

import "strings"

// IsName tells whether $(s) can refer to s: letters, digits, underscores,
// dots and slashes.
func IsName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return isLetter(c) || c == '_' || c == '.' || c == '/' || '0' <= c && c <= '9'
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// IsFunction tells whether $name(...) is a macro function. Case counts, but
// for the letters of $F.
func IsFunction(name string) bool {
	switch name {
	case "ENV", "RANDOM_CHOICE", "RANDOM_INTEGER", "CHOICE", "SUBSTR", "INT", "REAL", "STRING", "EVAL", "DIRNAME", "BASENAME":
		return true
	}
	letters, ok := strings.CutPrefix(name, "F")
	return ok && strings.Trim(strings.ToLower(letters), "fpduwnxbqa") == ""
}

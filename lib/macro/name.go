package macro

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
)

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

// functions are the names of macro functions, but for those of $F.
var functions = []string{
	"ENV", "RANDOM_CHOICE", "RANDOM_INTEGER", "CHOICE", "SUBSTR", "INT", "REAL", "STRING", "EVAL", "DIRNAME", "BASENAME",
}

// IsFunction tells whether $name(...) is a macro function. Case counts, but
// for the letters of $F.
func IsFunction(name string) bool {
	if slices.Contains(functions, name) {
		return true
	}
	letters, ok := strings.CutPrefix(name, "F")
	return ok && strings.Trim(strings.ToLower(letters), "fpduwnxbqa") == ""
}

// mostWords bounds the words of one text for which Mistaken looks for what was meant.
const mostWords = 100

// Mistaken returns the first thing in literal text of Split that looks like a reference
// whose author meant one: $int(, of which the function meant is INT, or a $(A or $INT(A
// that no parenthesis closes, with function empty. found is empty if there is none.
func Mistaken(literal string) (found, function string) {
	words := 0
	for i := toDollar(literal); i < len(literal) && words < mostWords; i += 1 + toDollar(literal[i+1:]) {
		rest := literal[i+1:]
		if strings.HasPrefix(rest, "$") {
			i++
			continue
		}
		n := functionName(rest)
		name := rest[:n]
		if !strings.HasPrefix(rest[n:], "(") {
			continue
		}
		if name == "" || IsFunction(name) {
			if body := rest[n+1:]; IsName(body) {
				return literal[i:], ""
			}
			continue
		}
		words++
		if meant, near := nearest.Name(name, functions); near && n > 2 && meant[0] == name[0]&^0x20 {
			return "$" + name + "(", meant
		}
	}
	return "", ""
}

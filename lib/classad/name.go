package classad

import (
	"hash/maphash"
	"strings"
)

// Names compare without regard to case, ASCII letters only.

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// fold returns s in lower case, s itself when it is.
func fold(s string) string {
	for i := range len(s) {
		if lower(s[i]) != s[i] {
			return mapBytes(s, lower)
		}
	}
	return s
}

func mapBytes(s string, f func(byte) byte) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = f(c)
	}
	return string(b)
}

// compareFold orders strings by their bytes in lower case.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c, d := lower(a[i]), lower(b[i]); c != d {
			return int(c) - int(d)
		}
	}
	return len(a) - len(b)
}

func equalFold(a, b string) bool { return len(a) == len(b) && (a == b || compareFold(a, b) == 0) }

// seed is fixed for the life of the process. It decides places in memory only,
// never an order that anybody can see.
var seed = maphash.MakeSeed()

// hashName hashes a name without regard to case.
func hashName(name string) uint32 {
	var buf [64]byte
	if len(name) > len(buf) {
		return hashFolded(fold(name))
	}
	for i := range len(name) {
		buf[i] = lower(name[i])
	}
	return uint32(maphash.Bytes(seed, buf[:len(name)]))
}

func hashFolded(key string) uint32 { return uint32(maphash.String(seed, key)) }

// plainName reports whether a name needs no quotes.
func plainName(s string) bool {
	if s == "" || !nameStart(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !nameStart(s[i]) && !digit(s[i]) {
			return false
		}
	}
	switch len(s) {
	case 2, 4, 5, 6, 9:
		switch fold(s) {
		case "is", "true", "isnt", "error", "false", "parent", "undefined":
			return false
		}
	}
	return true
}

// trimmed returns s without the white space around it.
func trimmed(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

func nameStart(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool     { return '0' <= c && c <= '9' }
func space(c byte) bool     { return c == ' ' || '\t' <= c && c <= '\r' }

// Package caseless compares names without regard to the case of ASCII letters.
package caseless

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
)

// Contains reports whether names has a name.
func Contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Compare orders names; it is 0 for names that are Equal.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := Lower(a[i]), Lower(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// Equal reports whether two names differ in case at most.
func Equal(a, b string) bool { return len(a) == len(b) && (a == b || Compare(a, b) == 0) }

// Lower returns a byte in lower case.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Fold returns s in lower case, s itself when it is.
func Fold(s string) string {
	for i := range len(s) {
		if Lower(s[i]) != s[i] {
			b := []byte(s)
			for i, c := range b {
				b[i] = Lower(c)
			}
			return string(b)
		}
	}
	return s
}

// seed is fixed for the life of the process. It decides places in memory only, never a visible order.
var seed = maphash.MakeSeed()

// Hash returns a hash of a name, the same for Equal names, another one in each process.
func Hash(name string) uint32 {
	var buf [64]byte
	if len(name) > len(buf) {
		return uint32(maphash.String(seed, Fold(name)))
	}
	copy(buf[:], name)
	for i := 0; i < len(name); i += 8 {
		word := buf[i : i+8]
		binary.LittleEndian.PutUint64(word, lower8(binary.LittleEndian.Uint64(word)))
	}
	return uint32(maphash.Bytes(seed, buf[:len(name)]))
}

// lower8 does as Lower for eight bytes at once.
func lower8(w uint64) uint64 {
	const each, top = 0x0101010101010101, 0x8080808080808080
	low := w &^ top
	letters := (low + (0x80-'A')*each) &^ (low + (0x80-'Z'-1)*each) &^ w & top
	return w | letters>>2
}

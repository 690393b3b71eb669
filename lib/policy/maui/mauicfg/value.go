package mauicfg

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/elapsed"
)

// The readers of values take what they can. A note says how an ambiguous value is read,
// which Maui does not say; it is empty for other values.

// Int reads a whole number like C's strtol with base 0: 0x10 is 16, 010 is 8. Of 1.9 it
// reads 1, of "10,000" 10. ok is false, and n is 0, for what does not begin with a number.
// Numbers beyond 64 bits come out as the nearest within.
func Int(value string) (n int64, note string, ok bool) {
	word := firstWord(value)
	digits := integerPrefix(word)
	if digits == "" {
		return 0, fmt.Sprintf("%q: want a whole number", value), false
	}
	n, err := strconv.ParseInt(digits, 0, 64)
	switch rest := word[len(digits):]; {
	case err != nil:
		note = fmt.Sprintf("%q: too large; read as %d", value, n)
	case rest != "" && rest != ",":
		note = fmt.Sprintf("%q: read as %d; %q does not count", word, n, rest)
	case word != value:
		note = fmt.Sprintf("%q: read as %d; what stands behind it does not count", value, n)
	case strings.Trim(digits, "+-") != strings.Trim(strconv.FormatInt(n, 10), "-"):
		note = fmt.Sprintf("%q: read as %d", value, n)
	}
	return n, note, true
}

// integerPrefix returns what strtol would read of a word.
func integerPrefix(word string) string {
	at := signLen(word)
	rest := word[at:]
	end := func(from int, digits string) int {
		for from < len(rest) && strings.IndexByte(digits, rest[from]) >= 0 {
			from++
		}
		return from
	}
	n := 0
	switch {
	case len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') && end(2, hexadecimal) > 2:
		n = end(2, hexadecimal)
	case strings.HasPrefix(rest, "0"):
		n = end(1, "01234567")
	default:
		n = end(0, decimal)
	}
	if n == 0 {
		return ""
	}
	return word[:at+n]
}

const (
	decimal     = "0123456789"
	hexadecimal = decimal + "abcdefABCDEF"
)

// signLen returns how long the sign before a number is.
func signLen(word string) int {
	if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "+") {
		return 1
	}
	return 0
}

// Real reads the number that a value begins with, with or without a fraction, and returns
// what stands behind it. ok is false for what does not begin with one, or with one that
// floating point does not have.
func Real(value string) (x float64, rest string, ok bool) {
	n := signLen(value)
	digits := func() (some bool) {
		for n < len(value) && value[n] >= '0' && value[n] <= '9' {
			n, some = n+1, true
		}
		return some
	}
	whole := digits()
	if n < len(value) && value[n] == '.' {
		n++
		if !digits() && !whole {
			return 0, value, false
		}
	} else if !whole {
		return 0, value, false
	}
	if end := n; n < len(value) && (value[n] == 'e' || value[n] == 'E') {
		n++
		n += signLen(value[n:])
		if !digits() {
			n = end
		}
	}
	x, err := strconv.ParseFloat(value[:n], 64)
	return x, value[n:], err == nil
}

// Bool reads TRUE, ON, YES (also true and True) and 1 as true, all else as false.
func Bool(value string) (yes bool, note string) {
	for _, word := range []string{"true", "on", "yes"} {
		if value == word || value == strings.ToUpper(word) || value == strings.ToUpper(word[:1])+word[1:] {
			return true, ""
		}
	}
	switch strings.ToLower(value) {
	case "1":
		return true, ""
	case "false", "off", "no", "0":
		return false, ""
	}
	return false, fmt.Sprintf("%q: read as FALSE; want TRUE or FALSE", value)
}

// Endless is what INFINITY means, and the longest time that Time returns: thirty years
// and more.
const Endless = 1e9 * time.Second

// Time reads seconds, HH:MM:SS or DD:HH:MM:SS, in which each field may be above 59, or
// INFINITY. Two fields are hours and minutes, as Maui 3.3.1 has it; its manual takes them for
// minutes and seconds. ok is false if the value is no length of time.
func Time(value string) (d time.Duration, note string, ok bool) {
	if strings.EqualFold(value, "INFINITY") {
		return Endless, "", true
	}
	sum, fields, ok := elapsed.Seconds(value)
	if !ok {
		return 0, fmt.Sprintf("%q: want seconds, HH:MM:SS or DD:HH:MM:SS", value), false
	}
	if sum > Endless.Seconds() {
		return Endless, fmt.Sprintf("%q: read as INFINITY", value), true
	}
	d = time.Duration(sum) * time.Second
	if fields == 2 {
		note = fmt.Sprintf("%q: read as hours and minutes, as Maui 3.3.1 does; its manual says minutes and seconds; write HH:MM:SS", value)
	}
	return d, note, true
}

// List reads names with commas or colons between them.
func List(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' || r == ' ' })
}

// Pair takes a limit apart: SOFT,HARD, or one value that is both.
func Pair(value string) (soft, hard string) {
	soft, hard, _ = strings.Cut(value, ",")
	if hard == "" {
		hard = soft
	}
	return soft, hard
}

func firstWord(value string) string {
	word, _, _ := strings.Cut(value, " ")
	return word
}

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/maui/mauicfg"
)

// mauiValue reads what stands behind the key in a maui.cfg, in the type of Default. note is
// what is odd about it; without ok the key stays as it was.
func (k Key) mauiValue(text string, compatible bool) (v any, note string, ok bool) {
	switch k.Kind {
	case Integer:
		return k.mauiInteger(text)
	case Real:
		x, note, ok := fraction(text)
		return k.mauiBounded(x, note, ok)
	case Time:
		d, note, ok := mauicfg.Time(text)
		return k.mauiBounded(d.Seconds(), note, ok)
	case Boolean:
		yes, note := mauicfg.Bool(text)
		return yes, note, true
	}
	return k.mauiWord(text, compatible)
}

const unsetNote = "-1 means unset, and has no effect; other numbers below 0 count"

func (k Key) mauiInteger(text string) (v any, note string, ok bool) {
	n, note, ok := mauicfg.Int(text)
	switch {
	case strings.HasPrefix(text, `"`):
		return n, fmt.Sprintf("%s: quotes are not removed; read as 0", text), true
	case strings.HasSuffix(text, "%"):
		return n, fmt.Sprintf("%q: a percentage of the priority is not part of this version", text), false
	case ok && n == unsetWeight && isSubWeight(k.Name):
		return n, unsetNote, false
	}
	if note != "" && n <= 0 && strings.HasSuffix(k.Name, "CAP") {
		note += "; 0 and below are no cap"
	}
	written := fmt.Sprint(n)
	if n == math.MaxInt64 || n == math.MinInt64 {
		written = strconv.Quote(text) // the nearest that there is, and not what stands there
	}
	switch most, least := int64(k.Most), int64(k.Least); {
	case ok && n > most:
		return most, fmt.Sprintf("%s: read as %d, the greatest there is", written, most), true
	case ok && n < least:
		return n, fmt.Sprintf("%s: want %s; not read", written, k.Range()), false
	}
	return n, note, ok
}

// mauiBounded cuts a number down to the greatest that the key may be. Below the least it is
// not taken.
func (k Key) mauiBounded(x float64, note string, ok bool) (any, string, bool) {
	switch {
	case !ok:
	case x > k.Most:
		return k.Most, fmt.Sprintf("%s: read as %s, the greatest there is", number(x), number(k.Most)), true
	case x < k.Least:
		return x, fmt.Sprintf("%s: want %s; not read", number(x), k.Range()), false
	}
	return x, note, ok
}

// mauiWord reads one of the key's choices.
func (k Key) mauiWord(text string, compatible bool) (v any, note string, ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	if rest != "" {
		note = fmt.Sprintf("%q: read as %s; what stands behind it does not count", text, word)
	}
	if upper := strings.ToUpper(word); !compatible && word != upper && slices.Contains(k.Choices, upper) {
		word, note = upper, fmt.Sprintf("%q: read as %s", text, upper)
	}
	if yes, _ := mauicfg.Bool(word); yes && k.Name == "FSPOLICY" {
		return mauiShares[1], fmt.Sprintf("%q: read as %s", text, mauiShares[1]), true
	}
	if !slices.Contains(k.Choices, word) {
		return nil, fmt.Sprintf("%q: not read: want %s", text, strings.Join(k.Choices, ", ")), false
	}
	return word, note, true
}

package cmdline

import (
	"fmt"
	"strconv"
	"time"
)

// lengths are the letters that a length of time may end in.
var lengths = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// longest is how long ago a point in time may be when it is told by a length.
const longest = 100 * 365 * 24 * time.Hour

// ParseSince reads a point in time as ParseTime does, a day, which begins at
// midnight by now's time zone, or a length of time before now: a number and one
// letter of s, m, h, d and w.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if t, ok := before(text, now); ok {
		return t, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil && day.Unix() >= 0 {
		return day, nil
	}
	t, err := ParseTime(text)
	if err != nil {
		return t, fmt.Errorf("%w, a day like 2026-11-21, or so long ago, like 90m, 2h or 1d", err)
	}
	return t, nil
}

// before reads a length of time.
func before(text string, now time.Time) (time.Time, bool) {
	n := len(text) - 1
	if n < 1 {
		return now, false
	}
	unit, ok := lengths[text[n]]
	f, err := strconv.ParseFloat(text[:n], 64)
	if !ok || err != nil || !(f >= 0 && f*float64(unit) <= float64(longest)) {
		return now, false
	}
	return now.Add(-time.Duration(f * float64(unit))), true
}

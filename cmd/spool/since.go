package main

import (
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
)

// lengths are the letters that a length of time may end in.
var lengths = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// parseSince reads a point in time as ParseTime does, or a length of time
// before now: a number and one letter of s, m, h, d and w.
func parseSince(text string, now time.Time) (time.Time, error) {
	if n := len(text) - 1; n > 0 {
		if unit, ok := lengths[text[n]]; ok {
			return before(text, text[:n], unit, now)
		}
	}
	t, err := cmdline.ParseTime(text)
	if err != nil {
		return t, cmdline.Usagef("-since: %v, or so long ago, like 90m, 2h or 1d", err)
	}
	return t, nil
}

func before(text, number string, unit time.Duration, now time.Time) (time.Time, error) {
	const most = 100 * 365 * 24 * time.Hour
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0 && f*float64(unit) <= float64(most)) {
		return time.Time{}, cmdline.Usagef("-since: %q: want at most 100 years, like 90m, 2h or 1d", text)
	}
	return now.Add(-time.Duration(f * float64(unit))), nil
}

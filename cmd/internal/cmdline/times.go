package cmdline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxTime is the last second of the year 9999.
const maxTime = 253402300799

// ParseTime reads a point in time: Unix seconds, whole or with up to nine
// decimals, or RFC 3339 ("2026-11-21T08:00:00Z"). It lies between 1970 and
// 9999 and is returned in the local time zone.
func ParseTime(text string) (time.Time, error) {
	t, ok := unixTime(text)
	if !ok {
		var err error
		if t, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return time.Time{}, fmt.Errorf("%q: want Unix seconds or a time like 2026-11-21T08:00:00Z", text)
		}
	}
	if t.Unix() < 0 || t.Unix() > maxTime {
		return time.Time{}, fmt.Errorf("%q: want a time between 1970 and 9999", text)
	}
	return t.Local(), nil
}

// unixTime reads seconds since 1970 without going through a float, which
// would blur the milliseconds.
func unixTime(text string) (time.Time, bool) {
	whole, part, dot := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || dot && part == "" || len(part) > 9 {
		return time.Time{}, false
	}
	nanos := uint64(0)
	if dot {
		if nanos, err = strconv.ParseUint(part+strings.Repeat("0", 9-len(part)), 10, 63); err != nil {
			return time.Time{}, false
		}
	}
	if seconds > maxTime {
		seconds = maxTime + 1
	}
	return time.Unix(int64(seconds), int64(nanos)), true
}

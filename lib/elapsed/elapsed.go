// Package elapsed writes lengths of time as HTCondor does, "1+02:03:04" and "5:03", and reads them
// as Maui and Grid Engine do, "1:02:03:04". Seconds are not negative.
package elapsed

import (
	"strconv"
	"strings"
)

const day = 24 * 60 * 60

// Days returns seconds as days, hours, minutes and seconds: "0+00:05:03".
func Days(seconds int64) string { return string(AppendDays(nil, seconds, '+')) }

// AppendDays appends what Days returns, with another character behind the days.
func AppendDays(b []byte, seconds int64, behind byte) []byte {
	b = append(strconv.AppendInt(b, seconds/day, 10), behind)
	b = appendTwo(b, seconds/3600%24)
	b = appendTwo(append(b, ':'), seconds/60%60)
	return appendTwo(append(b, ':'), seconds%60)
}

// Short returns seconds without the leading fields that are 0, but at least so many: 303 are
// "5:03" in 1 or 2 fields, "0:05:03" in 3.
func Short(seconds int64, fields int) string {
	var b []byte
	switch {
	case seconds >= day:
		return Days(seconds)
	case seconds >= 3600 || fields > 2:
		b = appendTwo(append(strconv.AppendInt(b, seconds/3600, 10), ':'), seconds/60%60)
	case seconds >= 60 || fields > 1:
		b = strconv.AppendInt(b, seconds/60, 10)
	default:
		return strconv.FormatInt(seconds, 10)
	}
	return string(appendTwo(append(b, ':'), seconds%60))
}

func appendTwo(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// Seconds adds up seconds, HH:MM, HH:MM:SS or DD:HH:MM:SS, whole numbers that may each be
// above 59, and returns their number. ok is false for anything else.
func Seconds(value string) (sum float64, fields int, ok bool) {
	list := strings.Split(value, ":")
	if len(list) > 4 {
		return 0, 0, false
	}
	units := []float64{day, 3600, 60, 1}[4-len(list):]
	if len(list) == 2 {
		units = []float64{3600, 60}
	}
	for i, f := range list {
		n, err := strconv.ParseUint(f, 10, 53)
		if err != nil {
			return 0, 0, false
		}
		sum += float64(n) * units[i]
	}
	return sum, len(list), true
}

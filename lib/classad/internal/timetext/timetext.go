// Package timetext reads and writes the texts of moments and of spans of time, as ClassAds have them and as C's
// strftime does.
package timetext

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseMoment reads a date and time of day: digits, with anything else between year,
// month, day, hours, minutes and seconds, all of which except the year may be missing;
// then Z, +hh:mm or -hhmm. A missing month is January, a missing day the one before its
// first, as in HTCondor; fields out of range carry over. wall counts seconds as if the
// text were UTC.
func ParseMoment(text string) (wall int64, offset int, zoned, ok bool) {
	text = strings.TrimRight(text, blanks)
	n := len(text)
	ok = true
	switch {
	case n > 0 && lower(text[n-1]) == 'z':
		text, zoned = text[:n-1], true
	case n > 5 && isSign(text[n-5]):
		offset, zoned = zoneOffset(text[n-5], text[n-4:n-2], text[n-2:])
		text, ok = text[:n-5], zoned
	case n > 6 && isSign(text[n-6]) && text[n-3] == ':':
		offset, zoned = zoneOffset(text[n-6], text[n-5:n-3], text[n-2:])
		text, ok = text[:n-6], zoned
	}
	if !ok {
		return 0, 0, false, false
	}
	field := func(width int) (int, bool) {
		for text != "" && !digit(text[0]) {
			text = text[1:]
		}
		if len(text) < width {
			return 0, false
		}
		end := 0
		for end < width && digit(text[end]) {
			end++
		}
		x, _ := strconv.Atoi(text[:end])
		text = text[width:]
		return x, true
	}
	year, ok := field(4)
	if !ok {
		return 0, 0, zoned, false
	}
	fields := [5]int{1, 0, 0, 0, 0}
	for i := range fields {
		x, ok := field(2)
		if !ok {
			break
		}
		fields[i] = x
	}
	t := time.Date(year, time.Month(fields[0]), fields[1], fields[2], fields[3], fields[4], 0, time.UTC)
	return t.Unix(), offset, zoned, Writable(t)
}

const blanks = " \t\n\v\f\r"

func digit(c byte) bool { return '0' <= c && c <= '9' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Writable reports whether a year has at most four digits, so that the moment
// can be printed and read back.
func Writable(t time.Time) bool { return 0 <= t.Year() && t.Year() <= 9999 }

func isSign(c byte) bool { return c == '+' || c == '-' }

func zoneOffset(sign byte, hours, minutes string) (int, bool) {
	h, err1 := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	offset := int(h)*3600 + int(m)*60
	if sign == '-' {
		offset = -offset
	}
	return offset, err1 == nil && err2 == nil && h < 24 && m < 60
}

// ParseSpan reads [-][[days+]hh:]mm:ss[.fff] or 1d2h3m4s, from the end.
func ParseSpan(text string) (seconds float64, ok bool) {
	rest := strings.Trim(text, blanks)
	number := func(marks string, set string) float64 {
		rest = strings.TrimRight(rest, " ")
		if rest == "" {
			return 0
		}
		last := lower(rest[len(rest)-1])
		if strings.IndexByte(marks, last) >= 0 {
			rest = strings.TrimRight(rest[:len(rest)-1], " ")
		} else if marks != "s" || !digit(last) {
			return 0
		}
		start := len(rest)
		for start > 0 && strings.IndexByte(set, rest[start-1]) >= 0 {
			start--
		}
		x, _ := strconv.ParseFloat(rest[start:], 64)
		rest = rest[:start]
		return x
	}
	const digits = "0123456789"
	seconds = number("s", digits+".")
	seconds += 60 * number("m:", digits)
	seconds += 3600 * number("h:", digits)
	seconds += 86400 * number("d+", digits)
	rest = strings.Trim(rest, blanks)
	if math.IsInf(seconds, 0) {
		return 0, false
	}
	if rest == "-" {
		return 0 - seconds, true // never -0, which would not be printed
	}
	return seconds, rest == ""
}

// AppendMoment appends a moment, in seconds since 1970, as the clocks of a zone show it that is so many seconds
// east of UTC, and the zone.
func AppendMoment(b []byte, seconds int64, offset int) []byte {
	b = AppendWall(b, seconds+int64(offset))
	sign := byte('-')
	if offset > 0 {
		sign = '+'
	} else {
		offset = -offset
	}
	b = appendPadded(append(b, sign), int64(offset/3600))
	return appendPadded(append(b, ':'), int64(offset/60%60))
}

// AppendWall appends the wall time at a second that is counted as if the wall time were UTC.
func AppendWall(b []byte, seconds int64) []byte {
	return time.Unix(seconds, 0).UTC().AppendFormat(b, "2006-01-02T15:04:05")
}

func appendPadded(b []byte, n int64) []byte {
	if n < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// AppendSpan appends the shortest of D+HH:MM:SS, HH:MM:SS, MM:SS and SS.
func AppendSpan(b []byte, seconds float64) []byte {
	if math.IsNaN(seconds) {
		seconds = 0
	}
	if seconds < 0 {
		b = append(b, '-')
		seconds = -seconds
	}
	whole := int64(math.MaxInt64)
	if seconds < math.MaxInt64 {
		whole = int64(seconds)
	}
	days, hours, minutes := whole/86400, whole/3600%24, whole/60%60
	switch {
	case days > 0:
		b = append(strconv.AppendInt(b, days, 10), '+')
		fallthrough
	case hours > 0:
		b = append(appendPadded(b, hours), ':')
		fallthrough
	case minutes > 0:
		b = append(appendPadded(b, minutes), ':')
	}
	if fraction := seconds - float64(whole); fraction != 0 {
		return strconv.AppendFloat(b, float64(whole%60)+fraction, 'g', 6, 64)
	}
	return appendPadded(b, whole%60)
}

// layouts are the conversions of C's strftime that package time knows; those
// that stand for several come first.
var layouts = map[byte]string{
	'c': "Mon Jan _2 15:04:05 2006", 'D': "01/02/06", 'F': "2006-01-02", 'r': "03:04:05 PM", 'R': "15:04",
	'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05",
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'H': "15", 'I': "03",
	'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'P': "pm", 'S': "05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// Format formats a moment as C does in the C locale. Conversions it does not
// know stay as they are.
func Format(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 >= len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if layout, ok := layouts[format[i]]; ok {
			b.WriteString(t.Format(layout))
			continue
		}
		b.WriteString(conversion(format[i], t))
	}
	return b.String()
}

func conversion(c byte, t time.Time) string {
	year, week := t.ISOWeek()
	two := func(n int) string { return string(appendPadded(nil, int64(n))) }
	weekday := int(t.Weekday())
	switch c {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'u':
		return strconv.Itoa((weekday+6)%7 + 1)
	case 'w':
		return strconv.Itoa(weekday)
	case 'C':
		century := t.Year() / 100
		if t.Year() < 100*century {
			return strconv.Itoa(century - 1)
		}
		return two(century)
	case 'G':
		return strconv.Itoa(year)
	case 'g':
		return two(year % 100)
	case 'V':
		return two(week)
	case 'U':
		return two((t.YearDay() + 6 - weekday) / 7)
	case 'W':
		return two((t.YearDay() + 6 - (weekday+6)%7) / 7)
	case 'k':
		return blankPadded(t.Hour())
	case 'l':
		return blankPadded((t.Hour()+11)%12 + 1)
	}
	return "%" + string(c)
}

func blankPadded(n int) string {
	if n < 10 {
		return " " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

package classad

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// fromWall returns the moment at which the clocks of a zone show what UTC
// clocks show at the given second.
func fromWall(wall int64, zone *time.Location) Value {
	t := time.Unix(wall, 0).UTC()
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	_, offset := t.Zone()
	return absTime(t.Unix(), offset)
}

// timeLiteral makes the node of absTime("...") and relTime("..."), which are
// literals; ok is false when the text is not a time.
func timeLiteral(name string, args []node) (n node, ok, isTime bool) {
	if len(args) != 1 || len(name) != len("absTime") {
		return nil, false, false
	}
	l, isLiteral := args[0].(*literal)
	if !isLiteral || l.v.kind != KindString {
		return nil, false, false
	}
	switch fold(name) {
	case "abstime":
		wall, offset, zoned, ok := parseAbsTime(l.v.text())
		if !zoned {
			return &zoneless{wall}, ok, true
		}
		return &literal{absTime(wall-int64(offset), offset)}, ok, true
	case "reltime":
		seconds, ok := parseRelTime(l.v.text())
		return &span{seconds}, ok, true
	}
	return nil, false, false
}

// parseAbsTime reads a date and time of day: digits, with anything else
// between year, month, day, hours, minutes and seconds, of which all but the
// year may be missing; then Z, +hh:mm or -hhmm. A missing month is January, a
// missing day the one before its first, as in HTCondor; fields out of range
// carry over. wall counts seconds as if the text were UTC.
func parseAbsTime(text string) (wall int64, offset int, zoned, ok bool) {
	text = strings.TrimRight(text, " \t\n\v\f\r")
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
	return t.Unix(), offset, zoned, writable(t)
}

// writable reports whether a year has at most four digits, so that the moment
// can be printed and read back.
func writable(t time.Time) bool { return 0 <= t.Year() && t.Year() <= 9999 }

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

// parseRelTime reads [-][[days+]hh:]mm:ss[.fff] or 1d2h3m4s, from the end.
func parseRelTime(text string) (seconds float64, ok bool) {
	rest := trimmed(text)
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
	rest = trimmed(rest)
	if math.IsInf(seconds, 0) {
		return 0, false
	}
	if rest == "-" {
		return 0 - seconds, true // never -0, which would not be printed
	}
	return seconds, rest == ""
}

// appendSpan appends the text of a relTime literal. In the Spool style one with
// a fraction is written in seconds with all its digits.
func appendSpan(b []byte, seconds float64, s Style) []byte {
	b = append(b, `relTime("`...)
	if s == StyleSpool && (seconds != math.Trunc(seconds) || math.Abs(seconds) >= 1<<53) {
		b = strconv.AppendFloat(b, seconds, 'f', -1, 64)
	} else {
		b = appendRelTime(b, seconds)
	}
	return append(b, `")`...)
}

// appendMoment appends an absolute time; in the Spool style one that the
// literal's text cannot hold is written as a call.
func appendMoment(b []byte, v Value, s Style) []byte {
	seconds := int64(v.bits)
	if s == StyleSpool && (v.zone%60 != 0 || !writable(time.Unix(seconds, 0).UTC().Add(time.Duration(v.zone)*time.Second))) {
		b = append(strconv.AppendInt(append(b, "absTime("...), seconds, 10), ',')
		return append(strconv.AppendInt(b, int64(v.zone), 10), ')')
	}
	return append(appendAbsTime(append(b, `absTime("`...), v), `")`...)
}

func appendAbsTime(b []byte, v Value) []byte {
	offset := int(v.zone)
	b = appendWall(b, int64(v.bits)+int64(offset))
	sign := byte('-')
	if offset > 0 {
		sign = '+'
	} else {
		offset = -offset
	}
	b = appendPadded(append(b, sign), int64(offset/3600))
	return appendPadded(append(b, ':'), int64(offset/60%60))
}

func appendWall(b []byte, seconds int64) []byte {
	return time.Unix(seconds, 0).UTC().AppendFormat(b, "2006-01-02T15:04:05")
}

func appendZoneless(b []byte, seconds int64, _ Style) []byte {
	return append(appendWall(append(b, `absTime("`...), seconds), `")`...)
}

func appendPadded(b []byte, n int64) []byte {
	if n < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// appendRelTime appends the shortest of D+HH:MM:SS, HH:MM:SS, MM:SS and SS.
func appendRelTime(b []byte, seconds float64) []byte {
	if math.IsNaN(seconds) {
		seconds = 0
	}
	if seconds < 0 {
		b = append(b, '-')
		seconds = -seconds
	}
	whole := truncate(seconds)
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

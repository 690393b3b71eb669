package classad

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/elapsed"
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

// timeFunctions know dates and spans of time. The clock and the local time
// zone are those of the Context.
var timeFunctions = map[string]*function{
	"time":        strictly(0, func(st *state, _ []Value) Value { return Int(st.now.Unix()) }).seeing(seesClock),
	"currenttime": strictly(0, func(st *state, _ []Value) Value { return st.local(st.now.Unix()) }).seeing(seesClock),
	"abstime":     between(0, 2, makeAbsTime).seeing(seesClock),
	"reltime":     strictly(1, makeRelTime),
	"timezoneoffset": strictly(0, func(st *state, _ []Value) Value {
		_, offset := st.now.Zone()
		return relTime(float64(offset))
	}).seeing(seesClock),
	"daytime": strictly(0, func(st *state, _ []Value) Value {
		hour, minute, second := st.now.Clock()
		return relTime(float64(hour*3600 + minute*60 + second))
	}).seeing(seesClock),
	"getyear":       dateField(func(t time.Time) int { return t.Year() }),
	"getmonth":      dateField(func(t time.Time) int { return int(t.Month()) }),
	"getdayofyear":  dateField(func(t time.Time) int { return t.YearDay() - 1 }),
	"getdayofmonth": dateField(func(t time.Time) int { return t.Day() }),
	"getdayofweek":  dateField(func(t time.Time) int { return int(t.Weekday()) }),
	"getdays":       clockField(nil, func(s int64) int64 { return s / 86400 }),
	"gethours":      clockField(time.Time.Hour, func(s int64) int64 { return s / 3600 % 24 }),
	"getminutes":    clockField(time.Time.Minute, func(s int64) int64 { return s / 60 % 60 }),
	"getseconds":    clockField(time.Time.Second, func(s int64) int64 { return s % 60 }),
	"splittime":     strictly(1, splitTime).seeing(seesClock),
	"formattime":    between(0, 2, formatTime).seeing(seesClock),
	"interval":      strictly(1, interval),
}

// local is a moment in the local time zone.
func (st *state) local(seconds int64) Value {
	_, offset := time.Unix(seconds, 0).In(st.now.Location()).Zone()
	return absTime(seconds, offset)
}

func makeAbsTime(st *state, a []Value) Value {
	if len(a) == 0 {
		return st.local(st.now.Unix())
	}
	if v, bad := worst(a); bad {
		return v
	}
	offset, hasOffset := int64(0), len(a) == 2
	if hasOffset {
		if a[1].kind != KindInteger && a[1].kind != KindReal && a[1].kind != KindRelTime {
			return Error()
		}
		if offset, _ = toInt(a[1]).Int(); offset == -1 || offset < -86400 || offset > 86400 {
			return Error()
		}
	}
	var seconds int64
	switch v := a[0]; v.kind {
	case KindInteger:
		seconds = int64(v.bits)
	case KindReal, KindRelTime:
		seconds = truncate(v.real())
	case KindAbsTime, KindString:
		return v // a text that is not a literal stays a text, as in HTCondor
	default:
		return Error()
	}
	if hasOffset {
		return absTime(seconds, int(offset))
	}
	return st.local(seconds)
}

func makeRelTime(_ *state, a []Value) Value {
	switch v := a[0]; v.kind {
	case KindUndefined, KindRelTime:
		return v
	case KindInteger, KindReal:
		x, _ := v.Number()
		return relTime(x)
	case KindAbsTime:
		return relTime(float64(int64(v.bits)))
	case KindString:
		return relTime(0) // as in HTCondor
	}
	return Error()
}

func (st *state) wall(v Value) time.Time {
	return time.Unix(int64(v.bits), 0).In(st.now.Location())
}

func dateField(f func(time.Time) int) *function {
	return strictly(1, func(st *state, a []Value) Value {
		if a[0].kind != KindAbsTime {
			return Error()
		}
		return Int(int64(f(st.wall(a[0]))))
	}).seeing(seesClock)
}

func clockField(ofDate func(time.Time) int, ofSpan func(int64) int64) *function {
	f := strictly(1, func(st *state, a []Value) Value {
		switch {
		case a[0].kind == KindRelTime:
			return Int(ofSpan(truncate(a[0].real())))
		case a[0].kind == KindAbsTime && ofDate != nil:
			return Int(int64(ofDate(st.wall(a[0]))))
		}
		return Error()
	})
	if ofDate != nil {
		return f.seeing(seesClock)
	}
	return f
}

func splitTime(st *state, a []Value) Value {
	v := a[0]
	switch v.kind {
	case KindUndefined:
		return v
	case KindInteger, KindReal:
		x, _ := v.Number()
		v = st.local(truncate(x))
	}
	ad := New()
	switch v.kind {
	case KindAbsTime:
		t := time.Unix(int64(v.bits)+int64(v.zone), 0).UTC()
		ad.SetString("Type", "AbsoluteTime")
		ad.SetInt("Year", int64(t.Year()))
		ad.SetInt("Month", int64(t.Month()))
		ad.SetInt("Day", int64(t.Day()))
		ad.SetInt("Hours", int64(t.Hour()))
		ad.SetInt("Minutes", int64(t.Minute()))
		ad.SetInt("Seconds", int64(t.Second()))
		ad.SetInt("Offset", int64(v.zone))
	case KindRelTime:
		x := math.Abs(v.real())
		whole := truncate(x)
		fields := [...]int64{whole / 86400, whole / 3600 % 24, whole / 60 % 60}
		seconds := float64(whole%60) + x - float64(whole)
		if v.real() < 0 { // as in HTCondor only the first field that is not 0 has the sign
			if i := slices.IndexFunc(fields[:], func(n int64) bool { return n != 0 }); i >= 0 {
				fields[i] = -fields[i]
			} else {
				seconds = -seconds
			}
		}
		ad.SetString("Type", "RelativeTime")
		ad.SetInt("Days", fields[0])
		ad.SetInt("Hours", fields[1])
		ad.SetInt("Minutes", fields[2])
		ad.SetReal("Seconds", seconds)
	default:
		return Error()
	}
	return scoped(KindClassAd, &scope{ad: ad})
}

func formatTime(st *state, a []Value) Value {
	t := st.now
	if len(a) > 0 {
		switch v := a[0]; v.kind {
		case KindInteger:
			t = time.Unix(int64(v.bits), 0).In(st.now.Location())
		case KindReal:
			t = time.Unix(truncate(v.real()), 0).In(st.now.Location())
		case KindAbsTime:
			t = time.Unix(int64(v.bits), 0).In(time.FixedZone("", int(v.zone)))
		case KindClassAd:
			t = st.dateOf(v)
		default:
			return Error()
		}
	}
	format := "%c"
	if len(a) == 2 {
		var ok bool
		if format, ok = a[1].Text(); !ok {
			return Error()
		}
	}
	if !st.spend(16 * len(format)) {
		return Error()
	}
	return str(strftime(format, t))
}

// dateOf makes a moment from an ad such as splitTime returns.
func (st *state) dateOf(v Value) time.Time {
	field := func(name string, otherwise int64) int {
		a := newAttribute(name)
		if n, ok := toInt(st.resolve(&a, v.scope(), false, -1)).Int(); ok && n > -1e6 && n < 1e6 {
			return int(n)
		}
		return int(otherwise)
	}
	return time.Date(field("Year", 1900), time.Month(field("Month", 1)), field("Day", 1),
		field("Hours", 0), field("Minutes", 0), field("Seconds", 0), 0, time.FixedZone("", field("Offset", 0)))
}

// interval prints seconds as D+HH:MM:SS, H:MM:SS, M:SS or S.
func interval(_ *state, a []Value) Value {
	v := toInt(a[0])
	n, ok := v.Int()
	if !ok {
		return Error()
	}
	if n == math.MinInt64 {
		n++
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return str(sign + elapsed.Short(n, 1))
}

// layouts are the conversions of C's strftime that package time knows; those
// that stand for several come first.
var layouts = map[byte]string{
	'c': "Mon Jan _2 15:04:05 2006", 'D': "01/02/06", 'F': "2006-01-02", 'r': "03:04:05 PM", 'R': "15:04",
	'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05",
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'H': "15", 'I': "03",
	'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'P': "pm", 'S': "05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// strftime formats a moment as C does in the C locale. Conversions it does not
// know stay as they are.
func strftime(format string, t time.Time) string {
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

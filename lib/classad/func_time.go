package classad

import (
	"fairspool/lib/caseless"
	"math"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/classad/internal/timetext"
	"fairspool/lib/elapsed"
)

// fromWall returns the moment at which the clocks of a zone show what UTC clocks show at the given second.
func fromWall(wall int64, zone *time.Location) Value {
	t := time.Unix(wall, 0).UTC()
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	_, offset := t.Zone()
	return absTime(t.Unix(), offset)
}

// timeLiteral makes the node of absTime("...") and relTime("..."), which are literals; ok is false when the text is not a time.
func timeLiteral(name string, args []node) (n node, ok, isTime bool) {
	if len(args) != 1 || len(name) != len("absTime") {
		return nil, false, false
	}
	l, isLiteral := args[0].(*literal)
	if !isLiteral || l.v.kind != KindString {
		return nil, false, false
	}
	switch caseless.Fold(name) {
	case "abstime":
		wall, offset, zoned, ok := timetext.ParseMoment(l.v.text())
		if !zoned {
			return &zoneless{wall}, ok, true
		}
		return &literal{absTime(wall-int64(offset), offset)}, ok, true
	case "reltime":
		seconds, ok := timetext.ParseSpan(l.v.text())
		return &span{seconds}, ok, true
	}
	return nil, false, false
}

// appendSpan appends the text of a relTime literal. In the Spool style one with a fraction is written in seconds with all its digits.
func appendSpan(b []byte, seconds float64, s Style) []byte {
	b = append(b, `relTime("`...)
	if s == StyleSpool && (seconds != math.Trunc(seconds) || math.Abs(seconds) >= 1<<53) {
		b = strconv.AppendFloat(b, seconds, 'f', -1, 64)
	} else {
		b = timetext.AppendSpan(b, seconds)
	}
	return append(b, `")`...)
}

// appendMoment appends an absolute time; in the Spool style one that the literal's text cannot hold is written as a call.
func appendMoment(b []byte, v Value, s Style) []byte {
	seconds := int64(v.bits)
	if s == StyleSpool && (v.zone%60 != 0 || !timetext.Writable(time.Unix(seconds, 0).UTC().Add(time.Duration(v.zone)*time.Second))) {
		b = append(strconv.AppendInt(append(b, "absTime("...), seconds, 10), ',')
		return append(strconv.AppendInt(b, int64(v.zone), 10), ')')
	}
	return append(timetext.AppendMoment(append(b, `absTime("`...), seconds, int(v.zone)), `")`...)
}

func appendZoneless(b []byte, seconds int64, _ Style) []byte {
	return append(timetext.AppendWall(append(b, `absTime("`...), seconds), `")`...)
}

// timeFunctions know dates and spans of time. The Context gives the clock and the local time zone.
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
	return str(timetext.Format(format, t))
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

package jobpolicy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/elapsed"
)

// Field is one of the five parts of a time in the manner of cron(8).
type Field struct {
	Attr        string // of the job
	Least, Most int    // the numbers that it may have
}

// Fields are the parts, in the order of crontab(5).
func Fields() [5]Field { return fields }

var fields = [5]Field{
	{"CronMinute", 0, 59}, {"CronHour", 0, 23}, {"CronDayOfMonth", 1, 31}, {"CronMonth", 1, 12}, {"CronDayOfWeek", 0, 7},
}

// CronAttributes returns the names of all attributes that Next evaluates.
func CronAttributes() (names []string) {
	for _, f := range fields {
		names = append(names, f.Attr)
	}
	return names
}

const (
	minutes = iota
	hours
	days
	months
	weekdays
)

// set is the numbers of a part, a bit for each.
type set uint64

func (s set) has(n int) bool { return s>>n&1 == 1 }

// all is the set of all numbers of a part.
func (f Field) all() set { return set(1)<<(f.Most+1) - set(1)<<f.Least }

// Check returns an error for a text that is no such part: numbers and ranges with commas
// between, ranges and * perhaps with a step behind a slash.
func (f Field) Check(text string) error {
	_, err := f.parse(text)
	return err
}

// parse reads a part. Steps count from the beginning of their range.
func (f Field) parse(text string) (set, error) {
	var s set
	for item := range strings.SplitSeq(text, ",") {
		from, to, step, ok := f.item(item)
		if !ok {
			return 0, fmt.Errorf("want numbers from %d to %d as in crontab(5): 5, 1-10, */2, *", f.Least, f.Most)
		}
		for n := from; n <= to; n += step {
			s |= 1 << n
		}
	}
	return s, nil
}

// item reads n, n-m or *, perhaps with /step.
func (f Field) item(text string) (from, to, step int, ok bool) {
	text, stride, stepped := strings.Cut(text, "/")
	step = 1
	if stepped {
		n, err := strconv.Atoi(strings.TrimSpace(stride))
		if err != nil || n < 1 {
			return 0, 0, 0, false
		}
		step = min(n, f.Most+1) // no more than one number then
	}
	if text = strings.TrimSpace(text); text == "*" {
		return f.Least, f.Most, step, true
	}
	first, last, isRange := strings.Cut(text, "-")
	from, err := strconv.Atoi(strings.TrimSpace(first))
	to = from
	if err == nil && isRange {
		to, err = strconv.Atoi(strings.TrimSpace(last))
	}
	return from, to, step, err == nil && from >= f.Least && to <= f.Most && from <= to
}

// IsCron reports whether a job has times in the manner of cron(8).
func IsCron(ad *classad.Ad) bool {
	for _, name := range fieldNames {
		if _, _, has := ad.Get(name); has {
			return true
		}
	}
	return false
}

// fieldNames are the attributes of fields.
var fieldNames = func() (names []*classad.Name) {
	for _, name := range CronAttributes() {
		names = append(names, classad.NewName(name))
	}
	return names
}()

// Next returns when a job with times in the manner of cron(8) is to be executed next: the
// first minute that begins behind c.Now, in its time zone, and that its CronMinute,
// CronHour, CronDayOfMonth, CronMonth and CronDayOfWeek all have; of the days, where both
// are restricted, one is enough. Parts that are missing have all numbers. The zero time
// and no error: it is no such job.
//
// It is what DeferralTime has to be when the job is submitted, is to run again or is
// released. An hour that comes twice when the clocks are set back counts once; a time that is
// left out when they are set forward is the moment when that happens.
//
// The errors are one line each: a part that cannot be read, or a date that never comes.
func Next(c *classad.Context, ad *classad.Ad) (time.Time, error) {
	if !IsCron(ad) {
		return time.Time{}, nil
	}
	var when [5]set
	for i, f := range fields {
		when[i] = f.all()
		if !ad.Has(f.Attr) {
			continue
		}
		text, ok := ad.EvalString(c, f.Attr)
		if n, isInt := ad.EvalInt(c, f.Attr); isInt {
			text, ok = strconv.FormatInt(n, 10), true
		}
		s, err := f.parse(text)
		if !ok || err != nil {
			return time.Time{}, fmt.Errorf("%s: %q: want numbers from %d to %d as in crontab(5)", f.Attr, cut(line(text), 40), f.Least, f.Most)
		}
		when[i] = s
	}
	if when[weekdays].has(7) {
		when[weekdays] |= 1 // Sunday is 0 and 7
	}
	at, ok := next(when, c.Now)
	if !ok {
		return time.Time{}, fmt.Errorf("%s, %s: no month has such a day", fields[days].Attr, fields[months].Attr)
	}
	return at, nil
}

// longest is how many days may pass until a date comes again: the 29th of February
// around a year that is a hundred's and no leap year.
const longest = 8*366 + 1

func next(when [5]set, now time.Time) (time.Time, bool) {
	year, month, day := now.Date()
	for n := range longest {
		// Noon is there on every day.
		noon := time.Date(year, month, day+n, 12, 0, 0, 0, now.Location())
		if !onDay(when, noon) {
			continue
		}
		if at, ok := firstOf(when, noon, now); ok {
			return at, true
		}
	}
	return time.Time{}, false
}

func onDay(when [5]set, noon time.Time) bool {
	if !when[months].has(int(noon.Month())) {
		return false
	}
	ofMonth, ofWeek := when[days].has(noon.Day()), when[weekdays].has(int(noon.Weekday()))
	if when[days] == fields[days].all() || when[weekdays]&0x7f == 0x7f {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// firstOf returns the first time of a day that is later than now.
func firstOf(when [5]set, noon, now time.Time) (time.Time, bool) {
	year, month, day := noon.Date()
	for hour := range 24 {
		for minute := range 60 {
			if !when[hours].has(hour) || !when[minutes].has(minute) {
				continue
			}
			if at := moment(year, month, day, hour, minute, now.Location()); at.After(now) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// moment returns a time of the clock; where the clock leaves it out, when it does so.
func moment(year int, month time.Month, day, hour, minute int, zone *time.Location) time.Time {
	at := time.Date(year, month, day, hour, minute, 0, 0, zone)
	want := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
	y, m, d := at.Date()
	got := time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, time.UTC)
	switch from, to := at.ZoneBounds(); {
	case got.Before(want):
		return to.In(zone)
	case got.After(want):
		return from.In(zone)
	}
	return at
}

// The attributes of jobs that are executed at a time.
const (
	AttrDeferralTime   = "DeferralTime"   // when, in Unix seconds
	AttrDeferralWindow = "DeferralWindow" // how many seconds late it may be
)

// maxUnix bounds the times that are taken seriously, in Unix seconds: the year 9999.
const maxUnix = 253402300799

// Deferral returns when a job with a DeferralTime is to be executed, the zero time
// for one without. missed is a Hold when it is later than that and DeferralWindow, which
// is 0 where it is no number, or when DeferralTime is no time (HTCondor's manual, "Time
// Scheduling for Job Execution"). A time that is over, but not the window, is at: the job
// is to be executed at once.
func Deferral(c *classad.Context, ad *classad.Ad) (at time.Time, missed Verdict) {
	if !ad.Has(AttrDeferralTime) {
		return time.Time{}, Verdict{}
	}
	n, ok := whole(c, ad, AttrDeferralTime)
	if !ok || n <= 0 || n > maxUnix {
		reason := fmt.Sprintf("The job has a %s that is no time", AttrDeferralTime)
		return time.Time{}, Verdict{Action: Hold, Reason: reason, Code: MissedTime}
	}
	at = time.Unix(n, 0).In(c.Now.Location())
	if late := c.Now.Unix() - n; late > window(c, ad) {
		reason := fmt.Sprintf("The job missed its execution time, %s, by %s", at.Format(time.DateTime), elapsed.Short(late, 2))
		return at, Verdict{Action: Hold, Reason: reason, Code: MissedTime}
	}
	return at, Verdict{}
}

// window returns how many seconds late a job may be executed.
func window(c *classad.Context, ad *classad.Ad) int64 {
	n, _ := whole(c, ad, AttrDeferralWindow)
	return min(max(n, 0), maxUnix)
}

// Overdue reports whether a job with times in the manner of cron(8) is not to be matched any
// more for its DeferralTime, which and its window are over, or has none: Next
// says which one is next.
func Overdue(c *classad.Context, ad *classad.Ad) bool {
	if !IsCron(ad) {
		return false
	}
	n, ok := whole(c, ad, AttrDeferralTime)
	return !ok || n > maxUnix || n+window(c, ad) < c.Now.Unix()
}

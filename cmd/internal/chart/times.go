package chart

import "time"

// stride is a distance between ticks of the time axis.
type stride struct {
	// about is its length in seconds.
	about float64
	// first returns the last tick at or before t, and next the one behind a
	// tick.
	first, next func(t time.Time) time.Time
	// label is how a tick is written; below it stands what under says, where
	// that changes.
	label, under string
}

const day = 86400

// strides returns the distances to choose from, short to long. They follow
// the calendar of the zone, days of 23 hours included.
func strides() []stride {
	var all []stride
	for _, s := range []int{1, 2, 5, 10, 15, 30} {
		all = append(all, clock(s, "15:04:05"))
	}
	for _, m := range []int{1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720} {
		all = append(all, clock(60*m, "15:04"))
	}
	for _, d := range []int{1, 2, 7, 14} {
		all = append(all, days(d))
	}
	for _, m := range []int{1, 2, 3, 6} {
		all = append(all, months(m, "Jan", "2006"))
	}
	for y := 1; y <= 1e8; y *= 10 {
		for _, m := range []int{1, 2, 5} {
			all = append(all, months(12*m*y, "2006", ""))
		}
	}
	return all
}

// clock is a stride of so many seconds, which divide a day, counted from
// midnight by the clock on the wall.
func clock(step int, label string) stride {
	at := func(t time.Time, n int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, n*step, 0, t.Location())
	}
	count := func(t time.Time) int {
		h, m, s := t.Clock()
		return (h*3600 + m*60 + s) / step
	}
	next := func(t time.Time) time.Time {
		for n := count(t) + 1; ; n++ {
			// Where the clock is set forward a time may not exist, and becomes
			// one that was.
			if u := at(t, n); u.After(t) {
				return u
			}
		}
	}
	return stride{float64(step), func(t time.Time) time.Time { return at(t, count(t)) }, next, label, "2 Jan"}
}

// days is a stride of whole days; weeks begin on Mondays.
func days(step int) stride {
	first := func(t time.Time) time.Time {
		noon := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
		sinceMonday := int((noon.Unix()/day-4)%int64(step)+int64(step)) % step
		return time.Date(t.Year(), t.Month(), t.Day()-sinceMonday, 0, 0, 0, 0, t.Location())
	}
	next := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+step, 0, 0, 0, 0, t.Location())
	}
	return stride{float64(step) * day, first, next, "2 Jan", "2006"}
}

// months is a stride of whole months, counted from the year 0.
func months(step int, label, under string) stride {
	at := func(t time.Time, n int) time.Time {
		return time.Date(0, time.Month(n*step+1), 1, 0, 0, 0, 0, t.Location())
	}
	count := func(t time.Time) int { return (t.Year()*12 + int(t.Month()) - 1) / step }
	return stride{float64(step) * 30.4 * day, func(t time.Time) time.Time { return at(t, count(t)) },
		func(t time.Time) time.Time { return at(t, count(t)+1) }, label, under}
}

// timeTicks returns at most about n ticks in the range.
func timeTicks(s span, n int, zone *time.Location) []tick {
	var by stride
	for _, by = range strides() {
		if (s.to-s.from)/by.about <= float64(n) {
			break
		}
	}
	var ticks []tick
	under := ""
	for t := by.first(moment(s.from, zone)); seconds(t) <= s.to && len(ticks) <= 2*n; t = by.next(t) {
		if seconds(t) < s.from {
			continue
		}
		label := t.Format(by.label)
		if now := t.Format(by.under); now != under {
			label, under = label+"\n"+now, now
		}
		ticks = append(ticks, tick{seconds(t), label})
	}
	return ticks
}

package chart

import (
	"errors"
	"time"

	"fairspool/lib/history"
)

// ErrNothing is what drawing returns when no series has a point that can be
// drawn.
var ErrNothing = errors.New("nothing to draw: there are no samples")

// Chart is what there is to draw.
type Chart struct {
	// Title stands above; the range of time stands below it.
	Title string
	// Series are drawn each as a line in a colour of its own; a name without @
	// is that of an accounting group. Points are ascending in time; those with
	// a value that is infinite or not a number are left out.
	Series []history.Series
	// Zone is what the times are shown in.
	Zone *time.Location
}

// quantity is one of the things drawn over time.
type quantity struct {
	label string
	// of returns the value to draw, and false if it has no place on the scale.
	of func(history.Point) (float64, bool)
	// scale returns the range and the ticks for values from lo to hi, with
	// about n ticks.
	scale func(lo, hi float64, n int) scale
	// mean is set if a value is the mean since the point before, rather than
	// that of the moment.
	mean bool
	// share is the part of the height that is the panel's, relative to the
	// others.
	share float64
}

func priority() quantity {
	return quantity{
		label: "effective priority, lower is better",
		of:    func(p history.Point) (float64, bool) { return logarithm(p.Effective) },
		scale: decades, share: 3,
	}
}

func inUse() quantity {
	return quantity{
		label: "slots in use",
		of:    func(p history.Point) (float64, bool) { return p.InUse, true },
		scale: fromZero, mean: true, share: 3,
	}
}

func demand() quantity {
	return quantity{
		label: "slots wanted",
		of:    func(p history.Point) (float64, bool) { return p.Demand, true },
		scale: fromZero, share: 1.6,
	}
}

// span is a range of time in Unix seconds, from below to.
type span struct{ from, to float64 }

// seconds returns t in Unix seconds.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// moment is the inverse of seconds, to the second.
func moment(s float64, zone *time.Location) time.Time { return time.Unix(int64(s), 0).In(zone) }

// words returns the range as people write it.
func (s span) words(zone *time.Location) string {
	const layout = "2006-01-02 15:04"
	if s.to-s.from < 1 {
		return moment(s.from, zone).Format(layout + " MST")
	}
	from, to := moment(s.from, zone), moment(s.to, zone)
	if from.Format("MST") != to.Format("MST") {
		return from.Format(layout+" MST") + " to " + to.Format(layout+" MST")
	}
	return from.Format(layout) + " to " + to.Format(layout+" MST")
}

// together returns the time that the lines cover.
func together(lines []line) span {
	s := span{seconds(lines[0].points[0].Time), seconds(lines[0].points[0].Time)}
	for _, l := range lines {
		s.from = min(s.from, seconds(l.points[0].Time))
		s.to = max(s.to, seconds(l.points[len(l.points)-1].Time))
	}
	return s
}

// shown returns the range that an axis shows for s, which makes an hour of a
// moment.
func (s span) shown() span {
	if s.to-s.from < 1 {
		return span{s.from - 1800, s.to + 1800}
	}
	return s
}

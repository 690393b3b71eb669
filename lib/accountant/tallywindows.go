package accountant

import (
	"math"
	"time"
)

// WindowParams are the parameters of Maui's fair share windows. Interval and
// Depth of zero are the defaults.
type WindowParams struct {
	Interval time.Duration // FSINTERVAL, whole milliseconds
	Depth    int           // FSDEPTH, 1 to MaxDepth
	Decay    float64       // FSDECAY, 0 to 1
}

// Defaults and bound of WindowParams, as Maui 3.3.1 has them.
const (
	DefaultInterval = 12 * time.Hour
	DefaultDepth    = 8
	MaxDepth        = 24
)

// sound returns the parameters with whatever is out of range put right.
func (w WindowParams) sound() WindowParams {
	if w.Interval < time.Millisecond {
		w.Interval = DefaultInterval
	}
	w.Interval = w.Interval.Truncate(time.Millisecond)
	if w.Depth <= 0 {
		w.Depth = DefaultDepth
	}
	w.Depth = min(w.Depth, MaxDepth)
	return w
}

// Start returns when the window began that t lies in.
func (w WindowParams) Start(t time.Time) time.Time {
	return time.UnixMilli(startOf(t, w.sound().Interval))
}

// Window is what was used in one of Maui's windows: all of them FSINTERVAL long,
// the n-th from n times that after 1970 on.
type Window struct {
	Dedicated  Usage // processors times time (DEDICATEDPS)
	Equivalent Usage // processor equivalents times time (DEDICATEDPES)
	Utilized   Usage // CPU time as it was reported (UTILIZEDPS)
}

// DedicatedPS, DedicatedPES and UtilizedPS are the usage that goes by that word in
// FSPOLICY, for FairShare.
func DedicatedPS(w Window) Usage { return w.Dedicated }

// DedicatedPES: see DedicatedPS.
func DedicatedPES(w Window) Usage { return w.Equivalent }

// UtilizedPS: see DedicatedPS.
func UtilizedPS(w Window) Usage { return w.Utilized }

// FairShare returns the usage that Maui's fair share compares: the windows'
// processor-seconds, each multiplied by FSDECAY as often as it is windows old. It
// is of the windows up to y.At; AsOf brings them up to date.
func (y Tally) FairShare(of func(Window) Usage, p WindowParams) float64 {
	p = p.sound()
	sum, factor := 0.0, 1.0
	for _, w := range y.Windows[:min(len(y.Windows), p.Depth)] {
		sum += of(w).Seconds() * factor
		factor *= p.Decay
	}
	return sum
}

// Percent returns usage in percent of total, 0 where there is none.
func Percent(usage, total float64) float64 {
	if total <= 0 {
		return 0
	}
	return 100 * usage / total
}

// series is a row of windows, the newest first, with the instants that they
// stand for in milliseconds of 1970. start is when the newest began.
type series struct {
	windows         []Window
	start, interval int64
}

// startOf returns when the window began that t lies in.
func startOf(t time.Time, interval time.Duration) int64 {
	at, ms := t.UnixMilli(), interval.Milliseconds()
	into := at % ms
	if into < 0 {
		into += ms
	}
	return at - into
}

// series returns a copy of the windows with room for depth of them, as of t, no
// earlier than y.At.
func (y Tally) series(t time.Time, w WindowParams) series {
	s := series{make([]Window, w.Depth), startOf(t, w.Interval), w.Interval.Milliseconds()}
	passed := (s.start - startOf(y.At, w.Interval)) / s.interval
	if passed < int64(w.Depth) {
		copy(s.windows[passed:], y.Windows)
	}
	return s
}

// of returns which window an instant lies in, and whether there is one.
func (s series) of(at int64) (int, bool) {
	k := int64(0)
	if at < s.start {
		k = (s.start - at + s.interval - 1) / s.interval
	}
	return int(k), k < int64(len(s.windows))
}

// within returns the part of from to to that lies in the k-th window.
func (s series) within(k int, from, to int64) (lo, hi int64) {
	begin := s.start - int64(k)*s.interval
	return max(from, begin), min(to, begin+s.interval)
}

// trimmed returns the windows without the last ones that are empty.
func (s series) trimmed() []Window {
	n := len(s.windows)
	for n > 0 && s.windows[n-1] == (Window{}) {
		n--
	}
	if n == 0 {
		return nil
	}
	return s.windows[:n:n]
}

// advanced returns the tally with its windows as of t.
func (y Tally) advanced(t time.Time, w WindowParams) Tally {
	if len(y.Windows) > w.Depth {
		y.Windows = series{windows: y.Windows[:w.Depth]}.trimmed()
	}
	if !t.After(y.At) || len(y.Windows) == 0 && !y.InUse() {
		return y
	}
	s := y.series(t, w)
	s.dedicate(y.At.UnixMilli(), t.UnixMilli(), load{y.Cpus, y.PE})
	y.Windows = s.trimmed()
	return y
}

// over returns the tally with a load more from from to to, which is no later than
// y.At; below zero it is taken away.
func (y Tally) over(from, to time.Time, l load, p Params) Tally {
	if !y.Windowed() || l == (load{}) || from.UnixMilli() >= to.UnixMilli() {
		return y
	}
	s := y.series(y.At, p.Windows.sound())
	s.dedicate(from.UnixMilli(), to.UnixMilli(), l)
	y.Windows = s.trimmed()
	return y
}

// dedicate adds a load from from to to, split where windows meet; below zero it
// takes it away.
func (s series) dedicate(from, to int64, l load) {
	for k := range s.windows {
		lo, hi := s.within(k, from, to)
		if hi <= lo {
			continue
		}
		d, w := time.Duration(hi-lo)*time.Millisecond, &s.windows[k]
		w.Dedicated = w.Dedicated.over(Weight(l.cpus)*One, d)
		w.Equivalent = w.Equivalent.over(l.pe, d)
	}
}

// over is Add, and Take for a weight below zero.
func (u Usage) over(w Weight, d time.Duration) Usage {
	if w < 0 {
		return u.Take(-w, d)
	}
	return u.Add(w, d)
}

// utilized returns the tally with the CPU time added to the window of t.
func (y Tally) utilized(cpu time.Duration, t time.Time, p Params) Tally {
	if cpu < time.Microsecond {
		return y
	}
	s := y.series(y.At, p.Windows.sound())
	if k, ok := s.of(t.UnixMilli()); ok {
		u := &s.windows[k].Utilized
		*u = u.Plus(Usage{cpu.Milliseconds(), cpu.Microseconds() % 1000})
		y.Windows = s.trimmed()
	}
	return y
}

// spread returns the tally with windows of w's interval. Where it was another,
// what each window holds is spread evenly over the time that it stands for, the
// newest up to y.At, and goes by whole units to the windows that this overlaps:
// nothing is lost but what is older than w's depth.
func (y Tally) spread(w WindowParams) Tally {
	was := y.Interval.Truncate(time.Millisecond)
	y.Interval = w.Interval
	if was <= 0 || was == w.Interval || len(y.Windows) == 0 {
		return y
	}
	y.Windows = y.Windows[:min(len(y.Windows), MaxDepth)]
	at := y.At.UnixMilli()
	old := series{y.Windows, startOf(y.At, was), was.Milliseconds()}
	s := series{make([]Window, w.Depth), startOf(y.At, w.Interval), w.Interval.Milliseconds()}
	for k, has := range old.windows {
		from, to := old.within(k, math.MinInt64, at)
		s.pour(has, from, to)
	}
	y.Windows = s.trimmed()
	return y
}

// pour adds what a window of another length holds for the time from from to to.
func (s series) pour(has Window, from, to int64) {
	if to <= from { // of the instant y.At alone
		s.windows[0] = s.windows[0].plus(has)
		return
	}
	for k := range s.windows {
		lo, hi := s.within(k, from, to)
		if hi <= lo {
			continue
		}
		s.windows[k] = s.windows[k].plus(Window{
			Dedicated:  has.Dedicated.part(lo-from, hi-from, to-from),
			Equivalent: has.Equivalent.part(lo-from, hi-from, to-from),
			Utilized:   has.Utilized.part(lo-from, hi-from, to-from),
		})
	}
}

func (w Window) plus(x Window) Window {
	return Window{w.Dedicated.Plus(x.Dedicated), w.Equivalent.Plus(x.Equivalent), w.Utilized.Plus(x.Utilized)}
}

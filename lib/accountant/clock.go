package accountant

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock is how far a machine's clock is ahead of the time since the machine was
// booted, which nobody can set. That changes only when the clock is set: what
// slews it moves both, and so does a suspended machine. The zero Clock says
// nothing, as where the time is the user's own.
type Clock struct {
	Boot   string        // names the boot, without white space
	Offset time.Duration // whole milliseconds
}

// Known reports whether the clock says anything.
func (c Clock) Known() bool { return c.Boot != "" }

// Booted returns when a known clock's machine was booted, as it tells that now.
func (c Clock) Booted() time.Time { return time.Unix(0, 0).Add(c.Offset) }

// String returns the clock as ParseClock reads it, empty for the zero Clock.
func (c Clock) String() string {
	if !c.Known() {
		return ""
	}
	return fmt.Sprintf("%s %d", c.Boot, c.Offset.Milliseconds())
}

// ParseClock is the inverse of String; empty text is the zero Clock.
func ParseClock(text string) (Clock, error) {
	if text == "" {
		return Clock{}, nil
	}
	boot, offset, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(offset, 10, 64)
	d := time.Duration(ms) * time.Millisecond
	if err != nil || boot == "" || d.Milliseconds() != ms {
		return Clock{}, fmt.Errorf("%q: want a boot's name and milliseconds", text)
	}
	return Clock{boot, d}, nil
}

// Reading is a policy time, and what there is to know of the clock that it was
// read from at that moment.
type Reading struct {
	Now   time.Time
	Clock Clock
	// Ahead is how far a time of the user's own is ahead of the machine's clock; 0 where
	// the user says that it is meant so.
	Ahead time.Duration
}

// By returns the same moment as another state of the same boot's clock has it.
func (r Reading) By(c Clock) Reading {
	if c.Known() && c.Boot == r.Clock.Boot {
		r.Now, r.Clock = r.Now.Add(c.Offset-r.Clock.Offset), c
	}
	return r
}

// Jump is how the times of a past event are told by a clock that has been set
// since: so that between the event and now lies what really passed. The zero
// Jump changes nothing.
type Jump struct {
	By time.Duration // whole milliseconds, below zero when the clock was set back
	// Since is the oldest match of a claim that is there, zero for none.
	Since time.Time
}

// Event returns when an event was; zero for none at all.
func (j Jump) Event(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(j.By)
}

// Jump returns the record with its last event as the clock has it now. Begin
// and Last are dates for people, and stay: a clock is mostly set right. They go
// along where they would otherwise change places with a match (see GiveBack), or
// come to lie behind the last event: then the clock was wrong when they were
// noted. Leases end when their date says.
func (r Record) Jump(j Jump) Record {
	was := r.At
	r.At = j.Event(was)
	r.Begin, r.Last = j.date(r.Begin, was, r.At), j.date(r.Last, was, r.At)
	return r
}

// date returns a date of a record whose last event was at was, and is at now. One
// behind that was set by hand, and stays.
func (j Jump) date(t, was, at time.Time) time.Time {
	// No match is older than Since: before that, a date may stay only as long
	// as it is before that still.
	passing := !j.Since.IsZero() && (!t.Before(j.Since) || t.After(j.Event(j.Since)))
	if !t.After(was) && (t.After(at) || passing) {
		return j.Event(t)
	}
	return t
}

// Jump returns the tally with its last event as the clock has it now. What its
// windows hold stays where it is: the newest is that of the last event.
func (y Tally) Jump(j Jump) Tally {
	y.At = j.Event(y.At)
	return y
}

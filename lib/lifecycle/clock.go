package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ownTimes is the clock's mark in a spool that first had only times of the machine's clock
// and then a time of the user's own. A spool with only times of the user's own has no such
// mark.
const ownTimes = "own"

// farAhead is how far ahead of the machine's clock a time of the user's own may be
// without an error, in a spool whose times are or were by that clock.
const farAhead = 24 * time.Hour

// Refuse returns an error for a time of the user's own that is far ahead of the clock
// that the spool's times are by: later events, by the clock, would come before the last
// one, and add nothing to usage.
func Refuse(v *spool.View, at accountant.Reading) error {
	if at.Ahead <= farAhead || v.Mark(accountant.ClockMark) == "" {
		return nil
	}
	return fmt.Errorf("-now %s is more than a day ahead of the machine's clock: until then jobs would add nothing to usage; nothing was changed; -force accepts it",
		at.Now.UTC().Format(time.RFC3339))
}

// tolerance is the largest difference between times that count as equal. All that is
// shown of times is in seconds.
const tolerance = time.Second

// Account runs fn in a transaction of the spool, as Update does, for events at the time at. It fails if Refuse
// does. A spool that keeps a clock takes over at's clock if the machine was booted since, or notes that it has
// times of the user's own.
//
// Operations on jobs with expressions may stop fn before its end, and have it run once more from its
// beginning: in a transaction of a fork (spool.Tx.Forked), and then in one of the spool again; see Answers. So
// the effects of fn outside the transaction must be right if only its last run counts.
func Account(s *spool.Spool, at accountant.Reading, fn func(*spool.Tx) error) error {
	return new(Answers).Account(s, at, fn)
}

// accounted begins a transaction for events at the time at, as Account says.
func accounted(tx *spool.Tx, at accountant.Reading) error {
	if err := Refuse(&tx.View, at); err != nil {
		return err
	}
	switch kept, ok := keptClock(&tx.View); {
	case ok && !at.Clock.Known():
		tx.Op("note clock")
		tx.PutMark(accountant.ClockMark, ownTimes)
	case ok && kept.Boot != at.Clock.Boot:
		tx.Op("note clock")
		tx.PutMark(accountant.ClockMark, at.Clock.String())
	}
	return nil
}

// keptClock returns the clock that the spool's times are by, and false if it keeps none.
func keptClock(v *spool.View) (accountant.Clock, bool) {
	c, err := accountant.ParseClock(v.Mark(accountant.ClockMark))
	return c, err == nil && c.Known()
}

// FollowClock makes the spool keep the machine's clock, from which at was read: if it
// keeps none, or if the clock was set while nothing is charged. No event is ever before
// the last one: a clock that is behind the last event is not kept.
func FollowClock(tx *spool.Tx, at accountant.Reading) {
	if !at.Clock.Known() {
		return
	}
	kept, ok := keptClock(&tx.View)
	if ok && (at.Clock.Offset-kept.Offset).Abs() <= tolerance || ok && charges(&tx.View) {
		return
	}
	if lastEvent(&tx.View).Sub(at.Now) <= tolerance {
		tx.PutMark(accountant.ClockMark, at.Clock.String())
	}
}

func lastEvent(v *spool.View) time.Time {
	return pool.LastEvent(v, spool.Flocked.All(v), time.Time{})
}

// charges reports whether anything is charged, or a supervisor has an end to record.
func charges(v *spool.View) bool {
	if len(v.Claims()) > 0 {
		return true
	}
	return slices.ContainsFunc(v.Submitters(), func(r accountant.Record) bool { return r.ResourcesUsed > 0 })
}

// Late says in words that the last event of the records was after now, which
// therefore counts as of then; nothing otherwise.
func Late(records []accountant.Record, now time.Time) string {
	var last time.Time
	for _, r := range records {
		if r.At.After(last) {
			last = r.At
		}
	}
	if last.Sub(now) <= tolerance {
		return ""
	}
	return fmt.Sprintf("now is %s before the last event; the time of the last event is used", span(last.Sub(now)))
}

// Beyond returns a sentence if the last event is after now in a spool whose times are or were by
// the machine's clock; empty otherwise.
func Beyond(v *spool.View, now time.Time) string {
	last := lastEvent(v)
	if v.Mark(accountant.ClockMark) == "" || last.Sub(now) <= tolerance {
		return ""
	}
	return fmt.Sprintf("the last event is dated %s, in the future: until then jobs add nothing to usage", last.UTC().Format(time.RFC3339))
}

// wasSet is how far the machine's clock may be from the pool's without a word: what keeps it
// right sets it by seconds now and then.
const wasSet = time.Minute

// ClockSet returns a sentence if the machine's clock, which says machine, was set since the
// pool's time was read from it, which is at; empty otherwise.
func ClockSet(at accountant.Reading, machine time.Time) string {
	by, way := machine.Sub(at.Now), "ahead"
	if by < 0 {
		way = "back"
	}
	if !at.Clock.Known() || by.Abs() < wasSet {
		return ""
	}
	return fmt.Sprintf("the machine's clock was set %s by %s while jobs had slots, and the pool's time does not follow it", way, span(by.Abs()))
}

// span words a length of time of a second and more: 1:00:00, 3652+01:00:00.
func span(d time.Duration) string {
	return elapsed.Short(int64(d.Round(time.Second)/time.Second), 3)
}

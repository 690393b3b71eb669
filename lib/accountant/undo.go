package accountant

import (
	"fmt"
	"math"
	"time"
)

// Entry is what a Book holds under a name. What is not There has nothing but
// its Name.
type Entry struct {
	Record
	There bool
}

// Edit is what a person's change did to one record at At, in policy time.
type Edit struct {
	At            time.Time
	Before, After Entry
}

// ChangedSince is the error of an Undo that would have to take back more than
// the edit: an attribute has neither the value that the edit gave it nor the
// one that it had before.
type ChangedSince struct {
	Name      string
	Attribute Attribute
}

func (e *ChangedSince) Error() string {
	return fmt.Sprintf("%s: its %s was changed since", e.Name, e.Attribute)
}

// Undo returns what has to be in the place of current, at t, for the edit to be
// taken back.
//
// If nothing happened to the record since, what was there before comes back
// exactly. Otherwise the effect of the edit is taken away from what is there
// now: a setting gets the value that it had, usage the difference that the edit
// made, and the RUP what is left of that difference by now; none goes below its
// least. The RUP is linear in what it was, so it becomes what it would be
// without the edit, unless MinPriority cut in between or the half-life was
// changed more than once. What is in use stays. The error is a *ChangedSince.
func (e Edit) Undo(current Entry, t time.Time, p Params) (Entry, error) {
	if current.Same(e.After) {
		return e.Before, nil
	}
	before, after := e.asOf(e.At, p)
	r := current.Settle(t, p)
	for _, undo := range []func(Record) (Record, error){
		func(r Record) (Record, error) { return e.undoSettings(r, t, p) },
		func(r Record) (Record, error) { return undoBegin(r, before, after, e.At) },
		func(r Record) (Record, error) { return undoLast(r, before, after, e.At) },
	} {
		var err error
		if r, err = undo(r); err != nil {
			return current, err
		}
	}
	r.Slots = r.Slots.shifted(after.Slots, before.Slots)
	r.Weighted = r.Weighted.shifted(after.Weighted, before.Weighted)
	if by := after.Priority - before.Priority; by != 0 {
		r.Priority = math.Max(r.Priority-by*remaining(after, current, r.At), MinPriority)
	}
	if !(current.There && e.Before.There) && r.Irrelevant(t, p) {
		return Entry{Record: Record{Name: r.Name}}, nil
	}
	return Entry{r, true}, nil
}

// Same tells whether two entries are the same, with all that they hold.
func (n Entry) Same(o Entry) bool {
	return n.There == o.There && (!n.There || n.plain() == o.plain())
}

// plain returns the record with its times in one form, so that == compares it.
func (r Record) plain() Record {
	for _, t := range []*time.Time{&r.At, &r.Begin, &r.Last, &r.FactorLease.Until, &r.CeilingLease.Until, &r.FloorLease.Until} {
		if !t.IsZero() {
			*t = time.UnixMilli(t.UnixMilli()).UTC()
		}
	}
	return r
}

// asOf returns the record at t as it would be without the edit and with it, if
// nothing else happened in between.
func (e Edit) asOf(t time.Time, p Params) (before, after Record) {
	return e.Before.AsOf(t, p), e.After.AsOf(t, p)
}

// undoSettings gives the settings that the edit changed, and that nobody changed
// since, the values that they would have by now.
func (e Edit) undoSettings(r Record, t time.Time, p Params) (Record, error) {
	before, after := e.asOf(e.At, p)
	beforeNow, afterNow := e.asOf(t, p)
	for _, s := range settings {
		switch {
		case s.same(before, after), s.same(r, beforeNow):
		case s.same(r, afterNow):
			s.copy(&r, beforeNow)
		default:
			return r, &ChangedSince{r.Name, s.attribute}
		}
	}
	return r, nil
}

// undoBegin and undoLast know that use moves these times too. What was first
// used after an edit that left nothing had a beginning before it.
func undoBegin(r, before, after Record, at time.Time) (Record, error) {
	begun := after.Begin.IsZero() && !r.Begin.Before(at)
	switch {
	case before.Begin.Equal(after.Begin), r.Begin.Equal(before.Begin):
	case r.Begin.Equal(after.Begin), begun:
		used := r.Slots != after.Slots || r.ResourcesUsed > 0
		if r.Begin = before.Begin; r.Begin.IsZero() && used {
			r.Begin = at
		}
	default:
		return r, &ChangedSince{r.Name, AttrBeginUsageTime}
	}
	return r, nil
}

func undoLast(r, before, after Record, at time.Time) (Record, error) {
	switch {
	case before.Last.Equal(after.Last), r.Last.Equal(before.Last):
	case r.Last.Equal(after.Last):
		r.Last = before.Last
	case r.Last.Before(at):
		return r, &ChangedSince{r.Name, AttrLastUsageTime}
	}
	return r, nil
}

// remaining returns how much is left at t of a difference that the RUP of after
// had to that of before: under after's half-life until current's last event, under
// current's from then on.
func remaining(after Record, current Entry, t time.Time) float64 {
	change := after.At
	if current.There && current.At.After(after.At) {
		change = current.At
	}
	left := decay(1, 0, max(change.Sub(after.At), 0), after.HalfLife)
	if t.After(change) && current.There {
		return left * decay(1, 0, t.Sub(change), current.HalfLife)
	}
	return left * decay(1, 0, max(t.Sub(change), 0), after.HalfLife)
}

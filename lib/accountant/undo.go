package accountant

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Entry is a Book's content under a name. If it is not There, only its Name is set.
type Entry struct {
	Record
	There bool
}

// Edit is the change of one record by a person at At, in policy time.
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

// Undo returns the replacement for current, at t, that takes back the edit.
//
// If nothing happened to the record since, the earlier content returns exactly. Otherwise
// the effect of the edit is subtracted from the present content: a setting gets its
// earlier value, usage loses the difference that the edit made, and the RUP the part of
// that difference that has not decayed; none goes below its minimum. The RUP is linear in
// its earlier value, so it becomes what it would be without the edit, unless MinPriority
// cut in between or the half-life was changed more than once. The weight in use stays.
// The error is a *ChangedSince.
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

// Same reports whether two entries are the same, with all that they hold.
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

// undoSettings gives the settings that the edit changed, and that were not changed since,
// the values that they would have now.
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

// undoBegin and undoLast know that use moves these times too. If an edit left the record
// empty, a later first use had an earlier beginning before the edit.
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

// remaining returns the part at t of the difference between the RUPs of after and before:
// it decays with after's half-life until current's last event, with current's from then
// on.
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

// Attribute is what an edit can change, by its name in a submitter's ad.
type Attribute string

// The attributes, in the order in which Changed returns them.
const (
	AttrPriority                 Attribute = "Priority" // the RUP
	AttrPriorityFactor           Attribute = "PriorityFactor"
	AttrCeiling                  Attribute = "Ceiling"
	AttrFloor                    Attribute = "Floor"
	AttrAccumulatedUsage         Attribute = "AccumulatedUsage"
	AttrWeightedAccumulatedUsage Attribute = "WeightedAccumulatedUsage"
	AttrBeginUsageTime           Attribute = "BeginUsageTime"
	AttrLastUsageTime            Attribute = "LastUsageTime"
)

// setting is a value that stays until an edit changes it, or its lease ends.
type setting struct {
	attribute Attribute
	same      func(a, b Record) bool
	copy      func(to *Record, from Record)
}

var settings = [...]setting{
	{AttrPriorityFactor,
		func(a, b Record) bool { return a.Factor == b.Factor && a.FactorLease.same(b.FactorLease) },
		func(to *Record, from Record) { to.Factor, to.FactorLease = from.Factor, from.FactorLease }},
	{AttrCeiling,
		func(a, b Record) bool { return a.Ceiling == b.Ceiling && a.CeilingLease.same(b.CeilingLease) },
		func(to *Record, from Record) { to.Ceiling, to.CeilingLease = from.Ceiling, from.CeilingLease }},
	{AttrFloor,
		func(a, b Record) bool { return a.Floor == b.Floor && a.FloorLease.same(b.FloorLease) },
		func(to *Record, from Record) { to.Floor, to.FloorLease = from.Floor, from.FloorLease }},
}

func (l Lease) same(o Lease) bool { return l.Before == o.Before && l.Until.Equal(o.Until) }

// nearly is by how much of it a RUP may differ from itself reckoned in other
// steps.
const nearly = 1e-9

// Changed returns the attributes that the edit itself changed, not those that change with
// the time since the record's last event. A setting counts with its lease. The records
// are those before and after the edit, both as of it.
func (e Edit) Changed(p Params) (what []Attribute, before, after Record) {
	before, after = e.asOf(e.At, p)
	if math.Abs(before.Priority-after.Priority) > nearly*before.Priority {
		what = append(what, AttrPriority)
	}
	for _, s := range settings {
		if !s.same(before, after) {
			what = append(what, s.attribute)
		}
	}
	for _, x := range []struct {
		attribute Attribute
		same      bool
	}{
		{AttrAccumulatedUsage, before.Slots == after.Slots},
		{AttrWeightedAccumulatedUsage, before.Weighted == after.Weighted},
		{AttrBeginUsageTime, before.Begin.Equal(after.Begin)},
		{AttrLastUsageTime, before.Last.Equal(after.Last)},
	} {
		if !x.same {
			what = append(what, x.attribute)
		}
	}
	return what, before, after
}

// TallyEntry is a Book's content under a key. If it is not There, only its Key is set.
type TallyEntry struct {
	Tally
	There bool
}

// TallyEdit is the change of one tally by a person at At, in policy time.
type TallyEdit struct {
	At            time.Time
	Before, After TallyEntry
}

// Same reports whether two entries are the same, with all that they hold.
func (n TallyEntry) Same(o TallyEntry) bool {
	return n.There == o.There && (!n.There || n.Key == o.Key && n.At.Equal(o.At) && n.Cpus == o.Cpus && n.PE == o.PE && n.Interval == o.Interval &&
		slices.Equal(n.Windows, o.Windows) && n.Decayed == o.Decayed && n.LongTerm == o.LongTerm)
}

// Undo returns the replacement for current, at t, that takes back the edit. If nothing
// was counted since, the earlier content returns exactly; otherwise the difference that
// the edit made is subtracted, as far as it has not decayed, and nothing falls below
// zero. Processors in use stay.
func (e TallyEdit) Undo(current TallyEntry, t time.Time, p Params) TallyEntry {
	if current.Same(e.After) {
		return e.Before
	}
	then := func(y Tally) Tally {
		y = y.AsOf(e.At, p)
		y.Cpus, y.PE = 0, 0
		return y.AsOf(t, p)
	}
	before, after := then(e.Before.Tally), then(e.After.Tally)
	y := current.AsOf(t, p)
	windows := make([]Window, max(len(y.Windows), len(before.Windows)))
	for i := range windows {
		windows[i] = y.window(i).shifted(after.window(i), before.window(i))
	}
	for len(windows) > 0 && windows[len(windows)-1] == (Window{}) {
		windows = windows[:len(windows)-1]
	}
	y.Windows = windows
	y.Decayed = y.Decayed.shifted(after.Decayed, before.Decayed)
	y.LongTerm = y.LongTerm.shifted(after.LongTerm, before.LongTerm)
	if !y.InUse() && len(y.Windows) == 0 && y.Decayed == (Recent{}) && y.LongTerm == (Recent{}) {
		return TallyEntry{Tally: Tally{Key: y.Key}}
	}
	return TallyEntry{y, true}
}

// window returns the i-th window, an empty one where nothing is kept.
func (y Tally) window(i int) Window {
	if i >= len(y.Windows) {
		return Window{}
	}
	return y.Windows[i]
}

func (w Window) shifted(from, to Window) Window {
	return Window{
		Dedicated:  w.Dedicated.shifted(from.Dedicated, to.Dedicated),
		Equivalent: w.Equivalent.shifted(from.Equivalent, to.Equivalent),
		Utilized:   w.Utilized.shifted(from.Utilized, to.Utilized),
	}
}

func (r Recent) shifted(from, to Recent) Recent {
	shift := func(x, from, to float64) float64 { return max(x-from+to, 0) }
	return Recent{shift(r.CPU, from.CPU, to.CPU), shift(r.Memory, from.Memory, to.Memory), shift(r.IO, from.IO, to.IO)}
}

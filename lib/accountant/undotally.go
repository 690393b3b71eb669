package accountant

import (
	"slices"
	"time"
)

// TallyEntry is what a Book holds under a key. What is not There has nothing
// but its Key.
type TallyEntry struct {
	Tally
	There bool
}

// TallyEdit is what a person's change did to one tally at At, in policy time.
type TallyEdit struct {
	At            time.Time
	Before, After TallyEntry
}

// Same tells whether two entries are the same, with all that they hold.
func (n TallyEntry) Same(o TallyEntry) bool {
	return n.There == o.There && (!n.There || n.Key == o.Key && n.At.Equal(o.At) && n.Cpus == o.Cpus && n.PE == o.PE && n.Interval == o.Interval &&
		slices.Equal(n.Windows, o.Windows) && n.Decayed == o.Decayed && n.LongTerm == o.LongTerm)
}

// Undo returns what has to be in the place of current, at t, for the edit to be
// taken back. If nothing was counted since, what was there before comes back
// exactly; otherwise the difference that the edit made goes, as far as it is left
// by now, and nothing falls below zero. Processors in use stay.
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

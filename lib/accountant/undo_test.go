package accountant

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var undoParams = Params{HalfLife: 24 * time.Hour, DefaultFactor: 1000}

var undoStart = time.UnixMilli(1795217646000).UTC()

// drawUndone draws one with a RUP that does not reach the floor within the
// times of these tests.
func drawUndone(t *rapid.T) Record {
	whole := func(most int64, what string) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
	usage := func(what string) Usage { return Usage{whole(1e15, what), whole(999, what+" rest")} }
	slots := rapid.IntRange(0, 3).Draw(t, "slots")
	r := Record{
		Name: "alice@pool", Priority: rapid.Float64Range(1e3, 1e6).Draw(t, "priority"),
		At: undoStart.Add(-time.Duration(whole(1e8, "age")) * time.Millisecond), HalfLife: time.Duration(1+whole(100, "half-life")) * time.Hour * 6,
		ResourcesUsed: slots, InUse: Weight(slots) * One * 700, Slots: usage("slots used"), Weighted: usage("weighted"),
		Floor: whole(5, "floor"), Ceiling: LimitOf(whole(9, "ceiling") - 1), Factor: float64(whole(3, "factor")),
	}
	if whole(1, "begun") == 1 {
		r.Begin = undoStart.Add(-time.Duration(1e6+whole(1e6, "begin")) * time.Second)
		r.Last = r.At.Add(-time.Duration(whole(1e6, "last")) * time.Millisecond)
	}
	if whole(1, "leased") == 1 {
		r.FloorLease = Lease{undoStart.Add(time.Duration(whole(100, "until")) * time.Hour), float64(whole(5, "before"))}
	}
	return r
}

// undoEdits are what edits do to a record as of now.
var undoEdits = map[string]func(r Record, t time.Time) Record{
	"priority": func(r Record, _ time.Time) Record { r.Priority = 2000; return r },
	"factor":   func(r Record, _ time.Time) Record { r.Factor, r.FactorLease = 7.5, Lease{}; return r },
	"floor": func(r Record, t time.Time) Record {
		r.Floor, r.FloorLease = 9, Lease{t.Add(time.Hour), float64(r.Floor)}
		return r
	},
	"ceiling": func(r Record, _ time.Time) Record { r.Ceiling = LimitOf(44); return r },
	"accum":   func(r Record, _ time.Time) Record { r.Weighted = Usage{Millis: 5e15, Rest: 3}; return r },
	"reset":   func(r Record, t time.Time) Record { return r.ResetUsage(t, undoParams) },
	"begin":   func(r Record, _ time.Time) Record { r.Begin = undoStart.Add(-9e6 * time.Second); return r },
	"last":    func(r Record, _ time.Time) Record { r.Last = undoStart.Add(-9e6 * time.Second); return r },
}

func drawUndoEdit(t *rapid.T, r Record) Edit {
	names := make([]string, 0, len(undoEdits))
	for name := range undoEdits {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(t, "edit")
	after := undoEdits[name](r.Settle(undoStart, undoParams), undoStart)
	return Edit{undoStart, Entry{r, true}, Entry{after, true}}
}

// TestRedo holds that an edit that is made to what it was made to gives what it gave, and that of another record it changes what it
// changed, and nothing of what is in use.
func TestRedo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawUndoEdit(t, drawUndone(t))
		if got := e.Redo(e.Before.Record, e.At, undoParams); got.plain() != e.After.plain() {
			t.Fatalf("Redo = %+v, want %+v", got, e.After.Record)
		}
		other := drawUndone(t)
		got, want := e.Redo(other, e.At, undoParams), other.Settle(e.At, undoParams)
		what, _, after := e.Changed(undoParams)
		for _, s := range settings {
			if slices.Contains(what, s.attribute) {
				s.copy(&want, after)
			}
		}
		want.Priority, want.Slots, want.Weighted, want.Begin, want.Last = got.Priority, got.Slots, got.Weighted, got.Begin, got.Last
		if got != want {
			t.Fatalf("Redo = %+v, want %+v", got, want)
		}
		if slices.Contains(what, AttrPriority) && got.Priority != after.Priority || slices.Contains(what, AttrWeightedAccumulatedUsage) && got.Weighted != after.Weighted {
			t.Fatalf("Redo = %+v, want the values of %+v", got, after)
		}
	})
}

// Undo restores exactly, and so does undoing that.
func TestUndoRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawUndoEdit(t, drawUndone(t))
		if rapid.Bool().Draw(t, "created") {
			e.Before = Entry{Record: Record{Name: e.After.Name}}
		} else if rapid.Bool().Draw(t, "deleted") {
			e.After = Entry{Record: Record{Name: e.Before.Name}}
		}
		later := undoStart.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "later")) * time.Millisecond)
		got, err := e.Undo(e.After, later, undoParams)
		if err != nil || got != e.Before {
			t.Fatalf("Undo = %+v, %v, want %+v", got, err, e.Before)
		}
		if got, want := got.AsOf(later, undoParams), e.Before.AsOf(later, undoParams); got != want {
			t.Fatalf("the future after Undo = %+v, want %+v", got, want)
		}
		back := Edit{later, e.After, got}
		if again, err := back.Undo(got, later.Add(time.Hour), undoParams); err != nil || again != e.After {
			t.Fatalf("Undo of Undo = %+v, %v, want %+v", again, err, e.After)
		}
	})
}

// Whatever was charged since, the record is what it would be without the edit.
func TestUndoOfLongAgo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawUndone(t)
		r.HalfLife = undoParams.HalfLife
		e := drawUndoEdit(t, r)
		with, without := e.After.Record, r.Settle(undoStart, undoParams)
		now := undoStart
		for range rapid.IntRange(1, 5).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(1, 1e7).Draw(t, "after")) * time.Millisecond)
			w := Weight(rapid.Int64Range(1, 5e6).Draw(t, "weight"))
			with, without = with.Start(now, w, undoParams), without.Start(now, w, undoParams)
			if rapid.Bool().Draw(t, "ends") {
				now = now.Add(time.Minute)
				with, without = with.End(now, w, undoParams), without.End(now, w, undoParams)
			}
		}
		undone, err := e.Undo(Entry{with, true}, now, undoParams)
		got, want := undone.Record, without
		if math.Abs(got.Priority-want.Priority) > 1e-9*want.Priority {
			t.Fatalf("RUP after Undo = %v, want %v", got.Priority, want.Priority)
		}
		got.Priority = want.Priority
		if r.Begin.IsZero() && r.ResourcesUsed == 0 {
			got.Begin = want.Begin // when use began after an edit of Begin is not known any more
		}
		if got.Last.After(undoStart) && want.Last.After(undoStart) {
			got.Last = want.Last
		}
		if err != nil || !undone.There || got != want {
			t.Fatalf("Undo = %+v, %v, want\n%+v", got, err, want)
		}
	})
}

func TestUndoWhatMovedOn(t *testing.T) {
	hour := func(n int) time.Time { return undoStart.Add(time.Duration(n) * time.Hour) }
	old := Record{Name: "alice@pool", Priority: 40, At: hour(-24), HalfLife: 24 * time.Hour, Factor: 3, Slots: Usage{Millis: 500}, Weighted: Usage{Millis: 900, Rest: 5}, Begin: hour(-99), Last: hour(-50)}
	then := old.Settle(undoStart, undoParams)
	edit := func(change func(r *Record)) Edit {
		after := then
		change(&after)
		return Edit{undoStart, Entry{old, true}, Entry{after, true}}
	}
	none := Entry{Record: Record{Name: "alice@pool"}}
	leased := edit(func(r *Record) { r.Factor, r.FactorLease = 9, Lease{hour(1), 3} })
	for _, c := range []struct {
		name    string
		edit    Edit
		current func(r Record) Entry // from what the edit left, at hour 24
		want    func(r Record) Entry // from what would be without it
		since   Attribute
	}{
		{"a RUP halves", edit(func(r *Record) { r.Priority = 100 }),
			func(r Record) Entry { return Entry{r, true} }, func(r Record) Entry { return Entry{r, true} }, ""},
		{"other settings stay", edit(func(r *Record) { r.Factor = 8 }),
			func(r Record) Entry { r.Floor, r.Priority = 4, 77; return Entry{r, true} },
			func(r Record) Entry { r.Floor, r.Priority = 4, 77; return Entry{r, true} }, ""},
		{"changed since", edit(func(r *Record) { r.Factor = 8 }),
			func(r Record) Entry { r.Factor = 5; return Entry{r, true} }, nil, AttrPriorityFactor},
		{"changed back since", edit(func(r *Record) { r.Factor = 8 }),
			func(r Record) Entry { r.Factor = 3; return Entry{r, true} }, func(r Record) Entry { return Entry{r, true} }, ""},
		{"a lease that is over", leased,
			func(r Record) Entry { return Entry{r, true} }, func(r Record) Entry { return Entry{r, true} }, ""},
		{"a floor set for good over", edit(func(r *Record) { r.Ceiling = LimitOf(0) }),
			func(r Record) Entry { r.Ceiling = Limit{}; return Entry{r, true} }, func(r Record) Entry { return Entry{r, true} }, ""},
		{"usage, never below zero", edit(func(r *Record) { r.Weighted = Usage{Millis: 2000} }),
			func(r Record) Entry { r.Weighted = Usage{Millis: 10}; return Entry{r, true} },
			func(r Record) Entry { r.Weighted = Usage{}; return Entry{r, true} }, ""},
		{"usage of both", edit(func(r *Record) { r.Weighted = Usage{} }),
			func(r Record) Entry { r.Weighted = Usage{Millis: 10, Rest: 999}; return Entry{r, true} },
			func(r Record) Entry { r.Weighted = Usage{Millis: 911, Rest: 4}; return Entry{r, true} }, ""},
		{"used since it was set", edit(func(r *Record) { r.Last = hour(-3) }),
			func(r Record) Entry { r.Last = hour(5); return Entry{r, true} },
			func(r Record) Entry { r.Last = hour(5); return Entry{r, true} }, ""},
		{"set again", edit(func(r *Record) { r.Last = hour(-3) }),
			func(r Record) Entry { r.Last = hour(-2); return Entry{r, true} }, nil, AttrLastUsageTime},
		{"begin set again", edit(func(r *Record) { r.Begin = hour(-3) }),
			func(r Record) Entry { r.Begin = hour(-2); return Entry{r, true} }, nil, AttrBeginUsageTime},
		{"deleted, and there again", Edit{undoStart, Entry{old, true}, none},
			func(Record) Entry {
				return Entry{Record{Name: "alice@pool", Priority: 0.5, At: hour(24), HalfLife: 24 * time.Hour, ResourcesUsed: 1, InUse: One,
					Slots: Usage{Millis: 7}, Weighted: Usage{Millis: 7}, Begin: hour(20), Last: hour(24)}, true}
			},
			func(r Record) Entry {
				r.Priority, r.ResourcesUsed, r.InUse = 10.25, 1, One
				r.Slots, r.Weighted, r.Last = Usage{Millis: 507}, Usage{Millis: 907, Rest: 5}, hour(24)
				return Entry{r, true}
			}, ""},
		{"created, and nothing else came", Edit{undoStart, none, Entry{Record{Name: "alice@pool", Priority: 0.5, At: undoStart, HalfLife: time.Hour, Factor: 4}, true}},
			func(r Record) Entry { return Entry{r, true} }, func(Record) Entry { return none }, ""},
		{"created, and used since", Edit{undoStart, none, Entry{Record{Name: "alice@pool", Priority: 0.5, At: undoStart, HalfLife: time.Hour, Begin: hour(-9)}, true}},
			func(r Record) Entry {
				r.Slots, r.Weighted, r.Last = Usage{Millis: 7}, Usage{Millis: 8}, hour(3)
				return Entry{r, true}
			},
			func(Record) Entry {
				return Entry{Record{Name: "alice@pool", Priority: 0.5, At: hour(24), HalfLife: undoParams.HalfLife,
					Slots: Usage{Millis: 7}, Weighted: Usage{Millis: 8}, Begin: undoStart, Last: hour(3)}, true}
			}, ""},
		{"gone", edit(func(r *Record) { r.Factor = 8 }),
			func(Record) Entry { return none }, nil, AttrPriorityFactor},
	} {
		current := c.current(c.edit.After.Settle(hour(24), undoParams))
		got, err := c.edit.Undo(current, hour(24), undoParams)
		var since *ChangedSince
		if c.since != "" {
			if !errors.As(err, &since) || since.Attribute != c.since || !got.Same(current) {
				t.Errorf("%s: Undo = %+v, %v, want an error about %s", c.name, got, err, c.since)
			}
			continue
		}
		want := c.want(then.Settle(hour(24), undoParams))
		if math.Abs(got.Priority-want.Priority) < 1e-9 {
			got.Priority = want.Priority
		}
		if err != nil || !got.Same(want) {
			t.Errorf("%s: Undo = %+v, %v, want\n%+v", c.name, got, err, want)
		}
	}
}

// What is left of a RUP decays on from the record's last event, under the half-life
// that is in force since.
func TestUndoAfterAChangedHalfLife(t *testing.T) {
	old := Record{Name: "alice@pool", Priority: 40, At: undoStart, HalfLife: 24 * time.Hour}
	set := old
	set.Priority = 104
	weekly := Params{HalfLife: 7 * 24 * time.Hour}
	changed, undone := undoStart.Add(24*time.Hour), undoStart.Add(8*24*time.Hour)
	got, err := Edit{undoStart, Entry{old, true}, Entry{set, true}}.Undo(Entry{set.Settle(changed, weekly), true}, undone, weekly)
	if want := old.Settle(changed, weekly).AsOf(undone, weekly); err != nil || math.Abs(got.Priority-want.Priority) > 1e-9 {
		t.Errorf("Undo = %+v, %v, want a RUP of %v", got, err, want.Priority)
	}
}

func TestChanged(t *testing.T) {
	old := Record{Name: "alice@pool", Priority: 40, At: undoStart.Add(-time.Hour), HalfLife: 24 * time.Hour, ResourcesUsed: 1, InUse: One}
	for name, c := range map[string]struct {
		change func(r Record) Entry
		want   []Attribute
	}{
		"nothing but time": {func(r Record) Entry { return Entry{r, true} }, nil},
		"one":              {func(r Record) Entry { r.Floor = 3; return Entry{r, true} }, []Attribute{AttrFloor}},
		"a lease alone": {func(r Record) Entry {
			r.CeilingLease = Lease{undoStart.Add(time.Hour), -1}
			return Entry{r, true}
		}, []Attribute{AttrCeiling}},
		"reset": {func(r Record) Entry { return Entry{r.ResetUsage(undoStart, undoParams), true} },
			[]Attribute{AttrAccumulatedUsage, AttrWeightedAccumulatedUsage, AttrBeginUsageTime}},
		"deleted": {func(r Record) Entry { return Entry{Record: Record{Name: r.Name}} },
			[]Attribute{AttrPriority, AttrAccumulatedUsage, AttrWeightedAccumulatedUsage, AttrBeginUsageTime, AttrLastUsageTime}},
	} {
		e := Edit{undoStart, Entry{old, true}, c.change(old.Settle(undoStart, undoParams))}
		if got, _, _ := e.Changed(undoParams); !slices.Equal(got, c.want) {
			t.Errorf("%s: Changed = %v, want %v", name, got, c.want)
		}
	}
}

// Whatever was counted since, a tally is what it would be without the edit.
func TestUndoOfTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{Windows: WindowParams{Interval: time.Hour, Depth: 6, Decay: 0.5}, Decay: DecayParams{HalfTime: time.Hour}}
		key := Key{rapid.SampledFrom([]string{KindUser, KindOwn}).Draw(t, "kind"), "alice"}
		draw := func(by Credentials) Tally {
			y := Tally{Key: key}.Begin(undoStart.Add(-90*time.Minute), by, p)
			for range rapid.IntRange(0, 4).Draw(t, "reports") {
				ago := rapid.IntRange(0, 300).Draw(t, "ago")
				y = y.Report(Used{CPU: time.Duration(rapid.IntRange(0, 9999).Draw(t, "cpu")) * time.Second, Memory: 3}, undoStart.Add(-time.Duration(ago)*time.Minute), p)
			}
			return y
		}
		was, is := rapid.Float64Range(0, 9).Draw(t, "PE"), rapid.Float64Range(0, 9).Draw(t, "edited PE")
		by := Credentials{Cpus: rapid.Int64Range(0, 4).Draw(t, "cpus"), PE: was}
		edited := draw(Credentials{Cpus: by.Cpus, PE: is}).AsOf(undoStart, p)
		edited.PE = by.load().pe // what is in use is no edit's
		e := TallyEdit{undoStart, TallyEntry{draw(by), true}, TallyEntry{edited, true}}
		if got := e.Undo(e.After, undoStart.Add(time.Hour), p); !got.Same(e.Before) {
			t.Fatalf("Undo = %+v, want %+v", got, e.Before)
		}
		now := undoStart.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "minutes")) * time.Minute)
		since := func(y Tally) Tally {
			return y.Begin(now.Add(-time.Minute), Credentials{Cpus: 2, PE: 2.5}, p).Report(Used{CPU: 5 * time.Second}, now, p).AsOf(now, p)
		}
		got, want := e.Undo(TallyEntry{since(e.After.Tally), true}, now, p), since(e.Before.Tally)
		for _, x := range [][2]float64{{got.Decayed.CPU, want.Decayed.CPU}, {got.LongTerm.CPU, want.LongTerm.CPU}, {got.Decayed.Memory, want.Decayed.Memory}} {
			if math.Abs(x[0]-x[1]) > 1e-6 {
				t.Fatalf("Undo = %+v, want %+v", got, want)
			}
		}
		if !slices.Equal(got.Windows, want.Windows) || got.Cpus != want.Cpus || got.PE != want.PE || !got.There {
			t.Fatalf("Undo = %+v, want %+v", got, want)
		}
	})
}

// Two tallies are the same only with all that they hold.
func TestSameTally(t *testing.T) {
	y := Tally{Key: Key{KindUser, "alice"}, At: undoStart, Cpus: 1, PE: One, Interval: time.Hour, Windows: []Window{{Dedicated: Usage{Millis: 5}}},
		Decayed: Recent{CPU: 1}, LongTerm: Recent{IO: 1}}
	there := TallyEntry{y, true}
	local := there
	local.At = y.At.In(time.FixedZone("", 3600))
	if !there.Same(local) {
		t.Errorf("%+v is not the same as itself in another time zone", y)
	}
	for name, change := range map[string]func(*TallyEntry){
		"there":       func(e *TallyEntry) { e.There = false },
		"key":         func(e *TallyEntry) { e.Name = "bob" },
		"time":        func(e *TallyEntry) { e.At = e.At.Add(time.Millisecond) },
		"cpus":        func(e *TallyEntry) { e.Cpus++ },
		"equivalents": func(e *TallyEntry) { e.PE++ },
		"interval":    func(e *TallyEntry) { e.Interval++ },
		"windows":     func(e *TallyEntry) { e.Windows = nil },
		"decayed":     func(e *TallyEntry) { e.Decayed.CPU = 2 },
		"long-term":   func(e *TallyEntry) { e.LongTerm.IO = 2 },
	} {
		other := there
		change(&other)
		if there.Same(other) || other.Same(there) {
			t.Errorf("Same with another %s = true", name)
		}
	}
}

func TestUndoOfTalliesLeavesNothing(t *testing.T) {
	none := TallyEntry{Tally: Tally{Key: Key{KindUser, "alice"}}}
	full := TallyEntry{Tally{Key: none.Key, At: undoStart, Interval: time.Hour, Windows: []Window{{Dedicated: Usage{Millis: 5}}}}, true}
	p := Params{Windows: WindowParams{Interval: time.Hour, Depth: 6}}
	e := TallyEdit{undoStart, none, full}
	current := TallyEntry{full.AsOf(undoStart.Add(time.Minute), p), true}
	if got := e.Undo(current, undoStart.Add(time.Minute), p); !got.Same(none) || got.Key != none.Key {
		t.Errorf("Undo = %+v, want nothing", got)
	}
}

package accountant

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClockReadsBack(t *testing.T) {
	for _, c := range []Clock{{}, {"a-b/time:[1]", 0}, {"x", -time.Millisecond}, {"x", 1795217646123 * time.Millisecond}} {
		if got, err := ParseClock(c.String()); err != nil || got != c {
			t.Errorf("ParseClock(%q) = %v, %v, want %v", c.String(), got, err, c)
		}
	}
	for _, text := range []string{"x", " 1", "x 1.5", "x 1 ", "x y 1", "x 9223372036854775807", "x -9223372036854775"} {
		if got, err := ParseClock(text); err == nil {
			t.Errorf("ParseClock(%q) = %v, want an error", text, got)
		}
	}
}

func TestReadingBy(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	r := Reading{Now: noon, Clock: Clock{"a", time.Hour}}
	for _, c := range []struct {
		now  Clock
		want Reading
	}{
		{Clock{"a", 3 * time.Hour}, Reading{Now: noon.Add(2 * time.Hour), Clock: Clock{"a", 3 * time.Hour}}},
		{Clock{"b", 3 * time.Hour}, r},
		{Clock{}, r},
	} {
		if got := r.By(c.now); got != c.want {
			t.Errorf("%v.By(%v) = %v, want %v", r, c.now, got, c.want)
		}
	}
}

func TestJumpOfDates(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hours := func(h int) time.Time { return at.Add(time.Duration(h) * time.Hour) }
	for _, c := range []struct {
		name       string
		by         int // hours
		since      time.Time
		date, want time.Time
	}{
		{"long ago, ahead", 5, time.Time{}, hours(-99), hours(-99)},
		{"long ago, back", -5, time.Time{}, hours(-99), hours(-99)},
		{"none", -5, hours(-1), time.Time{}, time.Time{}},
		{"would be in the future", -5, time.Time{}, hours(-1), hours(-6)},
		{"the last event itself", -5, time.Time{}, at, hours(-5)},
		{"since a claim, ahead", 5, hours(-2), hours(-1), hours(4)},
		{"before the claim, ahead", 5, hours(-2), hours(-3), hours(-3)},
		{"set by hand to what is to come", -5, hours(-2), hours(7), hours(7)},
	} {
		got := Record{At: at, Begin: c.date, Last: c.date}.Jump(Jump{time.Duration(c.by) * time.Hour, c.since})
		if !got.Begin.Equal(c.want) || !got.Last.Equal(c.want) || !got.At.Equal(hours(c.by)) {
			t.Errorf("%s: %+v, want both dates %v", c.name, got, c.want)
		}
	}
}

// pages is a Book in memory, and the claims that are charged in it.
type pages struct {
	records map[string]Record
	tallies map[Key]Tally
	claims  []timed
}

type timed struct {
	Charge
	from time.Time
}

func newPages() *pages { return &pages{map[string]Record{}, map[Key]Tally{}, nil} }

func (b *pages) Submitter(name string) (Record, bool) {
	r, ok := b.records[name]
	r.Name = name
	return r, ok
}
func (b *pages) PutSubmitter(r Record) { b.records[r.Name] = r }
func (b *pages) Tally(k Key) (Tally, bool) {
	y, ok := b.tallies[k]
	y.Key = k
	return y, ok
}
func (b *pages) PutTally(y Tally) { b.tallies[y.Key] = y }

func (b *pages) begin(c Charge, t time.Time, p Params) {
	b.claims = append(b.claims, timed{c, c.Begin(b, t, p)})
}

// end ends the i-th claim, as one that never started if back.
func (b *pages) end(i int, back bool, t time.Time, p Params) {
	c := b.claims[i]
	if back {
		c.GiveBack(b, c.from, t, p)
	} else {
		c.End(b, c.from, t, p)
	}
	b.claims = slices.Delete(b.claims, i, i+1)
}

func (b *pages) jump(by time.Duration) {
	j := Jump{By: by}
	for _, c := range b.claims {
		if j.Since.IsZero() || c.from.Before(j.Since) {
			j.Since = c.from
		}
	}
	for name, r := range b.records {
		b.records[name] = r.Jump(j)
	}
	for k, y := range b.tallies {
		b.tallies[k] = y.Jump(j)
	}
	for i := range b.claims {
		b.claims[i].from = j.Event(b.claims[i].from)
	}
}

// TestJumpsChangeNothing holds that accounts by a clock that is set again and
// again are those by one that never was.
func TestJumpsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
		steady, seen := newPages(), newPages()
		now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		off := time.Duration(0)
		both := func(do func(b *pages, t time.Time)) { do(steady, now); do(seen, now.Add(off)) }
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1e8).Draw(t, "ms")) * time.Millisecond)
			what := rapid.IntRange(0, 5).Draw(t, "what")
			switch {
			case what < 2:
				by := time.Duration(rapid.IntRange(-4e11, 4e11).Draw(t, "by")) * time.Millisecond
				off += by
				seen.jump(by)
			case what == 2:
				name := rapid.SampledFrom([]string{"a@x", "b@x"}).Draw(t, "who")
				both(func(b *pages, t time.Time) { b.PutSubmitter(b.records[name].named(name).ResetUsage(t, p)) })
			case what == 3 && len(steady.claims) > 0:
				i, back := rapid.IntRange(0, len(steady.claims)-1).Draw(t, "which"), rapid.Bool().Draw(t, "back")
				both(func(b *pages, t time.Time) { b.end(i, back, t, p) })
			default:
				c := Charge{Submitter: rapid.SampledFrom([]string{"a@x", "b@x"}).Draw(t, "who"), Weight: Weight(rapid.IntRange(0, 9000).Draw(t, "weight"))}
				both(func(b *pages, t time.Time) { b.begin(c, t, p) })
			}
		}
		for name, r := range steady.records {
			want, got := r.AsOf(now, p), seen.records[name].AsOf(now.Add(off), p)
			if got.Slots != want.Slots || got.Weighted != want.Weighted || got.InUse != want.InUse {
				t.Errorf("%s used %+v, want %+v", name, got, want)
			}
			if math.Abs(got.Priority-want.Priority) > 1e-9*want.Priority {
				t.Errorf("%s: RUP = %v, want %v", name, got.Priority, want.Priority)
			}
			if got.Begin.After(got.At) || got.Last.After(got.At) {
				t.Errorf("%s: dates behind the last event: %+v", name, got)
			}
		}
	})
}

func (r Record) named(name string) Record {
	r.Name = name
	return r
}

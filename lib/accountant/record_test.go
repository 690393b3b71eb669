package accountant

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	day   = 24 * time.Hour
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	plain = Params{HalfLife: day, DefaultFactor: 1, NiceFactor: 1e7, NiceGroup: "nice-user", RemoteFactor: 1e4}
)

// TestDecay holds the formula to the manual's own figures ("Real User
// Priority").
func TestDecay(t *testing.T) {
	for _, c := range []struct {
		name  string
		rup   float64
		slots int
		after time.Duration
		want  float64
	}{
		{"ten without jobs, one half-life", 10, 0, day, 5},
		{"ten without jobs, two half-lives", 10, 0, 2 * day, 2.5},
		{"never below one half", 10, 0, 5 * day, 0.5},
		{"a hundred in use for a day", 0.5, 100, day, 50.25},
		{"a hundred in use for two days", 0.5, 100, 2 * day, 75.125},
		{"ten held for long", 0.5, 10, 60 * day, 10},
		{"ten held by somebody at ten", 10, 10, 3 * time.Hour, 10},
		{"no time", 7, 3, 0, 7},
	} {
		r := Record{Name: "alice@example.org", Priority: c.rup, At: start, HalfLife: day, ResourcesUsed: c.slots, InUse: Weight(c.slots) * One}
		if got := r.AsOf(start.Add(c.after), plain).Priority; math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s: RUP = %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCuts draws a history of claims and asks for the priority at random
// moments in between: neither the RUP nor the usage may depend on that.
func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plainly, looked := Record{Name: "a@x"}, Record{Name: "a@x"}
		at, held := start, []Weight{}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			gap := time.Duration(rapid.Int64Range(0, 3*day.Milliseconds()).Draw(t, "gap")) * time.Millisecond
			for range rapid.IntRange(0, 20).Draw(t, "looks") {
				fraction := rapid.Float64Range(0, 1).Draw(t, "moment")
				looked = looked.AsOf(at.Add(time.Duration(fraction*float64(gap))), plain)
			}
			at = at.Add(gap)
			if len(held) > 0 && rapid.Bool().Draw(t, "end") {
				w := held[0]
				held = held[1:]
				plainly, looked = plainly.End(at, w, plain), looked.End(at, w, plain)
			} else {
				w := Weight(rapid.Int64Range(1, 64000).Draw(t, "weight"))
				held = append(held, w)
				plainly, looked = plainly.Start(at, w, plain), looked.Start(at, w, plain)
			}
		}
		if difference := math.Abs(plainly.Priority-looked.Priority) / plainly.Priority; difference > 1e-9 {
			t.Fatalf("RUP = %v when looked at in between, want %v", looked.Priority, plainly.Priority)
		}
		if plainly.Weighted != looked.Weighted || plainly.Slots != looked.Slots {
			t.Fatalf("usage = %v, %v when looked at in between, want %v, %v", looked.Weighted, looked.Slots, plainly.Weighted, plainly.Slots)
		}
		if plainly.InUse != looked.InUse || plainly.Priority < MinPriority {
			t.Fatalf("in use %v and %v, RUP %v", plainly.InUse, looked.InUse, plainly.Priority)
		}
	})
}

// TestGiveBack holds that a match that never started leaves no trace.
func TestGiveBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Record{Name: "a@x", Priority: rapid.Float64Range(2, 1000).Draw(t, "rup"), At: start, HalfLife: day, InUse: 5 * One, ResourcesUsed: 5}
		matched := start.Add(time.Duration(rapid.Int64Range(0, 3600_000).Draw(t, "matched")) * time.Millisecond)
		given := matched.Add(time.Duration(rapid.Int64Range(0, 3600_000).Draw(t, "given back")) * time.Millisecond)
		w := Weight(rapid.Int64Range(0, 100_000).Draw(t, "weight"))
		got := r.Start(matched, w, plain).GiveBack(matched, given, w, plain)
		want := r.AsOf(given, plain)
		if math.Abs(got.Priority-want.Priority) > 1e-9*want.Priority || got.Weighted != want.Weighted || got.Slots != want.Slots || got.InUse != want.InUse {
			t.Fatalf("after a match given back: %+v, want %+v", got, want)
		}
	})
}

// TestGiveBackAfterChanges holds the same where something else happened in
// between: a new half-life, a clock that went back, a reset of the usage.
func TestGiveBackAfterChanges(t *testing.T) {
	busy := Record{Name: "a@x", Priority: 20, At: start, HalfLife: day, ResourcesUsed: 1, InUse: One}
	quick := plain
	quick.HalfLife = time.Minute
	later := start.Add(10 * time.Minute)
	got, want := busy.Start(start, 8*One, plain).GiveBack(start, later, 8*One, quick), busy.AsOf(later, plain)
	if math.Abs(got.Priority-want.Priority) > 1e-9 {
		t.Errorf("new half-life in between: RUP %v, want %v", got.Priority, want.Priority)
	}
	charged := busy.Start(start.Add(-time.Hour), One, plain)
	got, want = charged.GiveBack(charged.At, later, One, plain), busy.AsOf(later, plain)
	if got.Weighted != want.Weighted || math.Abs(got.Priority-want.Priority) > 1e-9 {
		t.Errorf("clock back at the match: %+v, want %+v", got, want)
	}
	reset := start.Add(time.Minute)
	got = busy.Start(start, One, plain).ResetUsage(reset, plain).GiveBack(start, later, One, plain)
	want = busy.ResetUsage(reset, plain).AsOf(later, plain)
	if got.Weighted != want.Weighted || got.Slots != want.Slots {
		t.Errorf("reset in between: %v and %v, want %v and %v", got.Weighted, got.Slots, want.Weighted, want.Slots)
	}
}

func TestClockGoesBack(t *testing.T) {
	r := Record{Name: "a@x"}.Start(start, One, plain).AsOf(start.Add(time.Hour), plain)
	got := r.End(start, One, plain)
	if !got.At.Equal(r.At) || got.Priority != r.Priority || got.Weighted != r.Weighted {
		t.Errorf("an event before the last = %+v, want it counted at the last, %+v", got, r)
	}
}

func TestChangedHalfLifeIsAnEvent(t *testing.T) {
	r := Record{Name: "a@x", Priority: 16, At: start, HalfLife: day}
	hourly := plain
	hourly.HalfLife = time.Hour
	r = r.Settle(start.Add(day), hourly)
	if r.Priority != 8 {
		t.Errorf("RUP when the half-life changes = %v, want 8: the old one was in force until then", r.Priority)
	}
	if got := r.AsOf(start.Add(day+2*time.Hour), plain).Priority; got != 2 {
		t.Errorf("RUP two new half-lives later = %v, want 2", got)
	}
}

func TestFactor(t *testing.T) {
	local := plain
	local.LocalDomain = "example.org"
	for _, c := range []struct {
		record Record
		params Params
		want   float64
	}{
		{Record{Name: "alice@example.org"}, plain, 1},
		{Record{Name: "alice@example.org", Factor: 4}, plain, 4},
		{Record{Name: "nice-user.alice@example.org"}, plain, 1e7},
		{Record{Name: "Nice-User.alice@example.org"}, plain, 1e7},
		{Record{Name: "nice-userling@example.org"}, plain, 1},
		{Record{Name: "bob@elsewhere.org"}, plain, 1},
		{Record{Name: "bob@elsewhere.org"}, local, 1e4},
		{Record{Name: "bob@Example.ORG"}, local, 1},
		{Record{Name: "nice-user.bob@elsewhere.org"}, local, 1e7},
		{Record{Name: "bob@elsewhere.org", Factor: 2}, local, 2},
	} {
		if got, _ := c.record.FactorIn(start, c.params); got != c.want {
			t.Errorf("FactorIn(%q, local %q) = %v, want %v", c.record.Name, c.params.LocalDomain, got, c.want)
		}
	}
	r := Record{Name: "a@x", Priority: 20, At: start, HalfLife: day, Factor: 3}
	if got := r.Effective(start.Add(day), plain); got != 30 {
		t.Errorf("EUP = %v, want 30: RUP 10 times factor 3", got)
	}
}

func TestUsage(t *testing.T) {
	if got := (Usage{}).Add(1500, 3*time.Millisecond); got != (Usage{4, 500}) {
		t.Errorf("1.5 slots over 3 ms = %v, want 4 and a half", got)
	}
	if got := (Usage{4, 500}).Add(1500, time.Millisecond); got != (Usage{6, 0}) {
		t.Errorf("and 1 ms more = %v, want 6", got)
	}
	if got := (Usage{Millis: 10}).Take(One, time.Second); got != (Usage{}) {
		t.Errorf("taking more than there is = %v, want none", got)
	}
	huge := Usage{Millis: math.MaxInt64 - 5}
	if got := huge.Add(MaxWeight, 36500*day); got.Millis != math.MaxInt64 {
		t.Errorf("beyond the largest = %v, want the largest", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := Weight(rapid.Int64Range(0, int64(MaxWeight)).Draw(t, "weight"))
		a := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "a")) * time.Millisecond
		b := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "b")) * time.Millisecond
		u := Usage{Millis: rapid.Int64Range(0, 1e12).Draw(t, "before")}
		if twice, once := u.Add(w, a).Add(w, b), u.Add(w, a+b); twice != once {
			t.Fatalf("%v over %v and %v = %v, want %v", w, a, b, twice, once)
		}
		if got := u.Add(w, a).Take(w, a); got != u {
			t.Fatalf("Take after Add = %v, want %v", got, u)
		}
	})
}

// More than a Usage holds is the most that it holds, also at the brink of it.
func TestUsageSaturates(t *testing.T) {
	const ms = 1 << 43
	for w := range Weight(3) {
		w += One << 21 // times ms: a thousand times 2 to the 64th, and more
		if got := (Usage{Rest: 999}).Add(w, ms*time.Millisecond); got != (Usage{Millis: math.MaxInt64}) {
			t.Errorf("Add(%d, %d ms) = %+v, want the most there is", w, int64(ms), got)
		}
	}
	for _, seconds := range []float64{math.NaN(), -1, math.Inf(1), math.MaxInt64 / 1000} {
		if got, err := UsageOf(seconds); err == nil {
			t.Errorf("UsageOf(%v) = %+v, want an error", seconds, got)
		}
	}
	if got := (Usage{Millis: 2, Rest: 500}).Seconds(); got != 0.0025 {
		t.Errorf("Seconds of 2.5 ms = %v, want 0.0025", got)
	}
}

func TestWeightOf(t *testing.T) {
	for _, c := range []struct {
		in   float64
		want Weight
		ok   bool
	}{{1, 1000, true}, {0, 0, true}, {0.3333, 333, true}, {8, 8000, true}, {-1, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 0, false}, {1e6, MaxWeight, true}, {1e6 + 1, 0, false}} {
		got, err := WeightOf(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("WeightOf(%v) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
}

func TestResetUsage(t *testing.T) {
	r := Record{Name: "a@x"}.Start(start, 2*One, plain)
	at := start.Add(time.Hour)
	got := r.ResetUsage(at, plain)
	if got.Weighted != (Usage{}) || got.Slots != (Usage{}) || !got.Begin.Equal(at) || got.InUse != 2*One || got.Priority != r.AsOf(at, plain).Priority {
		t.Errorf("ResetUsage = %+v, want no usage, begun now, and everything else as it was", got)
	}
}

func BenchmarkAsOf(b *testing.B) {
	r := Record{Name: "a@x", Priority: 10, At: start, HalfLife: day, InUse: 10 * One, ResourcesUsed: 10}
	for b.Loop() {
		r.AsOf(start.Add(day), plain)
	}
}

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

package accountant

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reach is how far and in what steps brute force looks for what a forecast says.
const (
	reach = 40 * time.Minute
	glass = 250 * time.Millisecond
)

// drawRecord draws a record that changes within the reach.
func drawRecord(t *rapid.T, name string) Record {
	second := func(label string, least, most int) time.Time {
		return start.Add(time.Duration(rapid.IntRange(least*1000, most*1000).Draw(t, label)) * time.Millisecond)
	}
	r := Record{
		Name: name, Priority: rapid.Float64Range(0.5, 50).Draw(t, "rup"), At: second("at", -60, 60),
		HalfLife: time.Duration(rapid.IntRange(10, 90).Draw(t, "half-life")) * time.Second,
		InUse:    Weight(rapid.SampledFrom([]int64{0, 0, 250, 500, 3000, 20000}).Draw(t, "in use")),
		Factor:   rapid.SampledFrom([]float64{0, 1, 4, 9.5}).Draw(t, "factor"),
	}
	if rapid.Bool().Draw(t, "leased") {
		r.FactorLease = Lease{second("until", -10, 200), rapid.SampledFrom([]float64{0, 2, 12}).Draw(t, "before")}
	}
	return r
}

// TestReaches holds the closed form to looking at every moment.
func TestReaches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t, "a@x")
		eup := rapid.Float64Range(0.4, 200).Draw(t, "eup")
		got := r.Reaches(eup, start, plain)
		side := r.Effective(start, plain) - eup
		for at := start; at.Before(start.Add(reach)); at = at.Add(glass) {
			if !got.Never && !at.Before(got.At) {
				break
			}
			if passed := (eup - r.Effective(at, plain)) * math.Copysign(1, side); passed > 1e-9*eup {
				t.Fatalf("Reaches(%v) = %+v, want %v at the latest", eup, got, at)
			}
		}
		if got.Never {
			return
		}
		if short := (r.Effective(got.At, plain) - eup) * math.Copysign(1, side); short > 1e-9*eup || got.At.Before(start) {
			t.Fatalf("Reaches(%v) = %v, where the EUP is %v", eup, got.At, r.Effective(got.At, plain))
		}
	})
}

// TestBelow does the same for two, whose half-lives may differ.
func TestBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRecord(t, "a@x"), drawRecord(t, "b@x")
		if rapid.Bool().Draw(t, "same half-life") {
			b.HalfLife = a.HalfLife
		}
		got := a.Below(b, start, plain)
		for at := start; at.Before(start.Add(reach)); at = at.Add(glass) {
			if !got.Never && !at.Before(got.At) {
				break
			}
			if mine, theirs := a.Effective(at, plain), b.Effective(at, plain); mine < theirs*(1-1e-9) {
				t.Fatalf("Below = %+v, want %v at the latest: %v and %v", got, at, mine, theirs)
			}
		}
		if got.Never {
			return
		}
		if mine, theirs := a.Effective(got.At, plain), b.Effective(got.At, plain); mine >= theirs || got.At.Before(start) {
			t.Fatalf("Below = %v, where the EUPs are %v and %v", got.At, mine, theirs)
		}
	})
}

func TestTendsTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t, "a@x")
		want := r.Effective(start.Add(3*time.Hour), plain)
		if got := r.Limit(start, plain); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("Limit = %v, want %v", got, want)
		}
	})
}

// TestForecasts has the cases that a person can reckon.
func TestForecasts(t *testing.T) {
	idle := Record{Name: "a@x", Priority: 20, At: start, HalfLife: day, Factor: 10}
	busy := Record{Name: "b@x", Priority: 4, At: start, HalfLife: day, Factor: 10, InUse: 36 * One, ResourcesUsed: 1}
	leased := idle
	leased.FactorLease = Lease{Until: start.Add(36 * time.Hour), Before: 2}
	ahead := idle
	ahead.At = start.Add(day)
	weekly := idle
	weekly.HalfLife = 7 * day
	ages := idle
	ages.HalfLife = 1e6 * time.Hour
	for _, c := range []struct {
		what string
		got  Forecast
		days float64 // below zero: never
	}{
		{"where it is", idle.Reaches(200, start, plain), 0},
		{"half of it", idle.Reaches(100, start, plain), 1},
		{"a quarter, asked a day later", idle.Reaches(50, start.Add(day), plain), 2},
		{"the best", idle.Reaches(5, start, plain), math.Log2(40)},
		{"better than the best", idle.Reaches(4.9, start, plain), -1},
		{"more than it is, without use", idle.Reaches(201, start, plain), -1},
		{"halfway to what is in use", busy.Reaches(200, start, plain), 1},
		{"what is in use", busy.Reaches(360, start, plain), -1},
		{"beyond what is in use", busy.Reaches(361, start, plain), -1},
		{"less, with more in use", busy.Reaches(39, start, plain), -1},
		{"on the day before the lease ends", leased.Reaches(100, start, plain), 1},
		{"with the end of the lease", leased.Reaches(60, start, plain), 1.5},
		{"after the end of the lease", leased.Reaches(10, start, plain), 2},
		{"the last event is to come", ahead.Reaches(100, start, plain), 2},
		{"another half-life", weekly.Reaches(100, start, plain), 7},
		{"not within the horizon", ages.Reaches(100, start, plain), -1},
		{"nothing that is a number", idle.Reaches(math.NaN(), start, plain), -1},
		{"below another", idle.Below(Record{Name: "c@x", At: start, HalfLife: day, InUse: 5 * One, Priority: 5, Factor: 10}, start, plain), 2},
		{"below one who rises", idle.Below(busy, start, plain), math.Log2(52.0 / 36)},
		{"below one who falls alike", idle.Below(Record{Name: "c@x", Priority: 10, At: start, HalfLife: day, Factor: 10}, start, plain), -1},
		{"below one who falls alike with twice the factor", idle.Below(Record{Name: "c@x", Priority: 5, At: start, HalfLife: day, Factor: 20}, start, plain), math.Log2(20)},
		{"below oneself", idle.Below(idle, start, plain), -1},
		{"below one who is worse", idle.Below(Record{Name: "c@x", Priority: 21, At: start, HalfLife: day, Factor: 10}, start, plain), 0},
		{"for a while, by a shorter half-life", idle.Below(Record{Name: "c@x", Priority: 15, At: start, HalfLife: 2 * day, Factor: 10}, start, plain), 2 * math.Log2(20.0/15)},
	} {
		if c.days < 0 {
			if !c.got.Never || !c.got.At.IsZero() {
				t.Errorf("%s: %+v, want never", c.what, c.got)
			}
			continue
		}
		if want := start.Add(time.Duration(c.days * float64(day))); c.got.Never || c.got.At.Sub(want).Abs() > 2*time.Millisecond {
			t.Errorf("%s: %+v, want %v", c.what, c.got, want)
		}
	}
}

func TestPortions(t *testing.T) {
	got := Portions([]Record{
		{Name: "c@x", Priority: 2, At: start, HalfLife: day, Factor: 4},
		{Name: "b@x", Priority: 8, At: start, HalfLife: day},
		{Name: "a@x", Priority: 16, At: start.Add(-day), HalfLife: day},
	}, start, plain)
	third := 1.0 / 3
	for i, want := range []Portion{{"a@x", 8, third, 0.4}, {"b@x", 8, third, 0.4}, {"c@x", 8, third, 0.2}} {
		if g := got[i]; g.Name != want.Name || g.EUP != want.EUP || math.Abs(g.Now-want.Now) > 1e-12 || math.Abs(g.InTheEnd-want.InTheEnd) > 1e-12 {
			t.Errorf("Portions[%d] = %+v, want %+v", i, g, want)
		}
	}
	if got := Portions(nil, start, plain); len(got) != 0 {
		t.Errorf("Portions of nobody = %v", got)
	}
}

// TestInTheEnd plays a pool that is divided by EUP until nothing moves any more.
func TestInTheEnd(t *testing.T) {
	records := []Record{{Name: "a@x", Factor: 1}, {Name: "b@x", Factor: 4}, {Name: "c@x", Factor: 9}}
	place := func(name string) int { return slices.IndexFunc(records, func(r Record) bool { return r.Name == name }) }
	const pool = 1100
	at, want := start, Portions(records, start, plain)
	for range 2000 {
		for _, portion := range Portions(records, at, plain) {
			records[place(portion.Name)].InUse = Weight(portion.Now * pool * float64(One))
		}
		at = at.Add(time.Hour)
		for i := range records {
			records[i] = records[i].Settle(at, plain)
		}
	}
	for _, w := range want {
		if got := records[place(w.Name)].InUse.Float() / pool; math.Abs(got-w.InTheEnd) > 1e-4 {
			t.Errorf("%s has %v of the pool in the end, want %v", w.Name, got, w.InTheEnd)
		}
	}
}

// TestBest holds that the best EUP that lasts is reached when the forecast says, and
// is not left again.
func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t, "a@x")
		eup, at := r.Best(start, plain)
		if at.Never {
			if r.InUse.Float() < MinPriority {
				t.Fatalf("Best = %v, never, though only %v is in use", eup, r.InUse)
			}
			return
		}
		for _, later := range []time.Duration{0, time.Millisecond, time.Minute, reach} {
			if got := r.Effective(at.At.Add(later), plain); math.Abs(got-eup) > 1e-9*eup {
				t.Fatalf("Best = %v at %v, where and %v later the EUP is %v", eup, at.At, later, got)
			}
		}
		before := at.At.Add(-time.Millisecond)
		if early := r.AsOf(before, plain); before.After(start) && early.Priority == MinPriority && early.FactorLease == (Lease{}) {
			t.Fatalf("Best = %v at %v, but it was there before", eup, at.At)
		}
	})
}

// TestBestPassing: who has just begun to use something is at the best RUP, and does
// not stay there.
func TestBestPassing(t *testing.T) {
	for inUse, never := range map[Weight]bool{0: false, One / 2: false, 3 * One: true} {
		r := Record{Name: "a@x", Priority: MinPriority, At: start, HalfLife: day, InUse: inUse}
		if eup, at := r.Best(start, plain); eup != MinPriority || at.Never != never || !never && !at.At.Equal(start) {
			t.Errorf("Best with %v in use = %v, %+v, want %v, never: %v", inUse, eup, at, MinPriority, never)
		}
	}
}

// TestBestToTheMillisecond is half of the way in one half-life, from an event that
// was two milliseconds ago.
func TestBestToTheMillisecond(t *testing.T) {
	r := Record{Name: "a@x", Priority: 0.75, At: start.Add(-2 * time.Millisecond), HalfLife: 11 * time.Second, InUse: One / 4}
	if _, at := r.Best(start, plain); at.Never || !at.At.Equal(r.At.Add(r.HalfLife)) {
		t.Errorf("Best = %+v, want %v", at, r.At.Add(r.HalfLife))
	}
}

// TestPortionsAfterLeases holds that a lease has no part in the end.
func TestPortionsAfterLeases(t *testing.T) {
	got := Portions([]Record{
		{Name: "a@x", Priority: 2, At: start, HalfLife: day, Factor: 9, FactorLease: Lease{Until: start.Add(day), Before: 1}},
		{Name: "b@x", Priority: 2, At: start, HalfLife: day, Factor: 1},
	}, start, plain)
	for _, g := range got {
		now := map[string]float64{"a@x": 0.1, "b@x": 0.9}[g.Name]
		if math.Abs(g.Now-now) > 1e-12 || g.InTheEnd != 0.5 {
			t.Errorf("Portions: %+v, want %v now and half in the end", g, now)
		}
	}
}

package accountant

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLeaseEnds holds that a setting on time has no effect from its end on,
// whether the record was settled before, at or after it, or never.
func TestLeaseEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := func(label string) time.Time {
			return start.Add(time.Duration(rapid.Int64Range(0, 100).Draw(t, label)) * time.Second)
		}
		r := Record{
			Name: "a@x", Priority: 10, At: start, HalfLife: day, ResourcesUsed: 1, InUse: One,
			Factor: 5, FactorLease: Lease{moment("factor's end"), rapid.SampledFrom([]float64{0, 3}).Draw(t, "factor before")},
			Ceiling: LimitOf(4), CeilingLease: Lease{moment("ceiling's end"), rapid.SampledFrom([]float64{-1, 0, 9}).Draw(t, "ceiling before")},
			Floor: 2, FloorLease: Lease{moment("floor's end"), rapid.SampledFrom([]float64{0, 1}).Draw(t, "floor before")},
		}
		at := moment("asked at")
		settled := r
		for now := start; now.Before(at); now = now.Add(time.Duration(rapid.Int64Range(1, 60).Draw(t, "settled after")) * time.Second) {
			settled = settled.Settle(now, plain)
		}
		wantFactor, wantFrom, wantCeiling, wantFloor := 5.0, FactorLeased, int64(4), int64(2)
		if !at.Before(r.FactorLease.Until) {
			wantFactor, wantFrom = r.FactorLease.Before, FactorSet
			if wantFactor == 0 {
				wantFactor, wantFrom = plain.DefaultFactor, FactorDefault
			}
		}
		if !at.Before(r.CeilingLease.Until) {
			wantCeiling = int64(r.CeilingLease.Before)
		}
		if !at.Before(r.FloorLease.Until) {
			wantFloor = int64(r.FloorLease.Before)
		}
		for _, one := range []Record{r, settled, r.AsOf(at, plain), settled.Start(at, One, plain), settled.ResetUsage(at, plain)} {
			if factor, from := one.FactorIn(at, plain); factor != wantFactor || from != wantFrom {
				t.Fatalf("FactorIn(%v) = %v, %v, want %v, %v", at, factor, from, wantFactor, wantFrom)
			}
			if as := one.AsOf(at, plain); as.Ceiling.Int() != wantCeiling || as.Floor != wantFloor {
				t.Fatalf("AsOf(%v): ceiling %d, floor %d, want %d, %d", at, as.Ceiling.Int(), as.Floor, wantCeiling, wantFloor)
			}
		}
	})
}

func TestLimit(t *testing.T) {
	for n, want := range map[int64]Limit{-1: {}, -7: {}, 0: {true, 0}, 5: {true, 5}} {
		if got := LimitOf(n); got != want {
			t.Errorf("LimitOf(%d) = %v, want %v", n, got, want)
		}
		if got := LimitOf(n).Int(); got != max(n, -1) {
			t.Errorf("LimitOf(%d).Int() = %d, want %d", n, got, max(n, -1))
		}
	}
}

func TestIrrelevant(t *testing.T) {
	grouped := plain
	grouped.Groups = tree(t, named("phys")...)
	soon, over := Lease{Until: start.Add(time.Hour)}, Lease{Until: start}
	for _, c := range []struct {
		record Record
		params Params
		want   bool
	}{
		{Record{Name: "a@x"}, plain, true},
		{Record{Name: "a@x", At: start, HalfLife: day, Begin: start, Last: start}, plain, true},
		{Record{Name: "a@x", Priority: 1, At: start.Add(-day), HalfLife: day}, plain, true},
		{Record{Name: "a@x", Priority: 1.01, At: start.Add(-day), HalfLife: day}, plain, false},
		{Record{Name: "a@x", At: start, ResourcesUsed: 1}, plain, false},
		{Record{Name: "a@x", At: start, InUse: 1}, plain, false},
		{Record{Name: "a@x", Slots: Usage{1, 0}}, plain, false},
		{Record{Name: "a@x", Weighted: Usage{0, 1}}, plain, false},
		{Record{Name: "a@x", Factor: 1}, plain, false},
		{Record{Name: "a@x", Ceiling: LimitOf(0)}, plain, false},
		{Record{Name: "a@x", Floor: 1}, plain, false},
		{Record{Name: "a@x", Factor: 3, FactorLease: over}, plain, true},
		{Record{Name: "a@x", Factor: 3, FactorLease: Lease{start, 2}}, plain, false},
		{Record{Name: "a@x", CeilingLease: soon}, plain, false},
		{Record{Name: "a@x", FloorLease: soon}, plain, false},
		{Record{Name: "phys", At: start}, plain, true},
		{Record{Name: "phys", At: start}, grouped, false},
		{Record{Name: "PHYS", At: start}, grouped, false},
		{Record{Name: "chem", At: start}, grouped, true},
		{Record{Name: "chem", At: start, Subtree: 1}, grouped, false},
		{Record{Name: RootGroup, At: start}, grouped, false},
		{Record{Name: RootGroup, At: start}, plain, true},
	} {
		if got := c.record.Irrelevant(start, c.params); got != c.want {
			t.Errorf("Irrelevant(%+v) = %v, want %v", c.record, got, c.want)
		}
	}
}

// TestIrrelevantLeavesNoTrace holds that it makes no difference later whether a
// record that is irrelevant was kept or dropped.
func TestIrrelevantLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := Record{
			Name: "a@x", Priority: rapid.Float64Range(0, 1).Draw(t, "rup"), At: start, HalfLife: rapid.SampledFrom([]time.Duration{0, time.Hour, day}).Draw(t, "half-life"),
			Factor:      rapid.SampledFrom([]float64{0, 0, 2}).Draw(t, "factor"),
			FactorLease: Lease{Until: start.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "until")) * time.Hour)},
		}
		at := start.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "hours")) * time.Hour)
		if !kept.Irrelevant(at, plain) {
			return
		}
		dropped := Record{Name: kept.Name}
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			at = at.Add(time.Duration(rapid.IntRange(0, 48).Draw(t, "gap")) * time.Hour)
			w := Weight(rapid.Int64Range(0, 9000).Draw(t, "weight"))
			kept, dropped = kept.Start(at, w, plain), dropped.Start(at, w, plain)
		}
		at = at.Add(day)
		got, want := dropped.AsOf(at, plain), kept.AsOf(at, plain)
		if got != want {
			t.Fatalf("after dropping %+v, want %+v", got, want)
		}
	})
}

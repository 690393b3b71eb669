package shares

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var inf = math.Inf(1)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name      string
		total     float64
		claimants []Claimant
		want      []float64
	}{
		{"nobody", 10, nil, []float64{}},
		{"alone", 10, []Claimant{{7, 0, inf}}, []float64{10}},
		{"the issue's three", 70, []Claimant{{5, 0, inf}, {10, 0, inf}, {20, 0, inf}}, []float64{40, 20, 10}},
		{"any order", 70, []Claimant{{20, 0, inf}, {5, 0, inf}, {10, 0, inf}}, []float64{10, 40, 20}},
		{"first wants 8", 70, []Claimant{{5, 0, 8}, {10, 0, inf}, {20, 0, inf}}, []float64{8, 124. / 3, 62. / 3}},
		{"all want less", 70, []Claimant{{5, 0, 8}, {10, 0, 3}, {20, 1, 2}}, []float64{8, 3, 3}},
		{"above the share stays", 30, []Claimant{{10, 20, inf}, {10, 0, inf}, {10, 0, inf}}, []float64{20, 5, 5}},
		{"only runs", 30, []Claimant{{1, 12, 0}, {10, 0, inf}}, []float64{12, 18}},
		{"in part used", 21, []Claimant{{1, 10, inf}, {2, 1, inf}, {4, 0, inf}}, []float64{12, 6, 3}},
		{"nice user", 10, []Claimant{{0.5, 0, 4}, {0.5e7, 0, inf}}, []float64{4, 6}},
		{"nothing there", 0, []Claimant{{5, 0, inf}}, []float64{0}},
		{"less than is held", 5, []Claimant{{5, 3, inf}, {1, 4, inf}}, []float64{3, 4}},
	} {
		got := Targets(c.total, c.claimants)
		if len(got) != len(c.want) {
			t.Fatalf("%s: Targets(%v, %v) = %v, want %v", c.name, c.total, c.claimants, got, c.want)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%s: Targets(%v, %v) = %v, want %v", c.name, c.total, c.claimants, got, c.want)
				break
			}
		}
	}
}

// What defines a max-min fair division: it uses up what there is, and who is
// below what they want has the highest level of all that hold more than they
// did before.
func TestTargetsAreMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claimants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Claimant {
			return Claimant{
				EUP:    rapid.SampledFrom([]float64{0.5, 1, 2.5, 5, 10, 20, 333, 1e4, 5e6, 1e10}).Draw(t, "eup"),
				Usage:  float64(rapid.IntRange(0, 40).Draw(t, "usage")),
				Demand: float64(rapid.IntRange(0, 60).Draw(t, "demand")),
			}
		}), 1, 8).Draw(t, "claimants")
		used, wanted := 0.0, 0.0
		for _, c := range claimants {
			used += c.Usage
			wanted += c.Usage + c.Demand
		}
		total := used + rapid.Float64Range(0, 200).Draw(t, "free")
		got := Targets(total, claimants)
		sum := 0.0
		for i, c := range claimants {
			sum += got[i]
			if got[i] < c.Usage || got[i] > c.Usage+c.Demand {
				t.Fatalf("Targets(%v, %v)[%d] = %v, want between usage and usage + demand", total, claimants, i, got[i])
			}
			for j, d := range claimants {
				if got[i] < c.Usage+c.Demand-1e-6 && got[j] > d.Usage+1e-6 && got[i]*c.EUP < got[j]*d.EUP*(1-1e-6)-1e-6 {
					t.Fatalf("Targets(%v, %v) = %v: %d could still grow at the cost of %d", total, claimants, got, i, j)
				}
			}
		}
		if want := math.Min(total, wanted); math.Abs(sum-want) > 1e-6 {
			t.Fatalf("Targets(%v, %v) sum up to %v, want %v", total, claimants, sum, want)
		}
	})
}

func BenchmarkTargets(b *testing.B) {
	claimants := make([]Claimant, 1000)
	for i := range claimants {
		claimants[i] = Claimant{EUP: float64(1 + i%97), Usage: float64(i % 13), Demand: float64(i % 1009)}
	}
	for b.Loop() {
		Targets(50_000, claimants)
	}
}

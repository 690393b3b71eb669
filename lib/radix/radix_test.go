package radix

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOrdered: sorted by all keys, and equal ones by number, whether the keys fit into a word or
// not.
func TestOrdered(t *testing.T) {
	// Keys of 64 bits and one: one bit more than a word has.
	for _, k := range [][2][]uint64{{{0, math.MaxUint64, 0, math.MaxUint64}, {1, 1, 0, 0}}, {{1, 1, 0, 0}, {math.MaxUint64, 0, math.MaxUint64, 0}}} {
		got := Ordered(4, func(i int) uint64 { return k[0][i] }, func(i int) uint64 { return k[1][i] })
		for i := 1; i < 4; i++ {
			if a, b := got[i-1].At, got[i].At; k[0][a] > k[0][b] || k[0][a] == k[0][b] && k[1][a] > k[1][b] {
				t.Errorf("Ordered %v: %d stands before %d", k, a, b)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3000, 3000), rapid.Int64Range(0, 1), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0}))
		keys := rapid.SliceOf(rapid.Custom(func(t *rapid.T) [3]int64 {
			return [3]int64{some.Draw(t, "first"), some.Draw(t, "second"), some.Draw(t, "third")}
		})).Draw(t, "keys")
		want, got := make([]int, len(keys)), make([]int, 0, len(keys))
		for i := range keys {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return slices.Compare(keys[a][:], keys[b][:]) })
		key := func(k int) func(int) uint64 { return func(i int) uint64 { return Ascending(keys[i][k]) } }
		for _, o := range Ordered(len(keys), key(0), key(1), key(2)) {
			got = append(got, o.At)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Ordered %v: %v, want %v", keys, got, want)
		}
	})
}

// TestFloat: the keys of numbers stand as the numbers do.
func TestFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 2), rapid.SampledFrom([]float64{0, 1, math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.SmallestNonzeroFloat64}))
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		if got := cmp.Compare(Float(a), Float(b)); got != cmp.Compare(a, b) && a != b { // 0 == -0
			t.Errorf("Float(%v) against Float(%v): %d", a, b, got)
		}
	})
}

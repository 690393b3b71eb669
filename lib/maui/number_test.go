package maui

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestInverseSquare(t *testing.T) {
	for x, want := range map[float64]float64{
		0.0001:              99999999.99999999,
		0.10000000000000009: 99.99999999999983,
		0.5:                 4, 1: 1, 14400: 4.822530864197531e-09,
		1e200: 0, math.Inf(1): 0,
	} {
		if got := inverseSquare(x); got != want {
			t.Errorf("inverseSquare(%v) = %v, want %v", x, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(leastDistance, 1e12).Draw(t, "x")
		exact := new(big.Float).SetPrec(300).SetFloat64(x)
		want, _ := exact.Quo(big.NewFloat(1).SetPrec(300), exact.Mul(exact, exact)).Float64()
		if got := inverseSquare(x); got != want {
			t.Errorf("inverseSquare(%v) = %v, want %v", x, got, want)
		}
	})
}

func TestWhole(t *testing.T) {
	for x, want := range map[float64]int64{
		2.9: 2, -2.9: -2, math.MaxInt64: math.MaxInt64, 1e300: math.MaxInt64, math.MinInt64: math.MinInt64, math.Inf(-1): math.MinInt64,
	} {
		if got := whole(x); got != want {
			t.Errorf("whole(%v) = %d, want %d", x, got, want)
		}
	}
	if got := whole(math.NaN()); got != 0 {
		t.Errorf("whole(NaN) = %d, want 0", got)
	}
	for _, c := range [][3]int64{{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MaxInt64, -1}} {
		if got := plus(c[0], c[1]); got != c[2] {
			t.Errorf("plus(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

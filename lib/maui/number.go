package maui

import "math"

// mostFactor bounds every factor both ways. Nothing real comes near it, and no sum of
// weighted factors overflows.
const mostFactor = 1e30

// bounded returns a factor within bounds; what is no number counts as 0.
func bounded(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -mostFactor), mostFactor)
}

// capped returns a number cut to its cap. A cap of 0 or less is none: caps bound from
// above only (observed on Maui 3.3.1).
func capped(x float64, most int64) float64 {
	if most > 0 {
		return min(x, float64(most))
	}
	return x
}

// whole returns a number without its fraction, at most and at least what an int64 holds; 0
// for what is no number.
func whole(x float64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// plus returns the sum, at most and at least what an int64 holds.
func plus(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// inverseSquare returns x to the power of -2, rounded once: as pow of the C library has it,
// where that does not miss the nearest number by a hair. Dividing by x*x would miss it for
// one x in four, and on which side of a whole number a priority lies hangs on the last bit.
func inverseSquare(x float64) float64 {
	square := x * x
	if math.IsInf(square, 0) {
		return 0
	}
	r := 1 / square
	wrong := math.FMA(r, square, -1) + float64(r*math.FMA(x, x, -square))
	return r - float64(r*wrong)
}

package sge

import "math"

// mostPriority bounds all numbers of urgency and all priorities, both ways. Nothing real comes
// near it, and the sum of as many as a formula has is still a number.
const mostPriority = 1e300

// cut returns a number within bounds, which is never -0; what is no number counts as 0.
func cut(x float64) float64 {
	if x != x {
		return 0
	}
	return min(max(x, -mostPriority), mostPriority) + 0
}

// entitlement returns shares or tickets as Grid Engine's numbers hold them: 0 to 4294967295.
func entitlement(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, MostShares)
}

// since returns the seconds from a time to another, at least least.
func since(from, to, least int64) float64 {
	if to <= from {
		return float64(least)
	}
	if d := uint64(to) - uint64(from); d < math.MaxInt64 {
		return float64(max(int64(d), least))
	}
	return math.MaxInt64
}

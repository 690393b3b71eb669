// Package shares divides slot weight among its claimants. Every question about
// entitlements is asked of a Division: the turns of a cycle, floors, preemption,
// contention, reservations and succession.
package shares

import (
	"math"
	"slices"
)

// Claimant is a submitter or group that shares a pool with others. Numbers are slot
// weight.
type Claimant struct {
	// EUP is the effective user priority, above zero; lower is better.
	EUP float64
	// Usage is the claimant's holding, Demand its wish beyond that; neither is negative.
	// Demand may be infinite.
	Usage, Demand float64
}

// at returns the claimant's target at level λ: λ/EUP, but no more than it wants and no
// less than it holds.
func (c Claimant) at(level float64) float64 {
	return min(max(level/c.EUP, c.Usage), c.Usage+c.Demand)
}

// Division is a way to divide total: what each of the claimants may use by it.
type Division func(total float64, claimants []Claimant) []float64

// Targets divides total among the claimants: the weighted max-min fair division with
// weights 1/EUP (manual, "Effective User Priority": in inverse ratio to the EUPs; the
// part that a claimant does not use is divided among the others in the same ratio).
//
//	target_i = min(usage_i + demand_i, λ/EUP_i), but at least usage_i
//
// with λ such that the targets use up total. No claimant gets less than it holds, because
// nothing is preempted here: a claimant above its share keeps it, and the others share
// the rest. If total exceeds all wants, all claimants get what they want; if total is
// less than all holdings, no claimant gets more.
//
// 70 slots and EUPs of 5, 10 and 20 give 40, 20 and 10.
func Targets(total float64, claimants []Claimant) []float64 {
	targets := make([]float64, len(claimants))
	level := waterLevel(total, claimants)
	for i, c := range claimants {
		targets[i] = c.at(level)
	}
	return targets
}

// waterLevel returns the λ of Targets, infinite when there is more than
// enough.
func waterLevel(total float64, claimants []Claimant) float64 {
	// Between two neighbours of these levels the same claimants grow, so what
	// all use is a straight line.
	bends := []float64{0}
	for _, c := range claimants {
		bends = append(bends, c.Usage*c.EUP)
		if top := (c.Usage + c.Demand) * c.EUP; !math.IsInf(top, 0) {
			bends = append(bends, top)
		}
	}
	slices.Sort(bends)
	used := func(level float64) (sum float64) {
		for _, c := range claimants {
			sum += c.at(level)
		}
		return sum
	}
	// n is the first bend at which more than total would be used.
	lo, n := 0, len(bends)
	for lo < n {
		mid := (lo + n) / 2
		if used(bends[mid]) > total {
			n = mid
		} else {
			lo = mid + 1
		}
	}
	if n == 0 {
		return 0
	}
	from := bends[n-1]
	fixed, slope := 0.0, 0.0
	for _, c := range claimants {
		if c.Usage*c.EUP <= from && (c.Usage+c.Demand)*c.EUP > from {
			slope += 1 / c.EUP
		} else {
			fixed += c.at(from)
		}
	}
	if slope == 0 {
		return from
	}
	return max(from, (total-fixed)/slope)
}

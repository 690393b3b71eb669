package parallel

import (
	"slices"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls, busy := make([]atomic.Int32, n), make([]atomic.Bool, Workers(n))
		Each(n, func(worker, i int) {
			if busy[worker].Swap(true) {
				t.Errorf("worker %d does two things at a time", worker)
			}
			calls[i].Add(1)
			busy[worker].Store(false)
		})
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("%d things: thing %d is done %d times", n, i, got)
			}
		}
	}
}

func TestParts(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000} {
		bounds, calls := Bounds(n, 2), make([]int, n)
		if last := len(bounds) - 1; bounds[0] != 0 || bounds[last] != n || !slices.IsSorted(bounds) || last > 1+n/2 {
			t.Errorf("Bounds(%d, 2) = %v", n, bounds)
		}
		Parts(bounds, func(part, from, to int) {
			if from != bounds[part] || to != bounds[part+1] {
				t.Errorf("part %d of %v is from %d to %d", part, bounds, from, to)
			}
			for i := from; i < to; i++ {
				calls[i]++
			}
		})
		for i, got := range calls {
			if got != 1 {
				t.Errorf("%d things: thing %d is done %d times", n, i, got)
			}
		}
	}
}

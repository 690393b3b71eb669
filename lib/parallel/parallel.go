// Package parallel divides work among the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns how many workers Each has for n things.
func Workers(n int) int { return min(runtime.GOMAXPROCS(0), n) }

// Each calls do for each of n things, counted from 0, and returns after all calls. Workers are
// counted from 0; each of them calls do one at a time.
func Each(n int, do func(worker, i int)) {
	var next atomic.Int64
	var done sync.WaitGroup
	for worker := range Workers(n) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(worker, i)
			}
		})
	}
	done.Wait()
}

// Bounds divides n things into parts of neighbours, one part for each worker. It returns where
// the parts begin, and n. Many is how many things are worth another worker.
func Bounds(n, many int) []int {
	parts := min(runtime.GOMAXPROCS(0), 1+n/many)
	bounds := make([]int, parts+1)
	for p := range bounds {
		bounds[p] = p * n / parts
	}
	return bounds
}

// Parts calls do for each part, with where it begins and ends, and returns after all calls.
func Parts(bounds []int, do func(part, from, to int)) {
	Each(len(bounds)-1, func(_, part int) { do(part, bounds[part], bounds[part+1]) })
}

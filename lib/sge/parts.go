package sge

import (
	"runtime"
	"sync"
)

// manyJobs are worth another processor.
const manyJobs = 4096

// partsOf returns where parts of n things begin, one for each processor that is worth it as
// there are many things for it, and where the last part ends.
func partsOf(n, many int) []int {
	parts := min(runtime.GOMAXPROCS(0), 1+n/many)
	bounds := make([]int, parts+1)
	for p := range bounds {
		bounds[p] = p * n / parts
	}
	return bounds
}

// inParts has all parts done at the same time.
func inParts(bounds []int, do func(part, from, to int)) {
	var done sync.WaitGroup
	for part := range len(bounds) - 1 {
		done.Go(func() { do(part, bounds[part], bounds[part+1]) })
	}
	done.Wait()
}

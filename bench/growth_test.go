package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// growths are pools that grow in one respect, 1, 10 and 100 times.
var growths = func() (list []*fixture) {
	for _, what := range []string{"jobs", "slots", "shapes", "submitters"} {
		for _, times := range []int{1, 10, 100} {
			of := func(name string, n int) int {
				if name == what {
					return n * times
				}
				return n
			}
			list = append(list, &fixture{name: fmt.Sprintf("%d-times-the-%s", times, what), slots: of("slots", 1000), machines: machines{kinds: 20},
				clusters: of("jobs", 1000), procs: 1, jobs: clusters{shapes: of("shapes", 10), submitters: of("submitters", 10)}})
		}
	}
	return list
}()

// BenchmarkGrowth is how the processor time and the memory of commands grow with the pool: how many times more, and the
// exponent from 10 to 100 times. The time is the median of five runs.
func BenchmarkGrowth(b *testing.B) {
	testenv.Commands(b)
	for _, args := range [][]string{{"negotiate", "-dry-run", "-q"}, {"negotiate", "-q"}, {"qstat", "-g", "c"}, {"qstat"}, {"userprio", "-all"}} {
		for some := range slices.Chunk(growths, 3) {
			name := strings.TrimPrefix(some[0].name, "1-times-the-")
			b.Run(strings.Join(args, "_")+"/"+name, func(b *testing.B) {
				var times, most [3]float64
				for b.Loop() {
					for i, f := range some {
						times[i], most[i] = f.growth(b, args)
					}
				}
				for i, times := range times {
					b.ReportMetric(times, fmt.Sprintf("ms-%.0f", math.Pow10(i)))
					b.ReportMetric(most[i], fmt.Sprintf("MB-%.0f", math.Pow10(i)))
				}
				b.ReportMetric(math.Log10(times[2]/times[1]), "exponent")
			})
		}
	}
}

// growth returns the median time in milliseconds of five runs of a command, the second and later ones on a spool, and their most
// memory in MB.
func (f *fixture) growth(b *testing.B, args []string) (ms, mb float64) {
	b.Helper()
	dir := f.dir(b)
	if args[0] == "negotiate" {
		dir = copied(b, dir)
		resident(b, dir, "negotiate", "-q")
	}
	var runs []time.Duration
	for range 5 {
		more, took := spent(b, dir, args[0], args[1:]...)
		mb, runs = max(mb, more), append(runs, took)
	}
	slices.Sort(runs)
	return runs[2].Seconds() * 1000, mb
}

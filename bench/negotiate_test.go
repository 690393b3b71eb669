package bench

import (
	"os"
	"testing"

	"fairspool/internal/testenv"
)

// fixtures are the pools that negotiation is measured on: slots and their
// kinds, clusters, procs and shapes, submitters.
var fixtures = []*fixture{
	{name: "10k-slots-100k-jobs", slots: 10_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "10k-slots-200k-jobs", slots: 10_000, machines: machines{kinds: 50}, clusters: 400, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "20k-slots-100k-jobs", slots: 20_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "10k-slots-100k-procs-that-differ", slots: 10_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}, differ: true},
	{name: "100k-slots-1M-jobs", slots: 100_000, machines: machines{kinds: 500}, clusters: 2000, procs: 500, jobs: clusters{shapes: 500, submitters: 1000}},
	{name: "one-shape-each", slots: 10_000, machines: machines{kinds: 50}, clusters: 100, procs: 100, jobs: clusters{shapes: 100, submitters: 100}},
	{name: "100-shapes-each", slots: 10_000, machines: machines{kinds: 50}, clusters: 10_000, procs: 1, jobs: clusters{shapes: 10_000, submitters: 100}},
	{name: "all-apart", slots: 5000, machines: machines{kinds: 50, apart: true}, clusters: 5000, procs: 1, jobs: clusters{shapes: 5000, submitters: 100}},
	{name: "1k-partitionable-64k-jobs", slots: 1000, machines: machines{kinds: 20, partitionable: true}, clusters: 128, procs: 500, jobs: clusters{shapes: 20, submitters: 100, light: true}},
	{name: "100k-running-100k-jobs", slots: 100_000, machines: machines{kinds: 500}, clusters: 1000, procs: 100, jobs: clusters{shapes: 200, submitters: 500}, full: true},
}

// ways are the ways to run negotiate: deciding only, the same with the report as
// JSON, really, on a copy of the spool, and deciding again when that is done.
var ways = []struct {
	name         string
	args         []string
	changes, two bool
}{
	{name: "dry-run", args: []string{"-dry-run", "-q"}},
	{name: "json", args: []string{"-dry-run", "-json"}},
	{name: "real", args: []string{"-q"}, changes: true},
	{name: "again", args: []string{"-dry-run", "-q"}, two: true},
}

// BenchmarkNegotiate is a whole negotiate on each of the fixtures, with the most
// memory that it had.
func BenchmarkNegotiate(b *testing.B) {
	testenv.Commands(b)
	for _, f := range fixtures {
		for _, way := range ways {
			b.Run(f.name+"/"+way.name, func(b *testing.B) {
				dir, most := f.dir(b), 0.0
				if way.two {
					dir = copied(b, dir)
					resident(b, dir, "negotiate", "-q")
				}
				for b.Loop() {
					if way.changes {
						most = max(most, onCopy(b, dir, way.args))
					} else {
						most = max(most, resident(b, dir, "negotiate", way.args...))
					}
				}
				b.ReportMetric(most, "MB")
			})
		}
	}
}

// onCopy does as resident on a copy of the spool, whose making is not timed.
func onCopy(b *testing.B, dir string, args []string) (mb float64) {
	b.Helper()
	b.StopTimer()
	fresh := copied(b, dir)
	b.StartTimer()
	mb = resident(b, fresh, "negotiate", args...)
	b.StopTimer()
	if err := os.RemoveAll(fresh); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	return mb
}

package bench

import (
	"fmt"
	"testing"

	"fairspool/internal/testenv"
)

// listings are queues of 100,000 jobs of which no two look alike, and pools for them.
var listings = []*fixture{
	{name: "1-cluster", slots: 1000, machines: machines{kinds: 50}, clusters: 1, procs: 100_000, jobs: clusters{shapes: 1, submitters: 1}, differ: true, named: true},
	{name: "100k-clusters", slots: 1000, machines: machines{kinds: 50}, clusters: 100_000, procs: 1, jobs: clusters{shapes: 200, submitters: 100}},
}

// BenchmarkQstat is whole processes on these queues. The aims are 0.4 s for the totals,
// 1.5 s for the table and 2 s for JSON.
func BenchmarkQstat(b *testing.B) {
	testenv.Commands(b)
	for _, f := range listings {
		for _, args := range [][]string{
			{"-g", "c"}, nil, {"-json"}, {"-long"}, {"-af", "ClusterId", "ProcId", "Owner", "JobStatus"}, {"-json", "-u", "user7"}, {"-xml"}, {"-f"}, {"-r"}, {"-s", "h"}, {"-w", "-pri", "-urg", "-ext"}, {"-constraint", "RequestMemory > 1"},
		} {
			b.Run(fmt.Sprintf("%s/%v", f.name, args), func(b *testing.B) {
				dir := f.dir(b)
				most, processor := 0.0, 0.0
				for b.Loop() {
					mb, took := spent(b, dir, "qstat", args...)
					most, processor = max(most, mb), processor+took.Seconds()
				}
				b.ReportMetric(most, "MB")
				b.ReportMetric(processor/float64(b.N), "cpu-s")
			})
		}
	}
}

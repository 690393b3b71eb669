package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// watchFor is how long a queue is watched. Reading it for the first time counts too.
const watchFor = time.Minute

// BenchmarkWatch is qstat -watch 1 on a queue of 100,000 jobs: one where nothing
// happens, and one where ten jobs change a second, each in a transaction. The aim is
// 5 % of a processor.
func BenchmarkWatch(b *testing.B) {
	testenv.Commands(b)
	for _, changes := range []int{0, 10} {
		for _, args := range [][]string{nil, {"-w"}, {"-g", "c"}} {
			b.Run(fmt.Sprintf("changes=%d/%v", changes, args), func(b *testing.B) {
				dir := filepath.Join(testenv.OnDisk(b), "spool")
				testenv.OK(b, os.CopyFS(dir, os.DirFS(listings[1].dir(b))))
				testenv.OK(b, os.Chmod(dir, 0o700))
				for b.Loop() {
					c := exec.Command(filepath.Join(testenv.Commands(b), "qstat"), append([]string{"-watch", "1", "-spool", dir}, args...)...)
					c.Env, c.Stderr = append(os.Environ(), "FAIRSPOOL_CONFIG="), os.Stderr
					testenv.OK(b, c.Start())
					start := time.Now()
					change(b, dir, changes, start.Add(watchFor))
					c.Process.Signal(syscall.SIGTERM)
					testenv.OK(b, c.Wait())
					used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
					b.ReportMetric(100*used.Seconds()/time.Since(start).Seconds(), "cpu-%")
				}
			})
		}
	}
}

// change changes so many jobs a second, until then.
func change(b *testing.B, dir string, perSecond int, until time.Time) {
	if perSecond == 0 {
		<-time.After(time.Until(until))
		return
	}
	s, err := spool.Open(dir, spool.Options{Program: "bench", LockWait: time.Minute})
	testenv.OK(b, err)
	defer s.Close()
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for n := 0; time.Now().Before(until); n++ {
		<-tick.C
		testenv.OK(b, s.Update(func(tx *spool.Tx) error {
			tx.Op("prio")
			tx.Set(pool.JobID{Cluster: 1 + n*97%1000}, pool.AttrJobPrio, classad.Literal(classad.Int(int64(n%20))))
			return nil
		}))
	}
}

// listings are queues of 100,000 jobs of which no two look alike, and pools for them.
var listings = []*fixture{
	{name: "1-cluster", slots: 1000, machines: machines{kinds: 50}, clusters: 1, procs: 100_000, jobs: clusters{shapes: 1, submitters: 1}, differ: true, named: true},
	{name: "100k-clusters", slots: 1000, machines: machines{kinds: 50}, clusters: 100_000, procs: 1, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "10k-clusters", slots: 8, machines: machines{kinds: 1}, clusters: 10_000, procs: 1, jobs: clusters{shapes: 200, submitters: 100}},
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

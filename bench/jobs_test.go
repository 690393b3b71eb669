package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// BenchmarkShortJobs is 2,000 jobs of /bin/true, 8 at a time, from the first job's submission to the last one's end, by
// whole processes, here and by other programs of the machine: jobs a second, and the processor time of one with all that
// belongs to it. The aims are 600 and 3 ms.
func BenchmarkShortJobs(b *testing.B) {
	const jobs, slots = 2000, 8
	var ads strings.Builder
	for i := range slots {
		fmt.Fprintf(&ads, "Name = \"slot%d@bench\"\nMachine = \"bench\"\nCpus = 1\nMemory = 1024\nDisk = 1000000\nRequirements = true\n\n", i+1)
	}
	each := fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); ", jobs)
	for _, way := range []struct{ name, first, script string }{
		{"fairspool", "slots", `slots advertise slots.ads >/dev/null; submit job.sub >/dev/null
while [ -n "$(qstat -af ClusterId)" ]; do negotiate -q; starter -q -wait; done`},
		{"task-spooler", "tsp", fmt.Sprintf("tsp -S %d; %s tsp -n /bin/true; done >/dev/null; tsp -w; tsp -K", slots, each)},
		{"nq", "nq", fmt.Sprintf("%s NQDIR=$((i %% %d)) nq -q /bin/true; done; for d in [0-9]; do NQDIR=$d nq -w; done", each, slots)},
		{"xargs", "xargs", fmt.Sprintf("yes | head -n %d | xargs -P %d -n 1 /bin/true", jobs, slots)},
	} {
		b.Run(way.name, func(b *testing.B) {
			path := testenv.Commands(b) + ":" + os.Getenv("PATH")
			b.Setenv("PATH", path)
			if _, err := exec.LookPath(way.first); err != nil {
				b.Skip(err)
			}
			if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
				b.Fatal(err)
			}
			used := time.Duration(0)
			for b.Loop() {
				dir := testenv.OnDisk(b)
				for name, text := range map[string]string{
					"slots.ads": ads.String(), "job.sub": fmt.Sprintf("executable = /bin/true\nqueue %d\n", jobs),
					"config.toml": "NETWORK_HOSTNAME = \"bench\"\nCYCLE_ON_CHANGE = false\n",
				} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						b.Fatal(err)
					}
				}
				c := exec.Command("sh", "-c", way.script)
				c.Dir = dir
				c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG="+dir+"/config.toml", "FAIRSPOOL_DIR="+dir+"/spool",
					"TS_SOCKET="+dir+"/socket", "TMPDIR="+dir)
				before := reaped(b)
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%s: %v: %s", way.script, err, out)
				}
				used += reaped(b) - before
			}
			b.ReportMetric(float64(b.N)*jobs/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(1000*used.Seconds()/float64(b.N)/jobs, "cpu-ms/job")
		})
	}
}

// reaped waits for what processes of before have left running, and returns the processor time of all that have ended.
func reaped(b *testing.B) time.Duration {
	b.Helper()
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
			break
		} else if err != nil && err != unix.EINTR {
			b.Fatal(err)
		}
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// BenchmarkShortJobs is 2,000 jobs of /bin/true on 8 slots, from the first cycle to the last end, by
// whole processes: jobs a second, and the processor time of one. The aims are 600 and 3 ms.
func BenchmarkShortJobs(b *testing.B) {
	const jobs, slots = 2000, 8
	var ads strings.Builder
	for i := range slots {
		fmt.Fprintf(&ads, "Name = \"slot%d@bench\"\nMachine = \"bench\"\nCpus = 1\nMemory = 1024\nDisk = 1000000\nRequirements = true\n\n", i+1)
	}
	for b.Loop() {
		dir := testenv.OnDisk(b)
		b.Chdir(dir)
		for name, text := range map[string]string{
			"slots.ads": ads.String(), "job.sub": fmt.Sprintf("executable = /bin/true\nqueue %d\n", jobs),
			"config.toml": "NETWORK_HOSTNAME = \"bench\"\nCYCLE_ON_CHANGE = false\n",
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		used := 0.0
		step := func(name string, args ...string) string {
			c := exec.Command(filepath.Join(testenv.Commands(b), name), args...)
			c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG="+dir+"/config.toml", "FAIRSPOOL_DIR="+dir+"/spool")
			out, err := c.Output()
			if err != nil {
				b.Fatalf("%s %v: %v", name, args, err)
			}
			used += (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
			return string(out)
		}
		step("slots", "advertise", "slots.ads")
		step("submit", "job.sub")
		for step("qstat", "-af", "ClusterId") != "" {
			step("negotiate", "-q")
			step("starter", "-q", "-wait")
		}
		b.ReportMetric(float64(b.N)*jobs/b.Elapsed().Seconds(), "jobs/s")
		b.ReportMetric(1000*used/jobs, "cpu-ms/job")
	}
}

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// BenchmarkThousandJobs runs a thousand jobs of a second each, of two users, on 50 slots
// with starter -watch: one cycle, and then the slots go on by themselves. It tells what part
// of the time until all have ended the slots were busy, and the processor time of everything,
// the jobs too, for each job.
func BenchmarkThousandJobs(b *testing.B) {
	const slots, jobs = 50, 1000
	cmdtest.NeedUsers(b)
	bin, dir := testenv.Commands(b), b.TempDir()
	cmdtest.Share(b, dir)
	write(b, filepath.Join(dir, "fairspool.toml"), "NETWORK_HOSTNAME = \"node1\"\n")
	write(b, filepath.Join(dir, "job.sub"), "executable = /bin/sleep\narguments = 1\ninitialdir = /tmp\nqueue 500\n")
	env := append(os.Environ(), "FAIRSPOOL_CONFIG="+filepath.Join(dir, "fairspool.toml"), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var cpu time.Duration
	run := func(name string, args ...string) string {
		b.Helper()
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Env, c.Dir = env, dir
		out, err := c.CombinedOutput()
		if err != nil {
			b.Fatalf("%s: %v\n%s", name, err, out)
		}
		cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		return string(out)
	}
	took := time.Duration(0)
	for n := range b.N {
		env = append(env, "FAIRSPOOL_DIR="+filepath.Join(dir, "spool"+strings.Repeat("x", n)))
		run("slots", "detect", "-count", "50")
		run("submit", "-owner", "alice", "job.sub")
		run("submit", "-owner", "bob", "job.sub")
		watch := exec.Command(filepath.Join(bin, "starter"), "-watch", "-q")
		watch.Env, watch.Dir = env, dir
		testenv.OK(b, watch.Start())
		defer watch.Process.Kill()
		begun := time.Now()
		run("negotiate", "-q")
		before := cpu
		running := func() bool {
			claims, err := os.ReadDir(filepath.Join(dir, "spool"+strings.Repeat("x", n), "claims.d"))
			return err != nil || len(claims) > 0
		}
		testenv.Until(b, "all jobs have ended", func() bool { return !running() && run("qstat") == "" })
		cpu = before // looking is no part of it
		took += time.Since(begun)
		testenv.OK(b, watch.Process.Signal(syscall.SIGTERM))
		watch.Wait()
		cpu += watch.ProcessState.UserTime() + watch.ProcessState.SystemTime()
	}
	b.ReportMetric(100*float64(b.N*jobs/slots)/took.Seconds(), "%busy")
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N*jobs), "cpu-ms/job")
}

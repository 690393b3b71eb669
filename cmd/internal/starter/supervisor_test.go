package starter

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"fairspool/cmd/internal/desk"
	"fairspool/internal/testenv"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// stops names the step at which a supervisor is sent SIGTERM.
const stops = "STARTER_TEST_STOPS"

// stopAsTold has this process send itself SIGTERM when it has reached a step, if the
// environment says so, and go on when everybody here knows.
func stopAsTold() {
	at, before := os.Getenv(stops), reached
	if at == "" {
		return
	}
	reached = func(s supervise.Step) {
		if before(s); string(s) != at {
			return
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-c
		signal.Stop(c) // which waits for who is being told
	}
}

// counts names the file to which a supervisor writes what it has, each time that it has done
// with a job.
const counts = "STARTER_TEST_COUNTS"

// counted is what a supervisor has: goroutines, threads, open files, children, and KB of memory
// that is in use.
type counted struct{ pid, goroutines, threads, files, children, heapKB int }

// countAsTold has this process write down what it has between two jobs, if the environment
// says so.
func countAsTold() {
	path, before := os.Getenv(counts), reached
	if path == "" {
		return
	}
	reached = func(s supervise.Step) {
		if before(s); s != stepUnlocked {
			return
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return
		}
		defer f.Close()
		fmt.Fprintln(f, os.Getpid(), runtime.NumGoroutine(), entries("/proc/self/task"), entries("/proc/self/fd"), len(childrenHere()), m.HeapAlloc>>10)
	}
}

// childrenHere returns the children of this process, also those that wait to be reaped.
func childrenHere() (pids []string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}

func entries(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(list)
}

// queueOf submits jobs of one cluster that run a shell script.
func (p *testPool) queueOf(n int, script string, pairs ...string) (cluster int) {
	p.Helper()
	ad := p.job(script, append([]string{"Requirements", "true"}, pairs...)...)
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		cluster = tx.AddCluster(ad, []spool.NewRun{{Count: n}})
		return nil
	})
	return cluster
}

// TestTenureOfManyJobs has one supervisor run many short jobs: it does not grow with them.
func TestTenureOfManyJobs(t *testing.T) {
	t.Parallel()
	const jobs, warm = 150, 30
	p := newPool(t)
	p.slot(1)
	p.queueOf(jobs, `exit 0`, "UserLog", `""`, "PeriodicHold", "JobStatus == 7", "AllowedExecuteDuration", "600")
	p.cycle()
	c := p.command("-q", "-wait")
	c.Env = append(c.Env, counts+"="+filepath.Join(p.dir, "counts"))
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("starter: %v: %s", err, out)
	}
	p.nothingLeft()
	p.noCgroups()
	var all []counted
	for line := range strings.Lines(p.read("counts")) {
		var n counted
		if _, err := fmt.Sscan(line, &n.pid, &n.goroutines, &n.threads, &n.files, &n.children, &n.heapKB); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, n)
	}
	if len(all) != jobs || all[0].pid != all[len(all)-1].pid {
		t.Fatalf("%d jobs were run by supervisors %d to %d, want %d by one", len(all), all[0].pid, all[len(all)-1].pid, jobs)
	}
	most := all[0]
	for _, n := range all[:warm] {
		most = counted{0, max(most.goroutines, n.goroutines), max(most.threads, n.threads), max(most.files, n.files), max(most.children, n.children), max(most.heapKB, n.heapKB)}
	}
	last := all[len(all)-1]
	t.Logf("after %d jobs at most %+v, after %d %+v", warm, most, jobs, last)
	// A goroutine may not have ended yet, and Go makes threads as it likes.
	if last.goroutines > most.goroutines+3 || last.threads > most.threads+8 || last.files > most.files+2 || last.children > 1 || last.heapKB > most.heapKB+1024 {
		t.Errorf("after %d jobs the supervisor has %+v, want no more than after %d, %+v", jobs, last, warm, most)
	}
	if text := p.read("spool/starter.log"); text != "" {
		t.Errorf("starter.log = %q, want nothing", text)
	}
}

// noCgroups holds that no attempt has left a cgroup.
func (p *testPool) noCgroups() {
	p.Helper()
	prefix := desk.Prefix(p.spool)
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), prefix) {
			p.Errorf("%s is left", path)
		}
		return nil
	})
}

// A supervisor that is told to end when its job has ended does not go on with another.
func TestStoppedBetweenJobs(t *testing.T) {
	t.Parallel()
	for _, at := range []supervise.Step{stepEnded, stepAlone, stepStored} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.slot(1)
			cluster := p.queueOf(2, `exit 0`)
			p.cycle()
			c := p.command("-q", "-wait")
			c.Env = append(c.Env, stops+"="+string(at))
			if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("starter: %v: %s", err, out)
			}
			if got, want := p.history(pool.JobID{Cluster: cluster}, "ProcId", "JobStatus"), "ProcId=0 JobStatus=4"; got != want {
				t.Errorf("the first job: %s, want %s", got, want)
			}
			if got, want := p.queued(pool.JobID{Cluster: cluster, Proc: 1}, "JobStatus", "NumShadowStarts"), "JobStatus=1 NumShadowStarts=undefined"; got != want {
				t.Errorf("the second job: %s, want %s", got, want)
			}
			p.nothingLeft()
		})
	}
}

// TestTimesOfALateSupervisor has a supervisor that does not get to record its job's end, and then
// finds the spool locked: usage counts to the end of the job, and that of the next one from
// when it could begin.
func TestTimesOfALateSupervisor(t *testing.T) {
	t.Parallel()
	const late = 50 * time.Millisecond
	p := newPool(t)
	p.slot(1)
	p.queueOf(2, `[ $FAIRSPOOL_JOB = 1.1 ] && echo >there; `+awaitGo, "UserLog", `""`)
	cycle, c := p.negotiator(), p.command("-q")
	cycle.Env = append(cycle.Env, "FAIRSPOOL_NOW=") // the machine's clock, which the test can read
	c.Env = append(c.Env, "FAIRSPOOL_NOW=", fmt.Sprintf("%s=%s %s %s", dallies, stepEnded, filepath.Join(p.dir, "ended"), filepath.Join(p.dir, "on")))
	for _, c := range []*exec.Cmd{cycle, c} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
	first := p.claims()[0]
	p.letGo(1)
	p.until("the first job has ended", func() bool { return p.read("ended") != "" })
	ended := time.Now()
	p.until("the supervisor is late", func() bool { return time.Since(ended) > late })
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	wait := testenv.Opened(t, lock.Path())
	p.write("on", "")
	wait()
	p.until("it waits", func() bool { return time.Since(ended) > 2*late })
	unlocked := time.Now().Truncate(time.Millisecond)
	testenv.OK(t, lock.Unlock())
	p.until("the next job runs", func() bool { return p.read("there") != "" })
	var usage time.Duration
	testenv.OK(t, p.spool.View(func(v *spool.View) error {
		r, _ := v.Submitter(submitter)
		usage = time.Duration(r.Weighted.Millis) * time.Millisecond
		return nil
	}))
	if end := first.MatchedAt.Add(usage); end.After(ended) {
		t.Errorf("usage counts to %v after the end of the first job, want to the end", end.Sub(ended))
	}
	if next := p.claims()[0]; next.Job.Proc != 1 || next.MatchedAt.Before(unlocked) {
		t.Errorf("job %v is charged from %v before the spool was unlocked on, want job 1.1 from then on at most", next.Job, unlocked.Sub(next.MatchedAt))
	}
	p.letGo(1)
	p.nothingLeft()
}

// A job that runs once more may have its own slot again, at once; of the standard universe
// under the name that it had.
func TestOwnSuccessor(t *testing.T) {
	t.Parallel()
	for _, universe := range []pool.Universe{pool.Vanilla, pool.Standard} {
		t.Run(strconv.Itoa(int(universe)), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.slot(1)
			cluster := p.queueOf(2, `echo x >>starts; exit 0`, "JobUniverse", strconv.Itoa(int(universe)), "OnExitRemove", "ProcId == 0 || NumShadowStarts == 3")
			p.cycle()
			p.starter(0, 0, "-q", "-wait")
			if got, want := strings.Count(p.read("starts"), "x"), 4; got != want {
				t.Errorf("%d starts, want %d", got, want)
			}
			if got := p.queued(pool.JobID{Cluster: cluster, Proc: 1}, "JobStatus", "HoldReason"); got != "gone" {
				t.Errorf("the job: %s, want gone", got)
			}
			p.nothingLeft()
			p.noCgroups()
		})
	}
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// dies names the step at which a starter kills itself, the file that it makes then, so that
// it is the only one, and what else has to be there before, separated by blanks.
const dies = "STARTER_TEST_DIES"

// dieAsTold has this process kill itself when it has reached a step, if the environment
// says so.
func dieAsTold() {
	words := strings.Fields(os.Getenv(dies))
	if len(words) == 0 {
		return
	}
	armed := false
	reached = func(s step) {
		switch {
		case armed && allThere(words[2:]):
			die(words[1]) // who looks for that did not get to it in time
		case string(s) != words[0]:
		case len(words) == 2:
			die(words[1])
		default:
			armed = true
			go func() {
				for !allThere(words[2:]) {
					time.Sleep(20 * time.Microsecond)
				}
				die(words[1])
			}()
		}
	}
}

// die ends the process, if it is the first that wants to.
func die(mark string) {
	f, err := os.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return
	}
	fmt.Fprintln(f, os.Getpid())
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func allThere(paths []string) bool {
	for _, path := range paths {
		if found, _ := filepath.Glob(path); len(found) == 0 {
			return false
		}
	}
	return true
}

// dying is starter with what makes it, or its supervisor, die.
func (p *testPool) dying(at step, there []string, args ...string) *exec.Cmd {
	words := []string{string(at), filepath.Join(p.dir, "died")}
	for _, path := range there {
		words = append(words, filepath.Join(p.spool.Dir(), path))
	}
	c := p.command(args...)
	c.Env = append(c.Env, dies+"="+strings.Join(words, " "))
	return c
}

// died waits until the process has died that was told to.
func (p *testPool) died() {
	p.Helper()
	pid := p.pid("died")
	p.until("it is dead", func() bool { return !alive(pid) })
}

// script returns a process that runs a job's script, without any starter.
func (p *testPool) script(script string, env ...string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", script)
	c.Dir, c.Env = p.dir, append(os.Environ(), env...)
	return c
}

const (
	quickJob = `[ -s HERE/data ] && cat data >result; [ $a = 1 ] && { echo >>HERE/first; until [ -e HERE/go ]; do sleep 0.01; done; }; over`
	// stubbornJob does not leave for the asking.
	stubbornJob = `[ $a = 1 ] && { trap "" TERM; setsid sleep 1000 & echo >>HERE/first; while :; do sleep 0.01; done; }; over`
	// steadyJob writes two checkpoints of many files, each the others' successor.
	steadyJob = `[ -e two ] && { echo two >>HERE/resumed; over; }
mkdir -p files; n=0; while [ $n -lt 500 ]; do echo $a >files/$n; n=$((n+1)); done
[ -e one ] && { echo one >>HERE/resumed; >two; exit 85; }
>one; exit 85`
)

// TestKilledAfterEachStep has a supervisor, or the pass that looks after a dead one's job,
// killed when it has done what the row says. One pass repairs that; then the job runs to its
// end, as if nothing had been.
func TestKilledAfterEachStep(t *testing.T) {
	one := "execute/1.0.1/"
	kept := "execute/1.0.kept"
	for _, c := range []struct {
		name    string
		at      step
		there   []string // what has to be there, too
		script  string
		told    bool   // the first attempt is held, and then released
		rescuer bool   // a pass dies, after a supervisor that ran the job
		starts  string // which attempts began the program; "|" stands between what may be
		counted int    // NumJobStarts
		events  string
		resumed string
	}{
		{name: "locked", at: stepLocked, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		// The program was never executed, which nobody but the dead one could know.
		{name: "begun", at: stepBegun, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "before the files", at: stepPlacing, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "the scratch directory alone", at: stepPlacing, there: []string{one}, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "placed", at: stepPlaced, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		// Of the beginning the event log is told by nobody else.
		{name: "executed", at: stepExecuted, script: quickJob, starts: "2|1 2", counted: 2, events: "7 1 5"},
		{name: "logged", at: stepLogged, there: []string{"../attempts/start.1.0.1"}, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "told to leave", at: stepTold, script: stubbornJob, told: true, starts: "1 2", counted: 2, events: "1 7 12 1 5"},
		{name: "killed its job", at: stepKilled, script: stubbornJob, told: true, starts: "1 2", counted: 2, events: "1 7 12 1 5"},
		{name: "ended", at: stepEnded, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "alone", at: stepAlone, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "stored", at: stepStored, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "kept", at: stepKept, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "finished", at: stepFinished, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		{name: "concluded", at: stepConcluded, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		{name: "tidied", at: stepTidied, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		{name: "unlocked", at: stepUnlocked, script: quickJob, starts: "1", counted: 1, events: "1 5"},

		{name: "before the checkpoint", at: stepAlone, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 3 5", resumed: "one two"},
		{name: "in the checkpoint", at: stepAlone, there: []string{kept + ".new/files/1*"}, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 3 5", resumed: "one two"},
		{name: "checkpointed", at: stepCheckpointed, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 5", resumed: "one two"},
		{name: "resuming", at: stepResuming, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 3 5", resumed: "one two"},
		{name: "in the second checkpoint", at: stepResuming, there: []string{kept + ".new/files/1*"}, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 3 5", resumed: "one one two"},
		{name: "checkpoints exchanged", at: stepResuming, there: []string{kept + ".new", kept + "/two"}, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 5", resumed: "one two"},

		{name: "rescuer alone", at: stepAlone, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer kept", at: stepKept, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer finished", at: stepFinished, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer concluded", at: stepConcluded, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer tidied", at: stepTidied, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			pairs := []string{"JobMaxVacateTime", "1000", "ShouldTransferFiles", `"YES"`}
			switch c.script {
			case quickJob:
				p.write("data", strings.Repeat("0123456789abcdef", 1<<14))
				pairs = append(pairs, "TransferInput", `"data"`, "TransferOutput", `"result"`)
			case steadyJob:
				pairs = append(pairs, "Environment", `"CHECKPOINTS=1"`, "CheckpointExitCode", "85", "TransferOutput", `""`)
			case stubbornJob:
				if c.at == stepKilled {
					pairs[1] = "0.05"
				}
			}
			id := p.match(p.recorded(c.script), pairs...)
			switch {
			case c.rescuer:
				claim := p.running(id)
				p.until("the job is there", func() bool { return p.read("first") != "" })
				syscall.Kill(claim.PID, syscall.SIGKILL)
				p.until("the supervisor is dead", func() bool { return !alive(claim.PID) })
				p.dying(c.at, c.there, "-q").Run()
			default:
				p.dying(c.at, c.there, "-q").Run()
				if c.told {
					p.until("the job is there", func() bool { return p.read("first") != "" })
				}
				if c.told {
					p.hold(id)
				}
			}
			p.write("go", "")
			p.died()
			p.repaired(id)
			if c.told {
				p.release(id)
			}
			p.rematch()
			p.starter(0, "", "", "-q", "-wait")
			p.settled()
			want := fmt.Sprintf("JobStatus=4 ExitCode=0 NumJobStarts=%d", c.counted)
			if got := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"); got != want || len(p.left()[id.Cluster]) != 1 {
				t.Errorf("the job, %d times: %s, want %s once", len(p.left()[id.Cluster]), got, want)
			}
			if got := spaced(p.starts(id)); !slices.Contains(strings.Split(c.starts, "|"), got) {
				t.Errorf("the program was started by attempts %s, want %s", got, c.starts)
			}
			if got := spaced(p.events(id, "log")); got != c.events {
				t.Errorf("events %s, want %s", got, c.events)
			}
			if got := strings.Join(strings.Fields(p.read("resumed")), " "); got != c.resumed {
				t.Errorf("it went on from %q, want %q", got, c.resumed)
			}
			if c.script == quickJob && p.read("result") != p.read("data") {
				t.Errorf("the output has %d bytes, want the %d of the input", len(p.read("result")), len(p.read("data")))
			}
		})
	}
}

// repaired runs a pass and holds that no attempt is left whose supervisor is gone.
func (p *testPool) repaired(id pool.JobID) {
	p.Helper()
	if out, err := p.command("-q").CombinedOutput(); err != nil {
		p.Errorf("starter: %v: %s", err, out)
	}
	for _, c := range p.claims() {
		if c.State != pool.RunningClaim || !alive(c.PID) {
			p.Errorf("after a pass the claim of job %v is %+v, want it in a supervisor's hands", id, c)
		}
	}
	own := p.relatives()
	for _, c := range p.claims() {
		own = withoutDescendants(own, c.PID)
	}
	if len(own) > 0 {
		p.Errorf("after a pass processes %v are left of an attempt that is over", own)
	}
}

// withoutDescendants leaves out processes whose supervisor lives.
func withoutDescendants(pids []int, supervisor int) (others []int) {
	below := map[int]bool{}
	for _, pid := range descendants(supervisor) {
		below[pid] = true
	}
	for _, pid := range pids {
		if !below[pid] && alive(pid) {
			others = append(others, pid)
		}
	}
	return others
}

// TestKilledBetweenJobs has a supervisor killed when the end of its job is recorded, and
// with it that the next one has the slot.
func TestKilledBetweenJobs(t *testing.T) {
	for _, c := range []struct {
		at     step
		events string // of the first job
	}{
		{stepFinished, "1 5"}, {stepConcluded, "1 5"}, {stepTidied, "1 5"}, {stepUnlocked, "1 5"},
	} {
		t.Run(string(c.at), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.slot(1)
			first := p.submit(p.job(p.recorded(`over`), "Requirements", "true", "UserLog", `"log1"`))
			second := p.submit(p.job(p.recorded(`over`), "Requirements", "true", "UserLog", `"log2"`))
			p.cycle()
			p.dying(c.at, nil, "-q").Run()
			p.died()
			if got, want := p.queued(second, "JobStatus"), "JobStatus=2"; got != want {
				t.Fatalf("the second job: %s, want %s: the slot goes on with it", got, want)
			}
			p.repaired(second)
			p.cycle()
			p.starter(0, "", "", "-q", "-wait")
			p.settled()
			for id, want := range map[pool.JobID]string{first: "1 | " + c.events, second: "2 | 7 1 5"} {
				const ok = "JobStatus=4 ExitCode=0"
				if got := p.history(id, "JobStatus", "ExitCode"); got != ok || len(p.left()[id.Cluster]) != 1 {
					t.Errorf("job %v, %d times: %s, want %s once", id, len(p.left()[id.Cluster]), got, ok)
				}
				got := spaced(p.starts(id)) + " | " + spaced(p.events(id, fmt.Sprintf("log%d", id.Cluster)))
				if got != want {
					t.Errorf("job %v: starts | events: %s, want %s", id, got, want)
				}
			}
		})
	}
}

// slot advertises slots of node1 that take any job.
func (p *testPool) slot(n int) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		for i := range n {
			name := fmt.Sprintf("slot%d@node1", i+1)
			ad := classad.New()
			ad.SetString("Name", name)
			ad.SetString("Machine", "node1")
			ad.SetString("State", "Unclaimed")
			ad.SetInt("Cpus", 1)
			ad.SetInt("Memory", 1024)
			e, err := classad.ParseExpr("true")
			if err != nil {
				return err
			}
			ad.Set("Requirements", e)
			tx.PutSlot(name, ad)
		}
		return nil
	})
}

var (
	builtOnce sync.Once
	builtIn   string
	buildErr  error
)

// negotiate returns the path of negotiate, built once.
func negotiate(t *testing.T) string {
	t.Helper()
	builtOnce.Do(func() {
		if builtIn, buildErr = os.MkdirTemp("", "fairspool-starter"); buildErr != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", builtIn+"/", "fairspool/cmd/negotiate").CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return filepath.Join(builtIn, "negotiate")
}

func removeBuilt() {
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
}

// negotiator returns a cycle that works on the pool.
func (p *testPool) negotiator() *exec.Cmd {
	p.Helper()
	c := exec.Command(negotiate(p.T), "-spool", p.spool.Dir(), "-config", p.config, "-q")
	c.Env = append(os.Environ(), "FAIRSPOOL_NOW="+matchedAt.Add(time.Minute).Format(time.RFC3339))
	return c
}

func (p *testPool) cycle() {
	p.Helper()
	if out, err := p.negotiator().CombinedOutput(); err != nil {
		p.Fatalf("negotiate: %v: %s", err, out)
	}
}

// TestTwoForOneClaim starts several supervisors for one claim: only one of them runs the
// job.
func TestTwoForOneClaim(t *testing.T) {
	p := newPool(t)
	const rounds, atOnce = 5, 4
	for range rounds {
		id := p.match(p.recorded(`sleep 0.05; over`))
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				if out, err := p.command("-supervise", id.String()+".1").CombinedOutput(); err != nil {
					t.Errorf("starter -supervise: %v: %s", err, out)
				}
			})
		}
		all.Wait()
		p.until("the job has ended", func() bool { return len(p.queue()) == 0 })
		if got, want := p.history(id, "JobStatus", "NumJobStarts"), "JobStatus=4 NumJobStarts=1"; got != want || len(p.left()[id.Cluster]) != 1 {
			t.Errorf("the job, %d times: %s, want %s once", len(p.left()[id.Cluster]), got, want)
		}
	}
	p.settled()
}

// TestPassesBesideAWatch has passes and a watch start the same matches: each job runs once.
func TestPassesBesideAWatch(t *testing.T) {
	p := newPool(t)
	watch := p.command("-watch", "-q")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { watch.Process.Kill(); watch.Wait() }()
	const rounds, jobs, passes = 6, 3, 2
	for range rounds {
		for range jobs {
			p.match(p.recorded(`sleep 0.02; over`))
		}
		var all sync.WaitGroup
		for range passes {
			all.Go(func() {
				if out, err := p.command("-q").CombinedOutput(); err != nil {
					t.Errorf("starter: %v: %s", err, out)
				}
			})
		}
		all.Wait()
	}
	p.until("all jobs have ended", func() bool { return len(p.queue()) == 0 })
	watch.Process.Signal(syscall.SIGTERM)
	if err := watch.Wait(); err != nil {
		t.Errorf("starter -watch: %v", err)
	}
	for n := range rounds * jobs {
		id := pool.JobID{Cluster: n + 1}
		const want = "JobStatus=4 ExitCode=0 NumJobStarts=1"
		if got := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"); got != want || len(p.left()[n+1]) != 1 || spaced(p.starts(id)) != "1" {
			t.Errorf("job %v, %d times, started by attempts %s: %s, want %s once", id, len(p.left()[n+1]), spaced(p.starts(id)), got, want)
		}
	}
	p.settled()
}

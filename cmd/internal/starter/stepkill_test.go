package starter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/cmd/internal/hooks"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobevent"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// dies names the step at which a starter kills itself, the file that it makes then, so that
// it is the only one, the step at which it does so at the latest, and what else has to be there
// before that, separated by blanks.
const dies = "STARTER_TEST_DIES"

// dieAsTold has this process kill itself when it has reached a step, if the environment
// says so.
func dieAsTold() {
	words := strings.Fields(os.Getenv(dies))
	if len(words) == 0 {
		return
	}
	at, mark, latest, there := words[0], words[1], words[2], words[3:]
	armed := false
	reached = func(s supervise.Step) {
		switch {
		case armed && string(s) == latest:
			die(mark, true) // the look for what has to be there came too late
		case armed || string(s) != at:
		case len(there) == 0:
			die(mark, false)
		default:
			armed = true
			runtime.GOMAXPROCS(2) // the look is not to wait for what it looks at
			go func() {
				for look := time.Tick(20 * time.Microsecond); !allThere(there); <-look {
				}
				die(mark, false)
			}()
		}
	}
}

// die ends the process with SIGKILL, unless another has made the file mark before, and writes
// its id and late into that file.
func die(mark string, late bool) {
	f, err := os.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return
	}
	fmt.Fprintln(f, os.Getpid(), late)
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

// dying is starter with what makes it, or its supervisor, die at a step or, when other files are
// there, up to a later one.
func (p *testPool) dying(at, latest supervise.Step, there []string, args ...string) *exec.Cmd {
	words := []string{string(at), filepath.Join(p.dir, "died"), string(cmp.Or(latest, at))}
	for _, path := range there {
		words = append(words, filepath.Join(p.spool.Dir(), path))
	}
	c := p.command(args...)
	c.Env = append(c.Env, dies+"="+strings.Join(words, " "))
	return c
}

// died waits until the process has died that was told to, and returns whether it did so late.
func (p *testPool) died() (late bool) {
	p.Helper()
	pid := p.pid("died")
	p.until("it is dead", func() bool { return !alive(pid) })
	return strings.HasSuffix(p.read("died"), "true\n")
}

// script returns a process that runs a job's script, without any starter.
func (p *testPool) script(script string, env ...string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", script)
	c.Dir, c.Env = p.dir, append(os.Environ(), env...)
	return c
}

const (
	quickJob = `[ -s HERE/data ] && cat data >result; [ $a = 1 ] && { echo >>HERE/first; ` + awaitGo + `; }; over`
	// stubbornJob does not leave for the asking.
	stubbornJob = `[ $a = 1 ] && { trap "" TERM; setsid ` + linger + ` & echo >>HERE/first; ` + hang + `; }; over`
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
	t.Parallel()
	one := "execute/1.0.1/"
	kept := "execute/1.0.kept"
	for _, c := range []struct {
		name    string
		at      supervise.Step
		there   []string       // what has to be there, too
		latest  supervise.Step // at which it is killed if that was there for too short a time
		script  string
		told    bool   // the first attempt is held, and then released
		rescuer bool   // a pass dies, after a supervisor that ran the job
		starts  string // which attempts began the program; "|" stands between what may be
		counted int    // NumJobStarts
		events  string // "|" stands before those of one that was killed at the latest step
		resumed string // as events
	}{
		{name: "locked", at: stepLocked, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		// The program was never executed, which nobody but the dead one could know.
		{name: "begun", at: stepBegun, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "before the files", at: stepPlacing, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "the scratch directory alone", at: stepPlacing, there: []string{one}, latest: stepPlaced, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		{name: "placed", at: stepPlaced, script: quickJob, starts: "2", counted: 2, events: "7 1 5"},
		// Of the beginning the event log is told by nobody else.
		{name: "executed", at: stepExecuted, script: quickJob, starts: "2|1 2", counted: 2, events: "7 1 5"},
		{name: "logged", at: stepLogged, there: []string{"../attempts/start.1.0.1"}, latest: stepEnded, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "told to leave", at: stepTold, script: stubbornJob, told: true, starts: "1 2", counted: 2, events: "1 7 12 1 5"},
		{name: "killed its job", at: stepKilled, script: stubbornJob, told: true, starts: "1 2", counted: 2, events: "1 7 12 1 5"},
		{name: "ended", at: stepEnded, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "alone", at: stepAlone, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "storing", at: stepAlone, there: []string{"../.fairspool-*"}, latest: stepStored, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "stored", at: stepStored, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "tidied", at: stepTidied, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "kept", at: stepKept, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "finished", at: stepFinished, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		{name: "concluded", at: stepConcluded, script: quickJob, starts: "1", counted: 1, events: "1 5"},
		{name: "unlocked", at: stepUnlocked, script: quickJob, starts: "1", counted: 1, events: "1 5"},

		{name: "before the checkpoint", at: stepAlone, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 3 5", resumed: "one two"},
		{name: "in the checkpoint", at: stepAlone, there: []string{kept + ".new/files/1*"}, latest: stepCheckpointed, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 3 5|1 7 1 3 5", resumed: "one two"},
		{name: "checkpointed", at: stepCheckpointed, script: steadyJob, starts: "1 2", counted: 2, events: "1 7 1 3 5", resumed: "one two"},
		{name: "resuming", at: stepResuming, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 3 5", resumed: "one two"},
		{name: "in the second checkpoint", at: stepResuming, there: []string{kept + ".new/files/1*"}, latest: stepCheckpointed, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 3 5|1 3 7 1 5", resumed: "one one two|one two"},
		{name: "checkpoints exchanged", at: stepResuming, there: []string{kept + ".new", kept + "/two"}, latest: stepCheckpointed, script: steadyJob, starts: "1 2", counted: 2, events: "1 3 7 1 5", resumed: "one two"},

		{name: "rescuer alone", at: stepAlone, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer kept", at: stepKept, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer finished", at: stepFinished, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer concluded", at: stepConcluded, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
		{name: "rescuer tidied", at: stepTidied, rescuer: true, script: quickJob, starts: "1 2", counted: 2, events: "1 7 1 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			pairs := []string{"JobMaxVacateTime", "1000", "ShouldTransferFiles", `"YES"`, "NotifyCommand", `"/bin/true"`, "NotifyEvents", classad.Quoted(jobevent.All.String())}
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
				p.dying(c.at, c.latest, c.there, "-q").Run()
			default:
				p.dying(c.at, c.latest, c.there, "-q").Run()
				if c.told {
					p.until("the job is there", func() bool { return p.read("first") != "" })
					p.hold(id)
				}
			}
			p.open()
			late := p.died()
			if info, err := os.Stat(filepath.Join(p.dir, "result")); err == nil && info.Size() != int64(len(p.read("data"))) {
				t.Errorf("the output has %d bytes when its copying was interrupted, want none or all", info.Size())
			}
			p.repaired(id)
			if c.told {
				p.release(id)
			}
			p.rematch()
			p.starter(0, 0, "-q", "-wait")
			p.settled()
			want := fmt.Sprintf("JobStatus=4 ExitCode=0 NumJobStarts=%d", c.counted)
			if got := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"); got != want || len(p.left()[id.Cluster]) != 1 {
				t.Errorf("the job, %d times: %s, want %s once", len(p.left()[id.Cluster]), got, want)
			}
			if got := spaced(p.starts(id)); !slices.Contains(strings.Split(c.starts, "|"), got) {
				t.Errorf("the program was started by attempts %s, want %s", got, c.starts)
			}
			if got, want := spaced(p.events(id, "log")), choose(c.events, late); got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			if got, want := p.ordered(), kindsOf(choose(c.events, late)); got != want {
				t.Errorf("commands are to be run for the events %s, want %s", got, want)
			}
			if got, want := strings.Join(strings.Fields(p.read("resumed")), " "), choose(c.resumed, late); got != want {
				t.Errorf("it went on from %q, want %q", got, want)
			}
			if c.script == quickJob && p.read("result") != p.read("data") {
				t.Errorf("the output has %d bytes, want the %d of the input", len(p.read("result")), len(p.read("data")))
			}
		})
	}
}

// ordered returns the events for which commands wait to be run, in their order.
func (p *testPool) ordered() string {
	p.Helper()
	var kinds []string
	for _, path := range hooks.Due(p.spool.ClaimLock("")) {
		text, err := os.ReadFile(path)
		if err != nil {
			p.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var o hooks.Order
			if !strings.HasPrefix(line, "end ") {
				if err := json.Unmarshal([]byte(line), &o); err != nil {
					p.Fatalf("%s: %v", path, err)
				}
				kinds = append(kinds, o.Kind.String())
			}
		}
	}
	if kept, _ := filepath.Glob(p.spool.ClaimLock("hook.*")); len(kept) > 0 {
		p.Errorf("kept are %v, want none when all is over", kept)
	}
	return strings.Join(kinds, " ")
}

// kindsOf returns the kinds of events for which commands are run, of events by their numbers in logs.
func kindsOf(events string) string {
	by := map[string]jobevent.Kind{"1": jobevent.Started, "4": jobevent.Evicted, "5": jobevent.Ended, "7": jobevent.Evicted, "9": jobevent.Removed, "12": jobevent.Held, "13": jobevent.Released}
	var kinds []string
	for _, number := range strings.Fields(events) {
		if k, is := by[number]; is {
			kinds = append(kinds, k.String())
		}
	}
	return strings.Join(kinds, " ")
}

// choose returns what a text has before "|" or, late, behind it.
func choose(text string, late bool) string {
	soon, other, differ := strings.Cut(text, "|")
	if late && differ {
		return other
	}
	return soon
}

// repaired runs a pass and holds that no attempt is left whose supervisor is gone.
func (p *testPool) repaired(id pool.JobID) {
	p.Helper()
	lost := p.orphaned()
	if out, err := p.command("-q").CombinedOutput(); err != nil {
		p.Errorf("starter: %v: %s", err, out)
	}
	for _, c := range lost {
		if c.State == pool.Matched {
			continue // it is begun now
		}
		if left := processesWith("environ", []byte(p.mark()+c.LockName()+"\x00")); len(left) > 0 {
			p.Errorf("after a pass processes %v are left of attempt %s, which is over", left, c.LockName())
		}
	}
	if left := p.orphaned(); len(left) > 0 {
		p.Errorf("after a pass the claims of job %v are %+v, want them in a supervisor's hands", id, left)
	}
}

// orphaned returns the claims that are not in the hands of a living supervisor.
func (p *testPool) orphaned() []pool.Claim {
	p.Helper()
	return slices.DeleteFunc(p.claims(), func(c pool.Claim) bool {
		if c.State == pool.RunningClaim && alive(c.PID) {
			return true
		}
		// A supervisor may have ended its attempt, and then itself, since the claims were read.
		return !slices.ContainsFunc(p.claims(), func(again pool.Claim) bool { return again.LockName() == c.LockName() })
	})
}

// TestKilledBetweenJobs has a supervisor killed when the end of its job is recorded, and
// with it that the next one has the slot.
func TestKilledBetweenJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     supervise.Step
		events string // of the first job
	}{
		{stepFinished, "1 5"}, {stepConcluded, "1 5"}, {stepUnlocked, "1 5"},
	} {
		t.Run(string(c.at), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.slot(1)
			first := p.submit(p.job(p.recorded(`over`), "Requirements", "true", "UserLog", `"log1"`))
			second := p.submit(p.job(p.recorded(`over`), "Requirements", "true", "UserLog", `"log2"`))
			p.cycle()
			p.dying(c.at, "", nil, "-q").Run()
			p.died()
			if got, want := p.queued(second, "JobStatus"), "JobStatus=2"; got != want {
				t.Fatalf("the second job: %s, want %s: the slot goes on with it", got, want)
			}
			p.repaired(second)
			p.cycle()
			p.starter(0, 0, "-q", "-wait")
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

// negotiator returns a cycle that works on the pool.
func (p *testPool) negotiator() *exec.Cmd {
	p.Helper()
	c := exec.Command(filepath.Join(testenv.Commands(p), "negotiate"), "-spool", p.spool.Dir(), "-config", p.config, "-q")
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
	t.Parallel()
	p := newPool(t)
	const rounds, atOnce = 3, 4
	for range rounds {
		id := p.match(p.recorded(awaitGo + `; over`))
		ended := make(chan struct{}, atOnce)
		for range atOnce {
			go func() {
				if out, err := p.command("-supervise", id.String()+".1").CombinedOutput(); err != nil {
					t.Errorf("starter -supervise: %v: %s", err, out)
				}
				ended <- struct{}{}
			}()
		}
		for range atOnce - 1 {
			<-ended
		}
		p.letGo(1)
		<-ended
		p.until("the job has ended", func() bool { return len(p.queue()) == 0 })
		if got, want := p.history(id, "JobStatus", "NumJobStarts"), "JobStatus=4 NumJobStarts=1"; got != want || len(p.left()[id.Cluster]) != 1 {
			t.Errorf("the job, %d times: %s, want %s once", len(p.left()[id.Cluster]), got, want)
		}
	}
	p.settled()
}

// TestPassesBesideAWatch has passes and a watch start the same matches: each job runs once.
func TestPassesBesideAWatch(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	watch := p.command("-watch", "-q")
	testenv.OK(t, watch.Start())
	defer func() { watch.Process.Kill(); watch.Wait() }()
	const rounds, jobs, passes = 3, 3, 2
	for range rounds {
		for range jobs {
			p.match(p.recorded(`over`))
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

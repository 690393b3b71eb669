package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func (p *testPool) hold(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("hold", id.String())
		_, err := lifecycle.Hold(tx, pool.Only(id), pool.Reason{Text: "held by alice", Code: jobpolicy.ByUser}, matchedAt.Add(time.Minute), params)
		return err
	})
}

func (p *testPool) release(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("release", id.String())
		_, err := lifecycle.Release(tx, pool.Only(id), "released by alice", matchedAt.Add(time.Minute))
		return err
	})
}

// logged waits until the event log has all of these, and holds that it has none of
// those behind a minus.
func (p *testPool) logged(texts ...string) {
	p.Helper()
	for _, text := range texts {
		if not, unwanted := strings.CutPrefix(text, "-"); unwanted {
			if strings.Contains(p.read("log"), not) {
				p.Errorf("the event log has %q, want it without:\n%s", not, p.read("log"))
			}
			continue
		}
		p.until("the event log has "+text, func() bool { return strings.Contains(p.read("log"), text) })
	}
}

// held is a job that takes its leave when it is told that it is held, once it may.
const heldScript = `trap "echo told >told; ` + awaitGo + `; echo leaving; exit 0" USR2
echo $$ >main; ` + heed

func TestHold(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(heldScript, "KillSig", `"SIGHUP"`, "RemoveKillSig", `"SIGINT"`, "HoldKillSig", `"SIGUSR2"`)
	p.running(id)
	p.pid("main")
	p.hold(id)
	p.until("the job is told", func() bool { return p.read("told") != "" })
	if got := p.state(id); got != pool.Vacating {
		t.Errorf("while the job leaves its claim is %v, want Vacating", got)
	}
	p.open()
	p.noClaims()
	const want = `JobStatus=5 HoldReason="held by alice" HoldReasonCode=1 NumJobStarts=1 ExitCode=undefined`
	if got := p.queued(id, "JobStatus", "HoldReason", "HoldReasonCode", "NumJobStarts", "ExitCode"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.logged("012 (001.000.000)", "\theld by alice\n\tCode 1 Subcode 0\n", "\n004 ", "-\n005 ")
	p.starter(0, 0)

	p.release(id)
	p.open()
	p.rematch()
	p.running(id)
	p.remove(id)
	p.noClaims()
	if got, want := p.read("out"), ""; got != want {
		t.Errorf("output of the second run = %q, want %q: it was removed by SIGINT", got, want)
	}
}

func TestReleasedWhileItLeaves(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(heldScript, "HoldKillSig", `"SIGUSR2"`)
	p.running(id)
	p.pid("main")
	p.hold(id)
	p.until("the job is told", func() bool { return p.read("told") != "" })
	p.release(id)
	if got, want := p.queued(id, "JobStatus"), "JobStatus=2"; got != want {
		t.Errorf("while the job leaves: %s, want %s", got, want)
	}
	p.open()
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "LastHoldReason"), `JobStatus=1 LastHoldReason="held by alice"`; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.logged("004 (001.000.000)", "\tReason: held: held by alice\n", "-\n012 ")
}

// inProduct is lookEvery but for the tests, which look more often.
var inProduct = lookEvery

// A job knows within a second that it has to leave.
func TestLooksEverySecond(t *testing.T) {
	if inProduct > time.Second {
		t.Errorf("a supervisor looks every %v, want every second at least", inProduct)
	}
}

// A preempted job that is held while it leaves stays held.
func TestHeldWhileItLeaves(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(heldScript, "KillSig", `"SIGUSR2"`)
	p.running(id)
	p.pid("main")
	p.update(func(tx *spool.Tx) error {
		tx.Op("vacate")
		lifecycle.Vacate(tx, id, pool.Reason{Text: "preempted"}, matchedAt.Add(time.Minute), params)
		return nil
	})
	p.until("the job is told", func() bool { return p.read("told") != "" })
	p.hold(id)
	p.open()
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "VacateReason"), `JobStatus=5 VacateReason="preempted"`; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.logged("012 (001.000.000)", "\n004 ")
}

// A held job that does not leave is killed; its supervisor may die before that.
func TestHoldOfStubborn(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"killed after its vacate time": false, "its supervisor dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			patience, left := "0.1", "\n004 "
			if kill {
				patience, left = "1000", "\n007 "
			}
			id := p.match(`trap "echo told >told" TERM; echo $$ >main; `+heed, "JobMaxVacateTime", patience)
			c := p.running(id)
			main := p.pid("main")
			p.hold(id)
			if kill {
				p.until("the job is told", func() bool { return p.read("told") != "" })
				syscall.Kill(c.PID, syscall.SIGKILL)
				p.until("the supervisor is dead", func() bool { return !alive(c.PID) })
				p.starter(0, 0)
			}
			p.noClaims()
			if alive(main) {
				t.Error("the job is alive after its hold")
			}
			if got, want := p.queued(id, "JobStatus", "HoldReasonCode"), "JobStatus=5 HoldReasonCode=1"; got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			p.logged("012 (001.000.000)", left)
		})
	}
}

// TestEvents follows how attempts end to the job's state and its event.
func TestEvents(t *testing.T) {
	t.Parallel()
	hold := func(p *testPool, id pool.JobID) { p.hold(id) }
	remove := func(p *testPool, id pool.JobID) { p.remove(id) }
	for _, c := range []struct {
		name   string
		pairs  []string
		before func(p *testPool, id pool.JobID)
		how    pool.Ending
		state  string // in the queue, or gone
		logged []string
	}{
		{"ended", nil, nil, pool.Ending{Code: 3}, "gone", []string{"005 (001", "return value 3"}},
		{"ended before it was told of its hold", nil, hold, pool.Ending{Code: 3}, "gone", []string{"005 (001", "return value 3", "-012 ("}},
		{"ended and stays", []string{"LeaveJobInQueue", "true"}, nil, pool.Ending{Code: 3}, "JobStatus=4", []string{"005 (001", "-004 ("}},
		{"removed and stays", []string{"LeaveJobInQueue", "true"}, remove, pool.Ending{}, "JobStatus=3", []string{"009 (001", "\tremoved by alice\n", "004 (", "-005 ("}},
		{"once more", []string{"OnExitRemove", "ExitCode == 0"}, nil, pool.Ending{Code: 3}, "JobStatus=1",
			[]string{"004 (001", "\t(0) Job terminated and was requeued\n", "\t(1) Normal termination (return value 3)\n\tThe job attribute OnExitRemove expression 'ExitCode == 0' evaluated to FALSE\n...\n", "-005 ("}},
		{"once more after a signal", []string{"OnExitRemove", "ExitCode =?= 0"}, nil, pool.Ending{Signal: 11}, "JobStatus=1",
			[]string{"004 (001", "\t(0) Job terminated and was requeued\n", "\t(0) Abnormal termination (signal 11)\n"}},
		{"held on exit", []string{"OnExitHold", "ExitCode == 3", "OnExitHoldReason", `"three"`, "OnExitHoldSubCode", "7"}, nil, pool.Ending{Code: 3}, "JobStatus=5",
			[]string{"012 (001", "\tthree\n\tCode 3 Subcode 7\n", "-005 ("}},
		{"held and lost", nil, hold, pool.Ending{Lost: supervisorDied, Died: true}, "JobStatus=5",
			[]string{"007 (001", "\tits supervisor died\n", "012 (001", "\theld by alice\n\tCode 1 Subcode 0\n", "-004 ("}},
		{"removed and lost", nil, remove, pool.Ending{Lost: supervisorDied, Died: true}, "gone", []string{"007 (001", "009 (001", "-004 ("}},
		{"lost", nil, nil, pool.Ending{Lost: supervisorDied, Died: true}, "JobStatus=1", []string{"007 (001", "\tits supervisor died\n", "-004 ("}},
		{"given back", nil, nil, pool.Ending{Lost: "its supervisor was sent SIGTERM", VacateCode: pool.SupervisorStopped}, "JobStatus=1",
			[]string{"004 (001", " Job was evicted. Code 1013 Subcode 0\n", "\t(0) CPU times\n", "\tReason: its supervisor was sent SIGTERM\n"}},
		{"given back with a checkpoint", nil, nil, pool.Ending{Lost: "drained", VacateCode: lifecycle.MachineDrained, Checkpointed: true}, "JobStatus=1",
			[]string{"004 (001", " Job was evicted. Code 1014 Subcode 0\n", "\t(1) Job was checkpointed.\n"}},
		{"not executed for now", nil, nil, pool.Ending{Lost: "text file busy", NotStarted: true}, "JobStatus=1", []string{"007 (001", "\ttext file busy\n", "-004 ("}},
		{"not executed", nil, nil, pool.Ending{StartFailed: "no such program"}, "JobStatus=5", []string{"012 (001", "\tno such program\n", "-004 (", "-007 ("}},
		{"held before it was executed", nil, hold, pool.Ending{Lost: "held", NotStarted: true}, "JobStatus=5", []string{"012 (001", "-004 (", "-007 ("}},
		{"with a core file", nil, nil, pool.Ending{Signal: 11, Core: "/x/core.12.0"}, "gone", []string{"005 (001", "(signal 11)\n\t(1) Corefile in: /x/core.12.0\n"}},
		{"with files", nil, nil, pool.Ending{Sent: 7, Received: 5}, "gone", []string{"\t7  -  Run Bytes Sent", "\t5  -  Run Bytes Received", "\t7  -  Total Bytes Sent"}},
		{"what it used", []string{"RequestMemory", "100"}, nil,
			pool.Ending{Wall: 100 * time.Second, UserCPU: 90 * time.Second, MaxRSSKB: 2000, DiskKB: 12, Reported: pool.Progress{Wall: 60 * time.Second, UserCPU: 60 * time.Second}},
			"gone", []string{
				"\t\tUsr 0 00:01:30, Sys 0 00:00:00  -  Run Remote Usage\n", "\t\tUsr 0 00:00:30, Sys 0 00:00:00  -  Total Remote Usage\n", // the ad has not what was reported here
				"Partitionable Resources :", "Cpus                 :      0.9 ", "Disk (KB)            :       12 ", "Memory (MB)          :        2      100 ",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(`exit 0`, c.pairs...)
			p.update(func(tx *spool.Tx) error { return lifecycle.Begin(tx, id, 1, matchedAt, 1<<30, params) })
			if c.before != nil {
				c.before(p, id)
			}
			now := accountant.Reading{Now: matchedAt.Add(time.Hour)}
			lock, err := lockClaim(p.spool.ClaimLock(id.String() + ".1"))
			if err != nil {
				t.Fatal(err)
			}
			if err := finish(p.spool, new(lifecycle.Answers), pool.Attempt{Job: id, Number: 1}, lock.file, end{c.how, now.Now, now}, params, "", func(err error) { t.Error(err) }, nil); err != nil {
				t.Fatal(err)
			}
			lock.remove()
			if got := p.queued(id, "JobStatus"); got != c.state {
				t.Errorf("the job: %s, want %s", got, c.state)
			}
			p.logged(c.logged...)
			p.noClaims()
		})
	}
}

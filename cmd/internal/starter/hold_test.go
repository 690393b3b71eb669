package starter

import (
	"strings"
	"syscall"
	"testing"
	"time"

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

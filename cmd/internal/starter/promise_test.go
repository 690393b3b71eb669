package starter

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// advertise makes the ad of slot N of node1, whose State and RemoteUser are these.
func (p *testPool) advertise(n int, state, user string) {
	p.Helper()
	name := fmt.Sprintf("slot%d@node1", n)
	ad := classad.New()
	ad.SetString("Name", name)
	ad.SetString("Machine", "node1")
	ad.SetString("State", state)
	if user != "" {
		ad.SetString("RemoteUser", user)
	}
	p.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		tx.PutSlot(name, ad)
		return nil
	})
}

// preempt submits a job of bob's and gives it the slot N that another claim or,
// without a job, somebody else holds.
func (p *testPool) preempt(n int, holder pool.JobID, script string) (id pool.JobID) {
	p.Helper()
	ad := p.job(script, "Owner", `"bob"`, "Out", `"bobs"`)
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		id.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		return nil
	})
	var seen lifecycle.Snapshot
	err := p.spool.View(func(v *spool.View) error {
		seen = lifecycle.TakeSnapshot(v, "example.org", nil, policy.Beside{})
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	preempted := &negotiator.Preempted{Submitter: "carol@elsewhere", Weight: accountant.One}
	if holder != (pool.JobID{}) {
		preempted = &negotiator.Preempted{Job: holder, Attempt: 1, Submitter: submitter, Weight: accountant.One}
	}
	plan := &negotiator.Plan{Matches: []negotiator.Match{{
		Job: id, Submitter: "bob@example.org", Slot: fmt.Sprintf("slot%d@node1", n), Weight: accountant.One, Reason: negotiator.RankPreemption, Preempts: preempted,
	}}}
	p.update(func(tx *spool.Tx) error {
		if made := lifecycle.Match(tx, plan, seen, matchedAt.Add(time.Minute), params); len(made) != 1 {
			p.Fatalf("%d matches, want the one that preempts", len(made))
		}
		return nil
	})
	return id
}

func (p *testPool) state(id pool.JobID) pool.ClaimState {
	for _, c := range p.claims() {
		if c.Job == id {
			return c.State
		}
	}
	return 0
}

// TestPreempted follows a slot from a job that is told to leave to the one that it is
// promised to.
func TestPreempted(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.advertise(1, "Unclaimed", "")
	old := p.match(`trap "echo leaving; echo >told; `+awaitGo+`; exit 0" USR1; echo $$ >main; `+heed,
		"KillSig", `"SIGUSR1"`, "RemoveKillSig", `"SIGHUP"`)
	p.running(old)
	p.pid("main")
	next := p.preempt(1, old, `echo in`)
	p.until("the job is told to leave", func() bool { return p.read("told") != "" })
	p.starter(0, 0)
	if got := p.state(next); got != pool.Promised {
		t.Errorf("while the slot is vacated the claim is %v, want Promised", got)
	}
	p.open()
	p.until("the promise is kept", func() bool { return p.state(next) == pool.Matched })
	const want = "JobStatus=1 VacateReasonCode=1018 NumJobStarts=1"
	if got := p.queued(old, "JobStatus", "VacateReasonCode", "NumJobStarts"); got != want {
		t.Errorf("the preempted job's ad: %s, want %s", got, want)
	}
	why := p.reason(old, "VacateReason")
	p.until("the event log has the eviction and why", func() bool {
		log := p.read("log")
		return strings.Contains(log, "004 (001.000.000)") && strings.Contains(log, why)
	})
	p.starter(0, 1, "-wait")
	if got, want := p.read("out")+p.read("bobs"), "leaving\nin\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	if got := p.history(next, "JobStatus"); got != "JobStatus=4" {
		t.Errorf("the job that it was promised to: %s, want JobStatus=4", got)
	}
	p.noClaims()
}

// A pass that finds the supervisor of a preempted job dead starts the job that its
// slot was promised to.
func TestPreemptedSupervisorKilled(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.advertise(1, "Unclaimed", "")
	old := p.match(`trap "echo >told" TERM; echo $$ >main; ` + heed)
	c := p.running(old)
	main := p.pid("main")
	next := p.preempt(1, old, `echo in`)
	p.until("the job is told to leave", func() bool { return p.read("told") != "" })
	if err := syscall.Kill(c.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("the supervisor is dead", func() bool { return !alive(c.PID) })
	p.starter(0, 1, "-wait")
	if alive(main) {
		t.Error("the preempted job is alive after the pass, want it dead")
	}
	const want = "JobStatus=1 VacateReasonCode=1018"
	if got := p.queued(old, "JobStatus", "VacateReasonCode"); got != want {
		t.Errorf("the preempted job's ad: %s, want %s", got, want)
	}
	if got := p.history(next, "JobStatus"); got != "JobStatus=4" {
		t.Errorf("the job that it was promised to: %s, want JobStatus=4", got)
	}
	p.noClaims()
}

// A pass sees that a slot which somebody held by its own words came free.
func TestPromisedFromOutside(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.advertise(1, "Claimed", "carol@elsewhere")
	next := p.preempt(1, pool.JobID{}, `echo in`)
	p.starter(0, 0)
	if got := p.state(next); got != pool.Promised {
		t.Errorf("while somebody has the slot the claim is %v, want Promised", got)
	}
	p.advertise(1, "Unclaimed", "")
	p.starter(0, 1, "-wait")
	if got := p.read("bobs"); got != "in\n" {
		t.Errorf("output = %q, want in", got)
	}
	p.noClaims()
}

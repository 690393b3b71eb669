package starter

import (
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// forever is a job that leaves when it is told to.
const forever = `echo $$ >main; ` + hang

// TestPolicy holds that a running job's own policy is carried out while nothing else
// looks at the queue.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		interval string // PERIODIC_EXPR_INTERVAL
		pairs    []string
		want     string // of JobStatus, HoldReasonCode, HoldReasonSubCode, or the history's JobStatus
		logged   []string
	}{
		{"execute duration", "60", []string{"AllowedExecuteDuration", "1"}, "JobStatus=5 HoldReasonCode=47 HoldReasonSubCode=0",
			[]string{"012 (001", "\tThe job exceeded allowed execute duration of 0:01\n\tCode 47 Subcode 0\n"}},
		{"job duration, and no expressions", "0", []string{"AllowedJobDuration", "1"}, "JobStatus=5 HoldReasonCode=46 HoldReasonSubCode=0", []string{"012 (001"}},
		{"periodic hold by the time of this attempt", "0.05", []string{"PeriodicHold", "RemoteWallClockTime > 1000.2", "RemoteWallClockTime", "1000.0", "PeriodicHoldSubCode", "9"},
			"JobStatus=5 HoldReasonCode=3 HoldReasonSubCode=9", []string{"012 (001", "The job attribute PeriodicHold expression 'RemoteWallClockTime > 1000.2' evaluated to TRUE"}},
		{"periodic hold by processor time", "0.05", []string{"PeriodicHold", "RemoteUserCpu + RemoteSysCpu > 0"}, "JobStatus=5 HoldReasonCode=3 HoldReasonSubCode=0", nil},
		{"periodic hold by memory", "0.05", []string{"PeriodicHold", "MemoryUsage >= 1 && ResidentSetSize > 100"}, "JobStatus=5 HoldReasonCode=3 HoldReasonSubCode=0", nil},
		{"periodic vacate", "0.05", []string{"PeriodicVacate", "NumJobStarts == 1 && RemoteWallClockTime > 0"}, "JobStatus=1 HoldReasonCode=undefined HoldReasonSubCode=undefined",
			[]string{"004 (001", "PeriodicVacate"}},
		{"periodic remove", "0.05", []string{"PeriodicRemove", "JobStatus == 2 && RemoteWallClockTime > 0"}, "gone", []string{"009 (001", "PeriodicRemove"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nPERIODIC_EXPR_INTERVAL = "+c.interval+"\n")
			id := p.match(forever, c.pairs...)
			p.starter(0, 1)
			p.noClaims()
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
			p.logged(c.logged...)
			if got := p.read("spool/starter.log"); got != "" {
				t.Errorf("starter.log = %q, want nothing", got)
			}
		})
	}
}

// What is set while the job runs counts at once, whether it had a policy before or not.
func TestPolicySetLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ attr, expr, want string }{
		"a limit":       {"AllowedExecuteDuration", "0", "JobStatus=5 HoldReasonCode=47"},
		"an expression": {"PeriodicHold", "JobStatus == 2", "JobStatus=5 HoldReasonCode=3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t) // expressions are looked at once a minute
			id := p.match(forever)
			p.starter(0, 1)
			p.pid("main")
			e, err := classad.ParseExpr(c.expr)
			testenv.OK(t, err)
			p.update(func(tx *spool.Tx) error {
				tx.Op("set", id.String())
				tx.Set(id, c.attr, e)
				return nil
			})
			p.noClaims()
			if got := p.queued(id, "JobStatus", "HoldReasonCode"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
		})
	}
}

func TestDeferral(t *testing.T) {
	t.Parallel()
	now := matchedAt.Add(time.Minute).Unix() // of the passes
	at := func(seconds int64) string { return classad.Int(now + seconds).String() }

	t.Run("ahead", func(t *testing.T) {
		t.Parallel()
		p := newPool(t)
		id := p.match(`echo in`, "DeferralTime", at(1))
		before := time.Now()
		p.starter(0, 1)
		p.noClaims()
		if took := time.Since(before); took < time.Second {
			t.Errorf("the job ended after %v, want 1s and more", took)
		}
		if got, want := p.read("out")+p.history(id, "JobStatus", "NumJobStarts"), "in\nJobStatus=4 NumJobStarts=1"; got != want {
			t.Errorf("output and ad: %q, want %q", got, want)
		}
	})
	t.Run("waited for", func(t *testing.T) {
		t.Parallel()
		p := newPool(t)
		id := p.match(`exit 0`, "DeferralTime", at(1))
		p.starter(0, 1, "-wait")
		if got, want := p.history(id, "JobStatus"), "JobStatus=4"; got != want {
			t.Errorf("after the pass that waits: %s, want %s", got, want)
		}
	})
	t.Run("within the window", func(t *testing.T) {
		t.Parallel()
		p := newPool(t)
		id := p.match(`exit 0`, "DeferralTime", at(-10), "DeferralWindow", "1000")
		p.starter(0, 1, "-wait")
		if got, want := p.history(id, "JobStatus"), "JobStatus=4"; got != want {
			t.Errorf("the job: %s, want %s", got, want)
		}
	})
	t.Run("missed", func(t *testing.T) {
		t.Parallel()
		p := newPool(t)
		id := p.match(`echo in`, "DeferralTime", at(-60), "DeferralWindow", "30", "TransferInput", `"nothing"`)
		out, _ := p.command("-q").CombinedOutput()
		if !strings.HasPrefix(string(out), "starter: job 1.0: The job missed its execution time") {
			t.Errorf("starter says %q, want that the time was missed", out)
		}
		if got, want := p.queued(id, "JobStatus", "HoldReasonCode", "NumJobStarts"), "JobStatus=5 HoldReasonCode=20 NumJobStarts=0"; got != want {
			t.Errorf("the job: %s, want %s", got, want)
		}
		p.logged("012 (001", "\tCode 20 Subcode 0\n")
		p.noClaims()
	})
	for name, c := range map[string]struct {
		do    func(p *testPool, id pool.JobID)
		pairs []string
		want  string
	}{
		"held":                  {func(p *testPool, id pool.JobID) { p.hold(id) }, nil, "JobStatus=5 HoldReasonCode=1 NumJobStarts=0"},
		"removed":               {func(p *testPool, id pool.JobID) { p.remove(id) }, nil, "gone"},
		"held and released":     {func(p *testPool, id pool.JobID) { p.hold(id); p.release(id) }, nil, "JobStatus=1 HoldReasonCode=undefined NumJobStarts=0"},
		"too long in its slot":  {func(p *testPool, id pool.JobID) {}, []string{"AllowedJobDuration", "1"}, "JobStatus=5 HoldReasonCode=46 NumJobStarts=0"},
		"its files have to go":  {func(p *testPool, id pool.JobID) { p.hold(id) }, []string{"ShouldTransferFiles", `"YES"`}, "JobStatus=5 HoldReasonCode=1 NumJobStarts=0"},
		"wanted by nobody else": {func(p *testPool, id pool.JobID) {}, []string{"PeriodicRemove", "JobStatus == 2"}, "gone"},
	} {
		t.Run(name+" while it waits", func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nPERIODIC_EXPR_INTERVAL = 0.05\n")
			id := p.match(`echo in`, append(c.pairs, "DeferralTime", at(100000))...)
			if c.pairs != nil { // which may end it before the pass counts what it has started
				if out, err := p.command("-q").CombinedOutput(); err != nil {
					t.Fatalf("starter -q: %v: %s", err, out)
				}
			} else if p.starter(0, 1); p.state(id) != pool.RunningClaim {
				t.Errorf("after the pass the claim is %v, want it running", p.state(id))
			}
			c.do(p, id)
			p.nothingLeft()
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "NumJobStarts"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
			if got := p.read("out"); got != "" {
				t.Errorf("output = %q, want none: the time has not come", got)
			}
			for _, event := range []string{"001", "004"} {
				if strings.Contains("\n"+p.read("log"), "\n"+event+" ") {
					t.Errorf("the event log says that the job was executed:\n%s", p.read("log"))
				}
			}
		})
	}
}

// A job that has to leave and is let run on for its retirement time is not above its own
// limits for that.
func TestPolicyWhileRetiring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		attr, expr  string // at first
		later, wish string // set while it retires; empty: nothing
		want        string
	}{
		{"a limit", "AllowedExecuteDuration", "2", "", "", "JobStatus=5 HoldReasonCode=47"},
		{"an expression", "PeriodicHold", "Stop =?= true", "Stop", "true", "JobStatus=5 HoldReasonCode=3"},
		{"a limit that is set later", "Stop", "false", "AllowedExecuteDuration", "0", "JobStatus=5 HoldReasonCode=47"},
		{"removed", "PeriodicRemove", "Stop =?= true", "Stop", "true", "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nMAXJOBRETIREMENTTIME = \"1000\"\nPERIODIC_EXPR_INTERVAL = 0.05\n")
			p.slot(1)
			id := p.match(forever, c.attr, c.expr)
			p.running(id)
			p.pid("main")
			p.update(func(tx *spool.Tx) error {
				lifecycle.Drain(tx, lifecycle.Drained{Machine: "node1", By: "root", At: matchedAt}, matchedAt, params)
				return nil
			})
			if c.later != "" {
				e, err := classad.ParseExpr(c.wish)
				testenv.OK(t, err)
				p.update(func(tx *spool.Tx) error { tx.Op("set", id.String()); tx.Set(id, c.later, e); return nil })
			}
			p.noClaims()
			if got := p.queued(id, "JobStatus", "HoldReasonCode"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
		})
	}
}

// A limit that is over while the spool is locked is seen to when it is not any more.
func TestLimitWhileLocked(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(forever, "AllowedExecuteDuration", "1")
	p.starter(0, 1, "-lock-wait", "0")
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	p.until("the supervisor complains", func() bool {
		return strings.Contains(p.read("spool/starter.log"), "job 1.0, attempt 1: the spool is locked")
	})
	if got, want := p.queued(id, "JobStatus"), "JobStatus=2"; got != want {
		t.Errorf("while the spool is locked: %s, want %s", got, want)
	}
	testenv.OK(t, lock.Unlock())
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "HoldReasonCode"), "JobStatus=5 HoldReasonCode=47"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	if got := strings.Count(p.read("spool/starter.log"), "\n"); got != 1 {
		t.Errorf("starter.log has %d lines, want one:\n%s", got, p.read("spool/starter.log"))
	}
}

// A job that the kernel has stopped for its limit while the spool is locked is held when it is
// not any more.
func TestStoppedWhileLocked(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nSTARTD_ENFORCE_DISK_LIMITS = true\n")
	id := p.match(`echo $$ >main; `+awaitGo+`; exec head -c 2000000 /dev/zero >"$_CONDOR_SCRATCH_DIR/file"`, "RequestDisk", "1000")
	p.starter(0, 1, "-lock-wait", "0")
	p.pid("main")
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	p.open()
	p.until("the supervisor complains of the end", func() bool {
		return strings.Contains(p.read("spool/starter.log"), "is not recorded yet: the spool is locked")
	})
	testenv.OK(t, lock.Unlock())
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode"), "JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=104"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
}

package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"fairspool/internal/testenv"
)

// The end of a job is recorded even when the spool was locked at that time.
func TestEndWhileLocked(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`echo $$ >main; ` + awaitGo + `; exit 4`)
	p.starter(0, 1, "-lock-wait", "0")
	main := p.pid("main")
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	p.open()
	p.until("the job has ended", func() bool { return !alive(main) })
	p.until("the supervisor complains", func() bool {
		return strings.Contains(p.read("spool/starter.log"), "job 1.0, attempt 1: its end (exit code 4) is not recorded yet")
	})
	testenv.OK(t, lock.Unlock())
	p.noClaims()
	if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=4"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}

// A supervisor that cannot begin its attempt leaves the match to the next pass.
func TestLockedAtTheStart(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`)
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	c := p.command("-lock-wait", "0")
	out, err := c.CombinedOutput()
	if !strings.HasPrefix(string(out), "starter: job 1.0: the spool is locked") || c.ProcessState.ExitCode() != 75 {
		t.Errorf("starter: %v, prints %q, want status 75 and that the spool is locked", err, out)
	}
	testenv.OK(t, lock.Unlock())
	p.starter(0, 1, "-wait")
	if got, want := p.history(id, "JobStatus", "NumJobStarts"), "JobStatus=4 NumJobStarts=1"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}

// No end can be recorded when the spool was renamed or removed: the supervisor ends its job,
// whatever the job does, and itself.
func TestSpoolIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		pairs        []string
		goes         bool // the job ends by itself when the spool is gone
	}{
		{name: "the job runs", script: `echo $$ >main; ` + hang},
		{name: "the job ends", script: `echo $$ >main; ` + awaitGo, goes: true},
		{name: "the job waits for its time", script: `exit 0`, pairs: []string{"DeferralTime", fmt.Sprint(matchedAt.Add(time.Hour).Unix())}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			claim := p.running(p.match(c.script, c.pairs...))
			main := 0
			if len(c.pairs) == 0 {
				main = p.pid("main")
			}
			testenv.OK(t, os.Rename(p.spool.Dir(), p.dir+"/elsewhere"))
			if c.goes {
				p.open()
			}
			p.until("the supervisor has ended", func() bool { return !alive(claim.PID) })
			if main != 0 && alive(main) {
				t.Error("the job is alive, want it to end with its supervisor")
			}
			testenv.OK(t, os.Rename(p.dir+"/elsewhere", p.spool.Dir()))
			p.starter(0, 0)
			p.noClaims()
		})
	}
}

// A spool that is removed while jobs run may keep what a process of ours was
// just making. No supervisor waits for the rest to come back, or adds to it.
func TestSpoolIsHalfRemoved(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	c := p.running(p.match(awaitGo))
	p.until("the supervisor has let go of the pass, and has its log", func() bool {
		_, err := os.Stat(filepath.Join(p.spool.Dir(), "starter.log"))
		return err == nil
	})
	testenv.OK(t, os.Rename(p.spool.Dir(), p.dir+"/elsewhere"))
	testenv.OK(t, os.Mkdir(p.spool.Dir(), 0o700))
	p.write("spool/lock", "")
	p.open()
	p.until("the supervisor has ended", func() bool { return !alive(c.PID) })
	if left, err := os.ReadDir(p.spool.Dir()); err != nil || len(left) != 1 {
		t.Errorf("the spool's directory = %v, %v, want the lock alone", left, err)
	}
	testenv.OK(t, os.RemoveAll(p.spool.Dir()))
	testenv.OK(t, os.Rename(p.dir+"/elsewhere", p.spool.Dir()))
	p.starter(0, 0)
	p.noClaims()
}

// Without the file of its claim a supervisor keeps nobody from starting the
// job again. So it ends the job, and leaves the claim to others.
func TestLockIsGone(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { os.Remove(path); return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(`echo $$ >main; ` + hang)
			c := p.running(id)
			main := p.pid("main")
			path := p.spool.ClaimLock("1.0.1")
			testenv.OK(t, tamper(path))
			p.until("job and supervisor have ended", func() bool { return !alive(main) && !alive(c.PID) })
			if got, want := p.queued(id, "JobStatus"), "JobStatus=2"; got != want {
				t.Errorf("the job: %s, want %s: its supervisor may not end the claim", got, want)
			}
			if _, err := os.Stat(path); (err == nil) != (name == "replaced") {
				t.Errorf("the file at the lock's path: %v, want it left alone", err)
			}
			if got := p.read("spool/starter.log"); strings.Count(got, "the lock of its claim is gone: ending the job\n") != 1 {
				t.Errorf("starter.log = %q, want one line about the lock", got)
			}
			p.starter(0, 0)
			p.noClaims()
		})
	}
}

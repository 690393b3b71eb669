package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/lib/pool"
)

// unlocks does all that a program can do to file 3 to have it forgotten, and then goes on beside the
// job with no mark of it in its environment and its limits.
const unlocks = `exec 2>&1; flock -u 3; echo x >&3 && echo written; echo y >/proc/self/fd/3 && echo written; truncate -s 9 /proc/self/fd/3 && echo truncated
ulimit -x unlimited; setsid env -i sh -c 'echo $$ >HERE/left.new; mv HERE/left.new HERE/left; exec tail -f /dev/null' &
until [ -s HERE/left ]; do :; done; `

// TestJobCannotFreeItsClaim holds that a job has nothing by which it could seem to have ended: what it
// does to the file that it inherits has no effect, and what is left of it when its supervisor
// was killed is found, whatever else it has shed. What has that file closed is found by its marks.
func TestJobCannotFreeItsClaim(t *testing.T) {
	t.Parallel()
	for name, shed := range map[string]string{
		"keeps the file":   unlocks,
		"closes the file":  strings.Replace(strings.Replace(unlocks, "env -i ", "", 1), "ulimit -x unlimited; setsid", "exec 3<&-; setsid", 1),
		"keeps its limits": strings.Replace(unlocks, "ulimit -x unlimited; setsid", "exec 3<&-; setsid", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nBASE_CGROUP = \"\"\n")
			p.match(shed + hang)
			p.starter(0, 1)
			left := p.pid("left")
			p.kill(p.claims()[0].PID)
			if !alive(left) {
				t.Fatal("what the job has left beside it ended with the supervisor, and shows nothing")
			}
			lock := p.spool.ClaimLock(p.claims()[0].LockName())
			l, err := takeCharge(lock)
			if err != nil {
				t.Fatal(err)
			}
			there, err := l.isAlive()
			l.close()
			if want := name == "keeps the file"; there != want || err != nil {
				t.Errorf("by the pipe the job is alive: %v, %v, want %v", there, err, want)
			}
			p.starter(0, 0)
			if alive(left) {
				t.Errorf("process %d of the job is alive after the pass that ended its claim", left)
			}
			got := p.read("out")
			if strings.Contains(got, "truncated") {
				t.Errorf("the job says %q, want that it could not truncate", got)
			}
			// By /proc it opens the pipe anew if that is of its own account, as where no root starts it: which frees nothing.
			if os.Geteuid() == 0 && strings.Contains(got, "written") {
				t.Errorf("the job says %q, want that it could not write", got)
			}
			p.noClaims()
		})
	}
}

// kill kills a process, and waits until it has gone.
func (p *testPool) kill(pid int) {
	p.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		p.Fatal(err)
	}
	p.until("the process has gone", func() bool { return !alive(pid) })
}

// TestPipeOfClaim holds that an attempt is alive as long as any process can read from its pipe, and that
// what stands in the place of the pipe is no pipe.
func TestPipeOfClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1}.LockName())
	if err := os.WriteFile(path+pipeName, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := lockClaim(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.remove()
	other, err := unix.Dup(int(l.pipe.Fd())) // as a job has it
	if err != nil {
		t.Fatal(err)
	}
	l.pipe.Close()
	l.pipe = nil
	if there, err := l.isAlive(); !there || err != nil {
		t.Errorf("isAlive = %v, %v, want true while the other one is open", there, err)
	}
	if err := l.openPipe(); err != errBusy {
		t.Errorf("openPipe = %v, want errBusy", err)
	}
	unix.Close(other)
	if there, err := l.isAlive(); there || err != nil {
		t.Errorf("isAlive = %v, %v, want false when all are closed", there, err)
	}
}

// TestLockOfRemovedFile holds that a process which opened a claim's file before the one in charge removed it is
// not in charge by its lock: two would be.
func TestLockOfRemovedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1}.LockName())
	for _, c := range []struct {
		name   string
		change func() error
		ours   bool
	}{
		{"there", func() error { return nil }, true},
		{"removed", func() error { return os.Remove(path) }, false},
		{"another one", func() error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, false},
	} {
		l, err := openLock(path)
		if err == nil {
			err = c.change()
		}
		if err != nil {
			t.Fatal(err)
		}
		if ours, err := l.lock(); ours != c.ours || err != nil {
			t.Errorf("the file is %s: in charge: %t, %v, want %t", c.name, ours, err, c.ours)
		}
		l.close()
	}
}

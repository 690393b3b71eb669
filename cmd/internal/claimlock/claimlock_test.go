package claimlock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// TestPipeOfClaim holds that an attempt is alive as long as any process can read from its pipe, and that
// what stands in the place of the pipe is no pipe.
func TestPipeOfClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1}.LockName())
	testenv.OK(t, os.WriteFile(path+PipeName, nil, 0o600))
	l, err := Open(path)
	testenv.OK(t, err)
	defer l.Remove()
	other, err := unix.Dup(int(l.Pipe.Fd())) // as a job has it
	testenv.OK(t, err)
	l.Pipe.Close()
	l.Pipe = nil
	if there, err := l.IsAlive(); !there || err != nil {
		t.Errorf("IsAlive = %v, %v, want true while the other one is open", there, err)
	}
	if err := l.openPipe(); err != ErrBusy {
		t.Errorf("openPipe = %v, want ErrBusy", err)
	}
	unix.Close(other)
	if there, err := l.IsAlive(); there || err != nil {
		t.Errorf("IsAlive = %v, %v, want false when all are closed", there, err)
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
		testenv.OK(t, err)
		if ours, err := l.lock(); ours != c.ours || err != nil {
			t.Errorf("the file is %s: in charge: %t, %v, want %t", c.name, ours, err, c.ours)
		}
		l.Close()
	}
}

func TestSignOfLife(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/1.0.1"
	lock, err := Open(path)
	testenv.OK(t, err)
	old := time.Unix(1795217646, 0)
	testenv.OK(t, os.Chtimes(path, old, old))
	if got := lock.Signed(); !got.Equal(old) {
		t.Errorf("signed %v, want %v", got, old)
	}
	testenv.OK(t, lock.Sign(accountant.Reading{}))
	if got := lock.Signed(); time.Since(got).Abs() > time.Minute {
		t.Errorf("signed %v, want now", got)
	}
	pools := accountant.Reading{Now: old.Add(time.Hour), Clock: accountant.Clock{Boot: "b"}}
	if err := lock.Sign(pools); err != nil || !lock.Signed().Equal(pools.Now) {
		t.Errorf("signed %v, %v, want %v", lock.Signed(), err, pools.Now)
	}
	// Somebody else's file is left alone.
	testenv.OK(t, os.Remove(path))
	testenv.OK(t, os.WriteFile(path, nil, 0o600))
	testenv.OK(t, os.Chtimes(path, old, old))
	lock.Sign(pools)
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the other file: %v, %v, want it unchanged", info, err)
	}
	lock.Remove()
}

package spool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestLockFaults lets each lock of each operation be interrupted, and each unlock be
// interrupted or fail: the operation is done all the same.
func TestLockFaults(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := newProof(t, 1)
			steps, _ := p.steps(o)
			locks := 0
			for i, s := range steps {
				if s.op != "lock" && s.op != "unlock" {
					continue
				}
				locks++
				for _, once := range []error{syscall.EINTR, syscall.EIO} {
					if s.op == "lock" && once == syscall.EIO {
						continue // it is refused: see TestStoppedWriter
					}
					layer := p.on(p.base, fault{at: i + 1, once: once})
					where := fmt.Sprintf("step %d (%s), %v", i+1, s, once)
					if err := p.does(o, layer); err != nil || !layer.fired {
						t.Errorf("%s: %v, fault came about: %v", where, err, layer.fired)
					}
					p.holds(p.reads(layer.tree.present(), where), where, [][]operation{{o}})
					p.discard(layer)
				}
			}
			if least := 2; locks < least && o.name != "report a cycle" {
				t.Errorf("%d locks and unlocks, want at least %d", locks, least)
			}
		})
	}
}

// TestUnlockFails has the kernel refuse to free locks: what was committed counts, which
// is told, and the lock is free all the same.
func TestUnlockFails(t *testing.T) {
	if os.Getenv("FAIRSPOOL_UNLOCK_FAILS") != "" {
		unlockFails(t)
		return
	}
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run=^TestUnlockFails$", "-test.count=1")
	c.Env = append(os.Environ(), "FAIRSPOOL_UNLOCK_FAILS=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	} else if strings.Contains(string(out), "SKIP") {
		t.Skipf("%s", out)
	}
}

func unlockFails(t *testing.T) {
	dir, said := fixture(t), ""
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Warn: func(m string) { said += m }})
	if err != nil {
		t.Fatal(err)
	}
	debug.SetGCPercent(-1) // nothing else shall close a file
	if err := refuseUnlocks(); err != nil {
		t.Skipf("SKIP: no filter of system calls: %v", err)
	}
	if err := s.Update(operations[0].do); err != nil {
		t.Errorf("Update = %v, want nil: it is committed", err)
	}
	if !strings.Contains(said, syscall.EIO.Error()) {
		t.Errorf("it said %q", said)
	}
	other, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
	if err == nil {
		err = other.Update(operations[2].do)
	}
	if err != nil {
		t.Errorf("the next writer: %v", err)
	}
}

// TestQueue holds that a process that queues for the lock has it when it is freed, and, once it has waited for too long,
// does not keep the lock that it comes to later.
func TestQueue(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	holder, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
	if err != nil {
		t.Fatal(err)
	}
	// waiting holds the lock until as many threads as that wait for it, and wait is called.
	waiting := func(threads int, wait func()) {
		err := holder.Update(func(tx *Tx) error {
			if wait != nil {
				wait()
			}
			testenv.Until(t, "threads wait for the lock", func() bool { return queued(t, dir) == threads })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	late, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	late.Queue()
	waiting(1, func() {
		for range 3 {
			if err := late.Update(operations[2].do); !errors.Is(err, ErrLocked) {
				t.Errorf("Update of a locked spool = %v, want ErrLocked", err)
			}
		}
	})
	testenv.Until(t, "no thread waits", func() bool { return queued(t, dir) == 0 })

	other, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
	if err != nil {
		t.Fatal(err)
	}
	other.Queue()
	done := make(chan error, 1)
	waiting(1, func() { go func() { done <- other.Update(operations[2].do) }() })
	if err := <-done; err != nil {
		t.Errorf("Update of a process that has queued = %v", err)
	}
}

// queued returns how many locks on the lock file of a spool are waited for (proc(5), /proc/locks).
func queued(t *testing.T, dir string) (n int) {
	t.Helper()
	var about unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "lock"), &about); err != nil {
		t.Fatal(err)
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, fmt.Sprintf(":%d ", about.Ino)) {
			n++
		}
	}
	return n
}

// refuseUnlocks makes flock(2) fail with EIO when it is to free a lock, in all threads
// of this process.
func refuseUnlocks() error {
	const (
		load, equal, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		call, how           = 0, 24 // of struct seccomp_data: nr, the low half of args[1]
	)
	filter := []unix.SockFilter{
		{Code: load, K: call},
		{Code: equal, K: unix.SYS_FLOCK, Jf: 3},
		{Code: load, K: how},
		{Code: equal, K: unix.LOCK_UN, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); err != 0 {
		return err
	}
	return nil
}

// TestHolders holds that who has a lock is found, with what its first line says, and is not once it
// has let go.
func TestHolders(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := time.Now().Add(-time.Second)
	var during []Holder
	err = s.Negotiating(0, func() (err error) {
		testenv.Until(t, "the holder is seen", func() bool {
			during, err = s.Holders("lock", "negotiate.lock", "fold.lock")
			return err != nil || len(during) > 0
		})
		return err
	})
	if err != nil || len(during) != 1 || during[0].Lock != "negotiate.lock" || during[0].PID != os.Getpid() ||
		during[0].Program != "test" || during[0].Since.Before(before) || during[0].Stopped {
		t.Errorf("Holders during a cycle = %+v, %v, want this process with negotiate.lock", during, err)
	}
	if after, err := s.Holders("lock", "negotiate.lock", "fold.lock"); err != nil || len(after) != 0 {
		t.Errorf("Holders after it = %+v, %v, want none", after, err)
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	served := func() time.Time {
		all, err := s.Served()
		if err != nil {
			t.Fatal(err)
		}
		return all["node/1"]
	}
	if at := served(); !at.IsZero() {
		t.Errorf("a machine without a starter was served at %v", at)
	}
	for range 2 {
		if err := s.NoteServed("Node/1"); err != nil {
			t.Fatal(err)
		}
		if at := served(); time.Since(at).Abs() > time.Minute {
			t.Errorf("served at %v, want now", at)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(s.path("watch.node%2F1.lock"), old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlotNames holds that the names are those of Slots, wherever the slots stand: in segments, in
// the journal, changed and withdrawn there, made already, or written by hand.
func TestSlotNames(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(tx *Tx, name string) {
		ad := classad.New()
		ad.SetString(pool.AttrName, name)
		tx.PutSlot(name, ad)
	}
	update := func(fn func(tx *Tx)) {
		if err := s.Update(func(tx *Tx) error { tx.Op("slots"); fn(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *Tx) {
		for _, name := range []string{"a", "b", "c", "d"} {
			put(tx, name)
		}
	})
	if _, err := s.Fold(0, nil); err != nil {
		t.Fatal(err)
	}
	update(func(tx *Tx) { put(tx, "e"); put(tx, "f"); tx.DropSlot("b") })
	update(func(tx *Tx) { tx.DropSlot("e"); put(tx, "g s"); put(tx, "b") })
	update(func(tx *Tx) { tx.DropSlot("c") })
	hand := "Name = \"a\"\n\nName = \"h\"\n"
	if err := os.MkdirAll(s.path("slots.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.path("slots.d"), "x.ads"), []byte(hand), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{true, false} { // what is read in the first is made in the second
		if fresh {
			s.forget()
		}
		var names, want []string
		if err := s.View(func(v *View) error {
			names = v.SlotNames()
			slots, _ := v.Slots()
			for _, x := range slots {
				want = append(want, x.Name)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		slices.Sort(want)
		if len(want) != 6 || !slices.Equal(names, want) {
			t.Errorf("SlotNames = %q, want %q", names, want)
		}
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "s")
	for _, name := range []string{dir, filepath.Join(dir, "jobs"), dir + ".new"} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "s", "file": "s/lock", "out": "s.new"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"s": true, "s/lock": true, "s/jobs": true, "s/no/such": true, "link": true, "link/x": true, "link/jobs/x": true, "file": true,
		"s.new": false, "s.new/x": false, "out": false, "out/x": false, "no/such": false, ".": false, "s/../t": false, "s/..t": true,
	} {
		if got := Inside(top+"/"+name, dir); got != want {
			t.Errorf("Inside(%s, s) = %v, want %v", name, got, want)
		}
	}
	if Inside(top, filepath.Join(top, "none")) {
		t.Error("something lies in a directory that is not there")
	}
}

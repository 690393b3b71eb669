package spool

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
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

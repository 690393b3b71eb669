package spool

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// holder names, in the environment, the spool on which this test's program makes a transaction: it
// says when it has the lock, ends the transaction when it has read a line, and itself after another.
const holder = "FAIRSPOOL_TEST_HOLDER"

// TestTerminalSignals holds that signals of a terminal neither stop nor end a process while it has
// the lock of writers: the transaction is committed, the lock is free, and then they do what they do.
func TestTerminalSignals(t *testing.T) {
	if dir := os.Getenv(holder); dir != "" {
		holdLock(t, dir)
		return
	}
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGINT, unix.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skipf("%v is ignored here, as in what a shell runs in the background", sig)
			}
			dir := fixture(t)
			c := exec.Command(os.Args[0], "-test.run=^TestTerminalSignals$")
			c.Env = append(os.Environ(), holder+"="+dir)
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not an orphaned group, which nothing stops
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { c.Process.Kill(); c.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
				t.Fatalf("the process says %q, %v, want that it has the lock", line, err)
			}
			c.Process.Signal(sig)
			fmt.Fprintln(in)
			if log := committed(t, dir); !strings.Contains(log, "signalled") {
				t.Errorf("the transaction of a process that got %v is not committed: %s", sig, log)
			}
			var status unix.WaitStatus
			testenv.Until(t, "the signal is heeded", func() bool {
				pid, _ := unix.Wait4(c.Process.Pid, &status, unix.WUNTRACED|unix.WNOHANG, nil)
				return pid == c.Process.Pid
			})
			stops := sig != unix.SIGINT && sig != unix.SIGQUIT
			if stops && (!status.Stopped() || status.StopSignal() != sig) {
				t.Errorf("afterwards the process has the status %#x, want it stopped by %v", status, sig)
			}
			if !stops && !(status.Signaled() && status.Signal() == sig) && !(sig == unix.SIGQUIT && status.ExitStatus() == 2) { // as Go ends by it
				t.Errorf("afterwards the process has the status %#x, want it ended by %v", status, sig)
			}
		})
	}
}

// holdLock is the process that gets the signal.
func holdLock(t *testing.T, dir string) {
	s, err := Open(dir, Options{Program: "test", LockWait: testenv.Longest})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(os.Stdin)
	if err := s.Update(func(tx *Tx) error { return nil }); err != nil { // the second time counts, too
		t.Fatal(err)
	}
	err = s.Update(func(tx *Tx) error {
		fmt.Println("held")
		_, err := lines.ReadString('\n')
		tx.Op("signalled")
		tx.AddCluster(jobAd("carol"), []NewRun{{Count: 1}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines.ReadString('\n')
}

// committed waits for the lock of writers, and returns the journal.
func committed(t *testing.T, dir string) string {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", LockWait: testenv.Longest})
	if err == nil {
		err = s.Update(func(tx *Tx) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.path("journal.1"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package postpone

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// again names, in the environment, that this test's program stops itself, once for each line that it
// reads, by a signal that is on its way when a lock is freed.
const again = "FAIRSPOOL_TEST_AGAIN"

// TestLateSignals holds that a signal that comes at the very end of a lock is not lost.
func TestLateSignals(t *testing.T) {
	const times = 100
	if os.Getenv(again) != "" {
		lines := bufio.NewReader(os.Stdin)
		for range times {
			if _, err := lines.ReadString('\n'); err != nil {
				return
			}
			release := Signals(Stopping)
			syscall.Kill(os.Getpid(), syscall.SIGTSTP)
			release()
		}
		lines.ReadString('\n')
		return
	}
	t.Parallel()
	if signal.Ignored(syscall.SIGTSTP) {
		t.Skip("SIGTSTP is ignored here, as in what a shell runs in the background")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestLateSignals$")
	c.Env = append(os.Environ(), again+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not an orphaned group, which nothing stops
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	for i := range times {
		fmt.Fprintln(in)
		var status unix.WaitStatus
		testenv.Until(t, fmt.Sprintf("the process stops for the %d. time", i+1), func() bool {
			pid, _ := unix.Wait4(c.Process.Pid, &status, unix.WUNTRACED|unix.WNOHANG, nil)
			return pid == c.Process.Pid
		})
		if !status.Stopped() || status.StopSignal() != syscall.SIGTSTP {
			t.Fatalf("after %d times the process has the status %#x, want it stopped", i, status)
		}
		c.Process.Signal(syscall.SIGCONT)
	}
}

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns the path of a terminal that controls no session.
func terminal(t *testing.T) string {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/dev/pts/%d", n)
}

// A terminal that a job reads does not become that of its supervisor: who
// has the other end could interrupt root's process.
func TestTerminalIsNotTheSupervisors(t *testing.T) {
	in := terminal(t)
	if _, err := os.Stat(in); err != nil {
		t.Skipf("terminals are not in /dev/pts: %v", err)
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), supervise+"="+dir, "LAUNCH_TEST_IN="+in, `LAUNCH_TEST_SCRIPT=read pid name state ppid group session tty rest </proc/$PPID/stat; echo $((session == PPID)) $tty`)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || strings.TrimSpace(string(got)) != "1 0" {
		t.Errorf("the supervisor leads its session, and has a terminal: %q, %v, want \"1 0\"", got, err)
	}
}

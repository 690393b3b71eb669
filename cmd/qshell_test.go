package cmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"fairspool/internal/testenv"
)

// screen is a program on a terminal.
type screen struct {
	*testing.T
	program *exec.Cmd
	tty     *os.File
	mu      sync.Mutex
	shown   bytes.Buffer
	from    int // what stands before was waited for
}

// onScreen starts a program on a terminal of 30 rows and 100 columns.
func onScreen(t *testing.T, c *exec.Cmd) *screen {
	t.Helper()
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 100})
	testenv.OK(t, err)
	s := &screen{T: t, program: c, tty: tty}
	t.Cleanup(func() { tty.Close(); c.Process.Kill(); c.Wait() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			s.mu.Lock()
			s.shown.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// types types a text and waits until the program has shown another one behind what was waited for before.
func (s *screen) types(text, want string) {
	s.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.Fatal(err)
	}
	s.shows(want)
}

func (s *screen) shows(want string) {
	s.Helper()
	if !testenv.Await(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := strings.Index(s.shown.String()[s.from:], want)
		if at >= 0 {
			s.from += at + len(want)
		}
		return at >= 0
	}) {
		s.Fatalf("it does not show %q behind %d characters of\n%s", want, s.from, s.shown.String())
	}
}

// exits waits for the program's end and returns its exit status.
func (s *screen) exits() int {
	s.Helper()
	var exit *exec.ExitError
	if err := s.program.Wait(); err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return s.program.ProcessState.ExitCode()
}

// shellPool makes a pool of this machine with one slot.
func shellPool(t *testing.T) (run func(line string) string, command func(words ...string) *exec.Cmd) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "fairspool.toml"), "UID_DOMAIN = \"example.org\"\n")
	env := []string{"PATH=" + testenv.Commands(t) + ":/usr/bin:/bin", "HOME=" + dir, "SHELL=/bin/sh", "TERM=vt100", "PS1=> ", "FAIRSPOOL_DIR=" + filepath.Join(dir, "spool"),
		"FAIRSPOOL_CONFIG=" + filepath.Join(dir, "fairspool.toml")}
	command = func(words ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(testenv.Commands(t), words[0]), words[1:]...)
		c.Dir, c.Env = dir, env
		return c
	}
	run = func(line string) string {
		t.Helper()
		c := exec.Command("/bin/sh", "-c", line)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		c := exec.Command("/bin/sh", "-c", "qdel -all; starter -drain -fast -wait -q")
		c.Dir, c.Env = dir, env
		c.Run()
		killAll(dir)
	})
	run("slots detect -count 1")
	return run, command
}

// runningMarks returns how many processes have a text in their command lines.
func runningMarks(mark string) (n int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(mark)) {
			n++
		}
	}
	return n
}

// TestShellBesideJob uses a shell beside a job as a person does: it has the job's directory and environment, a window with a size,
// ^C and ^Z, and a status. What it leaves behind ends with the job.
func TestShellBesideJob(t *testing.T) {
	t.Parallel()
	run, command := shellPool(t)
	run("submit -- sleep 100000")
	testenv.Until(t, "the job runs", func() bool { return run("qstat -af JobStatus") == "2\n" })

	s := onScreen(t, command("qshell", "1"))
	s.shows("> ")
	s.types("stty size; echo $FAIRSPOOL_JOB $TERM\r", "30 100\r\n1.0 vt100\r\n")
	testenv.OK(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 40, Cols: 120}))
	testenv.Until(t, "the shell has the new size", func() bool {
		s.types("stty size | tr '\\n' .; echo\r", ".\r\n")
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.shown.String(), "40 120.")
	})
	s.types("pwd\r", "\r\n> ")
	s.types("cat\r", "\r\n")
	s.types("typed\r", "typed\r\ntyped\r\n")
	s.types("\x03", "> ")
	s.types("echo status $?\r", "status 130\r\n")
	s.types("cat\r", "\r\n")
	s.types("again\r", "again\r\nagain\r\n")
	s.types("\x1a", "Stopped")
	s.shows("> ")
	s.types("kill -9 %1; exit 7\r", "You have stopped jobs")
	s.shows("> ")
	s.types("exit 7\r", "exit 7")
	if status := s.exits(); status != 7 {
		t.Errorf("qshell exits with %d, want 7", status)
	}
	if got := run("qstat -af JobStatus"); got != "2\n" {
		t.Errorf("the job's status is %q behind the shell, want 2", got)
	}

	// A terminal that is lost takes the shell with it, and the job what the shell has left behind.
	mark := "10" + strconv.Itoa(os.Getpid())
	s = onScreen(t, command("qshell", "1.0"))
	s.shows("> ")
	s.types("(trap '' HUP; setsid sleep "+mark+" & ); cat\r", "\r\n")
	testenv.Until(t, "the daemon is there", func() bool { return runningMarks(mark) == 1 })
	s.program.Process.Signal(syscall.SIGKILL)
	s.program.Wait()
	run("qdel 1")
	testenv.Until(t, "the job and what was left behind are gone", func() bool { return run("qstat -af JobStatus") == "" && runningMarks(mark) == 0 })

	s = onScreen(t, command("qshell", "1"))
	s.shows("no such cluster in the queue")
	if status := s.exits(); status != 1 {
		t.Errorf("qshell exits with %d, want 1", status)
	}
}

// TestShellEndsWithJob holds that a shell ends when its job does.
func TestShellEndsWithJob(t *testing.T) {
	t.Parallel()
	run, command := shellPool(t)
	run("submit -- sleep 100000")
	s := onScreen(t, command("qshell", "-wait", "1"))
	s.shows("> ")
	run("qdel 1")
	s.shows("1.0: the connection to the job has ended")
	if status := s.exits(); status != 1 {
		t.Errorf("qshell exits with %d, want 1", status)
	}
}

// TestInteractiveJob holds that a job for a shell is there as long as the shell is, whether that ends or its terminal is lost,
// and is charged for that time.
func TestInteractiveJob(t *testing.T) {
	t.Parallel()
	run, command := shellPool(t)
	s := onScreen(t, command("submit", "-interactive", "-time", "1h", "-memory", "300M"))
	s.shows("Job 1.0 submitted; waiting for a slot. ^C removes it.")
	s.shows("> ")
	s.types("qstat -af JobStatus RequestMemory; ulimit -c; exit 4\r", "2 300\r\n")
	if status := s.exits(); status != 4 {
		t.Errorf("submit exits with %d, want 4", status)
	}
	testenv.Until(t, "the job has ended", func() bool { return run("qstat -af JobStatus") == "" })
	if got := run("qstat -history -af JobStatus ExitCode 'RemoteWallClockTime > 0'"); got != "4 0 true\n" {
		t.Errorf("the job has ended as %q", got)
	}
	if got := run("userprio -allusers -af WeightedAccumulatedUsage"); strings.HasPrefix(got, "0.0\n") {
		t.Errorf("usage is %s", got)
	}

	s = onScreen(t, command("submit", "-i"))
	s.shows("> ")
	s.program.Process.Signal(syscall.SIGKILL) // the worst that a terminal can do
	s.program.Wait()
	s.tty.Close()
	testenv.Until(t, "the job has ended", func() bool { return run("qstat -af JobStatus") == "" })

	// While it waits, ^C takes the job out of the queue.
	run("submit -- sleep 100000")
	testenv.Until(t, "the slot is taken", func() bool { return run("qstat -af JobStatus") == "2\n" })
	s = onScreen(t, command("submit", "-interactive"))
	s.types("", "waiting for a slot")
	s.types("\x03", "")
	if status := s.exits(); status != 130 {
		t.Errorf("submit exits with %d, want 130", status)
	}
	if got := run("qstat -af ClusterId"); got != "3\n" {
		t.Errorf("clusters %q are left, want 3", got)
	}

	for _, words := range [][]string{{"-interactive", "job.sub"}, {"-interactive", "-wait"}} {
		c := command(append([]string{"submit"}, words...)...)
		if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 2 {
			t.Errorf("submit %v: %v: %s", words, err, out)
		}
	}
}

// TestShellOfManyUsers holds that in a pool that root serves a shell beside a job has the rights of the job's owner, and is to be
// had by the owner and by root alone.
func TestShellOfManyUsers(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	ran := func(user, line string) string {
		t.Helper()
		a := h.run(user, line)
		if a.status != 0 {
			t.Fatalf("%s: %s = %d, %q, %q", user, line, a.status, a.out, a.bad)
		}
		return a.out
	}
	ran("root", "fairspool-setup")
	ran("root", "slots detect -count 1")
	ran("root", "starter -watch -door -q 2>/run/starter.log &")
	testenv.Until(t, "the door is open", func() bool {
		_, err := os.Stat(h.path("var/spool/fairspool/door"))
		return err == nil
	})
	ran("alice", "submit -- sleep 100000")
	const line = "echo typed | qshell -wait 1 -- sh -c 'id -un; pwd; echo $FAIRSPOOL_JOB; cat'"
	if got, want := ran("alice", line), "alice\n/home/alice\n1.0\ntyped\n"; got != want {
		t.Errorf("alice's shell tells %q, want %q", got, want)
	}
	if got := ran("root", "qshell 1 -- id -un"); got != "alice\n" {
		t.Errorf("root's shell beside alice's job is %q, want alice's", got)
	}
	if a := h.run("bob", "qshell 1 -- id -un"); a.status != 1 || !strings.Contains(a.bad, "you are bob, and 1.0 is a job of alice's") {
		t.Errorf("bob's shell: %d, %q, %q", a.status, a.out, a.bad)
	}
	ran("alice", "qdel 1")
	if a := h.run("alice", "submit -interactive -- id -un"); a.status != 0 || a.out != "alice\n" {
		t.Errorf("alice's interactive job: %d, %q, %q", a.status, a.out, a.bad)
	}
}

// TestShellOverLink holds that a shell beside a job on a machine of a pilot is carried over the link.
func TestShellOverLink(t *testing.T) {
	t.Parallel()
	f := newFarmHere(t, "head", "", "n1")
	f.run("submit", "-name", "far", "-append", `requirements = Machine == "n1"`, "--", "sleep", "100000")
	f.cron()
	testenv.Until(t, "the job runs", func() bool { return f.run("qstat", "-af", "JobStatus") == "2\n" })
	c := f.command(context.Background(), "qshell", "1", "--", "sh", "-c", "echo $FAIRSPOOL_JOB $_CONDOR_SLOT; cat; exit 3")
	c.Stdin = strings.NewReader("typed\n")
	if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 3 || !strings.HasPrefix(string(out), "1.0 slot1") || !strings.HasSuffix(string(out), "\ntyped\n") {
		t.Errorf("the shell: %v, %q", err, out)
	}
	c = f.command(context.Background(), "qshell", "1")
	c.Env = append(c.Env, "SHELL=/bin/sh", "TERM=vt100", "PS1=> ")
	s := onScreen(t, c)
	s.types("stty size\r", "30 100\r\n")
	f.run("qdel", "1")
	s.shows("1.0: the connection to the job has ended")
}

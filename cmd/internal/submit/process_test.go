package submit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// patient runs commands that have all the time they need.
var patient = runner{testenv.Longest, func(string) func() { return func() {} }}

// ran is a command with what it prints, and whether it is run at all, and with success.
type ran struct {
	words []string
	out   string
	ok    bool
}

func (c ran) check(t *testing.T) {
	t.Helper()
	out, err := patient.run(c.words)
	if out != c.out || (err == nil) != c.ok {
		t.Errorf("run(%q) = %q, %v, want %q, and that it succeeds: %v", c.words, out, err, c.out, c.ok)
	}
	if err != nil {
		refusal(t, fmt.Sprintf("submit (queue from %q |)", c.words), err)
	}
}

func TestRun(t *testing.T) {
	for _, c := range []ran{
		{[]string{"echo", "a b", "$HOME", "*"}, "a b $HOME *\n", true},
		{[]string{"cat"}, "", true}, // there is nothing to read
		{[]string{"sh", "-c", "echo words >&2; echo out"}, "out\n", true},
		{[]string{"sh", "-c", "exit 3"}, "", false},
		{[]string{"sh", "-c", "echo out; echo first >&2; echo last >&2; echo >&2; exit 1"}, "", false},
		{[]string{"sh", "-c", "kill -9 $$"}, "", false},
		{[]string{"sh", "-c", "i=0; while [ $i -lt 5000 ]; do echo filler >&2; i=$((i+1)); done; echo last >&2; exit 1"}, "", false},
		{[]string{"no-such-command"}, "", false},
		{[]string{"./no-such-command"}, "", false},
		{[]string{"/"}, "", false},
	} {
		c.check(t)
	}
}

// TestRunHere runs scripts of the folder that submit is run in, which PATH does not
// have.
func TestRunHere(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, mode := range map[string]os.FileMode{"list-infiles.sh": 0o755, "echo": 0o755, "plain": 0o644} {
		testenv.OK(t, os.WriteFile(name, []byte("#!/bin/sh\necho from here: $1\n"), mode))
	}
	for _, c := range []ran{
		{[]string{"list-infiles.sh", "a"}, "from here: a\n", true},
		{[]string{"./list-infiles.sh", "b"}, "from here: b\n", true},
		{[]string{"echo", "c"}, "c\n", true}, // PATH goes first
		{[]string{"./echo", "d"}, "from here: d\n", true},
		{[]string{"plain"}, "", false},
		{[]string{"other"}, "", false},
	} {
		c.check(t)
	}
}

// TestRunTakesTooLong checks that a command is killed with what it started, and
// that a child which left its group does not keep submit waiting.
func TestRunTakesTooLong(t *testing.T) {
	for timeout := 100 * time.Millisecond; !runTooLong(t, timeout); timeout *= 2 {
	}
}

// runTooLong runs a command that takes longer than a timeout, and reports whether that was
// long enough for the command to start a child which left its group.
func runTooLong(t *testing.T, timeout time.Duration) (left bool) {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	hasty := patient
	hasty.timeout = timeout
	done := make(chan struct{})
	var out string
	var err error
	go func() {
		defer close(done)
		out, err = hasty.run([]string{"sh", "-c", "echo $$ >" + pids + "; sleep 1000 & echo $! >>" + pids + "; setsid sh -c 'echo $$ >>" + pids + "; while test -e " + pids + "; do sleep 0.1; done' & wait"})
	}()
	testenv.Until(t, "run waits for nothing that left the group", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(" %v s", timeout.Seconds())) || !strings.Contains(err.Error(), "SUBMIT_COMMAND_TIMEOUT") || out != "" {
		t.Fatalf("run = %q, %v, want an error that names SUBMIT_COMMAND_TIMEOUT and its %v s", out, err, timeout.Seconds())
	}
	text, _ := os.ReadFile(pids)
	list := strings.Fields(string(text))
	for _, pid := range list[:min(2, len(list))] {
		n, err := strconv.Atoi(pid)
		testenv.OK(t, err)
		testenv.Until(t, "process "+pid+" of the group is dead", func() bool { return !alive(n) })
	}
	return len(list) == 3
}

// alive reports whether a process runs: one that is dead and not yet waited for does not.
func alive(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) != syscall.ESRCH && !strings.Contains(string(stat), ") Z ")
}

func TestRunPrintsTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it prints 256 MB")
	}
	out, err := patient.run([]string{"yes", strings.Repeat("x", 1<<16)})
	if err != errTooMuch || maxOutput != 256<<20 || out != "" {
		t.Errorf("run = %d bytes, %v, want that it prints more than 256 MB", len(out), err)
	}
}

// TestRunIsInterrupted checks that who ends submit ends the command too.
func TestRunIsInterrupted(t *testing.T) {
	began := make(chan struct{})
	r := patient
	r.watch = func(string) func() { close(began); return func() {} }
	go func() {
		<-began
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	if _, err := r.run([]string{"sleep", "1000"}); err != errInterrupted {
		t.Errorf("run = %v, want %v", err, errInterrupted)
	}
}

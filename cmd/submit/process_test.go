package main

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

// ran is a command with what it prints, or what is wrong with it.
type ran struct {
	words      []string
	out, wrong string
}

func (c ran) check(t *testing.T) {
	t.Helper()
	out, err := patient.run(c.words)
	wrong := ""
	if err != nil {
		wrong = err.Error()
	}
	if out != c.out || wrong != c.wrong {
		t.Errorf("run(%q) = %q, %q, want %q, %q", c.words, out, wrong, c.out, c.wrong)
	}
}

func TestRun(t *testing.T) {
	for _, c := range []ran{
		{[]string{"echo", "a b", "$HOME", "*"}, "a b $HOME *\n", ""},
		{[]string{"cat"}, "", ""}, // there is nothing to read
		{[]string{"sh", "-c", "echo words >&2; echo out"}, "out\n", ""},
		{[]string{"sh", "-c", "exit 3"}, "", "exit status 3"},
		{[]string{"sh", "-c", "echo out; echo first >&2; echo last >&2; echo >&2; exit 1"}, "", "exit status 1: last"},
		{[]string{"sh", "-c", "kill -9 $$"}, "", "signal: killed"},
		{[]string{"sh", "-c", "i=0; while [ $i -lt 5000 ]; do echo filler >&2; i=$((i+1)); done; echo last >&2; exit 1"}, "", "exit status 1: last"},
		{[]string{"no-such-command"}, "", "no such command"},
		{[]string{"./no-such-command"}, "", "no such command"},
		{[]string{"/"}, "", "is a directory"},
	} {
		c.check(t)
	}
}

// TestRunHere runs scripts of the folder that submit is run in, which PATH does not
// have.
func TestRunHere(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, mode := range map[string]os.FileMode{"list-infiles.sh": 0o755, "echo": 0o755, "plain": 0o644} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\necho from here: $1\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []ran{
		{[]string{"list-infiles.sh", "a"}, "from here: a\n", ""},
		{[]string{"./list-infiles.sh", "b"}, "from here: b\n", ""},
		{[]string{"echo", "c"}, "c\n", ""}, // PATH goes first
		{[]string{"./echo", "d"}, "from here: d\n", ""},
		{[]string{"plain"}, "", "no such command"},
		{[]string{"other"}, "", "no such command"},
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
	if want := fmt.Sprintf("takes longer than %v s, killed (SUBMIT_COMMAND_TIMEOUT)", timeout.Seconds()); err == nil || err.Error() != want || out != "" {
		t.Fatalf("run = %q, %v, want %s", out, err, want)
	}
	text, _ := os.ReadFile(pids)
	list := strings.Fields(string(text))
	for _, pid := range list[:min(2, len(list))] {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
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
	if want := "prints more than 256 MB"; err == nil || err.Error() != want || out != "" {
		t.Errorf("run = %d bytes, %v, want %s", len(out), err, want)
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

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patient runs commands that have all the time they need.
var patient = runner{time.Minute, func(string) func() { return func() {} }}

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
	pids := filepath.Join(t.TempDir(), "pids")
	hasty := patient
	hasty.timeout = 2 * time.Second
	began := time.Now()
	out, err := hasty.run([]string{"sh", "-c", "echo $$ >" + pids + "; sleep 600 & echo $! >>" + pids + "; setsid sleep 20 & wait"})
	if want := "takes longer than 2 s, killed (SUBMIT_COMMAND_TIMEOUT)"; err == nil || err.Error() != want || out != "" {
		t.Fatalf("run = %q, %v, want %s", out, err, want)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("run took %v: it waited for what left the group", took)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(text))
	if len(list) != 2 {
		t.Fatalf("processes = %q, want 2", list)
	}
	for _, pid := range list {
		awaitEnd(t, pid)
	}
}

// awaitEnd waits until a process is gone, or dead and not yet waited for.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if syscall.Kill(n, 0) == syscall.ESRCH || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %s runs on", pid)
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
	if _, err := r.run([]string{"sleep", "600"}); err != errInterrupted {
		t.Errorf("run = %v, want %v", err, errInterrupted)
	}
}

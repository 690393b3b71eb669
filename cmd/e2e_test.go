package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// endings are the commands of scripts that watch how jobs end:
//
//	clock             notes the time
//	took LEAST        fails unless so much time has passed since that
//	until COMMAND...  runs a command until it succeeds; with `!`, until it fails
//	valid             see valid
//	gone              waits until jobs, supervisors, claims and scratch directories have
//	                  gone; with `!` it fails if they have
var endings = map[string]func(*testscript.TestScript, bool, []string){
	"clock": clock, "took": took, "until": repeat, "gone": gone, "valid": valid,
}

// clock notes the time.
func clock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: clock")
	}
	ts.Check(os.WriteFile(ts.MkAbs(".clock"), []byte(strconv.FormatInt(time.Now().UnixNano(), 10)), 0o600))
}

// took fails unless a time has passed since clock.
func took(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: took LEAST")
	}
	begun, err := strconv.ParseInt(ts.ReadFile(".clock"), 10, 64)
	ts.Check(err)
	least, err := time.ParseDuration(args[0])
	ts.Check(err)
	if d := time.Since(time.Unix(0, begun)); d < least {
		ts.Fatalf("it took %v, want %v at least", d, least)
	}
}

// repeat runs a command until it has ended as is wanted.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: [!] until COMMAND...")
	}
	wait(ts, func() string {
		err := ts.Exec(args[0], args[1:]...)
		switch exit := (*exec.ExitError)(nil); {
		case err != nil && !errors.As(err, &exit):
			ts.Fatalf("%v", err)
		case (err == nil) == neg:
			return fmt.Sprintf("%q: %v", args, cmp.Or(err, errSucceeds))
		}
		return ""
	})
}

var errSucceeds = errors.New("it succeeds")

// gone waits until nothing is left of the script's jobs but what they wrote.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 {
		ts.Fatalf("usage: [!] gone")
	}
	work, spool := ts.Getenv("WORK"), ts.Getenv("FAIRSPOOL_DIR")
	left := func() string { return strings.Join(remains(work, spool), "\n") }
	if !neg {
		wait(ts, left)
	} else if left() == "" {
		ts.Fatalf("nothing is left of the jobs")
	}
}

// wait waits until nothing is missing.
func wait(ts *testscript.TestScript, missing func() string) {
	what := ""
	if !testenv.Await(func() bool { what = missing(); return what == "" }) {
		ts.Fatalf("after %v: %s", testenv.Longest, what)
	}
}

// remains returns what is there of jobs and supervisors: what the spool has for running
// attempts and, when that is nothing, all processes that have to do with the folder they
// work in.
func remains(work, spool string) (list []string) {
	for _, dir := range []string{"claims.d", "execute"} {
		entries, _ := os.ReadDir(filepath.Join(spool, dir))
		for _, e := range entries {
			list = append(list, filepath.Join(spool, dir, e.Name()))
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, p := range processesOf(work) {
		list = append(list, fmt.Sprintf("process %d: %q", p.id, p.command))
	}
	return list
}

// remnant is a process that is still there.
type remnant struct {
	id      int
	command []byte // and its arguments, each with a 0 behind it
}

// processesOf returns the processes that have a folder, or what is in it, as their working
// directory or program, or in their arguments or environment. The latter has the folder of
// every job, and of every supervisor the spool.
func processesOf(folder string) (list []remnant) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		about := func(name string) []byte { b, _ := os.ReadFile(filepath.Join(dir, name)); return b }
		link := func(name string) []byte { s, _ := os.Readlink(filepath.Join(dir, name)); return []byte(s) }
		command := about("cmdline")
		concerns := func(b []byte) bool { return names(b, folder) }
		if slices.ContainsFunc([][]byte{command, about("environ"), link("cwd"), link("exe")}, concerns) {
			list = append(list, remnant{pid, command})
		}
	}
	return list
}

// names reports whether a text has the path of a folder, or of a file in it, and not only the
// path of another folder whose name begins so.
func names(text []byte, folder string) bool {
	for {
		_, rest, found := bytes.Cut(text, []byte(folder))
		switch {
		case !found:
			return false
		case len(rest) == 0 || !bytes.ContainsAny(rest[:1], otherwise):
			return true
		}
		text = rest
	}
}

// otherwise are the bytes with which the name of a script may go on.
const otherwise = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// TestNames holds that the scripts starter_drain and starter_drain_fast do not kill each
// other's jobs.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		text string
		want bool
	}{
		{"/tmp/drain", true},
		{"sh\x00/tmp/drain/job.sh\x00", true},
		{"DIR=/tmp/drain\x00X=1", true},
		{"/tmp/drain_fast/job.sh", false},
		{"/tmp/drain_fast/job.sh /tmp/drain/x", true},
		{"/tmp/dra", false},
		{"", false},
	} {
		if got := names([]byte(test.text), "/tmp/drain"); got != test.want {
			t.Errorf("names(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

// killAll kills what a script that failed has left, and what that may start meanwhile.
func killAll(folder string) {
	for range 5 {
		left := processesOf(folder)
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			unix.Kill(p.id, unix.SIGKILL)
		}
	}
}

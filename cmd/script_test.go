package cmd

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fairspool/cmd/internal/cmdtest"
)

// TestScripts runs the stories in testdata/script over the commands as they
// are built and installed: real processes, exit statuses and locks.
//
// A script finds a folder of its own, an empty environment save for PATH, and
// a spool in $WORK/spool that the first command makes. Beside testscript's
// commands it has `keep`, which remembers the spool, `same`, which fails when the
// spool is no longer what it was, what endings says, and two that compare a call of
// a command with its entry in testdata/messages/COMMAND.txt:
//
//	says [STATUS] COMMAND...     exits with 0 or the status, and prints what the page has
//	refuses [STATUS] COMMAND...  exits with 1 or the status, and prints nothing to standard
//	                             output, and to standard error what the page has
//
// [root] is a condition. Jobs wait with what is in $WORK/await.sh.
func TestScripts(t *testing.T) {
	bin := binaries(t)
	dir := filepath.Join("testdata", "script")
	said := cmdtest.ReadMessages(t, filepath.Join("testdata", "messages"), func(script string) bool {
		_, err := os.Stat(filepath.Join(dir, script+".txtar"))
		return err == nil
	})
	cmdtest.NeedUsers(t)
	path := bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	await, err := os.ReadFile(filepath.Join("testdata", "await.sh"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       cmdtest.Updating(),
		Setup: func(e *testscript.Env) error {
			work := e.WorkDir
			e.Setenv("PATH", path)
			e.Setenv("HOME", work)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(work, "config"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(work, "state"))
			e.Setenv("FAIRSPOOL_DIR", filepath.Join(work, "spool"))
			e.Setenv("TZ", "UTC")
			e.Setenv("FAIRSPOOL_CYCLE_ON_CHANGE", "false") // scripts make cycles by hand
			script := strings.TrimPrefix(filepath.Base(work), "script-")
			partial, err := leavesOut(filepath.Join(dir, script+".txtar"))
			if err != nil {
				return err
			}
			e.Values[calls{}] = said.Test(e.T().(testing.TB), script, partial, map[string]string{"$WORK": work})
			e.Defer(func() { killAll(work) })
			err = os.WriteFile(filepath.Join(work, "await.sh"), await, 0o644)
			cmdtest.Share(t, work)
			return err
		},
		Cmds:      commands(),
		Condition: condition,
	})
}

// commands returns those that scripts have beside testscript's own.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := maps.Clone(endings)
	all["keep"], all["same"] = keep, same
	all["says"], all["refuses"] = prints, refuses
	all["mistake"] = mistake
	return all
}

// calls is the key of a script's calls.
type calls struct{}

// prints fails unless a command exits with 0, or the status given, and prints what its page has.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: says [STATUS] COMMAND [ARGS...]")
	}
	compareOn(ts, "", 0, args)
}

// refuses fails unless a command exits with 1, or the status given, and prints what its page
// has to standard error, and nothing to standard output.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: refuses [STATUS] COMMAND [ARGS...]")
	}
	compareOn(ts, "", 1, args)
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("standard output is not empty")
	}
}

// mistake fails unless a command exits with 1, or the status given, changes nothing in the spool,
// prints nothing to standard output and one line to standard error, behind which a place in a
// description may be shown, and the line is that of the page of mistakes. With the status 0 it is
// a command that goes on with a warning.
func mistake(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: mistake [STATUS] COMMAND [ARGS...]")
	}
	warns := len(args) > 0 && args[0] == "0"
	if !warns {
		keep(ts, false, nil)
	}
	compareOn(ts, "mistakes", 1, args)
	bad := strings.Split(strings.TrimSuffix(ts.ReadFile("stderr"), "\n"), "\n")
	switch {
	case !warns && ts.ReadFile("stdout") != "":
		ts.Fatalf("standard output is not empty")
	case bad[0] == "" || len(bad) > 1 && !(len(bad) == 3 && strings.HasPrefix(bad[1], "    ")):
		ts.Fatalf("standard error has %q, want one line", bad)
	case warns && !strings.Contains(bad[0], ": warning: "):
		ts.Fatalf("standard error has %q, want a warning", bad[0])
	}
	if !warns {
		same(ts, false, nil)
	}
}

// compareOn runs a command, and compares its exit status with the one before its name or else
// with want, and what it prints with a page; empty: the command's.
func compareOn(ts *testscript.TestScript, page string, want int, args []string) {
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			want, args = n, args[1:]
		}
	}
	if len(args) == 0 {
		ts.Fatalf("which command?")
	}
	status := 0
	if err := ts.Exec(args[0], args[1:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
	ts.Check(ts.Value(calls{}).(*cmdtest.Calls).PrintedOn(cmp.Or(page, args[0]), args, status, ts.ReadFile("stdout"), ts.ReadFile("stderr")))
}

// leavesOut reports whether a script leaves out lines because the test is not root's.
func leavesOut(script string) (bool, error) {
	text, err := os.ReadFile(script)
	return os.Geteuid() != 0 && strings.Contains(string(text), "root] "), err
}

// condition tells whether a condition is met that testscript does not know: [root].
func condition(name string) (bool, error) {
	if name != "root" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return os.Geteuid() == 0, nil
}

// keep remembers what is in the spool.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: keep")
	}
	ts.Check(os.WriteFile(ts.MkAbs(".kept"), []byte(contents(ts)), 0o600))
}

// same fails when the spool is not what keep found; with `!`, when it is.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 {
		ts.Fatalf("usage: [!] same")
	}
	now, before := contents(ts), ts.ReadFile(".kept")
	switch {
	case neg && now == before:
		ts.Fatalf("the spool did not change")
	case !neg && now != before:
		ts.Fatalf("the spool changed from\n%sto\n%s", before, now)
	}
}

// contents lists the spool's files with their sums.
func contents(ts *testscript.TestScript) string {
	var b strings.Builder
	dir := ts.Getenv("FAIRSPOOL_DIR")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(text))
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		ts.Fatalf("%v", err)
	}
	return b.String()
}

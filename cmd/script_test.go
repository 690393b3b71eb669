package cmd

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fairspool/cmd/internal/cmdtest"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// TestScripts runs the stories in testdata/script over the commands as they
// are built and installed: real processes, exit statuses and locks.
//
// A script finds a folder of its own, an empty environment save for PATH, and
// a spool in $WORK/spool that the first command makes. Beside testscript's
// commands it has `keep`, which remembers the spool, `same`, which fails when the
// spool is no longer what it was, and what endings says; [root] is a condition.
// Its jobs wait with what is in $WORK/await.sh.
func TestScripts(t *testing.T) {
	bin := binaries(t)
	path := bin + string(filepath.ListSeparator) + cmdtest.Users(t)
	await, err := os.ReadFile(filepath.Join("testdata", "await.sh"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			work := e.WorkDir
			e.Setenv("PATH", path)
			e.Setenv("HOME", work)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(work, "config"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(work, "state"))
			e.Setenv("FAIRSPOOL_DIR", filepath.Join(work, "spool"))
			e.Setenv("TZ", "UTC")
			e.Defer(func() { killAll(work) })
			err := os.WriteFile(filepath.Join(work, "await.sh"), await, 0o644)
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
	return all
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

package cmdtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
)

// Stories are the scripts in testdata/script of the package that is tested.
//
// A script finds a folder of its own, an empty environment except for PATH, where the commands are
// as they are built, and a spool in $WORK/spool that the first command makes. Beside testscript's
// words it has `keep`, which remembers the spool, `same`, which fails when the spool is no longer
// what it was, and those that compare a call of a command with its entry in
// testdata/messages/COMMAND.txt:
//
//	says [STATUS] COMMAND...     exits with 0 or the status, and prints what the page has
//	refuses [STATUS] COMMAND...  exits with 1 or the status, and prints nothing to standard
//	                             output, and to standard error what the page has
//	mistake [STATUS] COMMAND...  see mistake
//
// [root] and [bubblewrap] are conditions.
type Stories struct {
	// Here are commands that run in the test's own process: scripts have their names as words.
	Here []cmdline.Command
	// Words are further ones.
	Words map[string]func(ts *testscript.TestScript, neg bool, args []string)
	// Await is a file that each script finds in its folder; empty: none.
	Await string
	// End is called with the folder of a script that has ended; nil: nothing is.
	End func(dir string)
}

// Run runs the stories.
func (s Stories) Run(t *testing.T) {
	t.Helper()
	bin := testenv.Commands(t)
	dir := filepath.Join(tested, "testdata", "script")
	said := pages(t)
	path := bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       Updating(),
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
			source, err := os.ReadFile(filepath.Join(dir, script+".txtar"))
			if err != nil {
				return err
			}
			partial := os.Geteuid() != 0 && strings.Contains(string(source), "root] ")
			e.Values[names{}] = variables(string(source))
			e.Values[calls{}] = said.Test(e.T().(testing.TB), script, partial, map[string]string{"$WORK": work})
			if s.End != nil {
				e.Defer(func() { s.End(work) })
			}
			if s.Await != "" {
				text, err := os.ReadFile(s.Await)
				if err == nil {
					err = os.WriteFile(filepath.Join(work, filepath.Base(s.Await)), text, 0o644)
				}
				if err != nil {
					return err
				}
			}
			Share(t, work)
			return nil
		},
		Cmds:      s.words(),
		Condition: condition,
	})
}

// words returns the words of scripts in addition to testscript's own.
func (s Stories) words() map[string]func(*testscript.TestScript, bool, []string) {
	all := maps.Clone(s.Words)
	if all == nil {
		all = map[string]func(*testscript.TestScript, bool, []string){}
	}
	all["keep"], all["same"] = keepSpool, sameSpool
	all["says"], all["refuses"], all["mistake"] = s.says, s.refuses, s.mistake
	for _, c := range s.Here {
		all[c.Name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if status, _, _ := here(ts, c, args); (status != 0) != neg {
				ts.Fatalf("exit status %d", status)
			}
		}
	}
	return all
}

// calls is the key of a script's calls.
type calls struct{}

// says fails unless a command exits with 0, or the status given, and prints what its page has.
func (s Stories) says(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: says [STATUS] COMMAND [ARGS...]")
	}
	s.compareOn(ts, "", 0, args)
}

// refuses fails unless a command exits with 1, or the status given, and prints what its page
// has to standard error, and nothing to standard output.
func (s Stories) refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: refuses [STATUS] COMMAND [ARGS...]")
	}
	if out, _ := s.compareOn(ts, "", 1, args); out != "" {
		ts.Fatalf("standard output is not empty")
	}
}

// mistake fails unless a command exits with 1, or the status given, changes nothing in the spool,
// prints nothing to standard output and one line to standard error, behind which a place in a
// description may be shown, and the line is that of the page of mistakes. With the status 0 it is
// a command that goes on with a warning.
func (s Stories) mistake(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: mistake [STATUS] COMMAND [ARGS...]")
	}
	warns := len(args) > 0 && args[0] == "0"
	if !warns {
		keepSpool(ts, false, nil)
	}
	out, text := s.compareOn(ts, "mistakes", 1, args)
	bad := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch {
	case !warns && out != "":
		ts.Fatalf("standard output is not empty")
	case bad[0] == "" || len(bad) > 1 && !(len(bad) == 3 && strings.HasPrefix(bad[1], "    ")):
		ts.Fatalf("standard error has %q, want one line", bad)
	case warns && !strings.Contains(bad[0], ": warning: "):
		ts.Fatalf("standard error has %q, want a warning", bad[0])
	}
	if !warns {
		sameSpool(ts, false, nil)
	}
}

// compareOn runs a command, and compares its exit status with the one before its name or else
// with want, and its output with a page; empty: the command's.
func (s Stories) compareOn(ts *testscript.TestScript, page string, want int, args []string) (out, bad string) {
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			want, args = n, args[1:]
		}
	}
	if len(args) == 0 {
		ts.Fatalf("which command?")
	}
	status, out, bad := s.call(ts, args)
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
	ts.Check(ts.Value(calls{}).(*Calls).PrintedOn(cmp.Or(page, args[0]), args, status, out, bad))
	return out, bad
}

// call runs a command.
func (s Stories) call(ts *testscript.TestScript, args []string) (status int, out, bad string) {
	for _, c := range s.Here {
		if c.Name == args[0] {
			return here(ts, c, args[1:])
		}
	}
	if err := ts.Exec(args[0], args[1:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	return status, ts.ReadFile("stdout"), ts.ReadFile("stderr")
}

// surroundings are the variables that commands in the test's own process take from every script.
var surroundings = []string{
	"PATH", "HOME", "TZ", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"FAIRSPOOL_DIR", "FAIRSPOOL_CONFIG", "FAIRSPOOL_NOW", "FAIRSPOOL_CYCLE_ON_CHANGE",
}

// names is the key of further variables, which a script sets.
type names struct{}

var (
	setting  = regexp.MustCompile(`(?m)^env .*`)
	variable = regexp.MustCompile(`(\w+)=`)
)

// variables returns the names of those that a script sets.
func variables(script string) (list []string) {
	for _, line := range setting.FindAllString(script, -1) {
		for _, m := range variable.FindAllStringSubmatch(line, -1) {
			list = append(list, m[1])
		}
	}
	return list
}

// process guards the state that a process has one of, and a script has its own of.
var process sync.Mutex

// here runs a command in the test's own process, in the folder and the environment of a script.
func here(ts *testscript.TestScript, c cmdline.Command, args []string) (status int, out, bad string) {
	process.Lock()
	defer process.Unlock()
	for _, name := range append(ts.Value(names{}).([]string), surroundings...) {
		if before, ok := os.LookupEnv(name); ok {
			defer os.Setenv(name, before)
		} else {
			defer os.Unsetenv(name)
		}
		if value := ts.Getenv(name); value != "" {
			os.Setenv(name, value)
		} else {
			os.Unsetenv(name)
		}
	}
	zone, before := time.UTC, time.Local
	if name := ts.Getenv("TZ"); name != "" {
		var err error
		zone, err = time.LoadLocation(name)
		ts.Check(err)
	}
	time.Local = zone
	defer func() { time.Local = before }()
	folder, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer os.Chdir(folder)
	var o, b bytes.Buffer
	status = cmdline.Execute(c, args, &input{ts: ts}, &o, &b)
	ts.Stdout().Write(o.Bytes())
	ts.Stderr().Write(b.Bytes())
	return status, o.String(), b.String()
}

// input is the text from the script's word stdin, which stays for further commands until an
// exec.
type input struct {
	ts   *testscript.TestScript
	text *strings.Reader
}

func (in *input) Read(p []byte) (int, error) {
	if in.text == nil {
		in.ts.Check(in.ts.Exec("cat")) // testscript hands it to processes alone
		in.text = strings.NewReader(in.ts.ReadFile("stdout"))
	}
	return in.text.Read(p)
}

// condition reports whether a condition of our own is met: [root], or [bubblewrap], which runs containers with busybox
// in the image.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "bubblewrap":
		_, err := testenv.Bubblewrap()
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// keepSpool remembers the content of the spool.
func keepSpool(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: keep")
	}
	ts.Check(os.WriteFile(ts.MkAbs(".kept"), []byte(contents(ts)), 0o600))
}

// sameSpool fails when the spool is not what keepSpool found; with `!`, when it is.
func sameSpool(ts *testscript.TestScript, neg bool, args []string) {
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

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/asuser"
)

// fakeSystemd makes a machine that systemd runs, by its looks, whose systemd-run is a
// script; what it was called with is in the file calls.
func fakeSystemd(t *testing.T, dir, script string) systemd {
	t.Helper()
	for _, folder := range []string{"bin", "run/systemd/system", "run/user/1000/systemd/private", "linger/alice"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if script != "" {
		text := "#!/bin/sh\necho \"$*\" >>" + dir + "/calls\n" + script
		if err := os.WriteFile(filepath.Join(dir, "bin/systemd-run"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	asuser.Folders = []string{dir + "/bin", "/usr/bin", "/bin"}
	return systemd{run: dir + "/run", linger: dir + "/linger", uid: 0, name: "root"}
}

// execs is a systemd-run that does what it is told.
const execs = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`

func TestScopeOptions(t *testing.T) {
	const rest = " --scope --quiet --collect --slice=fairspool.slice --property=Delegate=yes"
	for _, c := range []struct {
		name, script string
		change       func(m *systemd)
		want         string // what follows the program; "none" without a scope
	}{
		{"root", execs, func(*systemd) {}, rest},
		{"a user who lingers", execs, func(m *systemd) { m.uid, m.name = 1000, "alice" }, " --user" + rest},
		{"a user who does not", execs, func(m *systemd) { m.uid, m.name = 1000, "bob" }, "none"},
		{"a user whose systemd does not run", execs, func(m *systemd) { m.uid, m.name = 1001, "alice" }, "none"},
		{"a user without a name", execs, func(m *systemd) { m.uid, m.name = 1000, "" }, "none"},
		{"another init", execs, func(m *systemd) { m.run += "/none" }, "none"},
		{"it does not answer well", "exit 1", func(*systemd) {}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := fakeSystemd(t, t.TempDir(), c.script)
			c.change(&m)
			got := "none"
			if s := m.scope(); s != nil {
				got = strings.TrimPrefix(strings.Join(s.words, " "), s.words[0])
				if user := slices.Contains(s.env, "XDG_RUNTIME_DIR="+m.run+"/user/1000"); user != (m.uid == 1000) {
					t.Errorf("the environment is %q", s.env)
				}
			}
			if got != c.want {
				t.Errorf("scope = %q, want %q", got, c.want)
			}
		})
	}
}

// A supervisor in a scope answers, runs its job, and can be waited for; where the scope is
// refused, it does so without.
func TestSpawnInScope(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"given", execs},
		{"refused", `case "$*" in *probe*) exit 0;; esac; echo "Failed to start transient scope unit" >&2; exit 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t)
			t.Setenv(isStarter, "1")
			unit := fakeSystemd(t, p.dir, c.script).scope()
			if unit == nil {
				t.Fatal("scope = none, want one")
			}
			id := p.match(`exit 3`)
			as := p.command("-supervise", "1.0.1")
			a := unit.spawn("name-1.0.1", as.Path, as.Args[1:], testenv.Longest)
			if !a.running {
				t.Fatalf("spawn = %+v, want a supervisor that runs", a)
			}
			a.process.Wait()
			if got, want := p.history(id, "ExitCode"), "ExitCode=3"; got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			calls := strings.Split(strings.TrimSpace(p.read("calls")), "\n")
			const want = "--scope --quiet --collect --slice=fairspool.slice --property=Delegate=yes --unit=fairspool-name-1.0.1.scope -- "
			if len(calls) != 2 || !strings.HasPrefix(calls[1], want+as.Path+" ") {
				t.Errorf("systemd-run was called with %q, want one call to try and %q", calls, want)
			}
			// What has nothing to do is not tried again.
			if a := unit.spawn("name-1.0.1", as.Path, as.Args[1:], testenv.Longest); a.running || len(a.lines) > 0 && a.spoke {
				t.Errorf("spawn of an attempt that is over = %+v, want no word", a)
			}
		})
	}
}

// A supervisor that says why it ends is not started a second time, and a dollar sign never
// gets to systemd-run.
func TestSpawnOnce(t *testing.T) {
	dir := t.TempDir()
	unit := fakeSystemd(t, dir, execs).scope()
	if unit == nil {
		t.Fatal("scope = none, want one")
	}
	for _, c := range []struct{ script, calls string }{
		{"echo starter: no; exit 1", "1"}, {"exit 0", "1"}, {"echo what; exit 1", "2"}, {"echo starter: $((1+1)); exit 1", "1"},
	} {
		file := filepath.Join(dir, "times")
		os.Remove(file)
		a := unit.spawn("x", "/bin/sh", []string{"-c", "echo x >>" + file + "; " + c.script}, testenv.Longest)
		out, err := exec.Command("wc", "-l", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(string(out))[0]; got != c.calls || a.running {
			t.Errorf("%q was executed %s times, want %s; %+v", c.script, got, c.calls, a)
		}
	}
	calls, err := os.ReadFile(dir + "/calls")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(calls), "$") {
		t.Errorf("systemd-run was called with a dollar sign:\n%s", calls)
	}
}

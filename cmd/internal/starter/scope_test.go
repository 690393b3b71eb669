package starter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// A supervisor in a scope answers, runs its job, and can be waited for; where the scope is
// refused, it does so without.
func TestSpawnInScope(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"given", cmdtest.Execs},
		{"refused", `case "$*" in *probe*) exit 0;; esac; echo "Failed to start transient scope unit" >&2; exit 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t)
			t.Setenv(isStarter, "1")
			unit := cmdtest.Systemd(t, p.dir, c.script).Scope()
			if unit == nil {
				t.Fatal("scope = none, want one")
			}
			id := p.match(`exit 3`)
			as := p.command("-supervise", "1.0.1")
			a := spawnIn(unit, "name-1.0.1", as.Path, as.Args[1:], testenv.Longest)
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
			if a := spawnIn(unit, "name-1.0.1", as.Path, as.Args[1:], testenv.Longest); a.running || len(a.lines) > 0 && a.spoke {
				t.Errorf("spawn of an attempt that is over = %+v, want no word", a)
			}
		})
	}
}

// A supervisor that says why it ends is not started a second time, and a dollar sign never
// gets to systemd-run.
func TestSpawnOnce(t *testing.T) {
	dir := t.TempDir()
	unit := cmdtest.Systemd(t, dir, cmdtest.Execs).Scope()
	if unit == nil {
		t.Fatal("scope = none, want one")
	}
	for _, c := range []struct{ script, calls string }{
		{"echo starter: no; exit 1", "1"}, {"exit 0", "1"}, {"echo what; exit 1", "2"}, {"echo starter: $((1+1)); exit 1", "1"},
	} {
		file := filepath.Join(dir, "times")
		os.Remove(file)
		a := spawnIn(unit, "x", "/bin/sh", []string{"-c", "echo x >>" + file + "; " + c.script}, testenv.Longest)
		out, err := exec.Command("wc", "-l", file).Output()
		testenv.OK(t, err)
		if got := strings.Fields(string(out))[0]; got != c.calls || a.running {
			t.Errorf("%q was executed %s times, want %s; %+v", c.script, got, c.calls, a)
		}
	}
	calls, err := os.ReadFile(dir + "/calls")
	testenv.OK(t, err)
	if strings.Contains(string(calls), "$") {
		t.Errorf("systemd-run was called with a dollar sign:\n%s", calls)
	}
}

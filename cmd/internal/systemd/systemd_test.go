package systemd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/systemd"
)

func TestScopeOptions(t *testing.T) {
	const rest = " --scope --quiet --collect --slice=fairspool.slice --property=Delegate=yes --unit=fairspool-name.scope -- program"
	for _, c := range []struct {
		name, script string
		change       func(m *systemd.Machine)
		want         string // what follows systemd-run; "none" without a scope
	}{
		{"root", cmdtest.Execs, func(*systemd.Machine) {}, rest},
		{"a user who lingers", cmdtest.Execs, func(m *systemd.Machine) { m.UID, m.Name = 1000, "alice" }, " --user" + rest},
		{"a user who does not", cmdtest.Execs, func(m *systemd.Machine) { m.UID, m.Name = 1000, "bob" }, "none"},
		{"a user whose systemd does not run", cmdtest.Execs, func(m *systemd.Machine) { m.UID, m.Name = 1001, "alice" }, "none"},
		{"a user without a name", cmdtest.Execs, func(m *systemd.Machine) { m.UID, m.Name = 1000, "" }, "none"},
		{"another init", cmdtest.Execs, func(m *systemd.Machine) { m.Run += "/none" }, "none"},
		{"it does not answer well", "exit 1", func(*systemd.Machine) {}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := cmdtest.Systemd(t, t.TempDir(), c.script)
			c.change(&m)
			got := "none"
			if s := m.Scope(); s != nil {
				run := s.Command(t.Context(), "name", "program", nil)
				got = strings.TrimPrefix(strings.Join(run.Args, " "), run.Args[0])
				if user := slices.Contains(run.Env, "XDG_RUNTIME_DIR="+m.Run+"/user/1000"); user != (m.UID == 1000) {
					t.Errorf("the environment is %q", run.Env)
				}
			}
			if got != c.want {
				t.Errorf("Scope = %q, want %q", got, c.want)
			}
		})
	}
}

func TestStopping(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         bool
	}{
		{"it runs", `[ "$*" = is-system-running ] && echo running`, false},
		{"it is degraded", "echo degraded; exit 1", false},
		{"it shuts down", "echo stopping; exit 1", true},
		{"another init", "echo offline; exit 1", false},
		{"no answer", "echo no bus >&2; exit 1", false},
		{"no systemctl", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cmdtest.Systemd(t, dir, "")
			if c.script != "" {
				if err := os.WriteFile(filepath.Join(dir, "bin/systemctl"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if got := systemd.Stopping(); got != c.want {
				t.Errorf("Stopping() = %v, want %v", got, c.want)
			}
		})
	}
}

package cmd

import (
	"os"
	"strings"
	"testing"
)

// made is where fairspool-setup makes things; useradd keeps its locks and copies beside /etc/passwd.
const made = "/etc/fairspool /etc/systemd /etc/sysusers.d /etc/tmpfiles.d /var/spool"

// TestSetup holds that fairspool-setup changes nothing with -dry-run and when called again, and that -undo
// removes what it has made and nothing else.
func TestSetup(t *testing.T) {
	t.Parallel()
	for name, systemd := range map[string]bool{"systemd": true, "rc": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, systemd)
			said := func(what, line string) string {
				t.Helper()
				a := h.run("root", line)
				if a.status != 0 || a.bad != "" {
					t.Errorf("%s = %d, %q, want no trouble", what, a.status, a.bad)
				}
				return a.out
			}
			passwd := func() string { return said("accounts", "cat /etc/passwd /etc/group") }
			before, accounts := h.tree(strings.Fields(made)...), passwd()
			dry := said("-dry-run", "fairspool-setup -dry-run")
			if after := h.tree(strings.Fields(made)...) + passwd(); after != before+accounts {
				t.Errorf("-dry-run has changed\n%s\nto\n%s", before+accounts, after)
			}
			first := said("setup", "fairspool-setup")
			if got := strings.ReplaceAll(dry, ": would be ", ": "); got != first {
				t.Errorf("-dry-run says\n%s\nand setup\n%s", dry, first)
			}
			there := h.tree(strings.Fields(made)...) + passwd()
			second := said("setup again", "fairspool-setup")
			for line := range strings.Lines(second) {
				if !strings.HasSuffix(line, ": is there\n") && !strings.HasPrefix(line, "systemd does not") && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "or ") {
					t.Errorf("setup again says %q, want that all is there", line)
				}
			}
			if after := h.tree(strings.Fields(made)...) + passwd(); after != there {
				t.Errorf("setup again has changed\n%s\nto\n%s", there, after)
			}
			if a := h.run("root", "stat -c '%A %U' /var/spool/fairspool /etc/fairspool/fairspool.toml"); a.out != "drwx--x--x fairspool\n-rw-r--r-- root\n" {
				t.Errorf("spool and configuration have %q, %q", a.out, a.bad)
			}

			// What somebody else has made stays.
			said("another file", "echo x >/etc/fairspool/groups.toml")
			if got := said("-undo", "fairspool-setup -undo"); !strings.Contains(got, "/var/spool/fairspool: stays: ") || !strings.Contains(got, "account fairspool: stays: ") {
				t.Errorf("-undo says\n%s\nwant that spool and account stay", got)
			}
			if a := h.run("root", "rm /etc/fairspool/groups.toml && qstat -spool /var/spool/fairspool"); a.status != 0 {
				t.Errorf("the pool after -undo: %d, %q", a.status, a.bad)
			}
			dry = said("-undo -purge -dry-run", "fairspool-setup -undo -purge -dry-run")
			if got := said("-undo -purge", "fairspool-setup -undo -purge"); got != strings.ReplaceAll(dry, ": would be ", ": ") {
				t.Errorf("-dry-run says\n%s\nand -undo -purge\n%s", dry, got)
			}
			left := h.run("root", "ls -A /etc/systemd/system /etc/sysusers.d /etc/tmpfiles.d /etc/fairspool /var/spool; cat /etc/passwd /etc/group")
			for line := range strings.Lines(left.out) {
				if strings.Contains(line, "fairspool") && !strings.HasPrefix(line, "/") {
					t.Errorf("-undo -purge has left %q", line)
				}
			}
			if passwd() != accounts {
				t.Errorf("-undo -purge leaves the accounts\n%s\nwant\n%s", passwd(), accounts)
			}
			if systemd {
				calls, err := os.ReadFile(h.path("run/systemctl"))
				h.must(err)
				const want = `daemon-reload
enable --quiet fairspool.socket
restart fairspool.socket
enable --quiet fairspool-starter.service
restart fairspool-starter.service
enable --quiet fairspool-negotiate.timer
restart fairspool-negotiate.timer
disable --quiet --now fairspool-negotiate.timer
disable --quiet --now fairspool-starter.service
disable --quiet --now fairspool.socket
daemon-reload
`
				if string(calls) != want {
					t.Errorf("systemctl was called for\n%s\nwant\n%s", calls, want)
				}
			}
		})
	}
}

// TestSetupRefuses holds that fairspool-setup does nothing where it cannot do all.
func TestSetupRefuses(t *testing.T) {
	t.Parallel()
	h := newHost(t, true)
	all := func() string { return h.tree(strings.Fields(made)...) + h.tree("/etc/passwd", "/etc/group") }
	for _, c := range []struct{ what, before, line, after, bad string }{
		{"a unit of another", "mkdir -p /etc/systemd/system; echo x >/etc/systemd/system/fairspool.socket", "fairspool-setup", "rm -r /etc/systemd",
			"fairspool-setup: /etc/systemd/system/fairspool.socket: is there, and fairspool-setup has not made it: remove it, and keep changes in a file of their own (systemctl edit)\n"},
		{"a user's account", ":", "fairspool-setup -account alice", ":", "fairspool-setup: account alice: uid 1501 is not a system account's, from 1 to 999: name another with -account\n"},
		{"root", ":", "fairspool-setup -account root", ":", "fairspool-setup: account root: uid 0 is not a system account's, from 1 to 999: name another with -account\n"},
		{"a user's spool", "mkdir /var/spool/fairspool; touch /var/spool/fairspool/x; chown -R alice /var/spool/fairspool", "fairspool-setup", "rm -r /var/spool/fairspool",
			"fairspool-setup: /var/spool/fairspool: is there and belongs to uid 1501: chown -R fairspool it when no job runs, or name another place with -spool\n"},
		{"a user's folder", ":", "fairspool-setup -spool /home/alice/pool", ":",
			"fairspool-setup: /home/alice/pool: others than root may write to /home/alice: name another place with -spool\n"},
		{"a user's programs", "cp -r /usr/local/bin /home/alice/bin", "fairspool-setup -prefix /home/alice/bin", "rm -r /home/alice/bin",
			"fairspool-setup: /home/alice/bin/serve: others than root may write to /home/alice, and root would run it: install fairspool as root, in a folder that is root's\n"},
		{"another spool by the configuration", "mkdir /etc/fairspool; echo 'SPOOL = \"/var/spool/pool\"' >/etc/fairspool/fairspool.toml", "fairspool-setup -spool /var/spool/fairspool", "rm -r /etc/fairspool",
			"fairspool-setup: /etc/fairspool/fairspool.toml: its SPOOL is not /var/spool/fairspool, which the commands would not find: set SPOOL there first\n"},
	} {
		if a := h.run("root", c.before); a.status != 0 {
			t.Fatalf("%s: %q", c.what, a.bad)
		}
		before := all()
		if a := h.run("root", c.line); a.status != 1 || a.out != "" || a.bad != c.bad {
			t.Errorf("%s = %d, %q, %q, want 1 and %q", c.what, a.status, a.out, a.bad, c.bad)
		}
		if after := all(); after != before {
			t.Errorf("%s has changed\n%s\nto\n%s", c.what, before, after)
		}
		if a := h.run("root", c.after); a.status != 0 {
			t.Fatalf("%s: %q", c.what, a.bad)
		}
	}
	if a := h.run("alice", "fairspool-setup"); a.status != 1 || a.bad != "fairspool-setup: only root makes a pool for all users: call it as root, or with -dry-run\n" {
		t.Errorf("alice: fairspool-setup = %d, %q", a.status, a.bad)
	}
}

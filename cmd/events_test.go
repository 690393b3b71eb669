package cmd

import (
	"os"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestEventsOfManyUsers holds that in a pool that root serves the command of a job's owner has the owner's
// rights, and the operator's those of the spool's account; and that none has root's.
func TestEventsOfManyUsers(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	ran := func(user, line string) {
		t.Helper()
		if a := h.run(user, line); a.status != 0 {
			t.Fatalf("%s: %s = %d, %q, %q", user, line, a.status, a.out, a.bad)
		}
	}
	ran("root", "fairspool-setup")
	const tell = `#!/bin/sh
cd "$1" && echo $FAIRSPOOL_EVENT $FAIRSPOOL_JOB $FAIRSPOOL_OWNER $(id -un) $(id -G) $(grep -c '^Owner = ') $HOME >>told
`
	write(t, h.path("bin/tell"), tell)
	h.must(os.Chmod(h.path("bin/tell"), 0o755))
	ran("root", `mkdir /run/told && chown fairspool /run/told && printf 'EVENT_COMMAND = "/usr/local/bin/tell /run/told"\nEVENT_COMMAND_EVENTS = "submitted ended"\n' >/etc/fairspool/fairspool.toml`)
	ran("root", "slots detect -count 1")
	ran("root", "starter -watch -door -q 2>/run/starter.log &")
	testenv.Until(t, "the door is open", func() bool {
		_, err := os.Stat(h.path("var/spool/fairspool/door"))
		return err == nil
	})
	const job = `printf 'executable = /bin/true\nnotify_command = /usr/local/bin/tell %s\nnotify_events = submitted, started, ended, held\nqueue\n' $HOME | submit -`
	ran("alice", job)
	ran("root", job)
	told := func(path, want string) {
		t.Helper()
		testenv.Until(t, path+" has what was told", func() bool {
			text, err := os.ReadFile(h.path(path))
			return err == nil && strings.Count(string(text), "\n") >= strings.Count(want, "\n")
		})
		text, err := os.ReadFile(h.path(path))
		h.must(err)
		if string(text) != want {
			t.Errorf("%s has\n%s\nwant\n%s", path, text, want)
		}
	}
	told("home/alice/told", strings.ReplaceAll("submitted 1.0 alice alice GID 1 /home/alice\nstarted 1.0 alice alice GID 1 /home/alice\nended 1.0 alice alice GID 1 /home/alice\n",
		"GID", strings.TrimSpace(h.run("alice", "id -g").out)))
	about := h.run("root", "id -u fairspool; id -g fairspool; getent passwd fairspool | cut -d : -f 6").out
	fields := strings.Fields(about)
	if len(fields) != 3 {
		t.Fatalf("the account: %q", about)
	}
	testenv.Until(t, "root's command is refused", func() bool {
		text, _ := os.ReadFile(h.path("var/spool/fairspool/starter.log"))
		return strings.Contains(string(text), "job 2.0, held: notify_command /usr/local/bin/tell: owner root: it has root's rights")
	})
	if a := h.run("root", "cut -d ' ' -f 1-4,6- /run/told/told | sort; stat -c %U /run/told/told /home/alice/told; test ! -e /told -a ! -e /root/told"); a.status != 0 || a.out !=
		"ended 1.0 alice fairspool 1 "+fields[2]+"\nsubmitted 1.0 alice fairspool 1 "+fields[2]+"\nsubmitted 2.0 root fairspool 1 "+fields[2]+"\nfairspool\nalice\n" {
		t.Errorf("the operator's command told %d %q", a.status, a.out+a.bad)
	}
}

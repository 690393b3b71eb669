package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"fairspool/internal/testenv"
)

// TestCrontab runs the line of README.md's crontab as it stands, by the shell and with the
// environment that cron gives it (crontab(5)): it runs a job and the one that waits for it.
func TestCrontab(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	testenv.OK(t, err)
	line := regexp.MustCompile("(?m)```crontab\n\\* \\* \\* \\* \\* (.*)\n```").FindSubmatch(text)
	if line == nil {
		t.Fatal("README.md has no crontab of one line")
	}
	u := newNewUser(t)
	u.run("mkdir -p .config/fairspool && echo 'CYCLE_ON_CHANGE = false' >.config/fairspool/fairspool.toml")
	u.run("submit -name first -output first -- echo first")
	u.run("submit -name second -output second -after 1 -- echo second")
	for _, name := range []string{"first", "second"} {
		cron := u.command(string(line[1]), "LOGNAME=nobody", "SHELL=/bin/sh", "PATH=/usr/bin:/bin")
		if out, err := cron.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s prints %q, %v, want nothing: cron would send mail", line[1], out, err)
		}
		testenv.Until(t, "the job "+name+" has left the queue", func() bool {
			return u.run("qstat -constraint 'JobBatchName == \""+name+"\"' -af ProcId") == ""
		})
		if wrote, err := os.ReadFile(filepath.Join(u.home, name)); err != nil || string(wrote) != name+"\n" {
			t.Errorf("the job wrote %q, %v, want its name", wrote, err)
		}
	}
}

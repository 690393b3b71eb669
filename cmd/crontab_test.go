package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestCrontab runs the line of README.md's crontab as it stands, by the shell and with the
// environment that cron gives it (crontab(5)): it runs a job and the one that waits for it.
func TestCrontab(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile("(?m)```crontab\n\\* \\* \\* \\* \\* (.*)\n```").FindSubmatch(text)
	if line == nil {
		t.Fatal("README.md has no crontab of one line")
	}
	u := newNewUser(t)
	u.run("mkdir -p .config/fairspool && echo 'CYCLE_ON_CHANGE = false' >.config/fairspool/fairspool.toml")
	u.run("submit -output first -- echo first")
	u.run("submit -output second -after 1 -- echo second")
	for _, name := range []string{"first", "second"} {
		cron := u.command(string(line[1]), "LOGNAME=nobody", "SHELL=/bin/sh", "PATH=/usr/bin:/bin")
		if out, err := cron.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s prints %q, %v, want nothing: cron would send mail", line[1], out, err)
		}
		testenv.Until(t, "the job has written to "+name, func() bool {
			wrote, _ := os.ReadFile(filepath.Join(u.home, name))
			return strings.TrimSpace(string(wrote)) == name
		})
		u.run("qstat -wait " + map[string]string{"first": "1", "second": "2"}[name])
	}
}

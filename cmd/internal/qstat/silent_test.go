package qstat

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// TestSilent holds that the sheet of a job that a pilot runs says that its machine is silent, also if the
// job has to leave; and of others, and while it is not, nothing.
func TestSilent(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 2; Cmd = "/bin/true"; Requirements = true]`), []spool.NewRun{{Count: 2}})
		cmdtest.Claims(tx)
		for proc, state := range []pool.ClaimState{pool.RunningClaim, pool.Vacating} {
			c, _ := tx.Claim(pool.JobID{Cluster: 1, Proc: proc})
			c.State, c.Machine = state, "node7"
			if c.Instance = "a"; state == pool.Vacating {
				c.VacateReason = "too hot"
			}
			tx.PutClaim(c)
		}
	})
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(config, []byte("JOB_LEASE = 60\nUID_DOMAIN = \"pool\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRSPOOL_CONFIG", config)
	boot, up := cmdline.Uptime()
	note := func(ago time.Duration) {
		t.Helper()
		if err := heard.Note(os.Getenv("FAIRSPOOL_DIR"), "node7", heard.Sign{Boot: boot, Up: up - ago, At: time.Unix(cmdtest.Now, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	const words = `its machine has not been heard of for [34]\d s; given up in \d\d\n`
	for _, c := range []struct {
		ago  time.Duration
		job  string
		want string
		is   bool
	}{
		{30 * time.Second, "1.0", `scheduling info: +` + words, true}, {30 * time.Second, "1.1", `scheduling info: +too hot; ` + words, true},
		{0, "1.0", "its machine", false}, {0, "1.1", `scheduling info: +too hot\n`, true},
	} {
		note(c.ago)
		status, out, bad := cmdtest.Run(Command(), "-j", c.job)
		if is := regexp.MustCompile(c.want).MatchString(out); is != c.is || status != 0 {
			t.Errorf("%v ago: qstat -j %s shows %s: %v, want %v, status %d, %s:\n%s", c.ago, c.job, c.want, is, c.is, status, bad, out)
		}
	}
}

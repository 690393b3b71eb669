package qstat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// starting makes a spool with two slots. On the first 1.0 has run for a minute.
func starting(t *testing.T, limit string, clusters ...string) {
	t.Helper()
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", "JobStatus = 2; "+limit), []spool.NewRun{{Count: 1}})
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1, Slot: "slot1@node", Machine: "node", Submitter: "alice@pool",
			State: pool.RunningClaim, Weight: accountant.One, MatchedAt: time.Unix(now-60, 0), StartedAt: time.Unix(now-60, 0)})
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 1, At: time.Unix(now-60, 0), ResourcesUsed: 1, InUse: accountant.One})
		for _, name := range []string{"slot1@node", "slot2@node"} {
			tx.PutSlot(name, cmdtest.Ad(t, fmt.Sprintf("[Name = %q; Machine = \"node\"; Cpus = 1; Memory = 100; Requirements = true]", name)))
		}
		for _, c := range clusters {
			n, more, _ := strings.Cut(c, ":")
			count := 1
			fmt.Sscan(n, &count)
			if !strings.Contains(more, "Requirements") {
				more += "; Requirements = true"
			}
			tx.AddCluster(job(t, "alice", more), []spool.NewRun{{Count: count}})
		}
	})
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name, limit string
		clusters    []string
		want        string
	}{
		{"one after the other", "AllowedExecuteDuration = 600", []string{"5:AllowedJobDuration = 100"},
			"2.0 0s, 2.1 1m40s, 2.2 3m20s, 2.3 5m0s, 2.4 6m40s"},
		{"a slot comes free by the first limit", "AllowedExecuteDuration = 70; WallTimeLimit = 600", []string{"3:AllowedJobDuration = 100"},
			"2.0 0s, 2.1 10s, 2.2 1m40s"},
		{"no limits", "Requirements = true", []string{"3:"},
			"2.0 0s, 2.1-2 unknown: 2 jobs without a time limit have slots: 1.0, 2.0"},
		{"one without a limit", "Requirements = true", []string{"1:WallTimeLimit = 50", "2:WallTimeLimit = 50"},
			"2.0 0s, 3.0 50s, 3.1 1m40s"},
		{"a chain", "WallTimeLimit = 160", []string{`1:AfterOk = "1"; WallTimeLimit = 30`, `2:AfterAny = "2"`, `1:AfterOk = "3"`},
			"2.0 1m40s, 3.0-1 2m10s, 4.0 unknown: waits for a cluster whose end is not known: 3"},
		{"what was waited for has ended", "WallTimeLimit = 160", []string{`1:AfterOk = "99"`}, "2.0 0s"},
		{"held jobs start never, and theirs", "WallTimeLimit = 160", []string{"1:JobStatus = 5", `1:AfterOk = "2"`},
			"3.0 unknown: waits for a cluster whose end is not known: 2"},
		{"a time to come", "WallTimeLimit = 160", []string{fmt.Sprintf("2:DeferralTime = %d; WallTimeLimit = 10; Requirements = time() >= DeferralTime - 5", now+1000)},
			"2.0-1 16m40s"},
		{"no slot ever", "WallTimeLimit = 160", []string{"1:Requirements = TARGET.Memory > 500"}, "2.0 unknown: no match found: none of 2 slots meets the job's Requirements"},
		{"the order is that of priorities", "WallTimeLimit = 60; Requirements = true", []string{"1:JobPrio = -1; WallTimeLimit = 60", "2:JobPrio = 9; WallTimeLimit = 60"},
			"2.0 1m0s, 3.0-1 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			starting(t, c.limit, c.clusters...)
			got := played(t, trial.Bounds{Cycles: 100, Enough: func(int) bool { return false }})
			if !strings.HasPrefix(got, c.want) || strings.Count(got, ",") < strings.Count(c.want, ",") {
				t.Errorf("starts are\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// played returns the starts of all jobs that wait.
func played(t *testing.T, b trial.Bounds) string {
	t.Helper()
	var words []string
	called(t, func(c *cmdline.Call) {
		s, err := c.Spool()
		if err == nil {
			err = s.View(func(v *spool.View) error {
				starts, err := trial.Forward(c, v, s.Domain(), b)
				for _, x := range starts {
					if x.At.IsZero() {
						words = append(words, fmt.Sprintf("%v unknown: %s", x.Procs, x.Unknown))
					} else {
						words = append(words, fmt.Sprintf("%v %v", x.Procs, x.At.Sub(c.Now)))
					}
				}
				return err
			})
		}
		if err != nil {
			t.Error(err)
		}
	})
	return strings.Join(words, ", ")
}

// A play ends after a number of cycles, or when its caller has seen enough; later starts are unknown.
func TestStartBounded(t *testing.T) {
	starting(t, "WallTimeLimit = 6000", "5:WallTimeLimit = 100")
	const want = "2.0 0s, 2.1 1m40s, 2.2-4 unknown: later than 2026-11-20 23:35:46, up to which 2 cycles were played"
	for _, b := range []trial.Bounds{
		{Cycles: 2, Enough: func(int) bool { return false }},
		{Cycles: 100, Enough: func(n int) bool { return n == 2 }},
	} {
		if got := played(t, b); got != want {
			t.Errorf("starts are\n%s\nwant\n%s", got, want)
		}
	}
}

// TestStartShown holds the display: which jobs, in which order.
func TestStartShown(t *testing.T) {
	starting(t, "WallTimeLimit = 660", "5:WallTimeLimit = 3600", "2:", "1:JobStatus = 5", "1:Requirements = false")
	displays(t, "-start", "-start 2.3-4 3", "-start -json 2.0 5", "-start -s r", "-start 1")
	cmdtest.Refuses(t, Command(), 2, "-start", "-xml")
}

package qstat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/policy/maui"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// underMaui sets the policy for the commands of a test.
func underMaui(t *testing.T, parameters string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(file, []byte("JOB_PRIORITY_POLICY = \"maui\"\nUID_DOMAIN = \"pool\"\n[maui]\n"+parameters), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

func TestHierarchyOrder(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		add := func(owner, more string, count int) {
			tx.AddCluster(job(t, owner, more), []spool.NewRun{{Count: count}})
		}
		add("alice", "", 3)                                    // 1
		add("bob", "EligibleSince = 1", 1)                     // 2
		add("carol", `AccountingGroup = "nice-user.carol"`, 1) // 3
		add("dave", "JobStatus = 5", 1)                        // 4
		add("erin", "RequestCpus = ProcId + 1", 3)             // 5
		add("frank", "JobStatus = 4", 1)                       // 6
		add("gina", "JobPrio = 1", 1)                          // 7
		add("gina", "JobPrio = 2", 1)                          // 8
		add("heidi", "EligibleSince = 0", 1)                   // 9
		add("ivan", "", 1)                                     // 10
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 10}, Attempt: 1, Slot: "slot1@node", Submitter: "ivan@pool",
			State: pool.RunningClaim, Weight: accountant.One, MatchedAt: time.Unix(now-1800, 0), StartedAt: time.Unix(now-1200, 0)})
		tx.Set(pool.JobID{Cluster: 10}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Running))))
		tx.Set(pool.JobID{Cluster: 2}, pool.AttrEligibleSince, classad.Literal(classad.Int(now-7200)))
	})
	underMaui(t, "PROCWEIGHT = 100\nUSERWEIGHT = 1\n\"USERCFG[carol]\" = \"PRIORITY=5000\"\n")
	const want = "10.0 140, " +
		// Each proc of 5 asks for more than the one before it.
		"5.2 360, 5.1 260, 2.0 220, 1.0-2:1 160, 5.0 160, 8.0 160, 7.0 160, " +
		"9.0 100, " + // considered from now on
		"3.0 5160, " + // a nice user
		"4.0 160, 6.0 0"
	if got := priors(t, ""); got != want {
		t.Errorf("qstat lists %s, want %s", got, want)
	}
	// What is shown does not change where it stands.
	if got := lines(t, "-urg 5.1"); len(got) != 1 || got[0].Place != 2 {
		t.Errorf("qstat -urg 5.1 lists %+v, want it at place 2", got)
	}
	displays(t, "", "-urg", "-ext", "-pri", "-f")
	_, out, _ := qstat("-pri", "-json")
	var all struct{ Jobs []maui.Prioritized }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	list := all.Jobs
	places := 0
	for i, p := range list {
		if p.Blocked == "" && p.Place != places+1 {
			t.Errorf("-pri -json: %d.%d has place %d, %d stand before it", p.ClusterID, p.ProcID, p.Place, places)
		}
		places += p.Count
		if p.Blocked != "" && i < len(list)-1 {
			t.Errorf("-pri -json: %d.%d is not the last, and blocked: %s", p.ClusterID, p.ProcID, p.Blocked)
		}
	}
	if len(list) != 10 || list[0].Components["RES"].Subs["PROC"].Contribution != 300 {
		t.Errorf("-pri -json = %s", out)
	}
}

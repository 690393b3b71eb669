package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
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

// idsOf returns the first column of a table, and prior.
func idsOf(table string) (ids []string) {
	for _, line := range strings.Split(table, "\n") {
		if f := strings.Fields(line); len(f) > 6 && f[0] != "job-ID" {
			ids = append(ids, f[0]+" "+f[1])
		}
	}
	return ids
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
	want := []string{"10.0 140",
		// Each proc of 5 asks for more than the one before it.
		"5.2 360", "5.1 260", "2.0 220", "1 160", "5.0 160", "8.0 160", "7.0 160",
		"9.0 100",  // considered from now on
		"3.0 5160", // a nice user
		"4.0 160", "6.0 0"}
	_, out, bad := qstat()
	if got := idsOf(out); !slices.Equal(got, want) || bad != "" {
		t.Errorf("qstat = %q, %q, want %q", got, bad, want)
	}
	// What is shown does not change where it stands.
	if _, out, _ := qstat("-urg", "5.1"); !strings.Contains(out, "    5.1     260       2 ") {
		t.Errorf("qstat -urg 5.1 = %s", out)
	}
	_, out, _ = qstat("-pri", "-json")
	var list []Prioritized
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
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

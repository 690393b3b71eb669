package userprio

import (
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func TestFlocked(t *testing.T) {
	fill(t)
	_, before, _ := userprio("-all", "-allusers")
	if status, out, bad := userprio("-flocked"); status != 0 || out != "Nobody has had slots of other pools.\n" || bad != "" {
		t.Errorf("userprio -flocked of nothing = %d, %q, %q", status, out, bad)
	}
	if status, out, bad := userprio("-flocked", "-json"); status != 0 || strings.Join(strings.Fields(out), "") != `{"SchemaVersion":1,"Flocked":[]}` || bad != "" {
		t.Errorf("userprio -flocked -json of nothing = %d, %q, %q", status, out, bad)
	}
	at := time.Unix(cmdtest.Now, 0)
	cmdtest.Update(t, func(tx *spool.Tx) {
		hour := accountant.Usage{}.Add(accountant.One, time.Hour)
		spool.Flocked.Put(tx, accountant.Record{Name: "alice@pool", Priority: 20, At: at.Add(-time.Hour), HalfLife: time.Hour, ResourcesUsed: 1, InUse: 2 * accountant.One,
			Slots: hour, Weighted: hour.Plus(hour), Begin: at.Add(-2 * time.Hour), Last: at.Add(-time.Hour)})
		spool.Flocked.Put(tx, accountant.Record{Name: "physics.bob@pool", Priority: 20, At: at.Add(-time.Hour), HalfLife: time.Hour,
			Slots: hour, Weighted: hour, Begin: at.Add(-49 * time.Hour), Last: at.Add(-48 * time.Hour)})
		cluster := tx.AddCluster(classad.New(), []spool.NewRun{{Count: 1}})
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: cluster}, Attempt: 1, Slot: "slot1@b", Flocked: "b", State: pool.RunningClaim, Submitter: "alice@pool", Weight: accountant.One, MatchedAt: at})
	})
	for args, want := range map[string]string{
		"-flocked": `Last Priority Update: 11/20 23:34
                   Wghted Total Usage       Usage             Last      $
User Name          In Use (wghted-hrs)    Start Time       Usage Time   $
------------------ ------ ------------ ---------------- ----------------
physics.bob@pool        0         1.00 11/18/2026 22:34 11/18/2026 23:34
alice@pool              2         4.00 11/20/2026 21:34 11/20/2026 23:34
------------------ ------ ------------ ---------------- ----------------
Number of users: 2      2         5.00                                  $
`,
		"-flocked physics.bob@pool -json": `{"SchemaVersion":1,"Flocked":[{"Name":"physics.bob@pool","ResourcesUsed":0,"WeightedResourcesUsed":0,` +
			`"AccumulatedUsage":3600,"WeightedAccumulatedUsage":3600,"BeginUsageTime":1795041246,"LastUsageTime":1795044846}]}`,
		"-getreslist alice -af Name": "",
		"-all -allusers":             before,
	} {
		status, out, bad := userprio(strings.Fields(args)...)
		if strings.HasSuffix(args, "-json") {
			out = strings.Join(strings.Fields(out), "")
		}
		if status != 0 || bad != "" || marked(out) != marked(strings.ReplaceAll(want, "$\n", " \n")) {
			t.Errorf("userprio %s = %d, %q\n%swant\n%s", args, status, bad, out, want)
		}
	}
	if status, out, bad := userprio("-flocked", "carol"); status != 1 || out != "" || bad != "userprio: carol: has had no slots of other pools\n" {
		t.Errorf("userprio -flocked carol = %d, %q, %q", status, out, bad)
	}
	for _, other := range []string{"-all", "-long", "-why alice"} {
		cmdtest.Refuses(t, command(), 2, append(strings.Fields(other), "-flocked")...)
	}
}

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

// What a slot's ad says of its holder counts as it does for a cycle, which charges it.
func TestResourcesOutside(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		at := time.Unix(cmdtest.Now, 0)
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 1, At: at})
		for _, name := range []string{"divided@a", "static@a", "whole@a", "whole_1@a", "free@a"} {
			ad := classad.New()
			ad.SetString("Name", name)
			ad.SetString("State", "Claimed")
			ad.SetString("RemoteUser", "alice@pool")
			ad.SetBool("PartitionableSlot", name == "divided@a")
			tx.PutSlot(name, ad)
		}
		cluster := tx.AddCluster(classad.New(), []spool.NewRun{{Count: 4}})
		for i, c := range []pool.Claim{
			{Slot: "divided_1@a", Piece: pool.Piece{Of: "divided@a", Takes: "Cpus=1"}},
			{Slot: "static_1@a", Piece: pool.Piece{Of: "static@a", Takes: "Cpus=1"}}, // was partitionable once
			{Slot: "whole_1@a", Piece: pool.Piece{Of: "whole@a", Takes: "Cpus=1"}},
			{Slot: "whole@a"},
		} {
			c.Job, c.Attempt, c.State, c.Submitter, c.MatchedAt = pool.JobID{Cluster: cluster, Proc: i}, 1, pool.RunningClaim, "bob@pool", at
			tx.PutClaim(c)
		}
	})
	if status, out, bad := userprio("-getreslist", "alice@pool", "-af", "Name"); status != 0 || out != "divided@a\nfree@a\n" {
		t.Errorf("userprio -getreslist = %d, %q\n%swant divided@a and free@a", status, bad, out)
	}
}

func TestResources(t *testing.T) {
	at := time.Unix(cmdtest.Now, 0)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 1, At: at, ResourcesUsed: 2, InUse: 2 * accountant.One})
		cluster := tx.AddCluster(classad.New(), []spool.NewRun{{Count: 6}})
		for i, c := range []pool.Claim{
			{Slot: "slot10@node", State: pool.RunningClaim, MatchedAt: at.Add(-90061 * time.Second), StartedAt: at.Add(-time.Minute)},
			{Slot: "slot2@node", State: pool.Matched, MatchedAt: at},
			{Slot: "slot3@node", State: pool.Vacating, MatchedAt: at},
			{Slot: "slot4@node", State: pool.Matched, MatchedAt: at, Submitter: "bob@pool"},
			{Slot: "slot3@node", State: pool.Promised, MatchedAt: at.Add(-time.Second)},
			{Slot: "slot5@node", State: pool.RunningClaim, MatchedAt: at, ChargedSince: at.Add(-time.Hour)},
		} {
			c.Job, c.Attempt, c.Weight = pool.JobID{Cluster: cluster, Proc: i}, 1, accountant.One
			if c.Submitter == "" {
				c.Submitter = "alice@pool"
			}
			tx.PutClaim(c)
		}
	})
	for _, c := range []struct{ args, want string }{
		{"-getres alice@pool", `Resource Name                    Start Time   Match Time
-------------                    ----------   ----------
slot2@node                      11/20 23:34   0+00:00:00
slot3@node                      11/20 23:34   0+00:00:01
slot5@node                      11/20 22:34   0+01:00:00
slot10@node                     11/19 22:33   1+01:01:01
-------------                   ------------  ------------
Number of Resources Used: 4
`},
		{"-getreslist stranger@pool", `Resource Name                    Start Time   Match Time
-------------                    ----------   ----------
-------------                   ------------  ------------
Number of Resources Used: 0
`},
		{"-getreslist alice -long", "Name1 = \"slot2@node\"\nName2 = \"slot3@node\"\nName3 = \"slot5@node\"\nName4 = \"slot10@node\"\n" +
			"StartTime1 = 1795217646\nStartTime2 = 1795217645\nStartTime3 = 1795214046\nStartTime4 = 1795127585\n\n"},
		{"-getreslist alice -af Name", "slot2@node\nslot3@node\nslot5@node\nslot10@node\n"},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 0 || out != c.want {
			t.Errorf("userprio %s = %d, %q\n%swant\n%s", c.args, status, bad, out, c.want)
		}
		cmdtest.Printed(t, "userprio "+c.args+" (standard error)", status, "", bad)
	}
}

package qstat

import (
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestPromised holds that a job that is promised a slot says whom it waits for, and one
// that has to leave its slot for which job.
func TestPromised(t *testing.T) {
	fill(t)
	const why = "preempted for job 2.0 of bob@pool: better priority"
	cmdtest.Update(t, func(tx *spool.Tx) {
		bobs := pool.JobID{Cluster: 2}
		holder, _ := tx.Claim(pool.JobID{Cluster: 1, Proc: 1})
		holder.State, holder.VacateReason, holder.PromisedTo = pool.Vacating, why, bobs
		tx.PutClaim(holder)
		promise := pool.Claim{Job: bobs, Attempt: 1, Slot: holder.Slot, Submitter: "bob@pool", State: pool.Promised, Weight: accountant.One,
			MatchedAt: time.Unix(now-20, 0)}
		tx.PutClaim(promise)
		for proc, name := range []string{"out1@x", "out2@x"} {
			ad := classad.New()
			ad.SetString("Name", name)
			if proc == 0 {
				ad.SetString("State", "Claimed")
				ad.SetString("RemoteUser", "carol@elsewhere")
			}
			tx.PutSlot(name, ad)
			promise.Job, promise.Slot = pool.JobID{Cluster: 3, Proc: proc}, name
			tx.PutClaim(promise)
		}
	})
	for _, c := range []struct{ job, state, slot string }{
		{"1.0", "t", "slot3@node"}, {"1.1", "r", "slot10@node"}, {"2.0", "t", "slot10@node"}, {"3.0", "t", "out1@x"}, {"3.1", "t", "out2@x"},
	} {
		displays(t, "-j "+c.job, "-j "+c.job+" -json")
		if got := lines(t, c.job); len(got) != 1 || got[0].State != c.state || got[0].Slot != c.slot {
			t.Errorf("qstat %s lists %+v, want %s on %s", c.job, got, c.state, c.slot)
		}
	}
}

package main

import (
	"encoding/json"
	"strings"
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
	for job, want := range map[string]string{
		"1.0": "t ", // matched
		"1.1": "r " + why,
		"2.0": "t waits for job 1.1 of alice@pool to leave slot10@node",
		"3.0": "t waits for carol@elsewhere to leave out1@x",
		"3.1": "t waits for out2@x to come free",
	} {
		_, out, _ := qstat("-j", job)
		if state, text, _ := strings.Cut(want, " "); !strings.Contains(out, "state:                      "+state+"\n") ||
			text != "" && !strings.HasSuffix(out, "scheduling info:            "+text+"\n") || text == "" && strings.Contains(out, "scheduling") {
			t.Errorf("qstat -j %s =\n%swant %s", job, out, want)
		}
		var list []Waiting
		_, out, _ = qstat("-j", job, "-json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 || list[0].State+" "+list[0].Reason != want {
			t.Errorf("qstat -j %s -json = %s (%v), want %s", job, out, err, want)
		}
	}
	if _, out, _ := qstat("2"); !strings.Contains(out, " t     11/20/2026 23:33:46 slot10@node ") {
		t.Errorf("qstat 2 =\n%swant t on slot10@node", out)
	}
}

package cmdtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Claims gives slots to jobs of cluster 1, which is alice's: 1.0 runs, and 1.1 is
// matched.
func Claims(tx *spool.Tx) {
	at := time.Unix(Now-60, 0)
	c := pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1, Slot: "slot1@node", Machine: "node", Submitter: "alice@pool",
		State: pool.RunningClaim, Weight: accountant.One, MatchedAt: at, StartedAt: at}
	tx.PutClaim(c)
	c.Job.Proc, c.State, c.StartedAt = 1, pool.Matched, time.Time{}
	tx.PutClaim(c)
	tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 1, At: at, ResourcesUsed: 2, InUse: 2 * accountant.One})
}

// Queue reads each job with its state, then each claim with its, then what keeps
// jobs back.
func Queue(t *testing.T) string {
	t.Helper()
	var list []string
	View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			n, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
			list = append(list, fmt.Sprintf("%v=%v", id, pool.Status(n)))
		}
		for _, c := range v.Claims() {
			list = append(list, fmt.Sprintf("%v:%v", c.Job, c.State))
		}
		for _, f := range v.Factories() {
			if f.Paused != "" {
				list = append(list, fmt.Sprintf("%d: %s", f.Cluster, f.Paused))
			}
		}
	})
	return strings.Join(list, " ")
}

package operation

import (
	"fmt"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Outcome is what Remove did with a job.
type Outcome int

// What Remove may do.
const (
	RemovedNow Outcome = iota + 1 // the job has left the queue
	Marked                        // it runs; its supervisor ends it
	Already                       // it was marked before
)

// Remove takes a job out of the queue for the reason why. An idle or held one
// leaves at once; one that is matched or promised a slot too, and its charge is given
// back; the claim of a running one turns to Vacating, which ends the charge, and its
// supervisor ends it. The caller names the transaction.
func Remove(tx *spool.Tx, id pool.JobID, why string, now time.Time, p accountant.Params) (Outcome, error) {
	ad, ok := tx.Job(id)
	if !ok {
		return 0, fmt.Errorf("job %v: not in the queue", id)
	}
	j := job{tx, id, ad}
	if j.status() == pool.Removed {
		return Already, nil
	}
	c, claimed := tx.Claim(id)
	removing(tx, id.Cluster, id.Proc, id.Proc, j.status(), why, now)
	if claimed && (c.State == pool.RunningClaim || c.State == pool.Vacating) {
		release(tx, c, now, p)
		if c.State == pool.RunningClaim {
			c.State, c.VacateSince = pool.Vacating, now
			tx.PutClaim(c)
		}
		return Marked, nil
	}
	if claimed {
		release(tx, c, now, p)
		tx.DropClaim(id)
	}
	tx.Leave(id, now)
	return RemovedNow, nil
}

// RemoveUnclaimed does as Remove for the procs first to last of a cluster,
// which stand in one run and have no claims, at the cost of one: all of them
// leave at once, or had been removed already.
func RemoveUnclaimed(tx *spool.Tx, cluster, first, last int, why string, now time.Time) (Outcome, error) {
	ad, ok := tx.Job(pool.JobID{Cluster: cluster, Proc: first})
	if !ok {
		return 0, fmt.Errorf("job %d.%d: not in the queue", cluster, first)
	}
	status := job{ad: ad}.status()
	if status == pool.Removed {
		return Already, nil
	}
	removing(tx, cluster, first, last, status, why, now)
	tx.LeaveRange(cluster, first, last, now)
	return RemovedNow, nil
}

// removing notes in the jobs' ads that they are removed.
func removing(tx *spool.Tx, cluster, first, last int, before pool.Status, why string, now time.Time) {
	for _, a := range []struct {
		name  string
		value classad.Value
	}{
		{pool.AttrRemoveReason, classad.String(why)},
		{pool.AttrLastJobStatus, classad.Int(int64(before))},
		{pool.AttrJobStatus, classad.Int(int64(pool.Removed))},
		{pool.AttrEnteredStatus, classad.Int(now.Unix())},
	} {
		tx.SetRange(cluster, first, last, a.name, classad.Literal(a.value))
	}
}

package qstat

import (
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// The jobs of a cluster that are still to come are listed with the jobs of its owner.
func TestKept(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddFactory(spool.Factory{Cluster: tx.NextCluster(), Owner: "erin", Next: 1, Jobs: 9, MaxIdle: 1}, []byte("digest\n"))
		tx.AddCluster(job(t, "erin", ""), []spool.NewRun{{Count: 1}})
		tx.Leave(pool.JobID{Cluster: 6}, time.Unix(now, 0))
	})
	displays(t, "", "6", "erin", "-u erin", "-u * 6", "-u bob,erin 6", "-u erin@pool 6", "2", "bob", "-u bob", "-u bob 6")
}

// While a job waits once more, its display says why it had to leave its slot.
func TestVacateReason(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, id := range []pool.JobID{{Cluster: 2}, {Cluster: 1, Proc: 1}} {
			tx.Set(id, pool.AttrVacateReason, classad.Literal(classad.String("EXECUTE: no such folder")))
		}
	})
	displays(t, "-j 2.0", "-j 1.1", "-j 5.0")
}

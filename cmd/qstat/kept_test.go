package main

import (
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// What is still to come of a cluster is listed where the jobs of its owner are.
func TestKept(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddFactory(spool.Factory{Cluster: tx.NextCluster(), Owner: "erin", Next: 1, Jobs: 9, MaxIdle: 1}, []byte("digest\n"))
		tx.AddCluster(job(t, "erin", ""), []spool.NewRun{{Count: 1}})
		tx.Leave(pool.JobID{Cluster: 6}, time.Unix(now, 0))
	})
	const line = "      6 jobs 1-8 are still to come (max_idle 1)\n"
	for _, c := range []struct {
		args string
		want bool
	}{
		{"", true}, {"6", true}, {"erin", true}, {"-u erin", true}, {"-u * 6", true}, {"-u bob,erin 6", true}, {"-u erin@pool 6", true},
		{"1", false}, {"bob", false}, {"-u bob", false}, {"-u bob 6", false},
	} {
		_, out, bad := qstat(strings.Fields(c.args)...)
		if bad != "" || strings.HasSuffix(out, line) != c.want {
			t.Errorf("qstat %s = %q, %s, want %q at its end: %v", c.args, out, bad, line, c.want)
		}
	}
}

// Of a job that waits once more it is told why it had to leave its slot, as long as it
// waits.
func TestVacateReason(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, id := range []pool.JobID{{Cluster: 2}, {Cluster: 1, Proc: 1}} {
			tx.Set(id, pool.AttrVacateReason, classad.Literal(classad.String("EXECUTE: no such folder")))
		}
	})
	const line = "vacate reason:              EXECUTE: no such folder\n"
	for _, c := range []struct {
		job  string
		want bool
	}{{"2.0", true}, {"1.1", false}, {"5.0", false}} {
		if _, out, bad := qstat("-j", c.job); bad != "" || strings.Contains(out, line) != c.want {
			t.Errorf("qstat -j %s = %q, %s, want %q in it: %v", c.job, out, bad, line, c.want)
		}
	}
}

package main

import (
	"strconv"
	"strings"
	"testing"

	"fairspool/lib/pool"
)

// A job that runs once more may have its own slot again, at once; of the standard universe
// under the name that it had.
func TestOwnSuccessor(t *testing.T) {
	t.Parallel()
	for _, universe := range []pool.Universe{pool.Vanilla, pool.Standard} {
		t.Run(strconv.Itoa(int(universe)), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.slot(1)
			cluster := p.queueOf(2, `echo x >>starts; exit 0`, "JobUniverse", strconv.Itoa(int(universe)), "OnExitRemove", "ProcId == 0 || NumShadowStarts == 3")
			p.cycle()
			p.starter(0, 0, "-q", "-wait")
			if got, want := strings.Count(p.read("starts"), "x"), 4; got != want {
				t.Errorf("%d starts, want %d", got, want)
			}
			if got := p.queued(pool.JobID{Cluster: cluster, Proc: 1}, "JobStatus", "HoldReason"); got != "gone" {
				t.Errorf("the job: %s, want gone", got)
			}
			p.nothingLeft()
			p.noCgroups()
		})
	}
}

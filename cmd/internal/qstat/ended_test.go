package qstat

import (
	"fmt"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestEnded holds that -j shows the end of jobs that have left the queue, whichever month that
// was in, and says of other names what there has been.
func TestEnded(t *testing.T) {
	const month = 31 * 86400
	cmdtest.Spool(t, func(*spool.Tx) {})
	refuses := func(calls ...string) {
		t.Helper()
		for _, args := range calls {
			cmdtest.Refuses(t, Command(), 1, "-j", args)
		}
	}
	refuses("1")
	cmdtest.Update(t, func(tx *spool.Tx) {
		ended := func(ago int64, more string) string {
			return fmt.Sprintf(`JobStatus = 4; Out = "job.out"; NumJobStarts = 1; JobStartDate = %d; JobCurrentStartDate = %d; RemoteWallClockTime = 90.0; LastRemoteHost = "slot1@node";
				EnteredCurrentStatus = %d; QDate = %d; %s`, now-ago-90, now-ago-90, now-ago, now-ago-100, more)
		}
		tx.AddCluster(job(t, "alice", ended(60, "ExitBySignal = false; ExitCode = 3")), []spool.NewRun{{Count: 3}}) // 1
		tx.Leave(pool.JobID{Cluster: 1}, time.Unix(now-60, 0))
		tx.Leave(pool.JobID{Cluster: 1, Proc: 2}, time.Unix(now-60, 0))
	})
	displays(t, "-j 1.0", "-j 1.2,1.1", "-j 1", "-j 1.0 -json", "-j 1.0 -xml")
	refuses("1.3", "2,1.9", "5.0")
	cmdtest.Update(t, func(tx *spool.Tx) {
		old := func(status int, more string) string {
			return fmt.Sprintf("JobStatus = %d; EnteredCurrentStatus = %d; QDate = %d; %s", status, now-3*month, now-4*month, more)
		}
		tx.AddCluster(job(t, "bob", old(3, `RemoveReason = "via qdel (by user bob)"`)), []spool.NewRun{{Count: 2}}) // 2
		tx.AddCluster(job(t, "bob", old(4, `ExitBySignal = true; ExitSignal = 9`)), []spool.NewRun{{Count: 1}})     // 3
		tx.LeaveRange(pool.Procs{Cluster: 2, First: 0, Last: 0}, time.Unix(now-4*month, 0))
		tx.LeaveRange(pool.Procs{Cluster: 2, First: 1, Last: 1}, time.Unix(now-3*month, 0))
		tx.LeaveRange(pool.Procs{Cluster: 3, First: 0, Last: 0}, time.Unix(now-3*month, 0))
	})
	displays(t, "-j 2", "-j 3.0,1.1", "-j 2-3 -json")
	refuses("2.5", "4,3.1")
}

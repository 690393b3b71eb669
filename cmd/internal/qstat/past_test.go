package qstat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/report/queue"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// leave makes a spool from which jobs have left: 1.0 and 1.1 removed, 2.0 with an
// exit code, 2.1 by a signal, and 3.0 a month before.
func leave(t *testing.T) {
	t.Helper()
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		set := func(c, p int, name string, v classad.Value) {
			tx.Set(pool.JobID{Cluster: c, Proc: p}, name, classad.Literal(v))
		}
		end := func(c, p int, status pool.Status, at int64) {
			set(c, p, pool.AttrJobStatus, classad.Int(int64(status)))
			set(c, p, pool.AttrEnteredStatus, classad.Int(at))
			tx.Leave(pool.JobID{Cluster: c, Proc: p}, time.Unix(at, 0))
		}
		tx.AddCluster(job(t, "dave", ""), []spool.NewRun{{Count: 1}}) // 6
		end(6, 0, pool.Completed, now-40*86400)
		for p := range 2 {
			set(3, p, pool.AttrRemoveReason, classad.String("via qdel\x1b (by user bob)"))
			end(3, p, pool.Removed, now-100)
		}
		set(1, 10, pool.AttrJobStartDate, classad.Int(now-3000))
		set(1, 10, pool.AttrCurrentStartDate, classad.Int(now-2000))
		set(1, 10, pool.AttrWallClock, classad.Real(90061.5))
		set(1, 10, pool.AttrExitBySignal, classad.Bool(false))
		set(1, 10, pool.AttrExitCode, classad.Int(3))
		end(1, 10, pool.Completed, now-50)
		set(1, 11, pool.AttrExitBySignal, classad.Bool(true))
		set(1, 11, pool.AttrExitSignal, classad.Int(9))
		end(1, 11, pool.Completed, now-10)
	})
}

func TestHistory(t *testing.T) {
	leave(t)
	for _, c := range []struct{ args, want string }{
		{"", "1.11 1.10 3.1 3.0 6.0"},
		{"-limit 2", "1.11 1.10"},
		{"-limit 1 3", "3.1"},
		{"3.0 1.11-20", "1.11 3.0"},
		{"2-5", "3.1 3.0"},
		{"2-5 dave", "3.1 3.0 6.0"},
		{"dave", "6.0"},
		{"-u dave,bob", "6.0"},
		{"-u alice 3 6", "3.1 3.0"},
		{"-u * 6", "6.0"},
		{"-since 60s", "1.11 1.10"},
		{"-since 2026-11-20", "1.11 1.10 3.1 3.0"},
		{"-constraint ExitCode>=3", "1.10"},
		{"-constraint ProcId==1", "3.1"},
		{"99 nobody", ""},
	} {
		args := append([]string{"-history"}, strings.Fields(c.args)...)
		status, out, bad := qstat(append(args, "-af", `strcat(ClusterId, ".", ProcId)`)...)
		if got := strings.Join(strings.Fields(out), " "); status != 0 || bad != "" || got != c.want {
			t.Errorf("qstat -history %s = %d, %q, %s, want %s", c.args, status, bad, got, c.want)
		}
	}
	displays(t, "-history", "-history -limit 1 3", "-history 99 nobody", "-history 99 -json")
}

func TestHistoryRefuses(t *testing.T) {
	leave(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"-history -limit 0", 2},
		{"-history -limit -1", 2},
		{"-history -since never", 2},
		{"-history -j 1", 2},
		{"-history -json -long", 2},
		{"-limit 3", 2},
		{"-history -constraint Owner", 1},
		{"-history 1.x", 2},
	} {
		cmdtest.Refuses(t, Command(), c.status, strings.Fields(c.args)...)
	}
}

// On a terminal how a job ended always has room, before the times that matter less.
func TestHistoryFits(t *testing.T) {
	ad := cmdtest.Ad(t, `[ClusterId = 12; ProcId = 3; JobBatchName = "名前がとても長い"; Owner = "alice"; QDate = 100; JobCurrentStartDate = 160; JobStartDate = 160;
		EnteredCurrentStatus = 200; JobStatus = 3; RemoveReason = "via qdel (by user bob) since it was of no use"]`)
	for _, line := range []int{0, 150, 113, 100, 80, 40} {
		zone := time.Local
		time.Local = time.UTC
		var out strings.Builder
		err := queue.Left(&out, queue.Options{Width: line}, time.Time{}, slices.Values([]*classad.Ad{ad}))
		time.Local = zone
		lines := strings.Split(out.String(), "\n")
		if err != nil || line >= 80 && (table.Width(lines[2]) > line || len(lines[0]) > line || len(lines[1]) > line) {
			t.Errorf("history on a line of %d is wider, or %v:\n%s", line, err, out.String())
		}
		cmdtest.Displayed(t, fmt.Sprintf("qstat -history (on a line of %d)", line), 0, out.String(), "")
	}
}

// With -w nothing is cut, and all columns stand below their headings.
func TestHistoryWide(t *testing.T) {
	leave(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "carol", `JobBatchName = "a name that is much too long"`), []spool.NewRun{{Count: 1}}) // 7
		tx.Leave(pool.JobID{Cluster: 7}, time.Unix(now, 0))
	})
	displays(t, "-history -w")
}

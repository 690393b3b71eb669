package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
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
	const (
		header = "job-ID      name       user         submitted           started             ended                     run time        waited how\n" +
			"------------------------------------------------------------------------------------------------------------------------------------------------\n"
		j111 = "1.11        sleep      alice        11/20/2026 22:34:06 -                   11/20/2026 23:33:56     0+00:00:00    0+00:59:50 signal 9\n"
		j110 = "1.10        sleep      alice        11/20/2026 22:34:06 11/20/2026 23:00:46 11/20/2026 23:33:16     1+01:01:01    0+00:10:00 exit 3\n"
		j31  = "3.1         sleep      alice        11/20/2026 22:34:06 -                   11/20/2026 23:32:26     0+00:00:00    0+00:58:20 removed: via qdel? (by user bob)\n"
		j30  = "3.0         sleep      alice        11/20/2026 22:34:06 -                   11/20/2026 23:32:26     0+00:00:00    0+00:58:20 removed: via qdel? (by user bob)\n"
		j6   = "6.0         sleep      dave         11/20/2026 22:34:06 -                   10/11/2026 23:34:06     0+00:00:00    0+00:00:00 \n"
	)
	for _, c := range []struct{ args, want string }{
		{"", header + j111 + j110 + j31 + j30 + j6},
		{"-limit 2", header + j111 + j110},
		{"-limit 1 3", header + j31},
		{"3.0 1.11-20", header + j111 + j30},
		{"2-5", header + j31 + j30},
		{"2-5 dave", header + j31 + j30 + j6},
		{"dave", header + j6},
		{"-u dave,bob", header + j6},
		{"-u alice 3 6", header + j31 + j30},
		{"-u * 6", header + j6},
		{"-since 60s", header + j111 + j110},
		{"-since 2026-11-20", header + j111 + j110 + j31 + j30},
		{"-constraint ExitCode>=3", header + j110},
		{"-constraint ProcId==1", header + j31},
		{"99 nobody", ""},
		{"-af ClusterId ProcId", "1 11\n1 10\n3 1\n3 0\n6 0\n"},
		{"99 -json", "[]\n"},
	} {
		status, out, bad := qstat(append([]string{"-history"}, strings.Fields(c.args)...)...)
		if status != 0 || bad != "" || out != c.want {
			t.Errorf("qstat -history %s = %d, %q\n%swant\n%s", c.args, status, bad, out, c.want)
		}
	}
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
		cmdtest.Refuses(t, command(), c.status, strings.Fields(c.args)...)
	}
}

// What a foreign ad says must not keep others from being shown.
func TestLifeOfOdd(t *testing.T) {
	for _, c := range []struct{ ad, want string }{
		{`[]`, "0.0 0s 0s "},
		{`[ClusterId = 1; ProcId = "x"; QDate = -5; RemoteWallClockTime = real("NaN"); JobStatus = 3]`, "1.0 0s 0s removed"},
		{`[RemoteWallClockTime = 1.0e300; ExitCode = 1; QDate = 9; JobStartDate = 5]`, "0.0 2562047h47m16.854775807s 0s exit 1"},
		{`[RemoteWallClockTime = -1; ExitBySignal = true; ExitSignal = 11; QDate = 9; EnteredCurrentStatus = 19]`, "0.0 0s 10s signal 11"},
	} {
		l := lifeOf(&classad.Context{}, cmdtest.Ad(t, c.ad))
		if got := fmt.Sprintf("%v %v %v %s", l.id, l.ran, l.waited, l.how); got != c.want {
			t.Errorf("lifeOf(%s) = %s, want %s", c.ad, got, c.want)
		}
	}
}

// On a terminal how a job ended always has room, before the times that matter less.
func TestHistoryFits(t *testing.T) {
	ad := cmdtest.Ad(t, `[ClusterId = 12; ProcId = 3; JobBatchName = "名前がとても長い"; Owner = "alice"; QDate = 100; JobCurrentStartDate = 160; JobStartDate = 160;
		EnteredCurrentStatus = 200; JobStatus = 3; RemoveReason = "via qdel (by user bob) since it was of no use"]`)
	for _, c := range []struct {
		line int
		want string
	}{
		{0, "12.3        名前がとて alice        01/01/1970 00:01:40 01/01/1970 00:02:40 01/01/1970 00:03:20     0+00:00:00    0+00:01:00 removed: via qdel (by user bob) since it was of no use"},
		{150, "12.3        名前がとて alice        01/01/1970 00:01:40 01/01/1970 00:02:40 01/01/1970 00:03:20     0+00:00:00    0+00:01:00 removed: via qdel (by use"},
		{113, "12.3        名前がとて alice        01/01/1970 00:02:40 01/01/1970 00:03:20     0+00:00:00 removed: via qdel (by "},
		{100, "12.3        名前がとて alice        01/01/1970 00:03:20     0+00:00:00 removed: via qdel (by user bo"},
		{80, "12.3        名前がとて alice        01/01/1970 00:03:20 removed: via qdel (by us"},
		{40, "12.3        alice        01/01/1970 00:03:20 removed: via qde"},
	} {
		zone := time.Local
		time.Local = time.UTC
		var out strings.Builder
		err := pastTable(&cmdline.Call{Stdout: &out}, c.line, slices.Values([]*classad.Ad{ad}))
		time.Local = zone
		lines := strings.Split(out.String(), "\n")
		if err != nil || lines[2] != c.want {
			t.Errorf("history on a line of %d = %v\n%q, want\n%q", c.line, err, lines[2], c.want)
		}
		if c.line >= 80 && (breadth(lines[2]) > c.line || len(lines[0]) > c.line || len(lines[1]) > c.line) {
			t.Errorf("history on a line of %d is wider:\n%s", c.line, out.String())
		}
	}
}

// With -w nothing is cut, and all columns stand below their headings.
func TestHistoryWide(t *testing.T) {
	leave(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "carol", `JobBatchName = "a name that is much too long"`), []spool.NewRun{{Count: 1}}) // 7
		tx.Leave(pool.JobID{Cluster: 7}, time.Unix(now, 0))
	})
	status, out, bad := qstat("-history", "-w")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || bad != "" || len(lines) < 4 {
		t.Fatalf("qstat -history -w = %d, %q, %d lines", status, bad, len(lines))
	}
	if !strings.Contains(out, " a name that is much too long carol ") {
		t.Errorf("qstat -history -w cuts a name:\n%s", out)
	}
	at := strings.Index(lines[0], "submitted")
	for _, line := range lines[2:] {
		if !strings.HasPrefix(line[at:], "11/20/2026 ") {
			t.Errorf("qstat -history -w: the time of the submission does not stand below its heading in\n%s", line)
		}
	}
}

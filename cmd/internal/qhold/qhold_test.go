package qhold

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fill makes a spool with clusters 1 (alice, 5 procs with a log in dir: 1.0 runs, 1.1
// is matched, 1.4 was removed and stays), 2 (bob) and 3 (alice, 3.0 and eight to come).
func fill(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmdtest.Users(t) // whose log it is
	cmdtest.Share(t, dir)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, fmt.Sprintf(`[Owner = "alice"; JobStatus = 1; Iwd = %q; UserLog = "job.log"]`, dir)), []spool.NewRun{{Count: 5}})
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "bob"; JobStatus = 1]`), []spool.NewRun{{Count: 1}})
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 1]`), []spool.NewRun{{Count: 1}})
		tx.AddFactory(spool.Factory{Cluster: 3, Owner: "alice", Next: 1, Jobs: 9}, nil)
		status := func(proc int, s pool.Status) {
			tx.Set(pool.JobID{Cluster: 1, Proc: proc}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(s))))
		}
		status(0, pool.Running)
		status(4, pool.Removed)
		cmdtest.Claims(tx)
	})
	return dir
}

func qhold(t *testing.T, status int, args string) {
	cmdtest.Says(t, Command(), status, strings.Fields(args)...)
}

func TestQhold(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		queue  string
	}{
		{"1", 0, "1.0=held 1.1=held 1.2=held 1.3=held 1.4=removed 2.0=idle 3.0=idle 1.0:Vacating"},
		{"1.3-4 2", 0, "1.0=running 1.1=idle 1.2=idle 1.3=held 1.4=removed 2.0=held 3.0=idle 1.0:Running 1.1:Matched"},
		{"1.4 2 7", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=held 3.0=idle 1.0:Running 1.1:Matched"},
		{"3 -reason why", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=held 1.0:Running 1.1:Matched 3: held: why"},
		{"3.0", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=held 1.0:Running 1.1:Matched"},
		{"3.4", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=idle 1.0:Running 1.1:Matched"},
		{"-u bob", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=held 3.0=idle 1.0:Running 1.1:Matched"},
		{"-u alice 2 3 -reason why", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=held 1.0:Running 1.1:Matched 3: held: why"},
		{"-constraint JobStatus==2", 0, "1.0=held 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=idle 1.0:Vacating 1.1:Matched"},
		{"-constraint ProcId==4", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=removed 2.0=idle 3.0=idle 1.0:Running 1.1:Matched"},
		{"-a -reason why", 0, "1.0=held 1.1=held 1.2=held 1.3=held 1.4=removed 2.0=held 3.0=held 1.0:Vacating 3: held: why"},
	} {
		fill(t)
		qhold(t, c.status, c.args)
		if got := cmdtest.Queue(t); got != c.queue {
			t.Errorf("after qhold %s: %s, want %s", c.args, got, c.queue)
		}
	}
	qhold(t, 0, "1 2 3") // again
	qhold(t, 0, "-json 1 2 3")
}

func TestQholdReason(t *testing.T) {
	dir := fill(t)
	cmdtest.Says(t, Command(), 0, "-reason", "no data yet", "-subcode", "-7", "1.1-2")
	cmdtest.View(t, func(v *spool.View) {
		ad, _ := v.Job(pool.JobID{Cluster: 1, Proc: 2})
		got := fmt.Sprint(ad.Eval(&classad.Context{}, "HoldReason", nil), ad.Eval(&classad.Context{}, "HoldReasonCode", nil), ad.Eval(&classad.Context{}, "HoldReasonSubCode", nil))
		if want := `"no data yet"1-7`; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("reason, code, subcode = %s, want %s", got, want)
		}
	})
	log, err := os.ReadFile(filepath.Join(dir, "job.log"))
	const want = "012 (001.001.000) 2026-11-20 23:34:06 Job was held.\n\tno data yet\n\tCode 1 Subcode -7\n...\n" +
		"012 (001.002.000) 2026-11-20 23:34:06 Job was held.\n\tno data yet\n\tCode 1 Subcode -7\n...\n"
	if err != nil || string(log) != want {
		t.Errorf("job log = %q, %v, want %q", log, err, want)
	}
	// What is held already gets no new reason, and no new event.
	qhold(t, 0, "1.1-2")
	if again, _ := os.ReadFile(filepath.Join(dir, "job.log")); string(again) != want {
		t.Errorf("job log after qhold of what is held = %q, want %q", again, want)
	}
}

func TestQholdRefuses(t *testing.T) {
	fill(t)
	before := cmdtest.Queue(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"", 2},
		{"-subcode x 1", 2},
		{"-constraint ProcId 1", 1},
	} {
		cmdtest.Refuses(t, Command(), c.status, strings.Fields(c.args)...)
		if got := cmdtest.Queue(t); got != before {
			t.Errorf("after qhold %s: %s, want %s", c.args, got, before)
		}
	}
}

// By default the reason says who did it.
func TestQholdLent(t *testing.T) {
	fill(t)
	status, out, bad := cmdtest.RunFor(t, "bob", "", Command(), "1.2", "2", "3")
	if status != 1 {
		t.Errorf("bob: qhold 1.2 2 3 = %d, %q, %q, want 1", status, out, bad)
	}
	cmdtest.Printed(t, "qhold 1.2 2 3 (by bob)", status, out, bad)
	cmdtest.View(t, func(v *spool.View) {
		ad, _ := v.Job(pool.JobID{Cluster: 2})
		if got, _ := ad.EvalString(&classad.Context{}, pool.AttrHoldReason); got != "via qhold (by user bob)" {
			t.Errorf("HoldReason = %q, want %q", got, "via qhold (by user bob)")
		}
	})
}

// BenchmarkQhold holds and releases a cluster of 100,000 procs: it costs little
// more than one.
func BenchmarkQhold(b *testing.B) {
	b.Setenv("FAIRSPOOL_DIR", b.TempDir())
	b.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	b.Setenv("FAIRSPOOL_NOW", fmt.Sprint(cmdtest.Now))
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool"})
	testenv.OK(b, err)
	ad, _ := classad.ParseAd(`[Owner = "alice"; JobStatus = 1]`)
	testenv.OK(b, s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		for range b.N {
			tx.AddCluster(ad, []spool.NewRun{{Count: 100_000}})
		}
		return nil
	}))
	s.Close()
	b.ResetTimer()
	for i := range b.N {
		if status, _, bad := cmdtest.Run(Command(), fmt.Sprint(i+1)); status != 0 {
			b.Fatal(bad)
		}
	}
}

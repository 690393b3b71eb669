package qrls

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fill makes a spool with clusters 1 (alice, 5 procs with a log in dir: 1.0 and 1.1
// are held by her, 1.3 by its policy, 1.4 runs), 2 (bob), 3 (alice, 3.0 and eight
// that qhold keeps back) and 4 (alice, 4.0 and one that cannot be made).
func fill(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmdtest.Users(t) // whose log it is
	cmdtest.Share(t, dir)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, fmt.Sprintf(`[Owner = "alice"; JobStatus = 5; HoldReason = "why"; HoldReasonCode = 1; Iwd = %q; UserLog = "job.log"]`, dir)), []spool.NewRun{{Count: 5}})
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "bob"; JobStatus = 1]`), []spool.NewRun{{Count: 1}})
		for range 2 {
			tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 5]`), []spool.NewRun{{Count: 1}})
		}
		tx.AddFactory(spool.Factory{Cluster: 3, Owner: "alice", Next: 1, Jobs: 9, Paused: "held: why"}, nil)
		tx.AddFactory(spool.Factory{Cluster: 4, Owner: "alice", Next: 1, Jobs: 2, Paused: "no such item"}, nil)
		set := func(proc int, name string, n int64) {
			tx.Set(pool.JobID{Cluster: 1, Proc: proc}, name, classad.Literal(classad.Int(n)))
		}
		set(2, pool.AttrJobStatus, int64(pool.Idle))
		set(3, pool.AttrHoldReasonCode, 3)
		set(4, pool.AttrJobStatus, int64(pool.Running))
	})
	return dir
}

func qrls(t *testing.T, status int, args string) {
	cmdtest.Says(t, Command(), status, strings.Fields(args)...)
}

// held reads which jobs are held, and which factories are paused.
func held(t *testing.T) string {
	t.Helper()
	var list []string
	cmdtest.View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			if n, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus); pool.Status(n) == pool.Held {
				list = append(list, id.String())
			}
		}
		for _, f := range v.Factories() {
			if f.Paused != "" {
				list = append(list, fmt.Sprintf("%d: %s", f.Cluster, f.Paused))
			}
		}
	})
	return strings.Join(list, " ")
}

func TestQrls(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		held   string
	}{
		{"1", 0, "3.0 4.0 3: held: why 4: no such item"},
		{"1.0-2", 0, "1.3 3.0 4.0 3: held: why 4: no such item"},
		{"1.2 1.0 2 7 1.4", 1, "1.1 1.3 3.0 4.0 3: held: why 4: no such item"},
		// A name is served where one of its jobs was, and one job's own name is not.
		{"1 1.4", 1, "3.0 4.0 3: held: why 4: no such item"},
		{"3", 0, "1.0 1.1 1.3 4.0 4: no such item"},
		{"4", 0, "1.0 1.1 1.3 3.0 3: held: why 4: no such item"},
		{"-constraint HoldReasonCode==3", 0, "1.0 1.1 3.0 4.0 3: held: why 4: no such item"},
		{"bob alice", 1, "4: no such item"},
		{"-u alice -u bob 1-2", 0, "3.0 4.0 3: held: why 4: no such item"},
		{"-a", 0, "4: no such item"},
	} {
		fill(t)
		qrls(t, c.status, c.args)
		if got := held(t); got != c.held {
			t.Errorf("after qrls %s: %s, want %s", c.args, got, c.held)
		}
	}
	qrls(t, 0, "-a") // again: nothing is held
	qrls(t, 1, "4")
	qrls(t, 1, "-json 1.2 4")
}

// The reason of the hold is kept as that of the last one.
func TestQrlsReason(t *testing.T) {
	dir := fill(t)
	cmdtest.Says(t, Command(), 0, "-reason", "found it", "1.3")
	cmdtest.View(t, func(v *spool.View) {
		ad, _ := v.Job(pool.JobID{Cluster: 1, Proc: 3})
		for name, want := range map[string]string{
			"ReleaseReason": `"found it"`, "LastHoldReason": `"why"`, "LastHoldReasonCode": "3", "JobStatus": "1", "LastJobStatus": "5",
		} {
			if got := ad.Eval(&classad.Context{}, name, nil).String(); got != want {
				t.Errorf("%s = %s, want %s", name, got, want)
			}
		}
	})
	log, err := os.ReadFile(filepath.Join(dir, "job.log"))
	const want = "013 (001.003.000) 2026-11-20 23:34:06 Job was released.\n\tfound it\n...\n"
	if err != nil || string(log) != want {
		t.Errorf("job log = %q, %v, want %q", log, err, want)
	}
}

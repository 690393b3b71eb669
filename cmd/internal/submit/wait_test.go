package submit

import (
	"os"
	"reflect"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/waiting"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// waitFor returns the waiting for a cluster of so many procs, of which some are
// there from the beginning.
func waitFor(t *testing.T, id, all, first int) *clusterWait {
	t.Helper()
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	k := cluster{id: id, all: all, Cluster: jobad.Cluster{Ad: classad.New(), Runs: []jobad.Run{{Count: first}}}}
	return &clusterWait{submission: &submission{Call: &cmdline.Call{Name: "submit", Now: time.Unix(cmdtest.Now, 0)}}, cluster: k, spool: s}
}

func TestOutcomesOfSpool(t *testing.T) {
	id := func(proc int) pool.JobID { return pool.JobID{Cluster: 1, Proc: proc} }
	set := func(tx *spool.Tx, proc int, name string, v classad.Value) { tx.Set(id(proc), name, classad.Literal(v)) }
	status := func(tx *spool.Tx, proc int, s pool.Status) { set(tx, proc, pool.AttrJobStatus, classad.Int(int64(s))) }
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 1]`), []spool.NewRun{{Count: 7}})
	})
	w := waitFor(t, 1, 7, 7)
	steps := []struct {
		does string
		do   func(*spool.Tx)
		want waiting.Far
	}{
		{"nothing", func(*spool.Tx) {}, waiting.Far{All: 7}},
		{"two are held", func(tx *spool.Tx) {
			for p := range 2 {
				status(tx, p, pool.Held)
				set(tx, p, pool.AttrHoldReason, classad.String("x"))
			}
		}, waiting.Far{All: 7, News: []string{"1.0 and 1.1 are held (x); still waiting"}}},
		{"one more change", func(tx *spool.Tx) { status(tx, 2, pool.Running) }, waiting.Far{All: 7}},
		{"one has returned 3, one was removed long ago", func(tx *spool.Tx) {
			status(tx, 2, pool.Completed)
			set(tx, 2, pool.AttrExitCode, classad.Int(3))
			set(tx, 2, "EnteredCurrentStatus", classad.Int(cmdtest.Now))
			tx.Leave(id(2), time.Unix(cmdtest.Now, 0))
			status(tx, 3, pool.Removed)
			set(tx, 3, pool.AttrRemoveReason, classad.String("by alice"))
			tx.Leave(id(3), time.Unix(cmdtest.Now-90*86400, 0))
		}, waiting.Far{Ended: 2, All: 7}},
		{"one is removed and ends, one is left in the queue", func(tx *spool.Tx) {
			status(tx, 4, pool.Removed)
			tx.PutClaim(pool.Claim{Job: id(4), Attempt: 1, Slot: "slot1@h", Machine: "h", Submitter: "alice@pool", State: pool.Vacating,
				Weight: accountant.One, MatchedAt: time.Unix(cmdtest.Now, 0), StartedAt: time.Unix(cmdtest.Now, 0)})
			status(tx, 5, pool.Completed)
			set(tx, 5, pool.AttrExitBySignal, classad.Bool(true))
			set(tx, 5, pool.AttrExitSignal, classad.Int(9))
		}, waiting.Far{Ended: 3, All: 7}},
		{"the rest", func(tx *spool.Tx) {
			tx.DropClaim(id(4))
			tx.Leave(id(4), time.Unix(cmdtest.Now, 0))
			for _, p := range []int{0, 1, 6} {
				status(tx, p, pool.Completed)
				if p > 0 {
					set(tx, p, pool.AttrExitCode, classad.Int(0))
				}
				tx.Leave(id(p), time.Unix(cmdtest.Now, 0))
			}
		}, waiting.Far{Ended: 7, All: 7, Done: true}},
	}
	for _, step := range steps {
		cmdtest.Update(t, step.do)
		if got, err := w.look(); err != nil || !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: look = %+v, %v, want %+v", step.does, got, err, step.want)
		}
		if got, err := w.look(); err != nil || got.News != nil {
			t.Errorf("%s: the second look = %+v, %v, want no news", step.does, got, err)
		}
	}
	got, err := w.outcomes()
	want := []waiting.Outcome{
		{Job: id(0), Lost: true}, {Job: id(1)}, {Job: id(2), ReturnValue: 3}, {Job: id(3), Removed: true, Reason: "by alice"},
		{Job: id(4), Removed: true}, {Job: id(5), Signal: 9}, {Job: id(6)},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes = %+v, %v, want %+v", got, err, want)
	}
}

// Of a cluster whose jobs appear late those that never did have no outcome; of
// others one that is on record nowhere is lost.
func TestOutcomesThatAreMissing(t *testing.T) {
	cmdtest.Spool(t, func(*spool.Tx) {})
	if got, err := waitFor(t, 1, 5, 2).outcomes(); err != nil || len(got) != 0 {
		t.Errorf("outcomes of a late cluster = %+v, %v, want none", got, err)
	}
	if got, err := waitFor(t, 1, 1, 1).outcomes(); err != nil || len(got) != 1 || !got[0].Lost {
		t.Errorf("outcomes of a job that is gone = %+v, %v, want it lost", got, err)
	}
}

// Jobs of a late cluster are waited for, save those that cannot be made.
func TestWaitForLateJobs(t *testing.T) {
	f := spool.Factory{Cluster: 1, Owner: "alice", Next: 2, Jobs: 5, MaxMaterialize: 2}
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 4; ExitCode = 0]`), []spool.NewRun{{Count: 2}})
		tx.AddFactory(f, []byte("x"))
	})
	w := waitFor(t, 1, 5, 2)
	if got, err := w.look(); err != nil || !reflect.DeepEqual(got, waiting.Far{Ended: 2, All: 5}) {
		t.Errorf("look = %+v, %v, want 2 of 5", got, err)
	}
	cmdtest.Update(t, func(tx *spool.Tx) { lifecycle.HoldBack(tx, f, "not yet") })
	if got, err := w.look(); err != nil || !reflect.DeepEqual(got, waiting.Far{Ended: 2, All: 5}) {
		t.Errorf("look when the others are held back = %+v, %v, want 2 of 5", got, err)
	}
	cmdtest.Update(t, func(tx *spool.Tx) {
		f.Paused = "no such item"
		tx.PutFactory(f)
	})
	if got, err := w.look(); err != nil || !reflect.DeepEqual(got, waiting.Far{Ended: 2, All: 2, Done: true}) || w.never != 3 {
		t.Errorf("look when no more can be made = %+v, %v, %d never, want 2 of 2, 3 never", got, err, w.never)
	}
}

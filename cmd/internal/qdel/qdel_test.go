package qdel

import (
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fill makes a spool with clusters 1 (alice, 5 procs: 1.0 runs, 1.1 is
// matched) and 2 (bob).
func fill(t *testing.T) {
	t.Helper()
	ad := func(owner string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrOwner, owner)
		a.SetInt(pool.AttrJobStatus, int64(pool.Idle))
		return a
	}
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(ad("alice"), []spool.NewRun{{Count: 5}})
		tx.AddCluster(ad("bob"), []spool.NewRun{{Count: 1}})
		tx.Set(pool.JobID{Cluster: 1}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Running))))
		cmdtest.Claims(tx)
	})
}

func qdel(t *testing.T, status int, args string) {
	cmdtest.Says(t, Command(), status, strings.Fields(args)...)
}

func TestQdel(t *testing.T) {
	for _, c := range []struct{ args, left string }{
		{"2", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"1.1 1.3", "1.0=running 1.2=idle 1.4=idle 2.0=idle 1.0:Running"},
		{"alice", "1.0=removed 2.0=idle 1.0:Vacating"},
		{"-u alice", "1.0=removed 2.0=idle 1.0:Vacating"},
		{"-u carol,bob -u dave,alice 1.2-3 2", "1.0=running 1.1=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-u bob 1 2", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-u bob 1", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u alice -constraint ProcId>2", "1.0=running 1.1=idle 1.2=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u * 1.1 2", "1.0=running 1.2=idle 1.3=idle 1.4=idle 1.0:Running"},
		{"-u bob,*", "1.0=removed 1.0:Vacating"},
		{"-a", "1.0=removed 1.0:Vacating"},
	} {
		fill(t)
		qdel(t, 0, c.args)
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
	qdel(t, 0, "1.0") // again
}

func TestQdelJSON(t *testing.T) {
	fill(t)
	qdel(t, 1, "-json 1.2-3 2 7")
	qdel(t, 0, "-json -constraint false")
	qdel(t, 2, "-json")
}

// A job that is promised a slot leaves the queue at once, and the one that has to leave
// that slot is told no other thing; the other way round the promise stands.
func TestQdelPromised(t *testing.T) {
	for _, c := range []struct{ args, left string }{
		{"2", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Vacating 1.1:Matched"},
		{"1.0", "1.0=removed 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Vacating 1.1:Matched 2.0:Promised"},
	} {
		fill(t)
		cmdtest.Update(t, func(tx *spool.Tx) {
			holder, _ := tx.Claim(pool.JobID{Cluster: 1})
			holder.State, holder.PromisedTo, holder.VacateReason = pool.Vacating, pool.JobID{Cluster: 2}, "preempted"
			tx.PutClaim(holder)
			tx.PutClaim(pool.Claim{Job: holder.PromisedTo, Attempt: 1, Slot: holder.Slot, Machine: "node", Submitter: "bob@pool", State: pool.Promised,
				Weight: accountant.One, MatchedAt: holder.MatchedAt})
		})
		qdel(t, 0, c.args)
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
}

// What can be removed is, and each name that cannot is told.
func TestQdelInPart(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		left   string
	}{
		{"1.2-4 3", 1, "1.0=running 1.1=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u bob,dave,12", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"2 1.9 dave", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-constraint ProcId>=3", 0, "1.0=running 1.1=idle 1.2=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"1-2 -constraint JobStatus==2", 0, "1.0=removed 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Vacating 1.1:Matched"},
		{"-constraint false", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"},
	} {
		fill(t)
		qdel(t, c.status, c.args)
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
}

// Somebody else's jobs stay, and administrators may all.
func TestQdelLent(t *testing.T) {
	const everything = "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"
	for _, c := range []struct {
		user, args string
		status     int
		left       string
	}{
		{"bob", "1 1.2 alice", 1, everything},
		{"bob", "1.0-3 2", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-a", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-u alice,bob", 1, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-u *", 0, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"carol", "-all", 0, everything},
		{"root2", "1.2-4 2", 0, "1.0=running 1.1=idle 1.0:Running 1.1:Matched"},
	} {
		fill(t)
		status, out, bad := cmdtest.RunFor(t, c.user, "ADMINISTRATORS = [\"root2\"]\n", Command(), strings.Fields(c.args)...)
		if status != c.status {
			t.Errorf("%s: qdel %s = %d, %q, %q, want %d", c.user, c.args, status, out, bad, c.status)
		}
		cmdtest.Printed(t, "qdel "+c.args+" (by "+c.user+")", status, out, bad)
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after %s: qdel %s: %s, want %s", c.user, c.args, got, c.left)
		}
	}
}

func TestQdelRefuses(t *testing.T) {
	fill(t)
	before := cmdtest.Queue(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"3 1.5-9", 1},
		{"1 -constraint ProcId", 1},
		{"-a -constraint \"yes\"", 1},
		{"-constraint (", 2},
		{"", 2},
		{"-a 1", 2},
		{"-a -u alice", 2},
		{"-u alice,", 2},
		{"-u al*", 2},
		{"-reason a\nb 1", 2},
		{"1.x", 2},
	} {
		cmdtest.Refuses(t, Command(), c.status, strings.FieldsFunc(c.args, func(r rune) bool { return r == ' ' })...)
		if got := cmdtest.Queue(t); got != before {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, before)
		}
	}
}

func TestReason(t *testing.T) {
	fill(t)
	cmdtest.Says(t, Command(), 0, "-reason", "not needed", "1.0")
	cmdtest.View(t, func(v *spool.View) {
		ad, _ := v.Job(pool.JobID{Cluster: 1})
		if got, _ := ad.EvalString(&classad.Context{}, pool.AttrRemoveReason); got != "not needed" {
			t.Errorf("RemoveReason = %q, want %q", got, "not needed")
		}
	})
}

// All jobs of an empty queue are none: nothing is left to do.
func TestQdelEmptyQueue(t *testing.T) {
	cmdtest.Spool(t, nil)
	qdel(t, 0, "-a")
}

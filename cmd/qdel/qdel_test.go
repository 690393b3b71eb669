package main

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

func qdel(args ...string) (status int, out, bad string) { return cmdtest.Run(command(), args...) }

func TestQdel(t *testing.T) {
	for _, c := range []struct{ args, out, left string }{
		{"2", "Job 2.0 removed\n", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"1.1 1.3", "Job 1.1 removed\nJob 1.3 removed\n", "1.0=running 1.2=idle 1.4=idle 2.0=idle 1.0:Running"},
		{"alice", "Job 1.0 marked for removal\nJobs 1.1-4 removed\n", "1.0=removed 2.0=idle 1.0:Vacating"},
		{"-u alice", "Job 1.0 marked for removal\nJobs 1.1-4 removed\n", "1.0=removed 2.0=idle 1.0:Vacating"},
		{"-u carol,bob -u dave,alice 1.2-3 2", "Jobs 1.2-3 removed\nJob 2.0 removed\n", "1.0=running 1.1=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-u bob 1 2", "Job 2.0 removed\n", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-u bob 1", "0 job(s) removed.\n", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u alice -constraint ProcId>2", "Jobs 1.3-4 removed\n", "1.0=running 1.1=idle 1.2=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u * 1.1 2", "Job 1.1 removed\nJob 2.0 removed\n", "1.0=running 1.2=idle 1.3=idle 1.4=idle 1.0:Running"},
		{"-u bob,*", "Job 1.0 marked for removal\nJobs 1.1-4 removed\nJob 2.0 removed\n", "1.0=removed 1.0:Vacating"},
		{"-a", "Job 1.0 marked for removal\nJobs 1.1-4 removed\nJob 2.0 removed\n", "1.0=removed 1.0:Vacating"},
	} {
		fill(t)
		status, out, bad := qdel(strings.Fields(c.args)...)
		if status != 0 || bad != "" || out != c.out {
			t.Errorf("qdel %s = %d, %q, %q, want 0, %q", c.args, status, out, bad, c.out)
		}
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
	if _, out, _ := qdel("1.0"); out != "Job 1.0 marked for removal already\n" {
		t.Errorf("second qdel of a running job = %q", out)
	}
}

// A job that is promised a slot leaves the queue at once, and the one that has to leave
// that slot is told no other thing; the other way round the promise stands.
func TestQdelPromised(t *testing.T) {
	for _, c := range []struct{ args, out, left string }{
		{"2", "Job 2.0 removed\n", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Vacating 1.1:Matched"},
		{"1.0", "Job 1.0 marked for removal\n", "1.0=removed 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Vacating 1.1:Matched 2.0:Promised"},
	} {
		fill(t)
		cmdtest.Update(t, func(tx *spool.Tx) {
			holder, _ := tx.Claim(pool.JobID{Cluster: 1})
			holder.State, holder.PromisedTo, holder.VacateReason = pool.Vacating, pool.JobID{Cluster: 2}, "preempted"
			tx.PutClaim(holder)
			tx.PutClaim(pool.Claim{Job: holder.PromisedTo, Attempt: 1, Slot: holder.Slot, Machine: "node", Submitter: "bob@pool", State: pool.Promised,
				Weight: accountant.One, MatchedAt: holder.MatchedAt})
		})
		if status, out, bad := qdel(c.args); status != 0 || bad != "" || out != c.out {
			t.Errorf("qdel %s = %d, %q, %q, want 0, %q", c.args, status, out, bad, c.out)
		}
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
}

// What can be removed is, and each name that cannot is told.
func TestQdelInPart(t *testing.T) {
	for _, c := range []struct{ args, out, bad, left string }{
		{"1.2-4 3", "Jobs 1.2-4 removed\n", "qdel: 3: not in the queue\n", "1.0=running 1.1=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"-u bob,dave,12", "Job 2.0 removed\n", "qdel: dave: no jobs in the queue\nqdel: 12: no jobs in the queue\n",
			"1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"2 1.9 dave", "Job 2.0 removed\n", "qdel: 1.9: not in the queue\nqdel: dave: no jobs in the queue\n",
			"1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"-constraint ProcId>=3", "Jobs 1.3-4 removed\n", "", "1.0=running 1.1=idle 1.2=idle 2.0=idle 1.0:Running 1.1:Matched"},
		{"1-2 -constraint JobStatus==2", "Job 1.0 marked for removal\n", "", "1.0=removed 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Vacating 1.1:Matched"},
		{"-constraint false", "0 job(s) removed.\n", "", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"},
	} {
		fill(t)
		status, out, bad := qdel(strings.Fields(c.args)...)
		if want := min(1, len(c.bad)); status != want || out != c.out || bad != c.bad {
			t.Errorf("qdel %s = %d, %q, %q, want %d, %q, %q", c.args, status, out, bad, want, c.out, c.bad)
		}
		if got := cmdtest.Queue(t); got != c.left {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, c.left)
		}
	}
}

// Somebody else's jobs stay, and administrators may all.
func TestQdelLent(t *testing.T) {
	const everything = "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 2.0=idle 1.0:Running 1.1:Matched"
	const noBob = ": you are bob, and no administrator\n"
	for _, c := range []struct{ user, args, out, bad, left string }{
		{"bob", "1 1.2 alice", "", "qdel: 1: belongs to alice" + noBob + "qdel: 1.2: belongs to alice" + noBob + "qdel: alice: jobs of somebody else" + noBob, everything},
		{"bob", "1.0-3 2", "Job 2.0 removed\n", "qdel: 1.0-3: belongs to alice" + noBob, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-a", "Job 2.0 removed\n", "", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-u alice,bob", "Job 2.0 removed\n", "qdel: alice: jobs of somebody else" + noBob, "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"bob", "-u *", "Job 2.0 removed\n", "", "1.0=running 1.1=idle 1.2=idle 1.3=idle 1.4=idle 1.0:Running 1.1:Matched"},
		{"carol", "-all", "0 job(s) removed.\n", "", everything},
		{"root2", "1.2-4 2", "Jobs 1.2-4 removed\nJob 2.0 removed\n", "", "1.0=running 1.1=idle 1.0:Running 1.1:Matched"},
	} {
		fill(t)
		status, out, bad := cmdtest.RunLent(t, c.user, "ADMINISTRATORS = [\"root2\"]\n", command(), strings.Fields(c.args)...)
		if want := min(1, len(c.bad)); status != want || out != c.out || bad != c.bad {
			t.Errorf("%s: qdel %s = %d, %q, %q, want %d, %q, %q", c.user, c.args, status, out, bad, want, c.out, c.bad)
		}
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
		bad    string
	}{
		{"3 1.5-9", 1, "qdel: 3: not in the queue\nqdel: 1.5-9: not in the queue\n"},
		{"1 -constraint ProcId", 1, "qdel: -constraint: want true or false, got 0 for job 1.0\n"},
		{"-a -constraint \"yes\"", 1, "qdel: -constraint: want true or false, got \"yes\"\n"},
		{"-constraint (", 2, "qdel: -constraint: column 2: expected a value, a name or (, found the end of the text\n"},
		{"", 2, "qdel: which jobs? name a cluster, a job like 12.0, or a user; or all with -a\n"},
		{"-a 1", 2, "qdel: -a: takes all jobs, and no arguments\n"},
		{"-a -u alice", 2, "qdel: -a and -u: only one of them at a time\n"},
		{"-u alice,", 2, "qdel: -u: \"alice,\": want names of users with commas between, or *\n"},
		{"-u al*", 2, "qdel: -u: \"al*\": want names of users with commas between, or *\n"},
		{"-reason a\nb 1", 2, "qdel: -reason: want one line\n"},
		{"1.x", 2, "qdel: \"1.x\": invalid proc: want a whole number from 0 up\n"},
	} {
		status, out, bad := qdel(strings.FieldsFunc(c.args, func(r rune) bool { return r == ' ' })...)
		if status != c.status || out != "" || bad != c.bad {
			t.Errorf("qdel %s = %d, %q, %q, want %d, %q", c.args, status, out, bad, c.status, c.bad)
		}
		if got := cmdtest.Queue(t); got != before {
			t.Errorf("after qdel %s: %s, want %s", c.args, got, before)
		}
	}
}

func TestReason(t *testing.T) {
	fill(t)
	if status, _, bad := qdel("-reason", "not needed", "1.0"); status != 0 {
		t.Fatal(bad)
	}
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
	if status, out, bad := qdel("-a"); status != 0 || out != "0 job(s) removed.\n" || bad != "" {
		t.Errorf("qdel -a of an empty queue = %d, %q, %q, want 0 and 0 job(s) removed.", status, out, bad)
	}
}

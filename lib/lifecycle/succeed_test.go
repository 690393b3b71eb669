package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// started runs a cycle and starts all its matches.
func (b bench) started(now time.Time) {
	b.t.Helper()
	b.negotiate(now, nil)
	b.update(func(tx *spool.Tx) error {
		for _, c := range tx.Claims() {
			if c.State == pool.Matched {
				if err := Begin(tx, c.Job, c.Attempt, now, os.Getpid(), params); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// setOf changes a job.
func (b bench) setOf(id pool.JobID, name, expr string) {
	b.t.Helper()
	e, err := classad.ParseExpr(expr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.update(func(tx *spool.Tx) error { tx.Op("set"); tx.Set(id, name, e); return nil })
}

// submit adds a cluster of idle jobs.
func (b bench) submit(owner string, count int, text string) (cluster int) {
	b.t.Helper()
	ad, err := classad.ParseAd(`[ JobStatus = 1; Requirements = true; ` + text + `]`)
	if err != nil {
		b.t.Fatal(err)
	}
	ad.SetString("Owner", owner)
	b.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		cluster = tx.AddCluster(ad, []spool.NewRun{{Count: count}})
		return nil
	})
	return cluster
}

// succeeds ends a job by itself, and has its slot go on; the job that it goes on with, zero
// for none.
func (b bench) succeeds(id pool.JobID, at time.Time) (next pool.JobID) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) (err error) {
		next, err = b.goesOn(tx, id, at)
		return err
	})
	return next
}

// goesOn does so in a transaction.
func (b bench) goesOn(tx *spool.Tx, id pool.JobID, at time.Time) (next pool.JobID, err error) {
	ended, _ := tx.Claim(id)
	ad, _ := tx.Job(id)
	tickets := TicketsOf(ad)
	if err := Finish(tx, id, ended.Attempt, at, pool.Ending{Wall: time.Minute}, params); err != nil {
		return next, err
	}
	claim, ok := Successor(tx, ended, ad, b.s.Domain(), at, params)
	if !ok {
		return next, nil
	}
	Succeed(tx, claim, tickets, at, params)
	return claim.Job, Begin(tx, claim.Job, claim.Attempt, at, os.Getpid(), params)
}

// TestSuccessor tells which job a slot goes on with when 1.0 ends, after something has
// happened since the cycle.
func TestSuccessor(t *testing.T) {
	none := pool.JobID{}
	later := noon.Add(time.Minute)
	tests := []struct {
		name   string
		before func(b bench) // the cycle
		since  func(b bench)
		want   pool.JobID
	}{
		{"the next of the cluster", nil, nil, pool.JobID{Cluster: 1, Proc: 2}},
		{"a job with a better priority", func(b bench) { b.submit("alice", 1, "JobPrio = 1") }, nil, pool.JobID{Cluster: 2}},
		{"one that came later waits for the next cycle", nil, func(b bench) { b.submit("alice", 1, "JobPrio = 9") }, pool.JobID{Cluster: 1, Proc: 2}},
		{"the next is held", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("hold")
				_, err := Hold(tx, pool.Procs{Cluster: 1, First: 2, Last: 2}, pool.Reason{Text: "x", Code: 1}, noon, params)
				return err
			})
		}, pool.JobID{Cluster: 1, Proc: 3}},
		{"the next is removed", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := RemoveAll(tx, pool.Procs{Cluster: 1, First: 2, Last: 2}, "x", noon, params)
				return err
			})
		}, pool.JobID{Cluster: 1, Proc: 3}},
		{"the next wants another slot by now", nil, func(b bench) { b.setOf(pool.JobID{Cluster: 1, Proc: 2}, "Requirements", "false") }, none},
		{"the next is to be held by its policy", nil, func(b bench) { b.setOf(pool.JobID{Cluster: 1, Proc: 2}, "PeriodicHold", "true") }, pool.JobID{Cluster: 1, Proc: 3}},
		{"the next has a time of its own", nil, func(b bench) { b.setOf(pool.JobID{Cluster: 1, Proc: 2}, "DeferralTime", "2000000000") }, pool.JobID{Cluster: 1, Proc: 3}},
		{"the next is another group's by now", nil, func(b bench) { b.setOf(pool.JobID{Cluster: 1, Proc: 2}, "AccountingGroup", `"g.alice"`) }, pool.JobID{Cluster: 1, Proc: 3}},
		{"the slot is withdrawn", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error { tx.Op("withdraw"); tx.DropSlot("slot1@here"); return nil })
		}, none},
		{"the slot takes no jobs by now", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("advertise")
				slot, _ := tx.Advertised("slot1@here")
				ad := slot.Ad.Clone()
				ad.SetBool("Requirements", false)
				tx.PutSlot("slot1@here", ad)
				return nil
			})
		}, none},
		{"the job was told to leave", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("vacate")
				Vacate(tx, first, pool.Reason{Text: "x", Code: VacatedByUser}, noon, params)
				return nil
			})
		}, none},
		{"the machine is drained", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				Drain(tx, Drained{Machine: "here", By: "root", At: noon}, noon, params)
				return nil
			})
		}, none},
		{"somebody waits who has nothing", func(b bench) { b.submit("bob", 1, "") }, nil, none},
		{"somebody waits for another slot", func(b bench) { b.submit("bob", 1, `Requirements = TARGET.Name == "slot2@here"`) }, nil, pool.JobID{Cluster: 1, Proc: 2}},
		{"who waited is gone", func(b bench) { b.submit("bob", 1, "") }, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := RemoveAll(tx, pool.Procs{Cluster: 2, First: 0, Last: 0}, "x", noon, params)
				return err
			})
		}, pool.JobID{Cluster: 1, Proc: 2}},
	}
	for _, test := range tests {
		b := newBench(t)
		b.started(noon)
		if test.before != nil {
			test.before(b)
		}
		b.negotiate(noon.Add(time.Second), nil)
		if test.since != nil {
			test.since(b)
		}
		if got := b.succeeds(first, later); got != test.want {
			t.Errorf("%s: the slot goes on with %v, want %v", test.name, got, test.want)
		}
	}
}

// Slots are given back down to the share, and not below.
func TestSuccessorYields(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		for _, name := range []string{"slot3@here", "slot4@here"} {
			slot, _ := tx.Advertised("slot1@here")
			ad := slot.Ad.Clone()
			ad.SetString("Name", name)
			tx.PutSlot(name, ad)
		}
		return nil
	})
	b.started(noon)
	b.submit("alice", 10, "")
	b.submit("bob", 10, "")
	b.negotiate(noon.Add(time.Second), nil)
	want := []pool.JobID{{}, {}, {Cluster: 2}, {Cluster: 2, Proc: 1}}
	for proc := range 4 {
		if got := b.succeeds(pool.JobID{Cluster: 1, Proc: proc}, noon.Add(time.Duration(proc+2)*time.Second)); got != want[proc] {
			t.Errorf("after 1.%d the slot goes on with %v, want %v", proc, got, want[proc])
		}
	}
	if made := b.negotiate(noon.Add(time.Minute), nil); len(made) != 2 || made[0].Submitter != "bob@example.org" {
		t.Errorf("the next cycle makes %v, want two matches of bob's", made)
	}
}

// Of a share that is no whole number of slots the part decides: whoever lacks more than half
// of the slot has it. All slots weigh 2.
func TestSuccessorYieldsPart(t *testing.T) {
	for _, test := range []struct {
		share, others float64
		want          pool.JobID
	}{
		{2.4, 1.6, pool.JobID{}},
		{2.98, 1.02, pool.JobID{}},
		{2, 0.1, pool.JobID{}},
		{2.4, 1, pool.JobID{Cluster: 1, Proc: 2}},
		{3, 1, pool.JobID{Cluster: 1, Proc: 2}},
		{3.6, 2, pool.JobID{Cluster: 1, Proc: 2}},
		{4, 2, pool.JobID{Cluster: 1, Proc: 2}},
	} {
		b := newBench(t)
		b.started(noon)
		b.submit("bob", 1, "")
		b.negotiate(noon.Add(2*time.Second), nil)
		b.update(func(tx *spool.Tx) error {
			u := successionOf(&tx.View)
			u.Entitled = []pool.Entitled{
				{Submitter: "alice@example.org", Weight: test.share},
				{Submitter: "bob@example.org", Jobs: []pool.JobID{{Cluster: 2}}, Weight: test.others},
			}
			tx.Op("test")
			putSuccession(tx, u)
			return nil
		})
		if got := b.succeeds(first, noon.Add(3*time.Second)); got != test.want {
			t.Errorf("with shares of %v and %v the slot goes on with %v, want %v", test.share, test.others, got, test.want)
		}
	}
}

// TestSuccessionIsCharged holds that a slot which goes on is charged to the end of the one
// job and from there for the next, without a gap and without an overlap.
func TestSuccessionIsCharged(t *testing.T) {
	b := newBench(t)
	b.started(noon)
	b.negotiate(noon.Add(time.Second), nil)
	if next := b.succeeds(first, noon.Add(time.Minute)); next != (pool.JobID{Cluster: 1, Proc: 2}) {
		t.Fatalf("the slot goes on with %v, want 1.2", next)
	}
	r := b.alice(noon.Add(2 * time.Minute))
	if got, want := r.Weighted.Seconds(), 2*2*120.0; got != want || r.ResourcesUsed != 2 {
		t.Errorf("alice has used %v with %d slots in use, want %v with 2", got, r.ResourcesUsed, want)
	}
	if got := b.attribute(pool.JobID{Cluster: 1, Proc: 2}, pool.AttrNumJobMatches); got != "1" {
		t.Errorf("NumJobMatches of the successor = %s, want 1", got)
	}
}

// The law of reuse: whatever ends in whatever order, no slot and no job has two claims, and
// all jobs run in the end. Each step is brought to the disk, so that there are few of them.
func TestSuccessionLaw(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.submit("alice", 1+random.IntN(3), "JobPrio = 1")
		b.submit("bob", 1+random.IntN(3), "")
		at, left := noon, 1
		for steps := 0; left > 0; steps++ {
			if steps == 200 {
				t.Fatalf("seed %d: %d jobs are left after %d steps", seed, left, steps)
			}
			at = at.Add(time.Second)
			if running := b.claims(); len(running) > 0 && random.IntN(4) > 0 {
				b.succeeds(running[random.IntN(len(running))].Job, at)
			} else {
				b.started(at)
			}
			b.view(func(v *spool.View) { left = v.Len() })
		}
	}
}

// claims returns the claims, of which no two may have one slot.
func (b bench) claims() (list []pool.Claim) {
	b.t.Helper()
	b.view(func(v *spool.View) { list = v.Claims() })
	slots := map[string]pool.JobID{}
	for _, c := range list {
		if other, twice := slots[c.Slot]; twice {
			b.t.Fatalf("%s has claims of %v and %v", c.Slot, other, c.Job)
		}
		slots[c.Slot] = c.Job
	}
	return list
}

// TestSuccessionKept holds that a succession comes back as it was, that the same one again changes nothing,
// that one queue that changed is all that is written then, and that none is left of an empty one.
func TestSuccessionKept(t *testing.T) {
	b := newBench(t)
	u := negotiator.Succession{
		Course: pool.Course{Telling: []string{"requirements", "rank"}, OneQueue: true, More: 7},
		Queues: []pool.Successors{
			{Submitter: "alice@x", Jobs: []pool.Procs{{Cluster: 1, First: 2, Last: 9}, {Cluster: 4}}, Places: []int{1, 12}, Takes: true, PE: 1.5},
			{Submitter: "alice@x", Jobs: []pool.Procs{{Cluster: 2}}, Places: []int{9}, Limit: "MAXJOB", More: 11},
		},
		Entitled: []pool.Entitled{{Submitter: "alice@x", Weight: 1.5}, {Submitter: "bob@x", Jobs: []pool.JobID{{Cluster: 3, Proc: 4}}}},
	}
	keep := func() (changes int64) {
		var before int64
		b.view(func(v *spool.View) { before = v.Journal() })
		b.update(func(tx *spool.Tx) error { tx.Op("test"); putSuccession(tx, u); return nil })
		b.view(func(v *spool.View) {
			changes = v.Journal() - before
			if got := successionOf(v); fmt.Sprint(got) != fmt.Sprint(u) {
				t.Errorf("successionOf = %+v, want %+v", got, u)
			}
		})
		return changes
	}
	whole := keep()
	if again := keep(); again != 0 {
		t.Errorf("the same succession again is %d bytes of the journal, want 0", again)
	}
	u.Queues[1].Jobs = []pool.Procs{{Cluster: 2, Last: 5}}
	if part := keep(); part == 0 || part > whole*2/3 {
		t.Errorf("one queue that changed is %d bytes of the journal, all are %d", part, whole)
	}
	u = negotiator.Succession{}
	keep()
}

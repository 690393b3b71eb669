package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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
				if err := Begin(tx, c.Job, c.Attempt, now, os.Getpid(), "", params); err != nil {
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
	claim, ok := Successor(tx, ended, ad, b.s.Domain(), at, &negotiator.Config{Params: params, UseSlotWeights: true, SlotWeight: cpus})
	if !ok {
		return next, nil
	}
	Succeed(tx, claim, tickets, at, params)
	return claim.Job, Begin(tx, claim.Job, claim.Attempt, at, os.Getpid(), "", params)
}

// cpus is SLOT_WEIGHT.
var cpus, _ = classad.ParseExpr("Cpus")

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
		{"a job of another shape that goes before", func(b bench) { b.submit("alice", 1, "JobPrio = 1; Requirements = TARGET.Cpus > 1") }, nil, pool.JobID{Cluster: 2}},
		{"a job of another shape behind all others", func(b bench) { b.submit("alice", 1, "JobPrio = -1; Requirements = TARGET.Cpus > 1") }, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := RemoveAll(tx, pool.Procs{Cluster: 1, First: 2, Last: 3}, "x", noon, params)
				return err
			})
		}, pool.JobID{Cluster: 2}},
		{"the slot does not take a job that goes before", func(b bench) { b.submit("alice", 1, "JobPrio = 1; Requirements = TARGET.Cpus > 2") }, nil, pool.JobID{Cluster: 1, Proc: 2}},
		{"a job that goes before counts against another limit", func(b bench) { b.submit("alice", 1, `JobPrio = 1; ConcurrencyLimits = "lic"`) }, nil, none},
		{"a job that is behind counts against another limit", func(b bench) { b.submit("alice", 1, `JobPrio = -1; ConcurrencyLimits = "lic"`) }, nil, pool.JobID{Cluster: 1, Proc: 2}},
		{"jobs that go before were too many to be kept", func(b bench) { b.submit("alice", 2, "JobPrio = 1; Requirements = TARGET.Cpus > 1") }, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				u := successionOf(&tx.View)
				u.Queues[slices.IndexFunc(u.Queues, func(q pool.Successors) bool { return q.Places[0] == 1 })].More = 2
				tx.Op("test")
				putSuccession(tx, u)
				_, err := RemoveAll(tx, pool.Procs{Cluster: 2, First: 0, Last: 1}, "x", noon, params)
				return err
			})
		}, none},
		{"one that came later waits for the next cycle", nil, func(b bench) { b.submit("alice", 1, "JobPrio = 9") }, pool.JobID{Cluster: 1, Proc: 2}},
		{"the next is held", nil, func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("hold")
				_, err := Hold(tx, pool.Procs{Cluster: 1, First: 2, Last: 2}, pool.Reason{Text: "x", Code: 1}, noon, params)
				return err
			})
		}, pool.JobID{Cluster: 1, Proc: 3}},
		{"the slot is reserved for a maintenance", nil, func(b bench) { b.update(func(tx *spool.Tx) error { maintain(tx); return nil }) }, none},
		{"the slot is reserved, and the job ends in time", func(b bench) { b.submit("alice", 1, "JobPrio = 1; WallTimeLimit = 60") }, func(b bench) { b.update(func(tx *spool.Tx) error { maintain(tx); return nil }) }, pool.JobID{Cluster: 2}},
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

// TestSuccessorInPiece holds that of a piece of a partitionable slot the next job takes what it requests, and is
// charged for that.
func TestSuccessorInPiece(t *testing.T) {
	none := pool.JobID{}
	for _, test := range []struct {
		name, last, next string
		want             pool.JobID
		piece            pool.Resources
		weight           float64
	}{
		{"as much", "RequestMemory = 512", "RequestCpus = 4; RequestMemory = 512; Other = 1", pool.JobID{Cluster: 3}, "Cpus=4 Memory=512", 4},
		{"less", "RequestMemory = 512", "RequestCpus = 1; RequestMemory = 100", pool.JobID{Cluster: 3}, "Cpus=1 Memory=128", 1},
		{"one core if it does not say", "RequestMemory = 512", "", pool.JobID{Cluster: 3}, "Cpus=1", 1},
		{"all that was left", "RequestMemory = 1000", "RequestCpus = 4; RequestMemory = 990", pool.JobID{Cluster: 3}, "Cpus=4 Memory=1000", 4},
		{"more cores", "RequestMemory = 512", "RequestCpus = 5; RequestMemory = 512", none, "", 0},
		{"more memory", "RequestMemory = 512", "RequestCpus = 1; RequestMemory = 513", none, "", 0},
		{"another resource that the slot has", "", "RequestCpus = 4; RequestGPUs = 1", none, "", 0},
		{"one that the slot does not know", "", "RequestCpus = 4; RequestTapes = 1", none, "", 0},
		{"one that the slot does not know either for the last job", "RequestTapes = 1", "RequestCpus = 2; RequestTapes = 1", pool.JobID{Cluster: 3}, "Cpus=2", 2},
	} {
		b := newBench(t)
		b.onSlot("RequestCpus = 4; "+test.last, `PartitionableSlot = true; Cpus = 4; Memory = 1000; GPUs = 1`)
		b.submit("alice", 1, test.next)
		b.negotiate(noon.Add(time.Second), nil)
		if got := b.succeeds(pool.JobID{Cluster: 2}, noon.Add(time.Minute)); got != test.want {
			t.Errorf("%s: the slot goes on with %v, want %v", test.name, got, test.want)
			continue
		}
		for _, c := range b.claims() {
			if c.Piece.Takes != test.piece || c.Weight.Float() != test.weight {
				t.Errorf("%s: the next job has %s, which weighs %v, want %s and %v", test.name, c.Piece.Takes, c.Weight.Float(), test.piece, test.weight)
			}
		}
		if used := b.alice(noon.Add(2 * time.Minute)).Weighted.Seconds(); used != 60*(4+test.weight) {
			t.Errorf("%s: alice has used %v, want %v", test.name, used, 60*(4+test.weight))
		}
	}
}

// onSlot has one slot in the place of all, and one job of alice's in that of hers run there.
func (b bench) onSlot(job, slot string) {
	b.t.Helper()
	ad, err := classad.ParseAd(`[ Name = "slot3@here"; Machine = "here"; Requirements = true; ` + slot + ` ]`)
	if err != nil {
		b.t.Fatal(err)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.DropSlot("slot1@here")
		tx.DropSlot("slot2@here")
		tx.PutSlot("slot3@here", ad)
		_, err := RemoveAll(tx, pool.Procs{Cluster: 1, Last: 3}, "x", noon, params)
		return err
	})
	b.submit("alice", 1, job)
	b.started(noon)
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
		Course: pool.Course{Limits: []string{"concurrencylimits", "owner"}, OneQueue: true, More: 7},
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

// unlikeJob is a job of the law of unlike jobs.
type unlikeJob struct {
	pool.JobID
	prio, cpus, memory int
}

// The law of unlike jobs: a slot, or a piece of one, goes on with the first job in its submitter's order that
// was there in the last cycle, still waits and fits, in the transaction in which the job before ends, and with
// none if no job fits. What fits is a matter of Requirements and of what is requested.
func TestSuccessionOfUnlikeLaw(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 2))
		b := newBench(t)
		b.update(func(tx *spool.Tx) error {
			tx.Op("test")
			_, err := RemoveAll(tx, pool.Procs{Cluster: 1, Last: 3}, "x", noon, params)
			for i, text := range []string{"Cpus = 1; Memory = 256", "Cpus = 2; Memory = 512", "Cpus = 4; Memory = 1024; PartitionableSlot = true"} {
				ad, bad := classad.ParseAd(fmt.Sprintf(`[ Name = "slot%d@here"; Machine = "here"; Requirements = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory; %s ]`, i+1, text))
				err = errors.Join(err, bad)
				tx.PutSlot(fmt.Sprintf("slot%d@here", i+1), ad)
			}
			return err
		})
		jobs := map[pool.JobID]unlikeJob{}
		var line []unlikeJob // that waited in the last cycle, in their order
		took := 0
		for step := range 60 {
			at := noon.Add(time.Duration(step+1) * time.Second)
			running := b.claims()
			switch what := random.IntN(6); {
			case what == 0 || step < 5:
				j := unlikeJob{prio: random.IntN(3), cpus: 1 + random.IntN(3), memory: 64 * (1 + random.IntN(10))}
				count := 1 + random.IntN(3)
				j.Cluster = b.submit("alice", count, fmt.Sprintf("JobPrio = %d; RequestCpus = %d; RequestMemory = %d", j.prio, j.cpus, j.memory))
				for ; j.Proc < count; j.Proc++ {
					jobs[j.JobID] = j
				}
			case what == 1 || len(running) == 0:
				b.started(at)
				line = line[:0]
				for id, j := range jobs {
					if b.attribute(id, pool.AttrJobStatus) == "1" {
						line = append(line, j)
					}
				}
				slices.SortFunc(line, func(x, y unlikeJob) int { return cmp.Or(y.prio-x.prio, x.JobID.Compare(y.JobID)) })
			default:
				c := running[random.IntN(len(running))]
				var want pool.JobID
				if i := slices.IndexFunc(line, func(j unlikeJob) bool { return fitsIn(j, c) }); i >= 0 {
					want = line[i].JobID
					line = slices.Delete(line, i, i+1)
					took++
				}
				if got := b.succeeds(c.Job, at); got != want {
					t.Fatalf("seed %d: %s %s of %v goes on with %v, want %v", seed, c.Slot, c.Piece.Takes, c.Job, got, want)
				}
				delete(jobs, c.Job)
			}
			cores := 0.0
			for _, c := range b.claims() {
				cores += c.Piece.Takes.Of(pool.AttrCpus)
				if j := jobs[c.Job]; !fitsIn(j, c) || c.Piece.Of != "" && c.Weight.Float() != float64(j.cpus) {
					t.Fatalf("seed %d: %+v runs in %s %s of weight %v", seed, j, c.Slot, c.Piece.Takes, c.Weight.Float())
				}
			}
			if cores > 4 {
				t.Fatalf("seed %d: %v of 4 cores are taken", seed, cores)
			}
		}
		if took < 3 {
			t.Errorf("seed %d: %d slots went on with a job, want some", seed, took)
		}
	}
}

// fitsIn reports whether a job fits into the slot or the piece of a claim.
func fitsIn(j unlikeJob, c pool.Claim) bool {
	switch {
	case c.Piece.Of != "":
		return float64(j.cpus) <= c.Piece.Takes.Of(pool.AttrCpus) && float64(j.memory) <= c.Piece.Takes.Of(pool.AttrMemory)
	case c.Slot == "slot1@here":
		return j.cpus <= 1 && j.memory <= 256
	}
	return j.cpus <= 2 && j.memory <= 512
}

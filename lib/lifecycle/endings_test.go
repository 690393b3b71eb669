package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// watched returns what is known of cluster 1.
func (b bench) watched() (e Endings, ok bool) {
	b.view(func(v *spool.View) { e, ok = EndingsOf(v, 1) })
	return e, ok
}

func (b bench) watch(how func(*spool.Tx, int)) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error { tx.Op("watch"); how(tx, 1); return nil })
}

// Of a watched cluster every end is counted once, whoever brings it about.
func TestEndingsCount(t *testing.T) {
	b := newBench(t)
	if _, ok := b.watched(); ok {
		t.Error("a cluster is watched that nobody asked for")
	}
	b.run(noon, pool.Ending{Code: 7}) // nobody watches yet
	b.watch(Watch)
	second, third := pool.JobID{Cluster: 1, Proc: 1}, pool.JobID{Cluster: 1, Proc: 2}
	end := func(id pool.JobID, at time.Time, how pool.Ending) {
		t.Helper()
		b.negotiate(at, nil)
		var n int
		b.view(func(v *spool.View) { c, _ := v.Claim(id); n = c.Attempt })
		b.update(func(tx *spool.Tx) error { return Begin(tx, id, n, at, 1, "", params) })
		b.update(func(tx *spool.Tx) error { return Finish(tx, id, n, at.Add(time.Minute), how, params) })
	}
	end(second, noon.Add(time.Minute), pool.Ending{Code: 0, Wall: time.Minute, UserCPU: time.Second})
	end(third, noon.Add(time.Hour), pool.Ending{StartFailed: "no such file"})
	b.free(2, 2, noon.Add(time.Hour))
	end(third, noon.Add(2*time.Hour), pool.Ending{Signal: 9})
	b.update(func(tx *spool.Tx) error {
		tx.Op("remove")
		_, err := Remove(tx, pool.JobID{Cluster: 1, Proc: 3}, "by alice", noon, params)
		return err
	})
	e, ok := b.watched()
	got := fmt.Sprint(ok, e.Succeeded, e.Failed, e.Signalled, e.Removed, e.Held, e.Unknown, e.Seen, e.Wall, e.CPU, " ", e.FirstHeld, "; ", strings.Join(e.Troubles, ", "))
	if want := "true 1 0 1 1 1 true1,2-360 1 1.2 held: no such file; 1.2 ended by signal 9, 1.3 removed: by alice"; strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("endings = %s, want %s", got, want)
	}
	// What was before is in the history.
	past, r := 0, recollect(e)
	if err := b.s.History(spool.Left{}, func(ad *classad.Ad) bool {
		past++
		r.add(ad)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	e.remember(r)
	if past != 4 || e.Succeeded != 1 || e.Failed != 1 || e.Signalled != 1 || e.Removed != 1 || e.Unknown || e.Bad() == "" {
		t.Errorf("after remembering %d ads the endings are %+v, want one of each kind", past, e)
	}
	b.view(func(v *spool.View) {
		if !Ended(v, 1) || !Ended(v, 99) {
			t.Error("Ended of a cluster that has left the queue = false")
		}
	})
	b.update(func(tx *spool.Tx) error { tx.Op("drop"); DropEndings(tx, 1); return nil })
	b.view(func(v *spool.View) {
		if all := spool.Endings.All(v); len(all) > 0 {
			t.Errorf("endings after the drop = %v", all)
		}
	})
}

// What an administrator made of a job's usage is no number to be added up with, and
// keeps nobody from removing it.
func TestEndlessUsage(t *testing.T) {
	for _, usage := range []string{`real("INF")`, `real("-INF")`, `real("NaN")`, "1e308"} {
		b := newBench(t)
		b.watch(Watch)
		b.update(func(tx *spool.Tx) error {
			tx.Op("set")
			for _, name := range []string{pool.AttrWallClock, pool.AttrUserCPU} {
				e, err := classad.ParseExpr(usage)
				if err != nil {
					t.Fatal(err)
				}
				tx.SetRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, name, e)
			}
			return nil
		})
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			_, err := RemoveAll(tx, pool.Procs{Cluster: 1, First: 0, Last: 3}, "by alice", noon, params)
			return err
		})
		if e, ok := b.watched(); !ok || e.Removed != 4 {
			t.Errorf("endings of jobs that used %s = %+v, %v, want 4 removed", usage, e, ok)
		}
	}
}

// A cluster has ended when no job of it is to run any more.
func TestEnded(t *testing.T) {
	b := newBench(t)
	ended := func() (yes bool) {
		b.view(func(v *spool.View) { yes = Ended(v, 1) })
		return yes
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("set")
		tx.SetRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, pool.AttrLeaveJobInQueue, classad.Literal(classad.Bool(true)))
		return nil
	})
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 1, "", params) })
	if ended() {
		t.Error("Ended of idle and running jobs = true")
	}
	for p := range 4 {
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			_, err := Remove(tx, pool.JobID{Cluster: 1, Proc: p}, "x", noon, params)
			return err
		})
	}
	if ended() {
		t.Error("Ended with a removed job that still runs = true")
	}
	b.update(func(tx *spool.Tx) error { return Finish(tx, first, 1, noon, pool.Ending{Signal: 15}, params) })
	if !ended() || b.states() != "3 3 3 3" {
		t.Errorf("Ended = %v, states %s, want true and all removed", ended(), b.states())
	}
}

// Jobs that wait for others are no part of a cycle.
func TestWaitingJobs(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("set")
		tx.SetRange(pool.Procs{Cluster: 1, First: 0, Last: 2}, "AfterOk", classad.Literal(classad.String("1")))
		return nil
	})
	if got := b.negotiate(noon, nil); len(got) != 1 || got[0].Job.Proc != 3 {
		t.Errorf("matches = %v, want 1.3 alone", got)
	}
	b.set("DependenciesMet", "true")
	if got := b.negotiate(noon, nil); len(got) != 1 || got[0].Job != first {
		t.Errorf("matches = %v, want 1.0 alone", got)
	}
}

package operation

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// doubling are attributes A0 to A60, of which each takes twice the steps of the one before.
func doubling() (attrs []string) {
	attrs = append(attrs, "A0 = 1")
	for i := range 60 {
		attrs = append(attrs, fmt.Sprintf("A%d = MY.A%d + MY.A%d", i+1, i, i))
	}
	return attrs
}

// TestPoliciesKeepToTheBudget holds that jobs whose expressions have no end take what their
// owner has and no more, that this is nothing to others, and that all of them have their
// turn in one look or another.
func TestPoliciesKeepToTheBudget(t *testing.T) {
	b := newBench(t)
	const jobs, steps = 100, 3 * classad.UsualSteps
	b.with(2, "PeriodicHold = true") // cluster 2, of alice
	bob := b.with(jobs, append(doubling(), `Owner = "bob"`, "PeriodicHold = MY.A60 > 0 && ProcId >= 0", fmt.Sprintf("PeriodicRemove = ProcId == %d", jobs-1))...)
	var from map[string]pool.JobID
	looks, removed := 0, false
	for !removed {
		looks++
		budgets := classad.NewBudgets(steps)
		var o Outlook
		b.view(func(v *spool.View) { o = Policies(v, noon, Look{Budgets: budgets, From: from}) })
		if took := budgets.Taken()["bob"]; took > steps+classad.UsualSteps {
			t.Fatalf("look %d took %d steps, want %d at most", looks, took, steps)
		}
		if looks == 1 {
			if len(o.PutOff) != 1 || o.PutOff[0].Owner != "bob" || o.PutOff[0].First.Cluster != bob || o.PutOff[0].Jobs < jobs/2 {
				t.Fatalf("PutOff = %v, want most of the %d jobs of bob", o.PutOff, jobs)
			}
			if got := dueText(o.Due); !strings.Contains(got, "hold 2.0-1") {
				t.Errorf("Policies = %s, want the jobs of alice held", got)
			}
		}
		removed = strings.Contains(dueText(o.Due), fmt.Sprintf("remove %d.%d", bob, jobs-1))
		from = map[string]pool.JobID{}
		for _, p := range o.PutOff {
			from[p.Owner] = p.First
		}
		if looks > jobs {
			t.Fatalf("the last job was not looked at in %d looks", looks)
		}
	}
	if looks < 10 {
		t.Errorf("all jobs were looked at in %d looks of %d steps each", looks, steps)
	}
}

// TestTooSmallABudget holds that each look gets somewhere, however little there is.
func TestTooSmallABudget(t *testing.T) {
	b := newBench(t)
	const jobs = 4
	b.with(jobs, "Some = ProcId + 1", "PeriodicHold = Some > 3 && Some > 2 && Some > 1")
	from := map[string]pool.JobID{}
	for range jobs {
		var o Outlook
		b.view(func(v *spool.View) { o = Policies(v, noon, Look{Budgets: classad.NewBudgets(1), From: from}) })
		if len(o.PutOff) != 1 || o.PutOff[0].Jobs != jobs-1 {
			t.Fatalf("PutOff = %v, want %d jobs of alice", o.PutOff, jobs-1)
		}
		if next := (from["alice"].Proc + 1) % jobs; o.PutOff[0].First.Proc != next {
			t.Fatalf("PutOff = %v, want %d next", o.PutOff, next)
		}
		from["alice"] = o.PutOff[0].First
	}
}

// TestPoliciesWithinTheBudget holds that a budget that is enough changes nothing.
func TestPoliciesWithinTheBudget(t *testing.T) {
	b := newBench(t)
	b.with(4, "PeriodicHold = ProcId % 2 == 0")
	b.with(4, "PeriodicRemove = time() > 5")
	var with, without Outlook
	from := map[string]pool.JobID{"alice": {Cluster: 2, Proc: 2}}
	b.view(func(v *spool.View) {
		without, with = Policies(v, noon, Look{}), Policies(v, noon, Look{Budgets: classad.NewBudgets(10_000), From: from})
	})
	if got, want := dueText(with.Due), dueText(without.Due); got != want || len(with.PutOff) > 0 {
		t.Errorf("Policies with a budget = %s (%v put off), want %s", got, with.PutOff, want)
	}
}

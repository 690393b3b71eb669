package sge

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
)

// Users whose jobs all wait keep their temporary nodes in the second pass: what they have used
// counts for the group. Only jobs that run have targets in it.
func TestGuestsStay(t *testing.T) {
	c := &Config{TicketsShare: 1000, Tree: nodeOf("Root", 1, nodeOf("eng", 10, nodeOf("alice", 1), nodeOf(DefaultNode, 1)), nodeOf("carol", 10))}
	w := World{Used: Used{Own: map[string]float64{"alice": 100, "bob": 300, "carol": 400}}}
	r := Rank(c, w, jobsOf("bob"), jobsOf("alice", "carol"))
	for i := range 2 { // eng has used as much as carol with bob, who waits
		if got := r.Running(i).STckt; got != 500 {
			t.Errorf("job %d has %v tickets, want 500", i, got)
		}
	}
}

// The compensation factor counts among those that run, too.
func TestCompensationOfRunning(t *testing.T) {
	c := &Config{TicketsShare: 1e6, Compensation: 2, Tree: flatTree()}
	used := Used{Own: map[string]float64{"alice": 50000, "bob": 20, "carol": 9000}}
	r := Rank(c, World{Used: used}, nil, jobsOf("alice", "bob", "carol"))
	got := make([]float64, 3)
	for i := range got {
		got[i] = r.Running(i).STckt
	}
	wantTickets(t, got, 1842, 996521, 1637)
}

// Below the first level the compensation factor compares what nodes have of the whole tree: bob
// has all but nothing of eng, but less of the tree than it allows.
func TestCompensationOfTheTree(t *testing.T) {
	used := Used{Own: map[string]float64{"alice": 1e6, "bob": 10, "carol": 1}}
	for _, x := range []struct {
		factor float64
		cut    bool
	}{{1.5, false}, {1e-6, true}} {
		c := &Config{Compensation: x.factor, Tree: nodeOf("Root", 1, nodeOf("eng", 1, nodeOf("alice", 1), nodeOf("bob", 1)), nodeOf("carol", 1))}
		f := forestOf(c, used, jobsOf("alice", "bob", "carol"), 0)
		if bob := f.branches[3]; bob.compensated != x.cut {
			t.Errorf("factor %v: bob's target is %v of the tree, cut %t, want %t", x.factor, bob.totalShort, bob.compensated, x.cut)
		}
	}
}

// Of a project that has used as much as its users, or one more, nothing goes to its default.
func TestCreditOfMoreThanOne(t *testing.T) {
	c := &Config{Projects: map[string]Object{"pa": {}}, Tree: nodeOf("Root", 1, nodeOf("pa", 1, nodeOf("alice", 1), nodeOf(DefaultNode, 1)))}
	for over, want := range map[float64]float64{0: 0, 1: 0, 1.5: 1.5} {
		used := Used{Project: map[string]float64{"pa": 100 + over}, Within: map[[2]string]float64{{"alice", "pa"}: 100}}
		if got := forestOf(c, used, nil, 0).branches[3].usage; got != want {
			t.Errorf("%v more than the users: the default has %v, want %v", over, got, want)
		}
	}
}

// Of several nodes of a project the first counts.
func TestFirstProjectNode(t *testing.T) {
	c := &Config{Projects: map[string]Object{"pa": {}}, Tree: nodeOf("Root", 1, nodeOf("eng", 1, nodeOf("pa", 1)), nodeOf("sci", 1, nodeOf("pa", 1)))}
	if f := forestOf(c, Used{}, jobsOf("alice:pa"), 0); f.branches[1].jobs() != 1 || f.branches[3].jobs() != 0 {
		t.Errorf("jobs of pa are in %+v and %+v, want them in the first", f.branches[1], f.branches[3])
	}
}

// Usage of a window of time is another policy's.
func TestUsedOfWindows(t *testing.T) {
	d := accountant.DecayParams{CPU: accountant.UsageParams{Weight: 1}}
	key := accountant.Key{Kind: accountant.KindOwn, Name: "alice"}
	now := time.Unix(benchNow, 0)
	own := accountant.Tally{Key: key, At: now, Decayed: accountant.Recent{CPU: 5}}
	if got := UsedOf([]accountant.Tally{own}, d, now).Own["alice"]; got != 5 {
		t.Errorf("alice has used %v, want 5", got)
	}
}

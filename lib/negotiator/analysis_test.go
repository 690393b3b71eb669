package negotiator

import (
	"fmt"
	"math"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Jobs that are asked about have an analysis, be they matched or not, and no others.
func TestExplained(t *testing.T) {
	p := Pool{Slots: equal(t, 4, ""), Jobs: []jobprio.Run{
		aJob(t, 1, 3, "alice@x", ""), aJob(t, 2, 2, "bob@x", "Requirements = TARGET.Memory > 99999"), aJob(t, 3, 1, "carol@x", "")}}
	for _, c := range []struct {
		asked []pool.Procs
		want  string
		found int // analyses: that of cluster 2, which is rejected, is always there
	}{
		{nil, "[]", 1},
		{[]pool.Procs{{Cluster: 1, First: 1, Last: 1}}, "[{1.1 1}]", 2},
		{[]pool.Procs{{Cluster: 1, First: 2, Last: math.MaxInt}, {Cluster: 3, First: 0, Last: 0}}, "[{1.2 1} {3.0 1}]", 2},
		{[]pool.Procs{{Cluster: 2, First: 0, Last: math.MaxInt}}, "[{2.0-1 0}]", 1},
		{[]pool.Procs{{Cluster: 1, First: 3, Last: 9}, {Cluster: 4, First: 0, Last: 0}}, "[]", 1},
	} {
		cfg := defaults(t)
		cfg.Explain = c.asked
		plan := Cycle(p, cfg, now)
		if got := fmt.Sprint(plan.Explained); got != c.want || len(plan.Autoclusters) != c.found {
			t.Errorf("Explain %v: Explained = %s with %d analyses, want %s with %d", c.asked, got, len(plan.Autoclusters), c.want, c.found)
		}
		for _, x := range plan.Explained {
			if x.Jobs.Cluster != 2 && slotsAt(plan.Autoclusters[x.Autocluster].Steps, CauseTaken, Left) != 4 {
				t.Errorf("Explain %v: %v = %+v, want 4 slots that match", c.asked, x.Jobs, plan.Autoclusters[x.Autocluster].Steps)
			}
		}
	}
}

// Who else wants a slot is told in the order in which the cycle serves them: of equal
// EUPs the one that has less of what it may use goes first, not the first by name.
func TestAheadInOrder(t *testing.T) {
	p := Pool{Slots: equal(t, 5, ""), Claims: []pool.Claim{
		{Job: pool.JobID{Cluster: 1}, Attempt: 1, Slot: "slot1", Submitter: "alice@x", State: pool.RunningClaim, Weight: accountant.One}},
		Submitters: []accountant.Record{record("alice@x", 2), record("bob@x", 2)},
		Jobs:       []jobprio.Run{aJob(t, 2, 9, "alice@x", ""), aJob(t, 3, 9, "bob@x", "")}}
	plan := Cycle(p, defaults(t), now)
	for i, x := range plan.Autoclusters[0].Ahead {
		if want := plan.Submitters[i].Name; x.Submitter != want {
			t.Errorf("Ahead[%d] = %s, want %s as in Submitters", i, x.Submitter, want)
		}
	}
	if plan.Submitters[0].Name != "bob@x" || len(plan.Autoclusters[0].Ahead) != 2 {
		t.Errorf("Submitters = %+v, Ahead = %+v, want bob and alice", plan.Submitters, plan.Autoclusters[0].Ahead)
	}
}

// Ahead are those with a better EUP, of equal ones nobody, and nice users come last
// whatever theirs is.
func TestAhead(t *testing.T) {
	p := Pool{Slots: equal(t, 1, ""), Submitters: []accountant.Record{record("alice@x", 5), record("bob@x", 7), record("carol@x", 7), record("dave@x", 9)}}
	for i, name := range []string{"alice@x", "bob@x", "carol@x", "dave@x", "nice-user.alice@x"} {
		p.Jobs = append(p.Jobs, aJob(t, i+1, 2, name, ""))
	}
	want := map[string]int{"alice@x": 0, "bob@x": 1, "carol@x": 1, "dave@x": 3, "nice-user.alice@x": 4}
	cfg := defaults(t)
	cfg.Params.NiceFactor = 1
	for _, r := range Cycle(p, cfg, now).Rejections {
		if r.Ahead != want[r.Submitter] {
			t.Errorf("%d submitters are ahead of %s, want %d", r.Ahead, r.Submitter, want[r.Submitter])
		}
		delete(want, r.Submitter)
	}
	if len(want) > 0 {
		t.Errorf("no rejections of %v", want)
	}
}

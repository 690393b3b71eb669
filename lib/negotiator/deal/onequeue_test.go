package deal

import (
	"fmt"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// A queue of all is not gone through again for each slot that is taken from its holder, where
// groups keep nobody from anything: cycles over full pools would cost slots times queues.
func TestPreemptingAsksOnlyOnce(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	tree, err := accountant.NewGroups([]accountant.Group{{Name: "a", Quota: 200, AcceptSurplus: true}, {Name: "b", Quota: 200, AcceptSurplus: true}})
	testenv.OK(t, err)
	cfg := negotiator.Config{Queue: byID{}, Preemption: negotiator.Preemption{Consider: true}, Quotas: negotiator.Quotas{Oversubscribe: true, Strict: true}}
	cfg.Params.Groups = tree
	ad := func(text string) *classad.Ad {
		ad, err := classad.ParseAd(text)
		testenv.OK(t, err)
		return ad
	}
	var p negotiator.Pool
	for i := range 200 {
		name := fmt.Sprintf("slot%d", i+1)
		p.Slots = append(p.Slots, pool.Slot{Name: name, Ad: ad(fmt.Sprintf(`[Name = %q; Requirements = true; Rank = TARGET.RequestMemory == 100; State = "Claimed"]`, name))})
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: name, Submitter: "a.alice@x", State: pool.RunningClaim,
			Weight: accountant.One, MatchedAt: now.Add(-time.Hour), StartedAt: now.Add(-time.Hour)})
	}
	p.Jobs = []jobprio.Run{{Procs: pool.Procs{Cluster: 1, Last: 149}, Submitter: "b.bob@x", Ad: ad("[ClusterId = 1; ProcId = 0; Requirements = true; RequestMemory = 100]")}}
	c := Out(p, cfg, now)
	if n := len(c.Plan.Matches); n != 150 || c.Plan.Matches[0].Reason != negotiator.RankPreemption {
		t.Fatalf("%d matches, want 150 by Rank", n)
	}
	if c.turns > 30 {
		t.Errorf("the queue was gone through %d times", c.turns)
	}
}

// byID is a policy that costs next to nothing: jobs by ID.
type byID struct{}

func (byID) Name() string         { return "by ID" }
func (byID) Attributes() []string { return nil }

func (byID) Order(w jobprio.Waiting) (o jobprio.Order) {
	for i, r := range w.Idle {
		o.Places = append(o.Places, jobprio.Place{Part: jobprio.Part{Run: i, Procs: r.Procs}})
	}
	return o
}

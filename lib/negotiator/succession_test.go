package negotiator

import (
	"fmt"
	"slices"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// heldBy returns the running claims of a submitter on slots first to last, of jobs of a
// cluster.
func heldBy(cluster int, submitter string, first, last int) (claims []pool.Claim) {
	for n := first; n <= last; n++ {
		claims = append(claims, pool.Claim{
			Job: pool.JobID{Cluster: cluster, Proc: n}, Attempt: 1, Slot: fmt.Sprintf("slot%d", n), Submitter: submitter,
			State: pool.RunningClaim, Weight: accountant.One, MatchedAt: now.Add(-60e9), StartedAt: now.Add(-60e9),
		})
	}
	return claims
}

func using(name string, slots int) accountant.Record {
	r := record(name, 0.5)
	r.ResourcesUsed, r.InUse = slots, accountant.Weight(slots)*accountant.One
	return r
}

func TestSuccession(t *testing.T) {
	const alice, bob, carol = "alice@x", "bob@x", "carol@x"
	tests := []struct {
		name    string
		pool    Pool
		queues  string
		shares  string
		waiting string
	}{
		{
			"nobody has a claim",
			Pool{Jobs: []jobprio.Run{aJob(t, 1, 5, alice, "RequestCpus = 99")}, Slots: equal(t, 2, "")},
			"[]", "[]", "[]",
		},
		{
			"alone, by priority and autocluster",
			Pool{
				Slots: equal(t, 2, ""), Claims: heldBy(1, alice, 1, 2), Submitters: []accountant.Record{using(alice, 2)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 2, alice, "JobPrio = 5"), aJob(t, 4, 1, alice, "RequestMemory = 200")},
			},
			"[{alice@x [3.0-1 2.0-2]} {alice@x [4.0]}]", "[]", "[]",
		},
		{
			"another who has nothing waits for half of it",
			Pool{
				Slots: equal(t, 4, ""), Claims: heldBy(1, alice, 1, 4), Submitters: []accountant.Record{using(alice, 4)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 9, bob, "")},
			},
			"[{alice@x [2.0-2]}]", "[{alice@x 2}]", "[{bob@x [3.0] 2}]",
		},
		{
			"what others want is all that is given up",
			Pool{
				Slots: equal(t, 4, ""), Claims: heldBy(1, alice, 1, 4), Submitters: []accountant.Record{using(alice, 4)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 1, bob, "")},
			},
			"[{alice@x [2.0-2]}]", "[{alice@x 3}]", "[{bob@x [3.0] 1}]",
		},
		{
			"both have their share",
			Pool{
				Slots: equal(t, 4, ""), Claims: slices.Concat(heldBy(1, alice, 1, 2), heldBy(2, bob, 3, 4)),
				Submitters: []accountant.Record{using(alice, 2), using(bob, 2)},
				Jobs:       []jobprio.Run{aJob(t, 3, 3, alice, ""), aJob(t, 4, 3, bob, "")},
			},
			"[{alice@x [3.0-2]} {bob@x [4.0-2]}]", "[]", "[]",
		},
		{
			"no slot would take the job that waits",
			Pool{
				Slots: equal(t, 2, ""), Claims: heldBy(1, alice, 1, 2), Submitters: []accountant.Record{using(alice, 2)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 1, bob, "RequestMemory = 5000")},
			},
			"[{alice@x [2.0-2]}]", "[]", "[]",
		},
		{
			"a ceiling keeps the other one from more",
			Pool{
				Slots: equal(t, 4, ""), Claims: slices.Concat(heldBy(1, alice, 1, 3), heldBy(2, bob, 4, 4)),
				Submitters: []accountant.Record{using(alice, 3), func() accountant.Record {
					r := using(bob, 1)
					r.Ceiling = accountant.LimitOf(1)
					return r
				}()},
				Jobs: []jobprio.Run{aJob(t, 3, 3, alice, ""), aJob(t, 4, 3, bob, "")},
			},
			"[{alice@x [3.0-2]} {bob@x [4.0-2]}]", "[]", "[]",
		},
		{
			"who has to leave for another gives up no more than that",
			Pool{
				Slots: equal(t, 4, "Rank = TARGET.Owner =?= \"carol\""), Claims: heldBy(1, alice, 1, 4),
				Submitters: []accountant.Record{using(alice, 4)},
				Jobs:       []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 2, carol, `Owner = "carol"`)},
			},
			"[{alice@x [2.0-2]}]", "[]", "[]",
		},
	}
	for _, test := range tests {
		cfg := defaults(t)
		cfg.Preemption.Consider = true
		u := Cycle(test.pool, cfg, now).Succession
		queues := []string{}
		for _, q := range u.Queues {
			queues = append(queues, fmt.Sprintf("{%s %v}", q.Submitter, q.Jobs))
		}
		if got := fmt.Sprint(queues); got != test.queues {
			t.Errorf("%s: queues %s, want %s", test.name, got, test.queues)
		}
		if got := fmt.Sprint(u.Shares); got != test.shares {
			t.Errorf("%s: shares %s, want %s", test.name, got, test.shares)
		}
		if got := fmt.Sprint(u.Waiting); got != test.waiting {
			t.Errorf("%s: waiting %s, want %s", test.name, got, test.waiting)
		}
		if len(u.Queues) > 0 && !slices.Contains(u.Telling, "requirements") {
			t.Errorf("%s: autoclusters are told apart by %v, want Requirements among them", test.name, u.Telling)
		}
	}
}

// TestSuccessionBounded holds that a pool of many shapes keeps a succession short.
func TestSuccessionBounded(t *testing.T) {
	p := Pool{Slots: equal(t, 1, ""), Claims: heldBy(1, "alice@x", 1, 1), Submitters: []accountant.Record{using("alice@x", 1)}}
	for i := range 3 * mostSuccessors {
		p.Jobs = append(p.Jobs, aJob(t, i+2, 1, "alice@x", fmt.Sprintf("RequestMemory = %d", i+1)))
	}
	n := 0
	for _, q := range Cycle(p, defaults(t), now).Succession.Queues {
		n += len(q.Jobs)
	}
	if n != mostSuccessors {
		t.Errorf("%d stretches of jobs in the succession, want %d", n, mostSuccessors)
	}
}

package negotiator

import (
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

func TestGiveUp(t *testing.T) {
	late, young := now.Add(-121*time.Second), now.Add(-120*time.Second)
	claim := func(proc int, slot string, state pool.ClaimState, at time.Time) pool.Claim {
		return pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Attempt: 1, Slot: slot, Submitter: "alice@x", State: state,
			Weight: accountant.One, MatchedAt: at}
	}
	p := Pool{
		Slots: equal(t, 5, ""),
		Jobs:  []jobprio.Run{aJob(t, 1, 6, "alice@x", "")},
		Claims: []pool.Claim{
			claim(4, "slot4", pool.Matched, late), claim(1, "slot1", pool.Matched, late), claim(2, "slot2", pool.Matched, young),
			claim(3, "slot3", pool.RunningClaim, late),
		},
		Backoffs: []pool.Backoff{{Slot: "slot4", Failures: 3, Until: now.Add(-time.Hour)}},
	}
	plan := Cycle(p, defaults(t), now)
	if got := plan.GiveUp; len(got) != 2 || got[0] != p.Claims[1] || got[1] != p.Claims[0] {
		t.Errorf("GiveUp = %+v, want the claims of 1.1 and 1.4", got)
	}
	want := []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(4 * time.Minute)}, {Slot: "slot4", Failures: 4, Until: now.Add(32 * time.Minute)}}
	if !slices.Equal(plan.Backoffs, want) {
		t.Errorf("Backoffs = %v, want %v", plan.Backoffs, want)
	}
	// slot5 is the only one left; 1.1 and 1.4 are idle again and wait behind 1.0.
	if got, want := pairs(plan), "1.0>slot5"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
	if got, want := share(plan, "alice@x"), (Share{Name: "alice@x", EffectivePriority: 0.5, Priority: 0.5, Usage: 2, PieSlice: 3, Limit: 1, Idle: 4, Matched: 1, Demand: 4}); got != want {
		t.Errorf("share of alice = %+v, want %+v", got, want)
	}
	if got, want := reasons(plan), "1.1 3 alice@x: no match found: none of 5 matching slots is free: 2 claimed before, 1 matched in this cycle, 2 left alone after matches that nobody took up"; len(got) != 1 || got[0] != want {
		t.Errorf("rejections = %q, want %q", got, want)
	}

	// After the rest the slot is as good as any.
	p = Pool{Slots: p.Slots[:1], Jobs: p.Jobs, Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now}}}
	if got, want := pairs(Cycle(p, defaults(t), now)), "1.0>slot1"; got != want {
		t.Errorf("matches after the rest %s, want %s", got, want)
	}
}

func TestBackoffGrows(t *testing.T) {
	want := []time.Duration{4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour}
	for i, w := range want {
		if got := rest(i+1, 2*time.Minute); got != w {
			t.Errorf("rest(%d, 2m) = %v, want %v", i+1, got, w)
		}
	}
	if got := rest(1_000_000, time.Second); got != time.Hour {
		t.Errorf("rest(1000000, 1s) = %v, want 1h", got)
	}
}

func TestClaimedProcsAreLeftOut(t *testing.T) {
	p := Pool{Slots: equal(t, 9, ""), Jobs: []jobprio.Run{aJob(t, 1, 6, "alice@x", "Rank = 0 * ProcId")}}
	for _, proc := range []int{0, 3, 5} {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Slot: p.Slots[proc].Name, Submitter: "alice@x",
			State: pool.Vacating, Weight: accountant.One})
	}
	if got, want := pairs(Cycle(p, defaults(t), now)), "1.1>slot2 1.2>slot3 1.4>slot5"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
}

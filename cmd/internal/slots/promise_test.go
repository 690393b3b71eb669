package slots

import (
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestOverlaidPromises holds that a slot that is being vacated says for whom, as does a
// piece of one and a slot that somebody holds by its own words.
func TestOverlaidPromises(t *testing.T) {
	claim := func(proc int, slot string, state pool.ClaimState, p pool.Piece) pool.Claim {
		return pool.Claim{
			Job: pool.JobID{Cluster: 1, Proc: proc}, Slot: slot, Piece: p, State: state, Submitter: []string{"alice@x", "bob@x"}[proc%2],
			MatchedAt: time.Unix(10, 0), StartedAt: time.Unix(20, 0), VacateSince: time.Unix(30, 0), Rank: float64(proc),
		}
	}
	part := pool.Piece{Of: "p", Takes: "Cpus=1"}
	slots := []pool.Slot{
		{Name: "a", Ad: ad(t, `[Name = "a"; State = "Unclaimed"]`)},
		{Name: "out", Ad: ad(t, `[Name = "out"; State = "Claimed"; Activity = "Busy"; RemoteUser = "carol@y"]`)},
		{Name: "p", Ad: ad(t, `[Name = "p"; PartitionableSlot = true; Cpus = 4; State = "Unclaimed"]`)},
	}
	seen := overlaid(&classad.Context{Now: time.Unix(100, 0)}, slots, []pool.Claim{
		claim(0, "a", pool.Vacating, pool.Piece{}), claim(1, "a", pool.Promised, pool.Piece{}),
		claim(3, "out", pool.Promised, pool.Piece{}),
		claim(4, "p_1", pool.Vacating, part), claim(5, "p_1", pool.Promised, part),
	})
	for i, want := range []string{
		"a: Preempting Vacating alice@x 1.0, for bob@x 1.1",
		"out: Claimed Busy carol@y , for bob@x 1.3",
		"p: Unclaimed   , for  ",
		"p_1: Preempting Vacating alice@x 1.4, for bob@x 1.5",
	} {
		a := seen[i].Ad
		get := func(name string) string { return text(a, name) }
		got := seen[i].Name + ": " + get("State") + " " + get("Activity") + " " + get("RemoteUser") + " " + get("JobId") +
			", for " + get("PreemptingUser") + " " + get("PreemptingJobId")
		if got != want {
			t.Errorf("slot %d = %q, want %q", i, got, want)
		}
	}
	if left := number(seen[2].Ad, pool.AttrCpus); len(seen) != 4 || left != "3" {
		t.Errorf("%d slots, and p has %s cores left, want 4 and 3", len(seen), left)
	}
	if ran := number(seen[0].Ad, pool.AttrTotalJobRunTime); ran != "80" {
		t.Errorf("TotalJobRunTime = %s, want 80", ran)
	}
}

package operation

import (
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Procs that are matched together stay equal, those with another past do not join
// them.
func TestMatchesAreCounted(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("earlier")
		tx.Set(pool.JobID{Cluster: 1, Proc: 2}, pool.AttrNumJobMatches, classad.Literal(classad.Int(4)))
		for _, name := range []string{"slot3@here", "slot4@here"} {
			slot, _ := tx.Advertised("slot1@here")
			ad := slot.Ad.Clone()
			ad.SetString("Name", name)
			tx.PutSlot(name, ad)
		}
		return nil
	})
	if made := b.negotiate(noon, nil); len(made) != 4 {
		t.Fatalf("negotiate made %d matches, want 4", len(made))
	}
	for proc, want := range []string{"1", "1", "5", "1"} {
		id := pool.JobID{Cluster: 1, Proc: proc}
		if got := b.attribute(id, pool.AttrNumJobMatches); got != want {
			t.Errorf("NumJobMatches of %v = %s, want %s", id, got, want)
		}
		b.view(func(v *spool.View) {
			if c, _ := v.Claim(id); classad.Int(int64(c.Attempt)).String() != want {
				t.Errorf("Attempt of %v = %d, want %s", id, c.Attempt, want)
			}
		})
	}
	b.view(func(v *spool.View) {
		if c, _ := v.Cluster(1); len(c.Runs) != 3 {
			t.Errorf("the cluster has %d runs of equal procs, want 3: %v", len(c.Runs), c.Runs)
		}
	})
}

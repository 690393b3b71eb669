package spool

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// Claims that a view has returned stay what they were, in a spool that is kept in memory and in a fork of it, whatever changes afterwards
// and however often claims are listed; and all ways to list them say the same.
func TestLentClaimsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		below := InMemory("example.org")
		if err := below.Update(func(tx *Tx) error {
			tx.Op("below")
			for n := range rapid.IntRange(0, 20).Draw(t, "below") {
				tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: n + 1}, Slot: "slot1@below"})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var s *Spool
		var lent, were [][]pool.Claim
		model := map[pool.JobID]string{}
		must(below.View(func(v *View) error {
			lent, were = append(lent, v.Claims()), append(were, slices.Clone(v.Claims()))
			for _, c := range lent[0] {
				model[c.Job] = c.Slot
			}
			s = v.Fork()
			return nil
		}))
		if rapid.Bool().Draw(t, "unforked") {
			s = below
		}
		slot := rapid.SampledFrom([]string{"slot1@a", "slot2@b", "slot3@c"})
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			if err := s.Update(func(tx *Tx) error {
				tx.Op("round")
				for range rapid.IntRange(0, 12).Draw(t, "changes") {
					id := pool.JobID{Cluster: rapid.IntRange(1, 25).Draw(t, "job")}
					if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
						tx.DropClaim(id)
						delete(model, id)
						continue
					}
					model[id] = slot.Draw(t, "slot")
					tx.PutClaim(pool.Claim{Job: id, Slot: model[id], MatchedAt: time.Unix(1, 0)})
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			must(s.View(func(v *View) error {
				var list []pool.Claim
				switch rapid.IntRange(0, 2).Draw(t, "way") {
				case 0:
					list = v.Claims()
					lent, were = append(lent, list), append(were, slices.Clone(list))
				case 1:
					list = AppendClaims(nil, v)
				default:
					EachClaim(v, func(c *pool.Claim) { list = append(list, *c) })
				}
				got := map[pool.JobID]string{}
				for _, c := range list {
					got[c.Job] = c.Slot
				}
				if !maps.Equal(got, model) || !slices.IsSortedFunc(list, func(a, b pool.Claim) int { return a.Job.Compare(b.Job) }) {
					t.Fatalf("claims %v, want %v in their order", list, model)
				}
				return nil
			}))
			for i := range lent {
				if !slices.Equal(lent[i], were[i]) {
					t.Fatalf("claims that were returned have become %v, were %v", lent[i], were[i])
				}
			}
		}
	})
}

package spool

import (
	"slices"
	"testing"

	"fairspool/lib/pool"
)

// TestCheckClaims holds that claims that cannot be so together are damage, and that a
// promise beside the claim that it waits for is none.
func TestCheckClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		change func(claims []pool.Claim)
		want   []string
	}{
		{"as they were made", func([]pool.Claim) {}, nil},
		{"a slot twice", func(claims []pool.Claim) { claims[2].State, claims[2].Slot = pool.Matched, claims[0].Slot },
			[]string{"!journal.1: slot slot1_1@host is claimed by job 1.1 and job 1.10"}},
		{"a promise that is not meant", func(claims []pool.Claim) { claims[0].State = pool.RunningClaim },
			[]string{"!journal.1: slot slot1_1@host is promised to job 1.3, and job 1.1, which has it, does not leave it for that"}},
		{"a claim of nobody", func(claims []pool.Claim) { claims[2].Job.Proc = 77 },
			[]string{"!journal.1: job 1.77 has a claim and is not in the queue"}},
	} {
		dir := fixture(t)
		claims := preemption()
		c.change(claims)
		err := attempt(dir, disk{}, func(tx *Tx) error {
			tx.Op("test")
			for _, k := range claims {
				tx.PutClaim(k)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := matches(findings(t, dir), "!"); !slices.Equal(got, c.want) {
			t.Errorf("%s: damage = %q, want %q", c.what, got, c.want)
		}
	}
}

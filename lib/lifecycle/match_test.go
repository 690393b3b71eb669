package lifecycle

import (
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
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

// What counts for a limit of a credential under a policy with one queue is not given out twice
// either, whoever's it is.
func TestLatecomersBarCredentials(t *testing.T) {
	for _, c := range []struct {
		what, ad, qos string
		limited       bool
		want          int
	}{
		{"another class", `Class = "short"`, "", true, 1},
		{"the same class", `Class = "long"`, "", true, 0},
		{"the same class, and no limits", `Class = "long"`, "", false, 1},
		{"the QOS that the policy says", `QOS = "low"`, "gold", true, 0},
		{"no credentials but the user", "", "", true, 1},
	} {
		b := newBench(t)
		b.setOf(first, pool.AttrClass, `"long"`)
		b.submit("bob", 1, c.ad)
		if got := b.made(nil, negotiator.Match{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One, QOS: "gold"}); len(got) != 1 {
			t.Fatalf("%s: matches on %v, want slot1@here", c.what, got)
		}
		seen := b.snapshot()
		plan := &negotiator.Plan{GiveUp: seen.Pool.Claims, Policy: "maui", Limited: c.limited,
			Matches: []negotiator.Match{{Job: pool.JobID{Cluster: 2}, Submitter: "bob@example.org", Slot: "slot2@here", Weight: accountant.One, QOS: c.qos}}}
		late := noon.Add(time.Hour)
		b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, late, 4711, "", params) })
		b.update(func(tx *spool.Tx) error {
			if made := Match(tx, plan, seen, late, params); len(made) != c.want {
				t.Errorf("%s: %d matches, want %d", c.what, len(made), c.want)
			}
			return nil
		})
	}
}

// A match that a cycle gives up and that is taken up before its plan is applied goes
// on: what it counts for is not given out twice.
func TestLatecomersBar(t *testing.T) {
	for _, c := range []struct {
		what, submitter, limits string
		want                    []string // slots
	}{
		{"the same submitter", "alice@example.org", "", nil},
		{"the same limit", "bob@example.org", "lic.a:2,sw", nil},
		{"neither", "bob@example.org", "lic.b,sw", []string{"slot2@here"}},
	} {
		b := newBench(t)
		match := negotiator.Match{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One, Limits: "lic.a,other"}
		if got := b.made(nil, match); len(got) != 1 {
			t.Fatalf("%s: matches on %v, want slot1@here", c.what, got)
		}
		var seen Snapshot
		b.view(func(v *spool.View) { seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{}) })
		late := noon.Add(time.Hour)
		plan := &negotiator.Plan{
			GiveUp:   seen.Pool.Claims,
			Backoffs: []pool.Backoff{{Slot: "slot1@here", Failures: 1, Until: late.Add(time.Hour)}},
			Matches: []negotiator.Match{{
				Job: pool.JobID{Cluster: 1, Proc: 1}, Submitter: c.submitter, Slot: "slot2@here", Weight: accountant.One, Limits: c.limits,
			}},
		}
		b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, late, 4711, "", params) })
		var got []string
		b.update(func(tx *spool.Tx) error {
			for _, m := range Match(tx, plan, seen, late, params) {
				got = append(got, m.Slot)
			}
			if rests := tx.Backoffs(); len(rests) > 0 {
				t.Errorf("%s: %v is left alone, want no slot", c.what, rests)
			}
			return nil
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: matches on %v, want %v", c.what, got, c.want)
		}
	}
}

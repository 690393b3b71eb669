package lifecycle

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// A group that is spelled otherwise keeps its records and claims, and those who
// have got one under either name have one again.
func TestRespell(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("x")
		for _, r := range []accountant.Record{
			{Name: "Physics.alice@example.org", Priority: 3, Floor: 2},
			{Name: "physics", InUse: accountant.One, ResourcesUsed: 1, Subtree: accountant.One},
			{Name: "physics.alice@example.org", Priority: 5, Factor: 7, InUse: accountant.One, ResourcesUsed: 1, Weighted: accountant.Usage{Millis: 1000}},
			{Name: "physics.bob@example.org", Priority: 9},
		} {
			r.At, r.HalfLife = noon, params.HalfLife
			tx.PutSubmitter(r)
		}
		for i, name := range []string{"physics.alice@example.org", "Physics.alice@example.org"} {
			spool.Flocked.Put(tx, accountant.Record{Name: name, At: noon.Add(time.Duration(i) * time.Hour), HalfLife: params.HalfLife, InUse: accountant.One, ResourcesUsed: 1})
		}
		tx.PutClaim(pool.Claim{Job: first, Attempt: 1, Slot: "slot1@here", Submitter: "physics.alice@example.org", Weight: accountant.One,
			State: pool.RunningClaim, MatchedAt: noon})
		spool.Reservations.Set(tx, []pool.Reservation{{Slot: "slot1@here", Job: first, Submitter: "physics.alice@example.org", Since: noon.Unix()}})
		return nil
	})
	p := params
	var err error
	if p.Groups, err = accountant.NewGroups([]accountant.Group{{Name: "Physics"}}); err != nil {
		t.Fatal(err)
	}
	misspelt := func() (yes bool) {
		b.view(func(v *spool.View) {
			yes = TakeSnapshot(v, "example.org", p.Groups, policy.Beside{}).Misspelt(p.Groups)
		})
		return yes
	}
	if !misspelt() {
		t.Error("Misspelt = false, want true")
	}
	b.view(func(v *spool.View) {
		kept := TakeSnapshot(v, "example.org", p.Groups, policy.Beside{}).Pool.Reservations
		if len(kept) != 1 || kept[0].Submitter != "Physics.alice@example.org" {
			t.Errorf("reservations %+v, want one of Physics.alice@example.org, as the job's submitter is spelled", kept)
		}
	})
	b.update(func(tx *spool.Tx) error {
		tx.Op("respell groups")
		Respell(tx, noon, p)
		return nil
	})
	if misspelt() {
		t.Error("Misspelt after Respell = true")
	}
	b.view(func(v *spool.View) {
		alice, _ := v.Submitter("Physics.alice@example.org")
		if alice.Priority != 7.5 || alice.Factor != 7 || alice.Floor != 2 || alice.InUse != accountant.One || alice.Weighted.Millis != 1000 {
			t.Errorf("joined: %+v, want RUP 7.5, factor 7, floor 2, 1 in use", alice)
		}
		if bob, there := v.Submitter("Physics.bob@example.org"); !there || bob.Priority != 9 {
			t.Errorf("renamed: %+v, %v, want RUP 9", bob, there)
		}
		if n := len(v.Submitters()); n != 3 {
			t.Errorf("%d records, want 3: %+v", n, v.Submitters())
		}
		if all := spool.Flocked.All(v); len(all) != 1 || all[0].Name != "Physics.alice@example.org" || all[0].InUse != 2*accountant.One || all[0].Slots.Seconds() != 3600 {
			t.Errorf("of other pools: %+v, want the two joined, with 2 in use and an hour", all)
		}
		if c, _ := v.Claim(first); c.Submitter != "Physics.alice@example.org" {
			t.Errorf("the claim is of %s", c.Submitter)
		}
	})
}

// What slots say that somebody holds is charged from the cycle that sees it to the
// one that does not, and once only.
func TestHeldOutside(t *testing.T) {
	b := newBench(t)
	holds := func(user string) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("advertise")
			s, _ := tx.Advertised("slot2@here")
			ad := s.Ad.Clone()
			ad.SetString("State", "Claimed")
			ad.SetString("RemoteUser", user)
			if user == "" {
				ad.SetString("State", "Owner")
			}
			tx.PutSlot("slot2@here", ad)
			return nil
		})
	}
	record := func(at time.Time) (r accountant.Record) {
		b.view(func(v *spool.View) { r, _ = v.Submitter("zed@elsewhere") })
		return r.AsOf(at, params)
	}
	holds("zed@elsewhere")
	b.negotiate(noon, nil)
	b.negotiate(noon.Add(time.Hour), nil)
	if r := record(noon.Add(time.Hour)); r.ResourcesUsed != 1 || r.InUse != 2*accountant.One || r.Weighted.Seconds() != 7200 || !r.Begin.Equal(noon) {
		t.Errorf("after an hour of a slot of weight 2: %+v", r)
	}
	holds("")
	b.negotiate(noon.Add(2*time.Hour), nil)
	b.negotiate(noon.Add(9*time.Hour), nil)
	if r := record(noon.Add(9 * time.Hour)); r.ResourcesUsed != 0 || r.InUse != 0 || r.Weighted.Seconds() != 4*3600 || r.Slots.Seconds() != 2*3600 {
		t.Errorf("two hours in all: %+v", r)
	}
}

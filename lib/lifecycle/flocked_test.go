package lifecycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// newFlockedBench is newBench with slots that another pool gives, one of them partitionable.
func newFlockedBench(t *testing.T, engine string) bench {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		for name, parted := range map[string]bool{"slot1@here": false, "slot2@here": true} {
			s, _ := tx.Advertised(name)
			ad := s.Ad.Clone()
			ad.SetBool("PartitionableSlot", parted)
			if engine != "" {
				ad.SetString(pool.AttrFlockedTo, engine)
			}
			tx.PutSlot(name, ad)
		}
		return nil
	})
	b.submit("alice", 60, ``)
	return b
}

// step does what a number of a step says to one of the bench's claims.
func (b bench) step(step, which int, at time.Time) {
	b.t.Helper()
	if step == 0 {
		b.negotiate(at, nil)
		return
	}
	b.update(func(tx *spool.Tx) (err error) {
		tx.Op("step")
		list := tx.Claims()
		if len(list) == 0 {
			return nil
		}
		c := list[which%len(list)]
		procs := pool.Only(c.Job)
		switch {
		case step == 1:
			_, err = Hold(tx, procs, pool.Reason{Text: "test"}, at, params)
		case c.State == pool.Matched && step < 6:
			err = Begin(tx, c.Job, c.Attempt, at, 1, "", params)
		case c.State == pool.Matched:
			GiveUp(tx, c, at, params)
		case step == 2:
			Vacate(tx, c.Job, pool.Reason{Text: "test", Code: VacatedByUser}, at, params)
		case step == 3 && c.State == pool.RunningClaim:
			err = Report(tx, c.Job, c.Attempt, pool.Progress{Wall: time.Minute, UserCPU: time.Second}, pool.Progress{}, at, params)
		case step == 4 && c.State == pool.RunningClaim:
			_, err = b.goesOn(tx, c.Job, at)
		case step == 5:
			_, err = Remove(tx, c.Job, "test", at, params)
		default:
			err = Finish(tx, c.Job, c.Attempt, at.Add(-time.Duration(which)*time.Second), pool.Ending{Wall: time.Minute}, params)
		}
		return err
	})
}

// charges returns the bench's claims in words.
func (b bench) charges() (text string) {
	b.view(func(v *spool.View) {
		for _, c := range v.Claims() {
			text += fmt.Sprintln(c.Job, c.Attempt, c.Slot, c.State, c.Weight, c.ChargedFrom())
		}
	})
	return text
}

// TestFlocked does the same in a pool with slots of its own and in one with slots of another pool. There the claims
// change neither records nor tallies of the pool, and what they are charged is what it is in the first one.
func TestFlocked(t *testing.T) {
	const alice = "alice@example.org"
	var used time.Duration
	for seed := range uint64(4) {
		draw := rand.New(rand.NewPCG(1, seed))
		own, other := newFlockedBench(t, ""), newFlockedBench(t, "b")
		at := noon
		for range 100 {
			step, which := draw.IntN(8), draw.IntN(20)
			for _, b := range []bench{own, other} {
				b.step(step, which, at)
			}
			at = at.Add(time.Duration(draw.IntN(600)) * time.Second)
			if got, want := other.charges(), own.charges(); got != want {
				t.Fatalf("seed %d: claims are\n%swant\n%s", seed, got, want)
			}
			want := own.alice(at)
			other.view(func(v *spool.View) {
				for _, c := range v.Claims() {
					if c.Flocked != "b" || c.Usage() != 0 {
						t.Fatalf("seed %d: %+v, want a claim flocked to b", seed, c)
					}
				}
				if r, _ := v.Submitter(alice); r.ResourcesUsed != 0 || r.InUse != 0 || r.Weighted != (accountant.Usage{}) || !r.Last.IsZero() || r.Priority > accountant.MinPriority {
					t.Fatalf("seed %d: the pool's record is %+v", seed, r)
				}
				if list := v.Tallies(); len(list) > 0 {
					t.Fatalf("seed %d: the pool's tallies are %+v", seed, list)
				}
				got, _ := spool.Flocked.Get(v, alice)
				got = got.AsOf(at, params)
				if got.ResourcesUsed != want.ResourcesUsed || got.InUse != want.InUse || got.Slots != want.Slots || got.Weighted != want.Weighted ||
					!got.Last.Equal(want.Last) && want.Slots.Millis > 0 || math.Abs(got.Priority-want.Priority) > 1e-9 {
					t.Fatalf("seed %d: flocked is\n%+v, want\n%+v", seed, got, want)
				}
			})
		}
		used += time.Duration(own.alice(at).Weighted.Seconds()) * time.Second
	}
	if used < 10*time.Hour {
		t.Errorf("alice used %v: too little to tell", used)
	}
}

// TestFlockedInGroup holds that a claim of another pool's slot is charged to no group.
func TestFlockedInGroup(t *testing.T) {
	p := params
	var err error
	if p.Groups, err = accountant.NewGroups([]accountant.Group{{Name: "physics"}}); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		c := pool.Claim{Job: first, Attempt: 1, Slot: "s", Submitter: "physics.alice@example.org", Weight: accountant.One, State: pool.RunningClaim,
			By: accountant.Credentials{User: "alice", Cpus: 1}, Flocked: "b"}
		c.MatchedAt = BeginCharge(tx, c, noon, p)
		tx.PutClaim(c)
		return nil
	})
	b.view(func(v *spool.View) {
		if got := v.Submitters(); len(got) > 0 {
			t.Errorf("records %+v, want none", got)
		}
		if last := lastEvent(v); !last.Equal(noon) {
			t.Errorf("the last event was at %v, want %v", last, noon)
		}
	})
	b.update(func(tx *spool.Tx) error {
		c, _ := tx.Claim(first)
		EndCharge(tx, c, noon.Add(time.Hour), p)
		tx.DropClaim(first)
		return Renaming{"example.org", "new.org"}.Do(tx)
	})
	b.view(func(v *spool.View) {
		want := accountant.Record{Name: "physics.alice@new.org", Priority: 0.5, At: noon.Add(time.Hour), HalfLife: p.HalfLife, Begin: noon, Last: noon.Add(time.Hour)}
		want.Slots = want.Slots.Add(accountant.One, time.Hour)
		want.Weighted, want.Priority = want.Slots, want.Priority*math.Exp2(-1/24.)+1-math.Exp2(-1/24.)
		all := spool.Flocked.All(v)
		if len(all) != 1 || !(accountant.Entry{Record: all[0], There: true}).Same(accountant.Entry{Record: want, There: true}) {
			t.Errorf("flocked are\n%+v, want\n%+v", all, want)
		}
		if last := lastEvent(v); !last.Equal(want.At) {
			t.Errorf("the last event was at %v, want %v", last, want.At)
		}
	})
}

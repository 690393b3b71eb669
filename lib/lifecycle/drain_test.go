package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// proc returns a job of the bench.
func proc(n int) pool.JobID { return pool.JobID{Cluster: 1, Proc: n} }

// TestDrain is the table of a machine's claims when it is drained: those that end at
// once, those that are told to leave, and those that leave already.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name    string
		claim   pool.Claim
		haste   Haste
		want    string // the claim's state and reason; empty: it is gone
		charged bool
	}{
		{"a match", pool.Claim{State: pool.Matched}, Graceful, "", false},
		{"a promise", pool.Claim{State: pool.Promised}, Fast, "", false},
		{"a job", pool.Claim{State: pool.RunningClaim}, Graceful, "Vacating the machine is drained: disks 1014 0", false},
		{"a job, quickly", pool.Claim{State: pool.RunningClaim}, Quick, "Vacating the machine is drained: disks 1014 10", false},
		{"a job, fast", pool.Claim{State: pool.RunningClaim}, Fast, "Vacating the machine is drained: disks 1014 20", false},
		{"one that leaves for that", pool.Claim{State: pool.Vacating, VacateReason: "the machine is drained", VacateCode: MachineDrained}, Fast,
			"Vacating the machine is drained: disks 1014 20", false},
		{"one that is preempted", pool.Claim{State: pool.Vacating, VacateReason: "rank", VacateCode: PreemptedByRank}, Graceful, "Vacating rank 1018 0", false},
		{"one that is preempted, quickly", pool.Claim{State: pool.Vacating, VacateReason: "rank", VacateCode: PreemptedByRank}, Quick,
			"Vacating the machine is drained: disks 1014 10", false},
		{"one that is held", pool.Claim{State: pool.Vacating, VacateReason: "held: x", VacateCode: jobpolicy.ByUser}, Fast, "Vacating held: x 1 0", false},
		{"one elsewhere", pool.Claim{State: pool.RunningClaim, Machine: "there"}, Fast, "Running  0 0", true},
	} {
		b := newBench(t)
		claim := c.claim
		claim.Job, claim.Attempt, claim.Slot, claim.Submitter, claim.Weight = first, 1, "slot1@here", "alice@example.org", 2*accountant.One
		claim.MatchedAt = noon
		if claim.Machine == "" {
			claim.Machine = "Here"
		}
		d := Drained{Machine: "here", By: "root", At: noon, Haste: c.haste, Reason: "disks"}
		b.update(func(tx *spool.Tx) error {
			tx.Op("match")
			tx.PutClaim(claim)
			if claim.State.Charged() {
				r, _ := tx.Submitter(claim.Submitter)
				tx.PutSubmitter(r.Start(noon, claim.Weight, params))
			}
			return nil
		})
		var l Leavers
		b.update(func(tx *spool.Tx) error { l = Drain(tx, d, noon.Add(time.Minute), params); return nil })
		b.view(func(v *spool.View) {
			got := ""
			after, ok := v.Claim(first)
			if ok {
				got = fmt.Sprint(after.State, " ", after.VacateReason, " ", after.VacateCode, " ", after.VacateSubcode)
			}
			if got != c.want {
				t.Errorf("%s: Drain leaves the claim %q, want %q", c.name, got, c.want)
			}
			if r, _ := v.Submitter(claim.Submitter); (r.InUse > 0) != c.charged {
				t.Errorf("%s: Drain leaves %v in use, want a charge %v", c.name, r.InUse, c.charged)
			}
			if got, ok := DrainOf(v, "HERE"); !ok || got.Reason != "disks" || got.Haste != c.haste || !got.At.Equal(noon) || got.By != "root" || got.Stopped {
				t.Errorf("%s: DrainOf = %+v, %v, want what was put", c.name, got, ok)
			}
		})
		if n := len(l.GivenUp) + len(l.Staying()); claim.Machine != "there" && n != 1 || claim.Machine == "there" && n != 0 {
			t.Errorf("%s: Drain tells of %d claims", c.name, n)
		}
	}
}

// A cycle gives nothing away on a drained machine, also when it was drained while the
// cycle went on; and when that is over, it does again.
func TestDrainedMatchesNothing(t *testing.T) {
	b := newBench(t)
	d := Drained{Machine: "HERE", At: noon}
	drain := func(tx *spool.Tx) error { Drain(tx, d, noon, params); return nil }
	if made := b.negotiate(noon, drain); len(made) != 0 {
		t.Errorf("a cycle during which the machine is drained matches %v, want nothing", made)
	}
	if made := b.negotiate(noon, nil); len(made) != 0 {
		t.Errorf("a cycle on a drained machine matches %v, want nothing", made)
	}
	b.update(func(tx *spool.Tx) error {
		if !Reopen(tx, "here") || Reopen(tx, "here") {
			t.Error("Reopen twice, want true and then false")
		}
		return nil
	})
	if made := b.negotiate(noon, nil); len(made) != 2 {
		t.Errorf("a cycle when the machine was opened again matches %v, want both slots", made)
	}
}

// TestDrainedSlots holds what the slots of a drained machine say, and that whoever holds
// one by its own words goes on to.
func TestDrainedSlots(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		Drain(tx, Drained{Machine: "here", At: noon, Reason: "disks"}, noon, params)
		held := classad.New()
		for name, text := range map[string]string{"Machine": "here", "State": "Claimed", "RemoteUser": "carol@there"} {
			held.SetString(name, text)
		}
		tx.PutSlot("slot3@here", held)
		other := classad.New()
		other.SetString("Machine", "there")
		tx.PutSlot("slot1@there", other)
		return nil
	})
	show := func() (all []string) {
		b.view(func(v *spool.View) {
			slots, _ := Slots(v)
			for _, s := range slots {
				text := s.Name
				for _, name := range []string{"State", "Activity", "EnteredCurrentState", "Draining", "DrainReason"} {
					text += " " + s.Ad.Eval(&classad.Context{}, name, nil).String()
				}
				all = append(all, text)
			}
		})
		return all
	}
	want := []string{
		fmt.Sprintf(`slot1@here "Drained" "Idle" %d true "disks"`, noon.Unix()), `slot1@there undefined undefined undefined undefined undefined`,
		fmt.Sprintf(`slot2@here "Drained" "Idle" %d true "disks"`, noon.Unix()), `slot3@here "Claimed" undefined undefined undefined undefined`,
	}
	got := show()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Slots = %q, want %q", got, want)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutClaim(pool.Claim{Job: proc(1), Attempt: 1, Slot: "slot1@here", Machine: "here", State: pool.Vacating})
		return nil
	})
	if got := show(); !slices.ContainsFunc(got, func(s string) bool {
		return s == fmt.Sprintf(`slot2@here "Drained" "Retiring" %d true "disks"`, noon.Unix())
	}) {
		t.Errorf("Slots while a job leaves = %q, want Retiring", got)
	}
}

// TestDrainedText holds that the mark reads as it was written, and that whatever stands
// there the machine counts as drained.
func TestDrainedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Drained{
			By: rapid.String().Draw(t, "by"), At: time.Unix(rapid.Int64Range(0, 1<<34).Draw(t, "at"), 0).UTC(),
			Haste: Haste(rapid.IntRange(0, 2).Draw(t, "haste")), Reason: rapid.String().Draw(t, "reason"), Stopped: rapid.Bool().Draw(t, "stopped"),
		}
		got, err := parseDrained(d.format())
		if err != nil || got != d {
			t.Fatalf("parseDrained(%q) = %+v, %v, want %+v", d.format(), got, err, d)
		}
	})
	for _, text := range []string{"", "graceful", "slow 5 \"a\" \"b\"", "fast x \"a\" \"b\"", "fast 5 a b", "fast 5 \"a\"", "fast 5 \"a\" \"b", "fast 5 \"a\" b"} {
		if d, err := parseDrained(text); err == nil {
			t.Errorf("parseDrained(%q) = %+v, want an error", text, d)
		}
	}
	b := newBench(t)
	b.update(func(tx *spool.Tx) error { tx.Op("test"); tx.PutMark("drained here", "by whom?"); return nil })
	b.view(func(v *spool.View) {
		if d, ok := DrainOf(v, "Here"); !ok || d != (Drained{Machine: "Here"}) {
			t.Errorf("DrainOf with a mark that cannot be read = %+v, %v, want that it is drained", d, ok)
		}
	})
}

// TestHasteOf reads the haste out of reasons.
func TestHasteOf(t *testing.T) {
	for _, c := range []struct {
		why  pool.Reason
		want Haste
	}{
		{pool.Reason{Code: MachineDrained}, Graceful}, {pool.Reason{Code: MachineDrained, Subcode: 10}, Quick},
		{pool.Reason{Code: MachineDrained, Subcode: 20}, Fast}, {pool.Reason{Code: MachineDrained, Subcode: 90}, Fast},
		{pool.Reason{Code: MachineDrained, Subcode: -5}, Graceful}, {pool.Reason{Code: PreemptedByRank, Subcode: 20}, Graceful},
	} {
		if got := HasteOf(c.why); got != c.want {
			t.Errorf("HasteOf(%+v) = %v, want %v", c.why, got, c.want)
		}
	}
}

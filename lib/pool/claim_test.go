package pool

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestPromises(t *testing.T) {
	whole := Claim{Job: JobID{1, 0}, Slot: "a", State: Vacating, PromisedTo: JobID{2, 0}}
	next := Claim{Job: JobID{2, 0}, Slot: "a", State: Promised}
	piece := Piece{Of: "p", Takes: "Cpus=1"}
	with := func(c Claim, change func(*Claim)) Claim { change(&c); return c }
	for _, c := range []struct {
		what         string
		holder, next Claim
		want         bool
	}{
		{"as it was made", whole, next, true},
		{"a piece", with(whole, func(c *Claim) { c.Piece = piece }), with(next, func(c *Claim) { c.Piece = piece }), true},
		{"another job", whole, with(next, func(c *Claim) { c.Job.Proc = 1 }), false},
		{"another slot", whole, with(next, func(c *Claim) { c.Slot = "b" }), false},
		{"another piece", whole, with(next, func(c *Claim) { c.Piece = piece }), false},
		{"the holder runs", with(whole, func(c *Claim) { c.State = RunningClaim }), next, false},
		{"kept already", whole, next.Kept(time.Time{}), false},
	} {
		if got := c.holder.Promises(c.next); got != c.want {
			t.Errorf("%s: Promises = %v, want %v", c.what, got, c.want)
		}
	}
}

func TestKept(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	promised := Claim{State: Promised, MatchedAt: at(10)}
	if got := promised.ChargedFrom(); got != at(10) {
		t.Errorf("ChargedFrom() of a promise = %v, want %v", got, at(10))
	}
	for now, want := range map[int64]int64{30: 30, 5: 10} {
		got := promised.Kept(at(now))
		if got.State != Matched || got.MatchedAt != at(want) || got.ChargedFrom() != at(10) {
			t.Errorf("Kept(%d) = %v at %v, charged from %v, want Matched at %d, charged from 10", now, got.State, got.MatchedAt, got.ChargedFrom(), want)
		}
	}
}

func TestHeldOutsideAndContradictions(t *testing.T) {
	claim := func(proc int, slot string, s ClaimState) Claim {
		return Claim{Job: JobID{1, proc}, Slot: slot, State: s}
	}
	leaving := claim(0, "a", Vacating)
	leaving.PromisedTo = JobID{1, 1}
	for _, c := range []struct {
		claims  []Claim
		outside []int // procs
		wrong   []string
	}{
		{nil, nil, nil},
		{[]Claim{leaving, claim(1, "a", Promised), claim(2, "b", Promised), claim(3, "c", RunningClaim)}, []int{2}, nil},
		{[]Claim{claim(0, "a", Matched), claim(1, "a", RunningClaim)}, nil, []string{"slot a is claimed by job 1.0 and job 1.1"}},
		{[]Claim{leaving, claim(1, "a", Promised), claim(2, "a", Promised)}, nil, []string{"slot a is promised to job 1.1 and job 1.2"}},
		{[]Claim{claim(0, "a", RunningClaim), claim(1, "a", Promised)}, nil,
			[]string{"slot a is promised to job 1.1, and job 1.0, which has it, does not leave it for that"}},
		{[]Claim{leaving, claim(2, "a", Promised)}, nil,
			[]string{"slot a is promised to job 1.2, and job 1.0, which has it, does not leave it for that"}},
	} {
		var outside []int
		for _, k := range HeldOutside(c.claims) {
			outside = append(outside, k.Job.Proc)
		}
		if !reflect.DeepEqual(outside, c.outside) {
			t.Errorf("HeldOutside(%+v) = procs %v, want %v", c.claims, outside, c.outside)
		}
		var got []string
		for _, x := range Contradictions(c.claims) {
			got = append(got, x.Why)
			c.claims = slices.DeleteFunc(slices.Clone(c.claims), func(o Claim) bool { return o.Job == x.Claim.Job })
		}
		if !reflect.DeepEqual(got, c.wrong) {
			t.Errorf("Contradictions = %q, want %q", got, c.wrong)
		}
		if left := Contradictions(c.claims); left != nil {
			t.Errorf("Contradictions(%+v), without those found before, = %+v, want none", c.claims, left)
		}
	}
}

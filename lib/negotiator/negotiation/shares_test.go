package negotiation

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

var inf = math.Inf(1)

func bounded(name string, rup float64, ceiling, floor int64) accountant.Record {
	r := record(name, rup)
	r.Ceiling, r.Floor = accountant.LimitOf(ceiling), floor
	return r
}

func TestCeilingsAndFloors(t *testing.T) {
	for _, c := range []struct {
		name         string
		alice, bob   accountant.Record
		usage        int // slots that alice holds before
		slots, wants int
		want         map[string]int
	}{
		{"no limits", bounded("alice@x", 1, -1, 0), bounded("bob@x", 1, -1, 0), 0, 12, 20, map[string]int{"alice@x": 6, "bob@x": 6}},
		{"what a ceiling keeps back goes to others", bounded("alice@x", 1, 2, 0), bounded("bob@x", 1, -1, 0), 0, 12, 20, map[string]int{"alice@x": 2, "bob@x": 10}},
		{"a ceiling counts what is held", bounded("alice@x", 1, 4, 0), bounded("bob@x", 1, -1, 0), 3, 12, 20, map[string]int{"alice@x": 1, "bob@x": 8}},
		{"a ceiling below what is held", bounded("alice@x", 1, 2, 0), bounded("bob@x", 1, -1, 0), 3, 12, 20, map[string]int{"bob@x": 9}},
		{"a ceiling of 0", bounded("alice@x", 1, 0, 0), bounded("bob@x", 1, 3, 0), 0, 12, 20, map[string]int{"bob@x": 3}},
		{"a floor against a hopeless share", bounded("alice@x", 1e6, -1, 5), bounded("bob@x", 1, -1, 0), 0, 12, 20, map[string]int{"alice@x": 5, "bob@x": 7}},
		{"a floor that is reached", bounded("alice@x", 1e6, -1, 3), bounded("bob@x", 1, -1, 0), 3, 12, 20, map[string]int{"bob@x": 9}},
		{"a floor above what is wanted", bounded("alice@x", 1e6, -1, 9), bounded("bob@x", 1, -1, 0), 0, 12, 2, map[string]int{"alice@x": 2, "bob@x": 2}},
		{"a floor and a lower ceiling", bounded("alice@x", 1e6, 2, 5), bounded("bob@x", 1, -1, 0), 0, 12, 20, map[string]int{"alice@x": 2, "bob@x": 10}},
		{"floors beyond the pool, by share", bounded("alice@x", 2, -1, 20), bounded("bob@x", 1, -1, 20), 0, 12, 20, map[string]int{"alice@x": 4, "bob@x": 8}},
		{"floors of equals, by name", bounded("bob@x", 1, -1, 9), bounded("alice@x", 1, -1, 9), 0, 5, 20, map[string]int{"alice@x": 3, "bob@x": 2}},
		{"a floor for whom nothing is left below one who goes on", bounded("alice@x", 1, -1, 9), bounded("bob@x", 5, 3, 9), 0, 12, 6, map[string]int{"alice@x": 6, "bob@x": 3}},
		{"a nice user's floor", bounded("nice-user.alice@x", 1, -1, 2), bounded("bob@x", 1, -1, 0), 0, 12, 20, map[string]int{"nice-user.alice@x": 2, "bob@x": 10}},
	} {
		p := negotiator.Pool{Slots: equal(t, c.slots, ""), Submitters: []accountant.Record{c.alice, c.bob},
			Jobs: []jobprio.Run{aJob(t, 1, c.wants, c.alice.Name, ""), aJob(t, 2, c.wants, c.bob.Name, "")}}
		for i := range c.usage {
			p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: p.Slots[i].Name, Submitter: c.alice.Name,
				Weight: accountant.One, State: pool.RunningClaim, MatchedAt: now})
		}
		if got := matched(Cycle(p, defaults(t), now)); !maps.Equal(got, c.want) {
			t.Errorf("%s: matches %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCeilingIsTheReason(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 5, ""), Submitters: []accountant.Record{bounded("alice@x", 1, 2, 0)}, Jobs: []jobprio.Run{aJob(t, 1, 4, "alice@x", "")}}
	got := reasons(Cycle(p, defaults(t), now))
	if want := "1.2 2 alice@x: submitter ceiling reached: alice@x uses 2 of at most 2"; len(got) != 1 || got[0] != want {
		t.Errorf("reasons %q, want %q", got, want)
	}
}

// A lease that has run out binds nobody.
func TestLeaseRunsOut(t *testing.T) {
	r := bounded("alice@x", 1, 1, 0)
	r.CeilingLease = accountant.Lease{Until: now, Before: 3}
	p := negotiator.Pool{Slots: equal(t, 5, ""), Submitters: []accountant.Record{r}, Jobs: []jobprio.Run{aJob(t, 1, 5, "alice@x", "")}}
	if got := len(Cycle(p, defaults(t), now).Matches); got != 3 {
		t.Errorf("%d matches when the lease of a ceiling of 1 is over, want the 3 of before", got)
	}
}

// No ceiling is ever passed, no floor missed while a slot was left that its
// submitter could use, and otherwise no slot stays idle that somebody could use.
func TestLimitsHold(t *testing.T) {
	cfg := defaults(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := somePool(rt, t, false)
		for i := range p.Submitters {
			p.Submitters[i].Ceiling = accountant.LimitOf(rapid.Int64Range(-1, 8).Draw(rt, "ceiling"))
			p.Submitters[i].Floor = rapid.SampledFrom([]int64{0, 0, 2, 7}).Draw(rt, "floor")
		}
		plan := Cycle(p, cfg, now)
		uses := map[string]accountant.Weight{}
		for _, m := range plan.Matches {
			uses[m.Submitter] += m.Weight
		}
		for _, s := range plan.Submitters {
			i := slices.IndexFunc(p.Submitters, func(r accountant.Record) bool { return r.Name == s.Name })
			limit := p.Submitters[i].Ceiling
			if took := uses[s.Name].Float(); limit.Set && took > 0 && s.Usage+took > float64(limit.Slots) {
				rt.Fatalf("%s used %v, took %v, with a ceiling of %d", s.Name, s.Usage, took, limit.Slots)
			}
			waits := slices.ContainsFunc(plan.Rejections, func(x negotiator.Rejection) bool {
				return x.Submitter == s.Name && strings.HasPrefix(x.Reason, "submitter limit exceeded")
			})
			floor := float64(p.Submitters[i].Floor)
			if waits && s.Usage+uses[s.Name].Float() < floor && others(plan, p, s.Name) {
				rt.Fatalf("%s has %v of a floor of %v and a share used up, while others got more than their floors\n%s",
					s.Name, s.Usage+uses[s.Name].Float(), floor, asJSON(rt, plan))
			}
		}
	})
}

// others reports whether anybody without a floor took a slot.
func others(plan *negotiator.Plan, p negotiator.Pool, name string) bool {
	return slices.ContainsFunc(plan.Matches, func(m negotiator.Match) bool {
		i := slices.IndexFunc(p.Submitters, func(r accountant.Record) bool { return r.Name == m.Submitter })
		return m.Submitter != name && p.Submitters[i].Floor == 0
	})
}

// bySquares divides in inverse ratio to the squares of the EUPs: of submitters with equal RUPs, by the squares of their factors.
func bySquares(total float64, claimants []shares.Claimant) []float64 {
	claimants = slices.Clone(claimants)
	for i := range claimants {
		claimants[i].EUP *= claimants[i].EUP
	}
	return shares.Targets(total, claimants)
}

// Another way to divide is one function: what is dealt out, what preemption goes by and what
// the report says follow it.
func TestAnotherDivision(t *testing.T) {
	for _, c := range []struct {
		division shares.Division
		want     map[string]int
	}{
		{nil, map[string]int{"alice@x": 36, "bob@x": 18, "carol@x": 9}},
		{bySquares, map[string]int{"alice@x": 48, "bob@x": 12, "carol@x": 3}},
	} {
		cfg := preempting(t)
		cfg.Division = c.division
		p := negotiator.Pool{Slots: equal(t, 63, ""), Submitters: []accountant.Record{record("alice@x", 1), record("bob@x", 1), record("carol@x", 1)}}
		for i, r := range p.Submitters {
			p.Submitters[i].Factor = []float64{5, 10, 20}[i]
			p.Jobs = append(p.Jobs, aJob(t, i+1, 63, r.Name, ""))
		}
		plan := Cycle(p, cfg, now)
		if got := matched(plan); !maps.Equal(got, c.want) {
			t.Errorf("Cycle matches %v, want %v", got, c.want)
		}
		for _, s := range plan.Submitters {
			if want := float64(c.want[s.Name]); math.Abs(s.PieSlice-want) > 1e-9 {
				t.Errorf("the pie slice of %s is %v, want %v", s.Name, s.PieSlice, want)
			}
		}
	}
}

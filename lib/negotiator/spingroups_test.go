package negotiator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// toldOfGroups lists turns as told does, with the group before the spin's number.
func toldOfGroups(p *Plan) string {
	lines := strings.Split(told(p), "\n")
	for i, s := range p.Spins {
		lines[i] = fmt.Sprintf("%s %s", s.Group, lines[i])
	}
	return strings.Join(lines, "\n")
}

// held returns running claims of as many of the pool's slots.
func held(p *Pool, submitter string, slots int) {
	for range slots {
		i := len(p.Claims)
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 900, Proc: i}, Slot: p.Slots[i].Name, Submitter: submitter,
			State: pool.RunningClaim, Weight: accountant.One})
	}
}

// What runs by claims of this pool is demand, what a slot says that somebody holds is not.
func TestSpinsOfGroupsDemand(t *testing.T) {
	accepting := func(name string, quota float64) accountant.Group {
		return accountant.Group{Name: name, Quota: quota, AcceptSurplus: true}
	}
	for _, c := range []struct {
		name     string
		ours     int
		weighted bool
		want     float64 // allocated to a
	}{
		{"claims of ours", 4, true, 6},
		{"slots that say so", 0, true, 2},
		{"unweighted demand", 4, false, 5},
	} {
		cfg := groupsOf(t, spins(t), accepting("a", 6), accepting("b", 6))
		cfg.Quotas.WeightedDemand = c.weighted
		p := Pool{Slots: equal(t, 12, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.alice@x", "RequestCpus = 2"), aJob(t, 2, 20, "b.bob@x", "")}}
		held(&p, "a.alice@x", c.ours)
		for i := c.ours; i < 4; i++ {
			p.Slots[i] = aSlot(t, p.Slots[i].Name, `State = "Claimed"; Activity = "Busy"; RemoteUser = "a.alice@x"`)
		}
		if got := Cycle(p, cfg, now).Groups[1].Allocated; got != c.want {
			t.Errorf("%s: a is allocated %v, want %v", c.name, got, c.want)
		}
	}
}

// Shares are those of the first turn, and submitters stand in the order in which they
// had one; all others behind them.
func TestSpinsOfGroupsShares(t *testing.T) {
	cfg := groupsOf(t, spins(t), accountant.Group{Name: "Phys", Quota: 6}, accountant.Group{Name: "Phys.hep", Quota: 2, Autoregroup: true},
		accountant.Group{Name: "chem", Quota: 4}, accountant.Group{Name: "math"})
	p := Pool{Slots: equal(t, 12, ""), Submitters: []accountant.Record{record("chem.carol@x", 1), record("chem.dave@x", 3), record("phys.hep.alice@x", 5), record("erin@x", 5)},
		Jobs: []jobprio.Run{aJob(t, 1, 9, "chem.carol@x", ""), aJob(t, 2, 9, "chem.dave@x", ""), aJob(t, 3, 9, "phys.hep.alice@x", ""), aJob(t, 4, 9, "erin@x", ""),
			aJob(t, 5, 9, "math.bob@x", "")}}
	plan := Cycle(p, cfg, now)
	want := "chem 1 chem.carol 3.00 3 chem.dave 1.00 1\nPhys.hep 1 phys.hep.alice 2.00 2\n<none> 1 erin 6.00 6 phys.hep.alice 4.00 0="
	if got := toldOfGroups(plan); !strings.HasPrefix(got, want) {
		t.Errorf("spins are\n%s\nwant them to begin\n%s", got, want)
	}
	var order []string
	for _, s := range plan.Submitters {
		order = append(order, fmt.Sprintf("%s %.2f %.2f", s.Name, s.PieSlice, s.Limit))
	}
	if got, want := strings.Join(order, ", "), "chem.carol@x 3.00 3.00, chem.dave@x 1.00 1.00, phys.hep.alice@x 2.00 2.00, erin@x 6.00 6.00, math.bob@x 0.00 0.00"; got != want {
		t.Errorf("submitters with their shares are %s, want %s", got, want)
	}
	for i, used := range []float64{6, 4, 0, 0, 2} { // <none>, chem, math, Phys, Phys.hep
		if g := plan.Groups[i]; g.Used != used {
			t.Errorf("%s uses %v in the end, want %v", g.Name, g.Used, used)
		}
	}
}

// What a group uses after the cycle is without what was preempted.
func TestSpinsOfGroupsPreempted(t *testing.T) {
	cfg := groupsOf(t, spins(t), accountant.Group{Name: "p", Quota: 3})
	cfg.Preemption.Consider = true
	p := Pool{Slots: equal(t, 3, "Rank = ifThenElse(TARGET.ClusterId == 1, 1, 0)"), Claims: append(runs(7, "p.alice@x", 1, 1, time.Hour), runs(8, "bob@x", 2, 3, time.Hour)...),
		Jobs: []jobprio.Run{aJob(t, 1, 2, "p.alice@x", "")}}
	plan := Cycle(p, cfg, now)
	if len(plan.Matches) != 2 || len(plan.Groups) != 2 || plan.Groups[0].Used+plan.Groups[1].Used != 3 {
		t.Errorf("matches %s, groups %+v, want 2 and 3 slots in use", ousted(plan), plan.Groups)
	}
}

// Settings that ask for more than anybody gains by end all the same.
func TestSpinsOfGroupsEnd(t *testing.T) {
	cfg := groupsOf(t, spins(t), accountant.Group{Name: "a", Quota: 1e9}, accountant.Group{Name: "b", Quota: 1e9, AcceptSurplus: true})
	cfg.Quotas.Rounds, cfg.Quotas.RoundRobinRate = 1e9, 1
	p := Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.alice@x", "Requirements = false"), aJob(t, 2, 9, "b.bob@x", "")}}
	if got := matched(Cycle(p, cfg, now)); !maps.Equal(got, map[string]int{"b.bob@x": 3}) {
		t.Errorf("Cycle matches %v, want 3 of b.bob@x", got)
	}
}

// Whatever the groups are like, no slot or job is matched twice, the record adds up to
// the matches and the groups' usage, and the order of the input does not matter.
func TestSpinsOfGroupsLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []accountant.Group
		for _, name := range []string{"a", "a.x", "a.x.p", "b", "c"} {
			one := accountant.Group{Name: name, AcceptSurplus: rapid.Bool().Draw(rt, "accepts"), Autoregroup: rapid.IntRange(0, 5).Draw(rt, "regroups") == 0}
			if one.Dynamic = rapid.Bool().Draw(rt, "dynamic"); one.Dynamic {
				one.Quota = rapid.SampledFrom([]float64{0, 0.3, 0.5, 1}).Draw(rt, "fraction")
			} else {
				one.Quota = float64(rapid.IntRange(0, 12).Draw(rt, "quota")) / 2
			}
			list = append(list, one)
		}
		cfg := groupsOf(t, spins(t), list...)
		cfg.Preemption.Consider, cfg.GlobalJobPrios = rapid.Bool().Draw(rt, "preemption"), rapid.Bool().Draw(rt, "prios")
		cfg.UseSlotWeights = rapid.Bool().Draw(rt, "weights")
		cfg.Quotas.Oversubscribe, cfg.Quotas.Strict = rapid.Bool().Draw(rt, "oversubscribe"), rapid.Bool().Draw(rt, "strict")
		cfg.Quotas.RoundRobinRate = rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(rt, "rate")
		var p Pool
		for i := range rapid.IntRange(0, 14).Draw(rt, "slots") {
			p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot%d", i), fmt.Sprintf("SlotWeight = %d", rapid.IntRange(1, 3).Draw(rt, "weight"))))
		}
		for i, in := range []string{"", "a.", "a.x.", "a.x.", "a.x.p.", "b.", "c.", "d."} {
			name := fmt.Sprintf("%suser%d@x", in, i)
			p.Submitters = append(p.Submitters, record(name, float64(rapid.IntRange(1, 9).Draw(rt, "rup"))))
			if n := rapid.IntRange(0, 6).Draw(rt, "jobs"); n > 0 {
				p.Jobs = append(p.Jobs, aJob(t, i+1, n, name, fmt.Sprintf("JobPrio = %d", rapid.IntRange(0, 2).Draw(rt, "prio"))))
			}
			if len(p.Slots) > len(p.Claims) && rapid.IntRange(0, 3).Draw(rt, "holds") == 0 {
				held(&p, name, 1)
			}
		}
		plan := Cycle(p, cfg, now)
		seen, used, turns := map[string]bool{}, 0.0, map[string]int{}
		for _, cl := range p.Claims {
			used += cl.Weight.Float()
		}
		for _, m := range plan.Matches {
			for _, what := range []string{m.Slot, m.Job.String()} {
				if seen[what] {
					rt.Fatalf("%s is matched twice", what)
				}
				seen[what] = true
			}
			used += m.Weight.Float()
		}
		for _, s := range plan.Spins {
			for _, u := range s.Turns {
				turns[u.Name] += u.Matches
			}
		}
		if got := matched(plan); !maps.Equal(got, keepPositive(turns)) {
			rt.Fatalf("spins record %v matches, want %v", turns, got)
		}
		for _, g := range plan.Groups {
			used -= g.Used
		}
		if used > 1e-6 || used < -1e-6 {
			rt.Fatalf("%v in use is in no group, want all", used)
		}
		slices.Reverse(p.Slots)
		slices.Reverse(p.Jobs)
		slices.Reverse(p.Submitters)
		again := Cycle(p, cfg, now)
		if a, b := toldOfGroups(plan)+pairs(plan), toldOfGroups(again)+pairs(again); a != b {
			rt.Fatalf("in other order spins and matches are\n%s\nwant\n%s", b, a)
		}
	})
}

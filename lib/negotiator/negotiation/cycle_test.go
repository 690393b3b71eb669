package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// The figures of the manual's section "Effective User Priority".
func TestShares(t *testing.T) {
	users := []accountant.Record{record("alice@x", 5), record("bob@x", 10), record("carol@x", 20)}
	poor := []accountant.Record{{Name: "alice@x", Priority: 5000, Factor: 1e4, At: now, HalfLife: params().HalfLife}}
	for _, c := range []struct {
		name  string
		slots int
		users []accountant.Record
		want  map[string]int // jobs wanted
		got   map[string]int
	}{
		{"jobs enough", 70, users, map[string]int{"alice@x": 100, "bob@x": 100, "carol@x": 100}, map[string]int{"alice@x": 40, "bob@x": 20, "carol@x": 10}},
		{"just enough", 70, users, map[string]int{"alice@x": 40, "bob@x": 20, "carol@x": 10}, map[string]int{"alice@x": 40, "bob@x": 20, "carol@x": 10}},
		{"the first has 8", 70, users, map[string]int{"alice@x": 8, "bob@x": 100, "carol@x": 100}, map[string]int{"alice@x": 8, "bob@x": 41, "carol@x": 21}},
		{"fewer jobs than slots", 70, users, map[string]int{"alice@x": 8, "bob@x": 7, "carol@x": 6}, map[string]int{"alice@x": 8, "bob@x": 7, "carol@x": 6}},
		{"a remainder", 10, nil, map[string]int{"alice@x": 9, "bob@x": 9, "carol@x": 9}, map[string]int{"alice@x": 4, "bob@x": 3, "carol@x": 3}},
		{"fewer slots than users", 2, users, map[string]int{"alice@x": 9, "bob@x": 9, "carol@x": 9}, map[string]int{"alice@x": 1, "bob@x": 1}},
		{"nice user, all wanted", 7, nil, map[string]int{"alice@x": 9, "bob@x": 9, "nice-user.carol@x": 9}, map[string]int{"alice@x": 4, "bob@x": 3}},
		{"nice user, even", 6, nil, map[string]int{"alice@x": 9, "bob@x": 9, "nice-user.carol@x": 9}, map[string]int{"alice@x": 3, "bob@x": 3}},
		{"nice user gets what is left", 8, nil, map[string]int{"alice@x": 3, "bob@x": 3, "nice-user.carol@x": 9}, map[string]int{"alice@x": 3, "bob@x": 3, "nice-user.carol@x": 2}},
		{"nice user beside somebody with a EUP as bad", 100, poor, map[string]int{"alice@x": 100, "nice-user.carol@x": 100}, map[string]int{"alice@x": 100}},
		{"nice user beside somebody with a EUP as bad and few jobs", 100, poor, map[string]int{"alice@x": 90, "nice-user.carol@x": 100}, map[string]int{"alice@x": 90, "nice-user.carol@x": 10}},
		{"nice users among themselves", 9, nil, map[string]int{"alice@x": 3, "nice-user.bob@x": 9, "Nice-User.carol@x": 9}, map[string]int{"alice@x": 3, "nice-user.bob@x": 3, "Nice-User.carol@x": 3}},
		{"nobody wants anything", 8, users, nil, map[string]int{}},
		{"no slots", 0, users, map[string]int{"alice@x": 3}, map[string]int{}},
	} {
		p := negotiator.Pool{Slots: equal(t, c.slots, ""), Submitters: c.users}
		for i, name := range slices.Sorted(maps.Keys(c.want)) {
			p.Jobs = append(p.Jobs, aJob(t, i+1, c.want[name], name, ""))
		}
		if got := matched(Cycle(p, defaults(t), now)); !maps.Equal(got, c.got) {
			t.Errorf("%s: Cycle matches %v, want %v", c.name, got, c.got)
		}
	}
}

// Slots left over for the remainders go to the largest of them, by the targets
// with which their hand-out began: with 20 submitters the best one does not
// fall below its share rounded down, and nobody far down gets a second slot.
func TestLargestRemainders(t *testing.T) {
	for _, c := range []struct{ slots, users int }{{100, 20}, {10, 5}, {37, 20}, {7, 20}, {999, 20}} {
		p := negotiator.Pool{Slots: equal(t, c.slots, "")}
		var claimants []shares.Claimant
		for i := range c.users {
			name := fmt.Sprintf("user%02d@x", i)
			p.Submitters = append(p.Submitters, record(name, float64(1+i)))
			p.Jobs = append(p.Jobs, aJob(t, i+1, c.slots, name, ""))
			claimants = append(claimants, shares.Claimant{EUP: float64(1 + i), Usage: 0, Demand: inf})
		}
		want := map[string]int{}
		left := c.slots
		targets := shares.Targets(float64(c.slots), claimants)
		byRemainder := make([]int, c.users)
		for i, x := range targets {
			whole := int(math.Floor(x + rounding))
			want[p.Submitters[i].Name] = whole
			left -= whole
			byRemainder[i] = i
			targets[i] = x - float64(whole)
		}
		slices.SortStableFunc(byRemainder, func(a, b int) int { return cmp.Compare(targets[b], targets[a]) })
		for _, i := range byRemainder[:left] {
			want[p.Submitters[i].Name]++
		}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		if got := matched(Cycle(p, defaults(t), now)); !maps.Equal(got, want) {
			t.Errorf("%d slots, EUPs from 1 to %d: Cycle matches %v, want %v", c.slots, c.users, got, want)
		}
	}
}

func TestSharesCountUsage(t *testing.T) {
	p := negotiator.Pool{
		Slots: equal(t, 12, ""),
		Jobs:  []jobprio.Run{aJob(t, 1, 20, "alice@x", ""), aJob(t, 2, 20, "bob@x", "")},
	}
	for i := range 5 {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 2, Proc: i}, Slot: p.Slots[i].Name, Submitter: "bob@x",
			State: pool.RunningClaim, Weight: accountant.One})
	}
	// Two slots are held outside, by the ads' own words.
	p.Slots[5] = aSlot(t, "slot6", `State = "Claimed"; RemoteUser = "carol@x"`)
	p.Slots[6] = aSlot(t, "slot7", `State = "Preempting"; RemoteUser = "bob@x"; AccountingGroup = "carol@x"`)
	plan := Cycle(p, defaults(t), now)
	// 12 slots, carol wants no more than her 2: alice and bob get 5 each.
	if got, want := matched(plan), map[string]int{"alice@x": 5}; !maps.Equal(got, want) {
		t.Errorf("Cycle matches %v, want %v", got, want)
	}
	if got, want := share(plan, "carol@x"), (negotiator.Share{Name: "carol@x", EffectivePriority: 0.5, Priority: 0.5, Usage: 2, PieSlice: 2}); got != want {
		t.Errorf("share of carol = %+v, want %+v", got, want)
	}
	if got, want := share(plan, "bob@x"), (negotiator.Share{Name: "bob@x", EffectivePriority: 0.5, Priority: 0.5, Usage: 5, PieSlice: 5, Idle: 15, Demand: 15}); got != want {
		t.Errorf("share of bob = %+v, want %+v", got, want)
	}
	if plan.Slots != 12 || plan.Candidates != 5 {
		t.Errorf("Slots, Candidates = %d, %d, want 12, 5", plan.Slots, plan.Candidates)
	}
}

// A submitter that could run anywhere does not count on the slots that others
// have nothing besides.
func TestSharesOfScarceSlotsAndOneWhoRunsAnywhere(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 6, "HasGPU = true; Memory = 4096"), Jobs: []jobprio.Run{
		aJob(t, 1, 50, "alice@x", "Requirements = TARGET.HasGPU"),
		aJob(t, 2, 50, "bob@x", "Requirements = TARGET.HasGPU"),
		aJob(t, 3, 50, "carol@x", ""),
	}}
	for i := range 20 {
		p.Slots = append(p.Slots, aSlot(t, "plain"+string(rune('a'+i)), ""))
	}
	if got, want := matched(Cycle(p, defaults(t), now)), map[string]int{"alice@x": 3, "bob@x": 3, "carol@x": 20}; !maps.Equal(got, want) {
		t.Errorf("Cycle matches %v, want %v", got, want)
	}
}

// Jobs that only some machines can run do not count on more of the pool than
// there are of them.
func TestSharesOfAPoolThatIsNotUsedUp(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 10, ""), Jobs: []jobprio.Run{
		aJob(t, 1, 2, "alice@x", "Requirements = TARGET.HasGPU; JobPrio = 5"),
		aJob(t, 2, 50, "alice@x", "Requirements = TARGET.HasGPU =!= true"),
		aJob(t, 3, 50, "bob@x", "Requirements = TARGET.HasGPU =!= true"),
	}}
	for i := range 20 {
		p.Slots = append(p.Slots, aSlot(t, "gpu"+string(rune('a'+i)), "HasGPU = true"))
	}
	if got, want := matched(Cycle(p, defaults(t), now)), map[string]int{"alice@x": 6, "bob@x": 6}; !maps.Equal(got, want) {
		t.Errorf("Cycle matches %v, want %v", got, want)
	}
}

// What an expression looks at only by the function eval matters as well.
func TestEvalReadsAnything(t *testing.T) {
	p := negotiator.Pool{
		Slots: []pool.Slot{aSlot(t, "slot1", `Secret = false`), aSlot(t, "slot2", `Secret = true`)},
		Jobs:  []jobprio.Run{aJob(t, 1, 2, "alice@x", `Requirements = eval(strcat("TARGET.Sec", "ret"))`)},
	}
	if got, want := pairs(Cycle(p, defaults(t), now)), "1.0>slot2"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
}

// What is needed by two and cannot be used by most is divided between the
// two, although the shares of the whole pool would give all to the first.
func TestSharesOfScarceSlots(t *testing.T) {
	gpus := equal(t, 6, "HasGPU = true")
	p := negotiator.Pool{Slots: gpus, Jobs: []jobprio.Run{
		aJob(t, 1, 50, "alice@x", "Requirements = TARGET.HasGPU"),
		aJob(t, 2, 50, "bob@x", "Requirements = TARGET.HasGPU"),
		aJob(t, 3, 50, "carol@x", "Requirements = TARGET.HasGPU =!= true"),
	}}
	for i := range 20 {
		p.Slots = append(p.Slots, aSlot(t, "plain"+string(rune('a'+i)), ""))
	}
	if got, want := matched(Cycle(p, defaults(t), now)), map[string]int{"alice@x": 3, "bob@x": 3, "carol@x": 20}; !maps.Equal(got, want) {
		t.Errorf("Cycle matches %v, want %v", got, want)
	}
}

func TestJobOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []jobprio.Run
		want string
	}{
		{"proc by proc", []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}, "1.0>slot1 1.1>slot2 1.2>slot3"},
		{"older first", []jobprio.Run{aJob(t, 2, 2, "alice@x", ""), aJob(t, 1, 2, "alice@x", "")}, "1.0>slot1 1.1>slot2 2.0>slot3"},
		{"priority first", []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 2, "alice@x", "JobPrio = 5")}, "2.0>slot1 2.1>slot2 1.0>slot3"},
		{"unstartable passed over", []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 9; RequestMemory = 9999"), aJob(t, 2, 1, "alice@x", "")}, "2.0>slot1"},
		{"priorities are among one's own", []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = -9"), aJob(t, 2, 1, "bob@x", "JobPrio = 9")}, "1.0>slot1 2.0>slot2"},
		{"shapes in turn", []jobprio.Run{aJob(t, 1, 1, "alice@x", ""), aJob(t, 2, 1, "alice@x", "RequestMemory = 5"), aJob(t, 3, 1, "alice@x", "")},
			"1.0>slot1 2.0>slot2 3.0>slot3"},
	} {
		if got := pairs(Cycle(negotiator.Pool{Slots: equal(t, 3, ""), Jobs: c.jobs}, defaults(t), now)); got != c.want {
			t.Errorf("%s: matches %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBestSlot(t *testing.T) {
	slots := []pool.Slot{
		aSlot(t, "slot10", "Memory = 1024; KFlops = 10"), aSlot(t, "slot2", "Memory = 1024; KFlops = 10"),
		aSlot(t, "slot3", "Memory = 2048; KFlops = 30"), aSlot(t, "slot4", "Memory = 4096; KFlops = 20; Rank = TARGET.JobPrio"),
	}
	for _, c := range []struct {
		name      string
		pre, post string
		job       string
		want      string
	}{
		{"smallest first", preJobRank, postJobRank, "", "1.0>slot2 1.1>slot10 1.2>slot3 1.3>slot4"},
		{"pre job rank over Rank", preJobRank, postJobRank, "Rank = KFlops", "1.0>slot2 1.1>slot10 1.2>slot3 1.3>slot4"},
		{"the slot's Rank in pre job rank", preJobRank, postJobRank, "JobPrio = 3", "1.0>slot4 1.1>slot2 1.2>slot10 1.3>slot3"},
		{"Rank", "0", "0", "Rank = KFlops", "1.0>slot3 1.1>slot4 1.2>slot2 1.3>slot10"},
		{"Rank over post job rank", "0", "-KFlops", "Rank = TARGET.Memory", "1.0>slot4 1.1>slot3 1.2>slot2 1.3>slot10"},
		{"post job rank", "0", "-KFlops", "", "1.0>slot2 1.1>slot10 1.2>slot4 1.3>slot3"},
		{"Rank is no number", "0", "0", `Rank = "fast"`, "1.0>slot2 1.1>slot3 1.2>slot4 1.3>slot10"},
		{"a boolean Rank", "0", "0", `Rank = TARGET.Memory > 2000`, "1.0>slot3 1.1>slot4 1.2>slot2 1.3>slot10"},
		{"undefined pre job rank is the worst", "ifThenElse(KFlops > 10, -5, undefined)", "0", "", "1.0>slot3 1.1>slot4 1.2>slot2 1.3>slot10"},
		{"pre job rank knows the job", "ifThenElse(TARGET.RequestMemory > 5, KFlops, -KFlops)", "0", "", "1.0>slot3 1.1>slot4 1.2>slot2 1.3>slot10"},
		{"each proc for itself", "0", "0", "Rank = ifThenElse(ProcId == 2, KFlops, -KFlops)", "1.0>slot2 1.1>slot10 1.2>slot3 1.3>slot4"},
		{"some procs match nothing", "0", "0", "Requirements = ProcId % 2 == 1 && TARGET.Cpus > 0", "1.1>slot2 1.3>slot3"},
	} {
		cfg := defaults(t)
		cfg.PreJobRank, cfg.PostJobRank = expr(t, c.pre), expr(t, c.post)
		plan := Cycle(negotiator.Pool{Slots: slots, Jobs: []jobprio.Run{aJob(t, 1, 4, "alice@x", c.job)}}, cfg, now)
		if got := pairs(plan); got != c.want {
			t.Errorf("%s: matches %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSubmitterOrder(t *testing.T) {
	p := negotiator.Pool{
		Slots: equal(t, 8, ""),
		Jobs:  []jobprio.Run{aJob(t, 1, 9, "dave@x", ""), aJob(t, 2, 9, "carol@x", ""), aJob(t, 3, 9, "bob@x", ""), aJob(t, 4, 9, "alice@x", "")},
		// alice has a part of her share already.
		Claims:     []pool.Claim{{Job: pool.JobID{Cluster: 5}, Slot: "slot1", Submitter: "alice@x", State: pool.RunningClaim, Weight: accountant.One}},
		Submitters: []accountant.Record{record("dave@x", 1), record("carol@x", 2), record("bob@x", 2), record("alice@x", 2), record("erin@x", 1)},
	}
	// A nice user comes last, however good the EUP.
	p.Jobs = append(p.Jobs, aJob(t, 6, 9, "nice-user.dave@x", ""))
	p.Submitters = append(p.Submitters, accountant.Record{Name: "nice-user.dave@x", Priority: 0.5, Factor: 1, At: now, HalfLife: params().HalfLife})
	var got []string
	for _, s := range Cycle(p, defaults(t), now).Submitters {
		got = append(got, s.Name)
	}
	if want := []string{"dave@x", "bob@x", "carol@x", "alice@x", "nice-user.dave@x"}; !slices.Equal(got, want) {
		t.Errorf("Submitters = %v, want %v", got, want)
	}
}

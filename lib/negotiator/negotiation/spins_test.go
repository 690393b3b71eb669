package negotiation

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

func spins(t testing.TB) negotiator.Config {
	cfg := defaults(t)
	cfg.Pie, cfg.Preemption.Consider = negotiator.Spins, true
	return cfg
}

// told lists turns as "name limit matches", with "=" for who leaves and "-" for who
// was skipped, a line for each spin.
func told(p *negotiator.Plan) string {
	var lines []string
	for _, s := range p.Spins {
		line := fmt.Sprintf("%d", s.Number)
		if s.Floor {
			line = "floor"
		}
		for _, u := range s.Turns {
			name, _, _ := strings.Cut(u.Name, "@")
			line += fmt.Sprintf(" %s %.2f %d", name, u.Limit, u.Matches)
			if u.Outcome == negotiator.SpinServed {
				line += "="
			}
			if u.Skipped != "" {
				line += "-"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// The worked example of condor-shares(7): 30 slots, EUPs of 5, 10 and 20.
func TestSpinsOfThree(t *testing.T) {
	users := []accountant.Record{record("alice@x", 5), record("bob@x", 10), record("carol@x", 20)}
	for _, c := range []struct {
		name  string
		wants int
		want  string
	}{
		{"endless demand", 99, "1 alice 17.14 17 bob 8.57 8 carol 4.29 4\n2 alice 0.14 0- bob 0.57 0- carol 0.29 0-"},
		{"the first wants 4", 4, "1 alice 17.14 4= bob 8.57 8 carol 4.29 4\n2 bob 12.00 12 carol 6.00 2="},
	} {
		p := negotiator.Pool{Slots: equal(t, 30, ""), Submitters: users, Jobs: []jobprio.Run{
			aJob(t, 1, c.wants, "alice@x", ""), aJob(t, 2, 99, "bob@x", ""), aJob(t, 3, 99, "carol@x", "")}}
		plan := Cycle(p, spins(t), now)
		if got := told(plan); got != c.want {
			t.Errorf("%s: spins are\n%s\nwant\n%s", c.name, got, c.want)
		}
		if s := share(plan, "bob@x"); math.Abs(s.PieSlice-60.0/7) > 1e-9 || math.Abs(s.Limit-60.0/7) > 1e-9 {
			t.Errorf("%s: PieSlice and Limit of bob are %v and %v, want %v", c.name, s.PieSlice, s.Limit, 60.0/7)
		}
	}
}

// Held slots count, and a submitter that only holds claims of the pool has a share until
// the first spin is over.
func TestSpinsCountUsage(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 12, ""), Jobs: []jobprio.Run{aJob(t, 1, 20, "alice@x", ""), aJob(t, 2, 20, "bob@x", "")}}
	for i := range 4 {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Slot: p.Slots[i].Name, Submitter: "carol@x",
			State: pool.RunningClaim, Weight: accountant.One})
	}
	p.Slots[4] = aSlot(t, "slot5", `State = "Claimed"; RemoteUser = "dave@x"`)
	want := "1 alice 4.00 4 bob 4.00 3= carol 0.00 0=-"
	plan := Cycle(p, spins(t), now)
	if got := told(plan); got != want+"\n2 alice 8.00 0=" {
		t.Errorf("spins are\n%s\nwant\n%s", got, want+"\n2 alice 8.00 0=")
	}
	cfg := spins(t)
	cfg.Preemption.Consider = false
	if got, want := told(Cycle(p, cfg, now)), "1 alice 6.00 6 bob 6.00 1="; got != want {
		t.Errorf("without preemption spins are\n%s\nwant\n%s", got, want)
	}
}

func turnedDown(p *negotiator.Plan) []string {
	var all []string
	for _, s := range p.Spins {
		for _, u := range s.Turns {
			for _, r := range u.Rejections {
				all = append(all, fmt.Sprintf("%d %s %s", s.Number, r.Job, r.Reason))
			}
		}
	}
	return all
}

func TestSpinRejections(t *testing.T) {
	cfg := spins(t)
	cfg.Limits = limits(t, 100, map[string]float64{"sw": 1}, map[string]float64{"license": 2})
	claimed := aSlot(t, "slot9", `State = "Claimed"; RemoteUser = "dave@x"; Memory = 4096`)
	for _, c := range []struct {
		name string
		jobs []jobprio.Run
		want []string
	}{
		{"all of two limits reached one after the other", []jobprio.Run{
			aJob(t, 1, 3, "alice@x", `ConcurrencyLimits = "license"; JobPrio = 5`), aJob(t, 2, 2, "alice@x", `ConcurrencyLimits = "sw.a"; JobPrio = 9`),
			aJob(t, 3, 1, "alice@x", `ConcurrencyLimits = "sw.a:1,LICENSE"`)},
			[]string{"1 2.0 concurrency limit sw.a reached", "1 1.0 concurrency limit license reached", "1 3.0 concurrency limit license, sw.a reached"}},
		{"a slot that somebody else holds", []jobprio.Run{aJob(t, 1, 2, "alice@x", "RequestMemory = 2000")}, []string{"1 1.0 PREEMPTION_REQUIREMENTS == False"}},
		{"a slot of one's own", []jobprio.Run{aJob(t, 1, 2, "dave@x", "RequestMemory = 2000")}, []string{"1 1.0 no match found"}},
		{"the request that failed, not the autocluster's first", []jobprio.Run{aJob(t, 1, 3, "alice@x", "JobPrio = 9"), aJob(t, 2, 2, "alice@x", "JobPrio = 5; RequestMemory = 600"), aJob(t, 3, 9, "alice@x", "")},
			[]string{"1 3.0 PREEMPTION_REQUIREMENTS == False"}},
		{"neighbours are one request", []jobprio.Run{aJob(t, 1, 3, "alice@x", "JobPrio = 9"), aJob(t, 2, 2, "alice@x", "JobPrio = 5"), aJob(t, 3, 9, "alice@x", "")},
			[]string{"1 1.0 PREEMPTION_REQUIREMENTS == False"}},
		{"what was rejected stands between", []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = 9; RequestMemory = 9000"), aJob(t, 2, 2, "alice@x", "JobPrio = 8"),
			aJob(t, 3, 1, "alice@x", "JobPrio = 7; RequestMemory = 9000"), aJob(t, 4, 9, "alice@x", "")},
			[]string{"1 1.0 no match found", "1 4.0 PREEMPTION_REQUIREMENTS == False"}},
		{"limits", []jobprio.Run{aJob(t, 1, 9, "alice@x", "Requirements = TARGET.Memory < 2000"), aJob(t, 2, 9, "bob@x", "Requirements = TARGET.Memory < 2000")},
			[]string{"1 1.0 submitter limit exceeded", "1 2.0 no match found", "2 1.4 no match found"}},
	} {
		p := negotiator.Pool{Slots: append(equal(t, 8, ""), claimed), Jobs: c.jobs}
		if got := turnedDown(Cycle(p, cfg, now)); !slices.Equal(got, c.want) {
			t.Errorf("%s: rejections are %q, want %q", c.name, got, c.want)
		}
	}
}

// Ceilings leave whole weight only and may be passed by part of a slot; the floor
// round comes first, its limit is the floor.
func TestSpinsOfCeilingsAndFloors(t *testing.T) {
	alice, bob := record("alice@x", 1), record("bob@x", 100)
	alice.Ceiling, bob.Floor, bob.Ceiling = accountant.LimitOf(5), 3, accountant.LimitOf(7)
	p := negotiator.Pool{Slots: equal(t, 8, "SlotWeight = 2"), Submitters: []accountant.Record{alice, bob}, Jobs: []jobprio.Run{
		aJob(t, 1, 20, "alice@x", ""), aJob(t, 2, 20, "bob@x", "")}}
	plan := Cycle(p, spins(t), now)
	want := "floor bob 3.00 2\n1 alice 15.84 3 bob 0.00 0\n2 alice 9.84 0=- bob 0.00 0-\n3 bob 12.00 2\n4 bob 8.00 0=-"
	if got := told(plan); got != want {
		t.Errorf("spins are\n%s\nwant\n%s", got, want)
	}
	if got, want := matched(plan), map[string]int{"alice@x": 3, "bob@x": 4}; !maps.Equal(got, want) {
		t.Errorf("Cycle matches %v, want %v", got, want)
	}
}

// With USE_GLOBAL_JOB_PRIOS a submitter stands in line once for each JobPrio, but
// those that are side by side are one, and the pie of the first spin counts all.
func TestSpinsOfGlobalJobPrios(t *testing.T) {
	cfg := spins(t)
	cfg.GlobalJobPrios = true
	p := negotiator.Pool{Slots: equal(t, 12, ""), Submitters: []accountant.Record{record("alice@x", 10), record("bob@x", 10), record("carol@x", 20)},
		Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 5"), aJob(t, 2, 2, "bob@x", "JobPrio = 7"), aJob(t, 3, 2, "alice@x", "JobPrio = 9"),
			aJob(t, 4, 2, "carol@x", "JobPrio = 50"), aJob(t, 5, 3, "carol@x", "JobPrio = -1")}}
	plan := Cycle(p, cfg, now)
	want := "1 alice 4.80 2= bob 4.80 2= alice 2.80 2= carol 2.40 2\n2 carol 10.00 3="
	if got := told(plan); got != want {
		t.Errorf("spins are\n%s\nwant\n%s", got, want)
	}
	if got, want := plan.Spins[0].PieLeft, 4.8+4.8+4.8+2.4+2.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("PieLeft of spin 1 = %v, want %v", got, want)
	}
	if got, want := fmt.Sprint(plan.Spins[0].Turns[3].JobPrios), "[-1 50]"; got != want {
		t.Errorf("JobPrios of carol = %s, want %s", got, want)
	}
}

// A partitionable slot serves one job in a cycle and counts as a whole for it,
// unless it has a consumption policy.
func TestSpinsOfPartitionableSlots(t *testing.T) {
	const part = `PartitionableSlot = true; Cpus = 8; Memory = 8192; SlotWeight = Cpus; `
	for _, c := range []struct{ name, slot, want, weights string }{
		{"whole", part, "1 alice 8.00 1\n2 alice 0.00 0-", "2"},
		{"policy", part + "ConsumptionPolicy = true", "1 alice 8.00 4\n2 alice 0.00 0-", "2 2 2 2"},
		{"policy of each resource", part + `MachineResources = "Cpus Memory"; ConsumptionCpus = TARGET.RequestCpus; ConsumptionMemory = 128`, "1 alice 8.00 4\n2 alice 0.00 0-", "2 2 2 2"},
		{"policy of one of two", part + `MachineResources = "Cpus Memory"; ConsumptionCpus = TARGET.RequestCpus`, "1 alice 8.00 1\n2 alice 0.00 0-", "2"},
	} {
		p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1@n", c.slot), aSlot(t, "slot2@n", `State = "Owner"; Requirements = false; SlotWeight = 0.5`)},
			Jobs: []jobprio.Run{aJob(t, 1, 4, "alice@x", "RequestCpus = 2")}}
		cfg := spins(t)
		cfg.PoolSizeConstraint = expr(t, "PartitionableSlot")
		plan := Cycle(p, cfg, now)
		var weights []string
		for _, m := range plan.Matches {
			weights = append(weights, m.Weight.String())
		}
		if got := told(plan); got != c.want || strings.Join(weights, " ") != c.weights {
			t.Errorf("%s: matches of weight %v in spins\n%s\nwant %s in\n%s", c.name, weights, got, c.weights, c.want)
		}
	}
}

// With NEGOTIATOR_DEPTH_FIRST the jobs for which the slots taken have room wait for
// what is left of these.
func TestSpinsDepthFirst(t *testing.T) {
	cfg := spins(t)
	cfg.DepthFirst = true
	for jobs, want := range map[int]string{
		4:  "1 alice 16.00 1= bob 8.00 1\n2 bob 16.00 0=",
		5:  "1 alice 16.00 2 bob 8.00 1",
		99: "1 alice 16.00 2 bob 8.00 1",
	} {
		p := negotiator.Pool{Submitters: []accountant.Record{record("alice@x", 1), record("bob@x", 2)},
			Jobs: []jobprio.Run{aJob(t, 1, jobs, "alice@x", "RequestCpus = 2"), aJob(t, 2, 1, "bob@x", "")}}
		for i := range 3 {
			p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot1@n%d", i), "PartitionableSlot = true; Cpus = 8; Memory = 8192; SlotWeight = Cpus"))
		}
		if got := told(Cycle(p, cfg, now)); got != want {
			t.Errorf("%d jobs: spins are\n%s\nwant\n%s", jobs, got, want)
		}
	}
}

// Whatever the pool is like, no slot or job is matched twice, no ceiling is passed
// by as much as a slot weighs, the record adds up to the matches, and the order of
// the input does not matter.
func TestSpinsLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := spins(t)
		cfg.Preemption.Consider, cfg.GlobalJobPrios = rapid.Bool().Draw(rt, "preemption"), rapid.Bool().Draw(rt, "prios")
		cfg.IgnoreUserPriorities = rapid.IntRange(0, 4).Draw(rt, "ignore") == 0
		var p negotiator.Pool
		for i := range rapid.IntRange(0, 12).Draw(rt, "slots") {
			text := fmt.Sprintf("SlotWeight = %d; Memory = %d", rapid.IntRange(0, 4).Draw(rt, "weight"), rapid.SampledFrom([]int{512, 1024}).Draw(rt, "memory"))
			if rapid.IntRange(0, 4).Draw(rt, "claimed") == 0 {
				text += `; State = "Claimed"; RemoteUser = "user1@x"`
			}
			p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot%d", i), text))
		}
		ceilings := map[string]float64{}
		for i := range rapid.IntRange(1, 5).Draw(rt, "users") {
			r := record(fmt.Sprintf("user%d@x", i), float64(rapid.IntRange(1, 9).Draw(rt, "rup")))
			ceilings[r.Name] = math.Inf(1)
			if n := rapid.IntRange(-4, 8).Draw(rt, "ceiling"); n >= 0 {
				r.Ceiling, ceilings[r.Name] = accountant.LimitOf(int64(n)), float64(n)
			}
			r.Floor = int64(rapid.IntRange(0, 3).Draw(rt, "floor"))
			p.Submitters = append(p.Submitters, r)
			for k := range 2 {
				p.Jobs = append(p.Jobs, aJob(t, 2*i+k+1, rapid.IntRange(1, 5).Draw(rt, "jobs"), r.Name,
					fmt.Sprintf("JobPrio = %d; RequestMemory = %d", rapid.IntRange(0, 2).Draw(rt, "prio"), rapid.SampledFrom([]int{128, 700}).Draw(rt, "needs"))))
			}
		}
		plan := Cycle(p, cfg, now)
		seen, used, turns := map[string]bool{}, map[string]float64{}, map[string]int{}
		for _, m := range plan.Matches {
			for _, what := range []string{m.Slot, m.Job.String()} {
				if seen[what] {
					rt.Fatalf("%s is matched twice", what)
				}
				seen[what] = true
			}
			if used[m.Submitter] >= ceilings[m.Submitter] {
				rt.Fatalf("%s uses %v and gets a slot, want none at %v", m.Submitter, used[m.Submitter], ceilings[m.Submitter])
			}
			used[m.Submitter] += m.Weight.Float()
		}
		for _, s := range plan.Spins {
			for _, u := range s.Turns {
				turns[u.Name] += u.Matches
			}
		}
		if got := matched(plan); !maps.Equal(got, keepPositive(turns)) {
			rt.Fatalf("spins record %v matches, want %v", turns, got)
		}
		slices.Reverse(p.Slots)
		slices.Reverse(p.Jobs)
		slices.Reverse(p.Submitters)
		again := Cycle(p, cfg, now)
		if a, b := told(plan)+pairs(plan), told(again)+pairs(again); a != b {
			rt.Fatalf("in other order spins and matches are\n%s\nwant\n%s", b, a)
		}
	})
}

// What has no limit is a number all the same, as JSON has no other.
func TestSpinsAreFinite(t *testing.T) {
	cfg := spins(t)
	cfg.IgnoreUserPriorities = true
	plan := Cycle(negotiator.Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 9, "bob@x", "")}}, cfg, now)
	text, err := json.Marshal(plan.Spins)
	if err != nil || len(plan.Spins) == 0 || plan.Spins[0].Turns[0].Limit != math.MaxFloat64 || plan.Spins[0].PieLeft != math.MaxFloat64 {
		t.Errorf("spins are %s, %v, want limits and pie of %v", text, err, math.MaxFloat64)
	}
}

func keepPositive(n map[string]int) map[string]int {
	maps.DeleteFunc(n, func(_ string, k int) bool { return k == 0 })
	return n
}

// Pieces of a partitionable slot are slots that are looked at, too: spins go on for them.
func TestSpinsLookAtPieces(t *testing.T) {
	cfg := spins(t)
	cfg.Preemption = negotiator.Preemption{Consider: true, Requirements: expr(t, "true"), Cached: true, RequirementsStable: true, RankStable: true}
	p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", "PartitionableSlot = true; Cpus = 6; Memory = 600; SlotWeight = Cpus")},
		Submitters: []accountant.Record{record("alice@x", 1), record("bob@x", 9), record("carol@x", 0.5)},
		Jobs:       []jobprio.Run{aJob(t, 1, 9, "alice@x", "RequestCpus = 1; RequestMemory = 100"), aJob(t, 2, 1, "carol@x", "RequestCpus = 1; RequestMemory = 100")}}
	for i := range 3 {
		p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot%d", i+2), `State = "Owner"; SlotWeight = 1`))
	}
	for i := range 6 {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 100 + i}, Slot: fmt.Sprintf("slot1_%d", i+1), Submitter: "bob@x", State: pool.RunningClaim,
			Weight: accountant.One, MatchedAt: now.Add(-time.Hour), StartedAt: now.Add(-time.Hour), Piece: pool.Piece{Of: "slot1", Takes: "Cpus=1 Memory=100"}})
	}
	plan := Cycle(p, cfg, now)
	if got, want := told(plan), "1 carol 5.79 1= alice 2.89 3 bob 0.00 0=-\n2 alice 6.00 2="; got != want {
		t.Errorf("spins are\n%s\nwant\n%s", got, want)
	}
	// What NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT does not count is looked at all the same.
	for constraint, want := range map[string][3]float64{"": {10, 10, 9}, "PartitionableSlot": {7, 10, 6}, "PartitionableSlot =!= true": {3, 10, 3}, "false": {0, 10, 0}} {
		if cfg.PoolSizeConstraint = nil; constraint != "" {
			cfg.PoolSizeConstraint = expr(t, constraint)
		}
		spin := Cycle(p, cfg, now).Spins[0]
		if got := [3]float64{float64(spin.Slots), float64(spin.SlotsLeft), spin.Weight}; got != want {
			t.Errorf("Slots, SlotsLeft and Weight with the constraint %q = %v, want %v", constraint, got, want)
		}
	}
}

// toldOfGroups lists turns as told does, with the group before the spin's number.
func toldOfGroups(p *negotiator.Plan) string {
	lines := strings.Split(told(p), "\n")
	for i, s := range p.Spins {
		lines[i] = fmt.Sprintf("%s %s", s.Group, lines[i])
	}
	return strings.Join(lines, "\n")
}

// held returns running claims of as many of the pool's slots.
func held(p *negotiator.Pool, submitter string, slots int) {
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
		p := negotiator.Pool{Slots: equal(t, 12, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.alice@x", "RequestCpus = 2"), aJob(t, 2, 20, "b.bob@x", "")}}
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
	p := negotiator.Pool{Slots: equal(t, 12, ""), Submitters: []accountant.Record{record("chem.carol@x", 1), record("chem.dave@x", 3), record("phys.hep.alice@x", 5), record("erin@x", 5)},
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
	p := negotiator.Pool{Slots: equal(t, 3, "Rank = ifThenElse(TARGET.ClusterId == 1, 1, 0)"), Claims: append(runs(7, "p.alice@x", 1, 1, time.Hour), runs(8, "bob@x", 2, 3, time.Hour)...),
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
	p := negotiator.Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.alice@x", "Requirements = false"), aJob(t, 2, 9, "b.bob@x", "")}}
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
		var p negotiator.Pool
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

package negotiation

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

func TestWeights(t *testing.T) {
	slots := func(text string) []pool.Slot {
		return append(equal(t, 3, text), aSlot(t, "slot4", "Cpus = 3; "+text), aSlot(t, "slot5", "Cpus = 3; "+text))
	}
	cfg := defaults(t)
	off := cfg
	off.UseSlotWeights = false
	for _, c := range []struct {
		name  string
		cfg   negotiator.Config
		slots []pool.Slot
		want  map[string]int
	}{
		// 9 Cpus, 4.5 each: alice takes the small ones first, bob one of 3; the
		// other is equally far beyond both, and alice is first.
		{"SLOT_WEIGHT", cfg, slots(""), map[string]int{"alice@x": 4, "bob@x": 1}},
		{"SlotWeight", cfg, slots("SlotWeight = Cpus"), map[string]int{"alice@x": 4, "bob@x": 1}},
		{"equal", cfg, slots("SlotWeight = 2"), map[string]int{"alice@x": 3, "bob@x": 2}},
		{"off", off, slots(""), map[string]int{"alice@x": 3, "bob@x": 2}},
		{"big ones for nothing", cfg, slots("SlotWeight = ifThenElse(Cpus > 1, 0, 1)"), map[string]int{"alice@x": 4, "bob@x": 1}},
	} {
		plan := Cycle(negotiator.Pool{Slots: c.slots, Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "bob@x", "")}}, c.cfg, now)
		if got := matched(plan); !maps.Equal(got, c.want) || len(plan.Warnings) > 0 {
			t.Errorf("%s: Cycle matches %v with warnings %q, want %v", c.name, got, plan.Warnings, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		name, text string
		free       bool
	}{
		{"Unclaimed", "", true},
		{"no State", "State = undefined", true},
		{"Matched, not by us", `State = "Matched"`, true},
		{"without regard to case", `State = "unclaimed"`, true},
		{"Owner", `State = "Owner"`, false},
		{"Claimed by nobody", `State = "Claimed"`, false},
		{"Claimed", `State = "Claimed"; RemoteUser = "bob@x"`, false},
		{"Preempting", `State = "Preempting"; RemoteUser = "bob@x"`, false},
		{"Drained", `State = "Drained"`, false},
		{"Backfill", `State = "Backfill"`, false},
		{"fresh", "ClassAdLifetime = 900; LastHeardFrom = 1699999100", true},
		{"expired", "ClassAdLifetime = 900; LastHeardFrom = 1699999099", false},
		{"good until withdrawn", "LastHeardFrom = 5; ClassAdLifetime = 0", true},
		{"refuses the job", "Requirements = TARGET.Owner == \"bob\"", false},
		{"no Requirements", "Requirements = undefined", false},
		{"partitionable", "PartitionableSlot = true", true},
		{"not partitionable", "PartitionableSlot = false", true},
	} {
		plan := Cycle(negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", c.text)}, Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}}, defaults(t), now)
		if got := len(plan.Matches) == 1; got != c.free {
			t.Errorf("%s: matched = %v, want %v", c.name, got, c.free)
		}
	}
}

func TestWarnings(t *testing.T) {
	broken := func(name, text string) pool.Slot { return aSlot(t, name, text) }
	p := negotiator.Pool{
		Slots: []pool.Slot{
			broken("slot10", "SlotWeight = -1"), broken("slot11", `SlotWeight = "much"`),
			broken("slot12", "Cpus = undefined"), broken("", ""),
			{Name: "slot13", Seq: 4, Ad: broken("slot13", "").Ad}, {Name: "slot13", Seq: 5, Ad: broken("slot13", "Cpus = 2").Ad},
		},
		Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", "Requirements = true; RequestCpus = undefined; RequestMemory = 1")},
	}
	for i := range p.Slots {
		p.Slots[i].Ad = p.Slots[i].Ad.Clone()
		p.Slots[i].Ad.Set("Requirements", expr(t, "true"))
	}
	plan := Cycle(p, defaults(t), now)
	want := []string{
		"slot ad without a Name: left out",
		"slot slot13: more than one ad has this Name: the latest counts",
		"slot slot10: SlotWeight: slot weight -1: want a number from 0 to 1000000; counted as 1",
		"slot slot11: SlotWeight is \"much\": want a number; counted as 1",
	}
	if !slices.Equal(plan.Warnings, want) {
		t.Errorf("Warnings = %q, want %q", plan.Warnings, want)
	}
	weights := map[string]string{}
	for _, m := range plan.Matches {
		weights[m.Slot] = m.Weight.String()
	}
	if want := map[string]string{"slot10": "1", "slot11": "1", "slot12": "1", "slot13": "2"}; !maps.Equal(weights, want) {
		t.Errorf("weights matched = %v, want %v", weights, want)
	}
}

// One faulty expression of the configuration is one warning, not one a slot.
func TestFaultySlotWeight(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`"much"`, `SLOT_WEIGHT is "much": want a number; 40 slots counted as 1`},
		{`Cpus / 0`, `SLOT_WEIGHT is error: want a number; 40 slots counted as 1`},
		{`ifThenElse(Name == "slot7", "seven", Cpus)`, `SLOT_WEIGHT is "seven": want a number; 1 slot counted as 1`},
		{`-SlotID`, `SLOT_WEIGHT: slot weight -1: want a number from 0 to 1000000; 40 slots counted as 1`},
		{`NoSuchAttribute`, ``},
	} {
		cfg := defaults(t)
		cfg.SlotWeight = expr(t, c.expr)
		plan := Cycle(negotiator.Pool{Slots: equal(t, 40, ""), Jobs: []jobprio.Run{aJob(t, 1, 40, "alice@x", "")}}, cfg, now)
		if got := strings.Join(plan.Warnings, "\n"); got != c.want {
			t.Errorf("SLOT_WEIGHT = %s: warnings = %q, want %q", c.expr, got, c.want)
		}
		if got := share(plan, "alice@x").PieSlice; got != 40 || len(plan.Matches) != 40 {
			t.Errorf("SLOT_WEIGHT = %s: %d slots matched of a pie slice of %v, want 40 of 40", c.expr, len(plan.Matches), got)
		}
	}
}

// The same fault of many ads is one warning, and so are all faults of what is made
// of partitionable slots in the cycle.
func TestFaultyAdsAreOneWarning(t *testing.T) {
	parts := aNode(t, "slot1@a", `SlotWeight = ifThenElse(Cpus < 8, strcat("part", Cpus), 8)`)
	twins := append(equal(t, 1, ""), append(equal(t, 1, "Cpus = 2"), equal(t, 1, "Cpus = 3")...)...)
	broken := append(equal(t, 40, "SlotWeight = error"), aSlot(t, "slot50", `SlotWeight = "x"`))
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		want  []string
	}{
		{"SlotWeights", broken, []string{"slot slot1: SlotWeight is error: want a number; counted as 1, and so are 39 slots more",
			`slot slot50: SlotWeight is "x": want a number; counted as 1`}},
		{"two", broken[:2], []string{"slot slot1: SlotWeight is error: want a number; counted as 1, and so is 1 slot more"}},
		{"parts", []pool.Slot{parts}, []string{`a part of a partitionable slot: SlotWeight is "part1": want a number; such parts are counted as 1`}},
		{"names", twins, []string{"slot slot1: more than one ad has this Name: the latest counts"}},
		{"no names", []pool.Slot{{Ad: twins[0].Ad}, {Ad: twins[1].Ad}}, []string{"slot ad without a Name: left out"}},
	} {
		p := negotiator.Pool{Slots: c.slots, Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "bob@x", "RequestCpus = 2")}}
		if got := Cycle(p, defaults(t), now).Warnings; !slices.Equal(got, c.want) {
			t.Errorf("%s: warnings = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestGiveUp(t *testing.T) {
	late, young := now.Add(-121*time.Second), now.Add(-120*time.Second)
	claim := func(proc int, slot string, state pool.ClaimState, at time.Time) pool.Claim {
		return pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Attempt: 1, Slot: slot, Submitter: "alice@x", State: state,
			Weight: accountant.One, MatchedAt: at}
	}
	p := negotiator.Pool{
		Slots: equal(t, 5, ""),
		Jobs:  []jobprio.Run{aJob(t, 1, 6, "alice@x", "")},
		Claims: []pool.Claim{
			claim(4, "slot4", pool.Matched, late), claim(1, "slot1", pool.Matched, late), claim(2, "slot2", pool.Matched, young),
			claim(3, "slot3", pool.RunningClaim, late),
		},
		Backoffs: []pool.Backoff{{Slot: "slot4", Failures: 3, Until: now.Add(-time.Hour)}},
	}
	plan := Cycle(p, defaults(t), now)
	if got := plan.GiveUp; len(got) != 2 || got[0] != p.Claims[1] || got[1] != p.Claims[0] {
		t.Errorf("GiveUp = %+v, want the claims of 1.1 and 1.4", got)
	}
	want := []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(4 * time.Minute)}, {Slot: "slot4", Failures: 4, Until: now.Add(32 * time.Minute)}}
	if !slices.Equal(plan.Backoffs, want) {
		t.Errorf("Backoffs = %v, want %v", plan.Backoffs, want)
	}
	// slot5 is the only one left; 1.1 and 1.4 are idle again and wait behind 1.0.
	if got, want := pairs(plan), "1.0>slot5"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
	if got, want := share(plan, "alice@x"), (negotiator.Share{Name: "alice@x", EffectivePriority: 0.5, Priority: 0.5, Usage: 2, PieSlice: 3, Limit: 1, Idle: 4, Matched: 1, Demand: 4}); got != want {
		t.Errorf("share of alice = %+v, want %+v", got, want)
	}
	if got, want := reasons(plan), "1.1 3 alice@x: no match found: none of 5 matching slots is free: 2 claimed before, 1 matched in this cycle, 2 left alone after matches that no starter took up"; len(got) != 1 || got[0] != want {
		t.Errorf("rejections = %q, want %q", got, want)
	}

	// After the rest the slot is as good as any.
	p = negotiator.Pool{Slots: p.Slots[:1], Jobs: p.Jobs, Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now}}}
	if got, want := pairs(Cycle(p, defaults(t), now)), "1.0>slot1"; got != want {
		t.Errorf("matches after the rest %s, want %s", got, want)
	}
}

func TestClaimedProcsAreLeftOut(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 9, ""), Jobs: []jobprio.Run{aJob(t, 1, 6, "alice@x", "Rank = 0 * ProcId")}}
	for _, proc := range []int{0, 3, 5} {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Slot: p.Slots[proc].Name, Submitter: "alice@x",
			State: pool.Vacating, Weight: accountant.One})
	}
	if got, want := pairs(Cycle(p, defaults(t), now)), "1.1>slot2 1.2>slot3 1.4>slot5"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
}

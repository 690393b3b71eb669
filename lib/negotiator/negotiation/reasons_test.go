package negotiation

import (
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

func TestReasons(t *testing.T) {
	busy := func(n int) []pool.Slot {
		slots := equal(t, n, "")
		slots[0] = aSlot(t, "slot1", `State = "Claimed"; RemoteUser = "carol@x"`)
		return slots
	}
	// n slots that accept nothing, the first without of them because they do
	// not say what they accept.
	bare := func(n, without int) []pool.Slot {
		slots := equal(t, n, "Requirements = false")
		for i := range slots[:without] {
			slots[i].Ad = slots[i].Ad.Flat()
			slots[i].Ad.Delete("Requirements")
		}
		return slots
	}
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		jobs  []jobprio.Run
		want  []string
	}{
		{"no slots", nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}, []string{"1.0 3 alice@x: no match found: the pool has no slots"}},
		{"job's Requirements", equal(t, 40, ""), []jobprio.Run{aJob(t, 1, 3, "alice@x", "RequestMemory = 9999")},
			[]string{"1.0 3 alice@x: no match found: none of 40 slots meets the job's Requirements; the nearest is slot1: TARGET.Memory >= RequestMemory is not true, as Memory is 1024, RequestMemory 9999, and a clause more"}},
		{"slots' Requirements", append(equal(t, 2, "Requirements = false"), aSlot(t, "slot3", "Memory = 5")), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 2 of 3 slots meet the job's Requirements, none of these accepts the job; the nearest is slot1: the slot's Requirements are false"}},
		{"one slot's Requirements", append(equal(t, 1, "Requirements = false"), aSlot(t, "slot3", "Memory = 5")), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 1 of 2 slots meets the job's Requirements, but does not accept the job; the nearest is slot1: the slot's Requirements are false"}},
		{"no slot has Requirements", bare(3, 3), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 3 of 3 slots meet the job's Requirements, but their ads have no Requirements"}},
		{"the slot has no Requirements", bare(1, 1), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 1 of 1 slot meets the job's Requirements, but its ad has no Requirements"}},
		{"some slots have no Requirements", bare(4, 2), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 4 of 4 slots meet the job's Requirements, none of these accepts the job: the ads of 2 have no Requirements"}},
		{"one slot has no Requirements", bare(4, 1), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.0 3 alice@x: no match found: 4 of 4 slots meet the job's Requirements, none of these accepts the job: the ad of 1 has no Requirements"}},
		{"taken", busy(2), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[]string{"1.1 2 alice@x: no match found: all 2 matching slots are taken (1 before this cycle)"}},
		{"Owner", equal(t, 1, `State = "Owner"`), []jobprio.Run{aJob(t, 1, 1, "alice@x", "")},
			[]string{"1.0 1 alice@x: no match found: the only matching slot is in a state that takes no job"}},
		{"shares", equal(t, 4, ""), []jobprio.Run{aJob(t, 1, 3, "alice@x", ""), aJob(t, 2, 4, "bob@x", "")},
			[]string{"1.2 1 alice@x: submitter limit exceeded: alice@x uses 2 of a pie slice of 2.00, the other matching slots are taken",
				"2.2 2 bob@x: no match found: all 4 matching slots are taken (0 before this cycle)"}},
		{"one for each shape", equal(t, 1, ""), []jobprio.Run{aJob(t, 1, 3, "alice@x", "RequestMemory = 9999"), aJob(t, 2, 1, "alice@x", "JobPrio = 1"), aJob(t, 3, 2, "alice@x", "RequestMemory = 9999")},
			[]string{"1.0 5 alice@x: no match found: the only slot does not meet the job's Requirements: TARGET.Memory >= RequestMemory is not true, as Memory is 1024, RequestMemory 9999, and a clause more"}},
	} {
		if got := reasons(Cycle(negotiator.Pool{Slots: c.slots, Jobs: c.jobs}, defaults(t), now)); !slices.Equal(got, c.want) {
			t.Errorf("%s: rejections = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNoRequirements(t *testing.T) {
	j := aJob(t, 1, 1, "alice@x", "")
	j.Ad = j.Ad.Flat()
	j.Ad.Delete("Requirements")
	plan := Cycle(negotiator.Pool{Slots: equal(t, 1, ""), Jobs: []jobprio.Run{j}}, defaults(t), now)
	if got := reasons(plan); len(got) != 1 || !strings.HasSuffix(got[0], "no match found: the job has no Requirements") {
		t.Errorf("rejections = %q, want that the job has no Requirements", got)
	}
}

// Whom its ceiling keeps from its pie slice is not told that others took what it could
// have used.
func TestReasonsBelowACeiling(t *testing.T) {
	bob := accountant.Record{Name: "bob@x", Ceiling: accountant.Limit{Slots: 1, Set: true}}
	p := negotiator.Pool{Slots: equal(t, 4, ""), Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "bob@x", "")}, Submitters: []accountant.Record{bob}}
	want := []string{"1.3 6 alice@x: no match found: all 4 matching slots are taken (0 before this cycle)",
		"2.1 8 bob@x: no match found: all 4 matching slots are taken (0 before this cycle)"}
	if got := reasons(Cycle(p, spins(t), now)); !slices.Equal(got, want) {
		t.Errorf("rejections = %q, want %q", got, want)
	}
}

// Reasons begin with the words of HTCondor's log, and say what was the case.
func TestSpinReasons(t *testing.T) {
	cfg := spins(t)
	cfg.Limits = limits(t, 100, map[string]float64{"sw": 1}, map[string]float64{"license": 2})
	ceiling := func(name string, n int64) accountant.Record {
		r := record(name, 1)
		r.Ceiling = accountant.LimitOf(n)
		return r
	}
	claimed := aSlot(t, "slot9", `State = "Claimed"; RemoteUser = "dave@x"; Memory = 4096`)
	const part = `PartitionableSlot = true; Cpus = 8; Memory = 8192; SlotWeight = Cpus; `
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		users []accountant.Record
		jobs  []jobprio.Run
		want  []string // each with its causes
	}{
		{"crumbs", equal(t, 10, ""), nil, []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "bob@x", ""), aJob(t, 3, 9, "carol@x", "")}, []string{
			"submitter limit exceeded: alice@x uses 3 of a pie slice of 3.33, its limit in spin 2 is 0.3333, less than the 1 of the lightest slot; 1 matching slot is left idle in this cycle [Share]",
			"submitter limit exceeded: bob@x uses 3 of a pie slice of 3.33, its limit in spin 2 is 0.3333, less than the 1 of the lightest slot; 1 matching slot is left idle in this cycle [Share]",
			"submitter limit exceeded: carol@x uses 3 of a pie slice of 3.33, its limit in spin 2 is 0.3333, less than the 1 of the lightest slot; 1 matching slot is left idle in this cycle [Share]"}},
		{"share used up", equal(t, 4, ""), nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", ""), aJob(t, 2, 4, "bob@x", "")}, []string{
			"no match found: alice@x uses 2 of a pie slice of 2.00, its limit in spin 1 was 2, and it took 2; the other matching slots are taken [Share Taken Others]",
			"no match found: bob@x uses 2 of a pie slice of 2.00, its limit in spin 1 was 2, and it took 2; the other matching slots are taken [Share Taken Others]"}},
		{"ceiling", equal(t, 4, "SlotWeight = 2"), []accountant.Record{ceiling("alice@x", 3)}, []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, []string{
			"submitter ceiling reached: alice@x uses 4 of at most 3 [Ceiling]"}},
		{"ceiling with less left than the lightest slot", equal(t, 4, "SlotWeight = 4"), []accountant.Record{ceiling("alice@x", 3)}, []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, []string{
			"submitter ceiling reached: alice@x uses 0 of at most 3, which leaves 3, less than the 4 of the lightest slot [Ceiling]"}},
		{"preemption", append(equal(t, 1, ""), claimed), nil, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestMemory = 2000")}, []string{
			"PREEMPTION_REQUIREMENTS == False: the only matching slot is taken (1 before this cycle) [Claimed]"}},
		{"concurrency limits", equal(t, 6, ""), nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", `ConcurrencyLimits = "license"; JobPrio = 5`), aJob(t, 2, 2, "alice@x", `ConcurrencyLimits = "sw.a"; JobPrio = 9`)}, []string{
			"concurrency limit sw.a reached: 1 of 1 in use, the job needs 1 [ConcurrencyLimit]",
			"concurrency limit license reached: 2 of 2 in use, the job needs 1 [ConcurrencyLimit]"}},
		{"two concurrency limits", equal(t, 6, ""), nil, []jobprio.Run{aJob(t, 2, 2, "alice@x", `ConcurrencyLimits = "sw.a"; JobPrio = 9`),
			aJob(t, 1, 1, "alice@x", `ConcurrencyLimits = "license:3, sw.b"; JobPrio = 8`)}, []string{
			"concurrency limit sw.a reached: 1 of 1 in use, the job needs 1 [ConcurrencyLimit]",
			"concurrency limit license, sw.a reached: license reached, the job needs 3, more than the limit of 2 [ConcurrencyLimit]"}},
		{"partitionable", []pool.Slot{aSlot(t, "slot1@n", part)}, nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}, []string{
			"no match found: alice@x uses 1 of a pie slice of 8.00, its limit in spin 1 was 8, and it took 8; the other matching slots are taken; 1 partitionable slot served one job, and serves no more in a cycle [Share Taken]"}},
		{"partitionable within the share", []pool.Slot{aSlot(t, "slot1@n", part), aSlot(t, "slot2@n", `State = "Owner"; Requirements = false; SlotWeight = 8`)}, nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}, []string{
			"no match found: the only matching slot is taken (0 before this cycle); 1 partitionable slot served one job, and serves no more in a cycle [Taken]"}},
		{"requirements", equal(t, 2, "Memory = 512"), nil, []jobprio.Run{aJob(t, 1, 1, "alice@x", "Requirements = TARGET.Memory > 600")}, []string{
			"no match found: none of 2 slots meets the job's Requirements; the nearest is slot1: TARGET.Memory > 600 is not true, as Memory is 512 [Requirements]"}},
	} {
		plan := Cycle(negotiator.Pool{Slots: c.slots, Submitters: c.users, Jobs: c.jobs}, cfg, now)
		var got []string
		for _, r := range plan.Rejections {
			text := r.Reason + " [" + string(r.Cause)
			for _, also := range r.Also {
				text += " " + string(also)
			}
			got = append(got, text+"]")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: rejections are\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestSpinReasonOfRepeatedRounds holds that the reported limit is the one that let the
// submitter take its slots, and not that of a round without anything left.
func TestSpinReasonOfRepeatedRounds(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "a", Quota: 5, AcceptSurplus: true}, accountant.Group{Name: "b", Quota: 5, AcceptSurplus: true},
		accountant.Group{Name: "c", Quota: 5, AcceptSurplus: true})
	cfg.Pie, cfg.Preemption.Consider = negotiator.Spins, true
	cfg.Quotas = negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: 1e100, WeightedDemand: true}
	plan := Cycle(negotiator.Pool{Slots: equal(t, 6, ""), Jobs: []jobprio.Run{aJob(t, 1, 4, "alice@x", ""), aJob(t, 2, 5, "bob@x", "")}}, cfg, now)
	for _, r := range plan.Rejections {
		if strings.Contains(r.Reason, "it took 0") {
			t.Errorf("%s: %q, but it has 3 slots", r.Submitter, r.Reason)
		}
	}
	if len(plan.Spins) < 2 || len(plan.Rejections) != 2 {
		t.Errorf("%d spins and %d rejections, want repeated ones and 2", len(plan.Spins), len(plan.Rejections))
	}
}

func limits(t *testing.T, byDefault float64, ofSet, ofName map[string]float64) concurrency.Limits {
	t.Helper()
	l, err := concurrency.NewLimits(byDefault, ofSet, ofName)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

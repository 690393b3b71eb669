package negotiator

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Each cause, with nothing else in the way.
func TestCauses(t *testing.T) {
	job := func(text string) []jobprio.Run { return []jobprio.Run{aJob(t, 1, 1, "alice@x", text)} }
	two := []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = 1"), aJob(t, 2, 1, "alice@x", "RequestMemory = 100")}
	large := "PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true"
	held := []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1", Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One}}
	piece := []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1_1", Piece: pool.Piece{Of: "slot1", Takes: "Cpus=3"},
		Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One}}
	ceiling := record("alice@x", 0.5)
	ceiling.Ceiling.Set = true
	none, err := NewConcurrencyLimits(0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pool Pool
		cfg  func(*Config)
		want string
		text string
	}{
		{Pool{Jobs: job("")}, nil, "NoSlots", "no match found: the pool has no slots"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job("Requirements = TARGET.HasGPU")}, nil, "Requirements",
			"no match found: the only slot does not meet the job's Requirements: TARGET.HasGPU is not true, as HasGPU is undefined"},
		{Pool{Slots: equal(t, 2, "Requirements = TARGET.Dept == \"physics\""), Jobs: job("")}, nil, "SlotRequirements",
			"no match found: 2 of 2 slots meet the job's Requirements, none of these accepts the job; the nearest is slot1: TARGET.Dept == \"physics\" is not true, as Dept is undefined"},
		{Pool{Slots: equal(t, 1, large), Jobs: job("RequestCpus = 8; Requirements = true")}, nil, "TooWide",
			"no match found: the only slot is not as large as the job requests: it has Cpus 4 of 8 requested"},
		{Pool{Slots: equal(t, 1, large), Jobs: job("RequestCpus = 2; Requirements = true"), Claims: piece}, nil, "TooSmall",
			"no match found: the only matching slot has too little left: it has Cpus 1 of 2 requested"},
		{Pool{Slots: equal(t, 1, ""), Jobs: two}, nil, "Taken", "no match found: the only matching slot is taken (0 before this cycle)"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job(""), Claims: held}, nil, "Claimed", "no match found: the only matching slot is taken (1 before this cycle)"},
		{Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: job("")}, nil, "Busy",
			"no match found: the only matching slot is in a state that takes no job"},
		{Pool{Slots: equal(t, 1, `State = "Drained"`), Jobs: job("")}, nil, "Drained",
			"no match found: the only matching slot is drained"},
		{Pool{Slots: equal(t, 2, `State = "Drained"`), Jobs: job("")}, nil, "Drained",
			"no match found: none of 2 matching slots is free: 2 drained"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job(""), Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(time.Hour)}}}, nil, "Resting",
			"no match found: the only matching slot is left alone after matches that nobody took up"},
		{Pool{Slots: equal(t, 2, ""), Jobs: job("")}, func(c *Config) { c.SlotConstraint = expr(t, "false") }, "SlotConstraint",
			"no match found: NEGOTIATOR_SLOT_CONSTRAINT leaves out all 2 slots"},
		{Pool{Slots: equal(t, 2, ""), Jobs: job("RequestMemory = 1000")}, func(c *Config) { c.SlotConstraint = expr(t, `Name == "slot9"`) }, "SlotConstraint",
			"no match found: NEGOTIATOR_SLOT_CONSTRAINT leaves out all 2 slots"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job("")}, func(c *Config) { c.JobConstraint = expr(t, "false") }, "JobConstraint",
			"no match found: NEGOTIATOR_JOB_CONSTRAINT is not true for the job"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job(`ConcurrencyLimits = "tape:2"`)}, func(c *Config) { c.Limits = none }, "ConcurrencyLimit",
			"concurrency limit tape reached: the job needs 2, more than the limit of 0"},
		{Pool{Slots: equal(t, 1, ""), Jobs: job(""), Submitters: []accountant.Record{ceiling}}, nil, "Ceiling",
			"submitter ceiling reached: alice@x uses 0 of at most 0"},
		{Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: job("Requirements = TARGET.HasGPU")}, nil, "Requirements, Busy",
			"no match found: the only slot does not meet the job's Requirements: TARGET.HasGPU is not true, as HasGPU is undefined"},
	} {
		cfg := defaults(t)
		if c.cfg != nil {
			c.cfg(&cfg)
		}
		plan := Cycle(c.pool, cfg, now)
		if len(plan.Rejections) != 1 {
			t.Errorf("%s: %d rejections, want 1", c.want, len(plan.Rejections))
			continue
		}
		r := plan.Rejections[0]
		got := string(r.Cause)
		for _, also := range r.Also {
			got += ", " + string(also)
		}
		if got != c.want || r.Reason != c.text {
			t.Errorf("causes of %v = %s: %q, want %s: %q", r.Job, got, r.Reason, c.want, c.text)
		}
		if help := r.Report().Help(plan.Autoclusters[r.Autocluster]); help == "" {
			t.Errorf("%s: Help is empty, want words", c.want)
		}
	}
}

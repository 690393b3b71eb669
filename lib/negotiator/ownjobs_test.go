package negotiator

import (
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Jobs that are lighter on the nearest slot of another go before it, also when their
// own nearest is a heavier one.
func TestOwnJobsLighterThere(t *testing.T) {
	p := Pool{
		Slots: []pool.Slot{
			aSlot(t, "slot1", "PartitionableSlot = true; Cpus = 4; Memory = 4096"),
			aSlot(t, "slot2", "Cpus = 8; Memory = 4096"),
		},
		Jobs: []jobprio.Run{
			aJob(t, 1, 1, "alice@x", "RequestCpus = 3; Requirements = TARGET.PartitionableSlot =?= true"),
			aJob(t, 2, 3, "alice@x", ""),
		},
		Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(time.Hour)}},
	}
	plan := Cycle(p, defaults(t), now)
	i := slices.IndexFunc(plan.Rejections, func(r Rejection) bool { return r.Job.Cluster == 1 })
	if i < 0 || pairs(plan) != "2.0>slot2" {
		t.Fatalf("matches = %s, rejections %q, want 2.0>slot2 and 1.0 left", pairs(plan), reasons(plan))
	}
	if r := plan.Rejections[i]; r.OwnJobs != 2 || r.Cause != CauseResting || !slices.Equal(r.Also, []Cause{CauseOwnJobs}) {
		t.Errorf("1.0: %s %v, %d jobs go first, want Resting and the 2 jobs of cluster 2", r.Cause, r.Also, r.OwnJobs)
	}
}

// A job that waits for units that the end of a claim frees takes what is left of the
// ceiling, also where it wants another slot.
func TestOwnJobsBelowCeiling(t *testing.T) {
	alice := record("alice@x", 0.5)
	alice.Ceiling = accountant.Limit{Slots: 1, Set: true}
	p := Pool{
		Slots: []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", "Memory = 512")},
		Jobs: []jobprio.Run{
			aJob(t, 1, 1, "alice@x", `ConcurrencyLimits = "license"; Requirements = TARGET.Memory < 1024; JobPrio = 5`),
			aJob(t, 2, 1, "alice@x", "Requirements = TARGET.Memory >= 1024"),
		},
		Claims:     []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1", Submitter: "alice@x", State: pool.RunningClaim, Limits: "license"}},
		Submitters: []accountant.Record{alice},
	}
	cfg := defaults(t)
	cfg.Limits, _ = NewConcurrencyLimits(1, nil, nil)
	plan := Cycle(p, cfg, now)
	i := slices.IndexFunc(plan.Rejections, func(r Rejection) bool { return r.Job.Cluster == 2 })
	if i < 0 {
		t.Fatalf("rejections = %q, want 2.0 among them", reasons(plan))
	}
	if r := plan.Rejections[i]; r.Cause != CauseClaimed || !slices.Equal(r.Also, []Cause{CauseOwnJobs}) || r.OwnJobs != 1 {
		t.Errorf("2.0: %s %v, %d jobs go first, want Claimed and 1.0", r.Cause, r.Also, r.OwnJobs)
	}
}

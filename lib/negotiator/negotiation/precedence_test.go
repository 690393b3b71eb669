package negotiation

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// Jobs that are lighter on the nearest slot of another go before it, also when their
// own nearest is a heavier one.
func TestOwnJobsLighterThere(t *testing.T) {
	p := negotiator.Pool{
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
	i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Job.Cluster == 1 })
	if i < 0 || pairs(plan) != "2.0>slot2" {
		t.Fatalf("matches = %s, rejections %q, want 2.0>slot2 and 1.0 left", pairs(plan), reasons(plan))
	}
	if r := plan.Rejections[i]; r.OwnJobs != 2 || r.Cause != negotiator.CauseResting || !slices.Equal(r.Also, []negotiator.Cause{negotiator.CauseOwnJobs}) {
		t.Errorf("1.0: %s %v, %d jobs go first, want Resting and the 2 jobs of cluster 2", r.Cause, r.Also, r.OwnJobs)
	}
}

// A job that waits for units that the end of a claim frees takes what is left of the
// ceiling, also where it wants another slot.
func TestOwnJobsBelowCeiling(t *testing.T) {
	alice := record("alice@x", 0.5)
	alice.Ceiling = accountant.Limit{Slots: 1, Set: true}
	p := negotiator.Pool{
		Slots: []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", "Memory = 512")},
		Jobs: []jobprio.Run{
			aJob(t, 1, 1, "alice@x", `ConcurrencyLimits = "license"; Requirements = TARGET.Memory < 1024; JobPrio = 5`),
			aJob(t, 2, 1, "alice@x", "Requirements = TARGET.Memory >= 1024"),
		},
		Claims:     []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1", Submitter: "alice@x", State: pool.RunningClaim, Limits: "license"}},
		Submitters: []accountant.Record{alice},
	}
	cfg := defaults(t)
	cfg.Limits, _ = concurrency.NewLimits(1, nil, nil)
	plan := Cycle(p, cfg, now)
	i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Job.Cluster == 2 })
	if i < 0 {
		t.Fatalf("rejections = %q, want 2.0 among them", reasons(plan))
	}
	if r := plan.Rejections[i]; r.Cause != negotiator.CauseClaimed || !slices.Equal(r.Also, []negotiator.Cause{negotiator.CauseOwnJobs}) || r.OwnJobs != 1 {
		t.Errorf("2.0: %s %v, %d jobs go first, want Claimed and 1.0", r.Cause, r.Also, r.OwnJobs)
	}
}

// With the jobs of others their reservations go, so that a job of the same submitter takes what is
// left of the ceiling on a slot that is kept until then.
func TestOwnJobsBehindReservation(t *testing.T) {
	alice := record("alice@x", 0.5)
	alice.Ceiling = accountant.Limit{Slots: 1, Set: true}
	p := negotiator.Pool{
		Slots: []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", "PartitionableSlot = true; Cpus = 8; Memory = 2048; Requirements = TARGET.RequestCpus > 1")},
		Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestCpus = 2; Requirements = TARGET.Cpus > 1"),
			aJob(t, 2, 1, "carol@x", "RequestCpus = 8; Requirements = TARGET.Cpus >= 1"), aJob(t, 3, 1, "alice@x", ""), aJob(t, 4, 1, "carol@x", "")},
		Claims: []pool.Claim{
			{Job: pool.JobID{Cluster: 8}, Attempt: 1, Slot: "slot1", Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One},
			{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot2_1", Piece: pool.Piece{Of: "slot2", Takes: "Cpus=1 Memory=128"}, Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One}},
		Reservations: []pool.Reservation{{Slot: "slot2", Job: pool.JobID{Cluster: 2}, Submitter: "carol@x", Since: now.Unix()}},
		Submitters:   []accountant.Record{alice},
	}
	cfg := defaults(t)
	cfg.Reserve = negotiator.Reserve{Fraction: 0.9, Time: time.Hour}
	plan := Cycle(p, cfg, now)
	i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Job.Cluster == 3 })
	if i < 0 {
		t.Fatalf("rejections = %q, want 3.0 among them", reasons(plan))
	}
	if r := plan.Rejections[i]; r.Cause != negotiator.CauseClaimed || !slices.Equal(r.Also, []negotiator.Cause{negotiator.CauseOwnJobs, negotiator.CauseOthers}) || r.OwnJobs != 1 {
		t.Errorf("3.0: %s %v, %d jobs go first, want Claimed, OwnJobs, Others and 1.0; all: %q", r.Cause, r.Also, r.OwnJobs, reasons(plan))
	}
}

// Every job that is left stands somewhere once, in the order of the policy, and the first of a
// rejection where the rejection says.
func TestStandings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		p, cfg = maybeQueued(rt, t, p, cfg)
		cfg.Standings = true
		plan := Cycle(p, cfg, now)
		if cfg.Queue == nil {
			if plan.Standings != nil {
				rt.Fatalf("without a queue: %v", plan.Standings)
			}
			return
		}
		q, at, places := queuedJobs(p, cfg, plan), map[pool.JobID]negotiator.Standing{}, 0
		last := map[bool]int{false: -1, true: -1} // place in the order, of nice users and others
		for _, x := range plan.Standings {
			for proc := x.First; proc <= x.Last; proc++ {
				id := pool.JobID{Cluster: x.Cluster, Proc: proc}
				if _, twice := at[id]; twice {
					rt.Fatalf("%v stands twice in %v", id, plan.Standings)
				}
				at[id] = negotiator.Standing{Procs: pool.Procs{Cluster: x.Cluster, First: proc, Last: proc}, Submitter: x.Submitter, Place: x.Place, Priority: x.Priority}
				order, placed := q.place[id]
				if placed != (x.Place > 0) {
					rt.Fatalf("%v: the policy places %v: %v", x, id, placed)
				}
				if !placed {
					continue
				}
				if places++; x.Place+proc-x.First != places {
					rt.Fatalf("%v at %d in %v, want %d", id, x.Place+proc-x.First, plan.Standings, places)
				}
				nice := strings.HasPrefix(x.Submitter, "nice-user.")
				if order <= last[nice] || x.Priority != q.order.Places[order].Priority {
					rt.Fatalf("%v is at %d of the policy's order with %v, behind one at %d", x, order, q.order.Places[order].Priority, last[nice])
				}
				last[nice] = order
			}
		}
		left := 0
		for _, r := range plan.Rejections {
			left += r.Count
			x, there := at[r.Job]
			alike := x.Priority == r.Priority || math.IsNaN(x.Priority) && math.IsNaN(r.Priority)
			if !there || x.Place != r.Place || !alike || x.Submitter != r.Submitter {
				rt.Fatalf("%v stands at %v, want place %d and priority %v of %s", r.Job, x, r.Place, r.Priority, r.Submitter)
			}
		}
		if left != len(at) {
			rt.Fatalf("%d jobs stand somewhere, want %d", len(at), left)
		}
	})
}

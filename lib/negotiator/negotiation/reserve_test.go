package negotiation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// stream plays cycles of a minute with jobs that run for three to five minutes: one
// user has more narrow jobs than ever fit, another from the third minute on wide
// ones.
type stream struct {
	t       *testing.T
	cfg     negotiator.Config
	pool    negotiator.Pool
	minute  int
	ends    map[pool.JobID]int
	wide    int     // the cluster of wide jobs
	started int     // minute in which the first wide job started; -1: not yet
	idle    float64 // weight-minutes that reservations kept idle
	most    float64 // most weight reserved at a time
}

const wideCluster = 1_000_000

func newStream(t *testing.T, nodes int, reserve negotiator.Reserve) *stream {
	s := &stream{t: t, cfg: defaults(t), ends: map[pool.JobID]int{}, wide: wideCluster, started: -1}
	s.cfg.Reserve = reserve
	for i := range nodes {
		s.pool.Slots = append(s.pool.Slots, aNode(t, fmt.Sprintf("slot1@n%d", i), ""))
	}
	return s
}

// step plays a minute with so many wide jobs waiting.
func (s *stream) step(wide int) *negotiator.Plan {
	s.pool.Claims = slices.DeleteFunc(s.pool.Claims, func(cl pool.Claim) bool { return s.ends[cl.Job] <= s.minute })
	s.pool.Jobs = []jobprio.Run{aJob(s.t, 2*s.minute+2, 250, "narrow@x", ""), aJob(s.t, 2*s.minute+3, 250, "narrow@x", "")}
	if wide > 0 {
		s.pool.Jobs = append(s.pool.Jobs, aJob(s.t, s.wide, wide, "wide@x", "RequestCpus = 8"))
	}
	at := now.Add(time.Duration(s.minute) * time.Minute)
	plan := Cycle(s.pool, s.cfg, at)
	for i, cl := range claimsOf(plan) {
		s.ends[cl.Job] = s.minute + 3 + i%3
		s.pool.Claims = append(s.pool.Claims, cl)
		if cl.Job.Cluster == s.wide && s.started < 0 {
			s.started = s.minute
		}
	}
	s.pool.Reservations = nil
	held := 0.0
	for _, r := range plan.Reservations {
		s.pool.Reservations = append(s.pool.Reservations, r.Reservation)
		if !r.GivenUp {
			held += r.Weight.Float()
			s.idle += r.Free.Float()
		}
	}
	s.most = max(s.most, held)
	s.minute++
	return plan
}

// A wide job does not starve behind a stream of narrow ones, and what that costs is
// bounded.
func TestWideJobsDoNotStarve(t *testing.T) {
	for _, c := range []struct {
		name    string
		wide    int // its cluster
		reserve negotiator.Reserve
		starts  bool
		most    float64
	}{
		{"off", wideCluster, negotiator.Reserve{Fraction: 0, Time: time.Hour}, false, 0},
		{"a tenth of the pool", wideCluster, negotiator.Reserve{Fraction: 0.1, Time: time.Hour}, true, 16},
		{"always one", wideCluster, negotiator.Reserve{Fraction: 0.0001, Time: time.Hour}, true, 8},
		{"always one, submitted before all others", 1, negotiator.Reserve{Fraction: 0.0001, Time: time.Hour}, true, 8},
	} {
		s := newStream(t, 20, c.reserve)
		s.wide = c.wide
		for range 3 {
			s.step(0)
		}
		for range 40 {
			if s.step(1); s.started >= 0 {
				break
			}
		}
		if (s.started >= 0) != c.starts || c.starts && s.started > 3+6 {
			t.Errorf("%s: the wide job started at minute %d, want soon after the third: %v", c.name, s.started, c.starts)
		}
		if s.most > c.most || s.idle > 8*6 {
			t.Errorf("%s: at most %v reserved, %v weight-minutes idle, want no more than %v and %d", c.name, s.most, s.idle, c.most, 8*6)
		}
	}
}

// A reservation lasts from cycle to cycle, whether its job was submitted before those of others or after them.
func TestReservationLasts(t *testing.T) {
	for _, wide := range []int{1, wideCluster} {
		s := newStream(t, 20, negotiator.Reserve{Fraction: 0.0001, Time: time.Hour})
		s.wide = wide
		for range 3 {
			s.step(0)
		}
		first, second := s.step(1).Reservations, s.step(1).Reservations
		if len(first) != 1 || len(second) != 1 || first[0].Reservation != second[0].Reservation {
			t.Errorf("of the job in cluster %d there is %+v, and then %+v", wide, first, second)
		}
	}
}

// Of as many submitters with wide jobs as there are slots, only so many get one reserved
// as RESERVE_POOL_FRACTION allows, but always one.
func TestReservationsAreBounded(t *testing.T) {
	for _, c := range []struct {
		fraction float64
		want     int
	}{{0.05, 1}, {0.1, 1}, {0.2, 2}, {0.39, 3}, {0.4, 4}, {1, 10}} {
		s := newStream(t, 10, negotiator.Reserve{Fraction: c.fraction, Time: time.Hour})
		s.step(0)
		p := s.pool
		for i := range 10 {
			p.Jobs = append(p.Jobs, aJob(t, wideCluster+i, 1, fmt.Sprintf("wide%d@x", i), "RequestCpus = 8"))
		}
		for range 2 { // as many again are kept in the next cycle, and no more
			plan := Cycle(p, s.cfg, now.Add(time.Minute))
			if got := len(plan.Reservations); got != c.want {
				t.Errorf("RESERVE_POOL_FRACTION = %v: %d of 10 slots are reserved, want %d", c.fraction, got, c.want)
			}
			p.Reservations = nil
			for _, r := range plan.Reservations {
				p.Reservations = append(p.Reservations, r.Reservation)
			}
		}
	}
}

func TestReservationIsReported(t *testing.T) {
	s := newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: time.Hour})
	s.step(0)
	plan := s.step(1)
	if len(plan.Reservations) != 1 {
		t.Fatalf("reservations: %+v, want one", plan.Reservations)
	}
	r := plan.Reservations[0]
	if r.Slot != "slot1@n0" || r.Job.String() != "1000000.0" || r.Submitter != "wide@x" || r.Weight.Float() != 8 || r.Lacks != "Cpus 0 of 8" {
		t.Errorf("reservation: %+v, want slot1@n0 for 1000000.0 of wide@x, which lacks Cpus 0 of 8", r)
	}
	// It stays with its slot and its time until the job starts there.
	for s.started < 0 && s.minute < 20 {
		plan = s.step(1)
		for _, again := range plan.Reservations {
			if again.Reservation != r.Reservation {
				t.Errorf("minute %d: reservation %+v, want %+v as before", s.minute, again.Reservation, r.Reservation)
			}
		}
	}
	if got := share(plan, "wide@x"); got.PieSlice != 8 || got.Limit != 8 {
		t.Errorf("the pie slice of who gets what was kept is %+v, want 8", got)
	}
	if i := slices.IndexFunc(plan.Matches, func(m negotiator.Match) bool { return m.Job == r.Job }); i < 0 || plan.Matches[i].Piece.Of != r.Slot || len(plan.Reservations) > 0 {
		t.Errorf("matches %v, reservations %+v, want the wide job on %s and no reservation", taken(plan), plan.Reservations, r.Slot)
	}
}

// A reservation ends with its reason: when the job is gone, the slot, the share,
// or its time; what was kept is free in the same cycle.
func TestReservationsEnd(t *testing.T) {
	begin := func() *stream {
		s := newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: 10 * time.Minute})
		s.step(0)
		s.step(1)
		s.step(1)
		if len(s.pool.Reservations) != 1 {
			t.Fatalf("reservations: %+v, want one", s.pool.Reservations)
		}
		return s
	}
	s := begin()
	if plan := s.step(0); len(plan.Reservations) > 0 || !strings.Contains(taken(plan), "@n0") && !strings.Contains(taken(plan), "@n1") {
		t.Errorf("without the job: reservations %+v, matches %s", plan.Reservations, taken(plan))
	}
	s = begin()
	kept := s.pool.Reservations[0].Slot
	s.pool.Slots = slices.DeleteFunc(s.pool.Slots, func(sl pool.Slot) bool { return sl.Name == kept })
	if plan := s.step(1); len(plan.Reservations) != 1 || plan.Reservations[0].Slot == kept {
		t.Errorf("without %s: reservations %+v, want one of the other slot", kept, plan.Reservations)
	}
	s = begin()
	s.cfg.Reserve.Fraction = 0
	if plan := s.step(1); len(plan.Reservations) > 0 {
		t.Errorf("switched off: reservations %+v", plan.Reservations)
	}
	// A job that runs for good keeps the slot from becoming free.
	s = begin()
	for _, cl := range s.pool.Claims {
		s.ends[cl.Job] = 1000
	}
	given, again := -1, -1
	for s.minute < 40 && again < 0 {
		plan := s.step(1)
		switch {
		case len(plan.Reservations) != 1:
			t.Fatalf("minute %d: reservations %+v, want one", s.minute, plan.Reservations)
		case plan.Reservations[0].GivenUp && given < 0:
			given = s.minute
		case !plan.Reservations[0].GivenUp && given >= 0:
			again = s.minute
		}
	}
	if given != 12 || again != 22 {
		t.Errorf("given up in minute %d, made again in minute %d, want 12 and 22", given, again)
	}
}

// However far ahead the clock was that a reservation was made by, its time ends.
func TestReservationOfTheFuture(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, math.MaxInt64} {
		s := newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: 10 * time.Minute})
		s.step(0)
		s.step(1)
		s.step(1)
		if len(s.pool.Reservations) != 1 {
			t.Fatalf("reservations: %+v, want one", s.pool.Reservations)
		}
		for _, cl := range s.pool.Claims {
			s.ends[cl.Job] = 1000
		}
		s.pool.Reservations[0].Since = now.Add(ahead).Unix()
		begun := s.minute
		for !s.step(1).Reservations[0].GivenUp {
			if s.minute > begun+20 {
				t.Fatalf("%v ahead: the reservation lasts, want it given up after 10 minutes", ahead)
			}
		}
		if lasted := s.minute - 1 - begun; lasted != 10 {
			t.Errorf("%v ahead: given up after %d minutes, want 10", ahead, lasted)
		}
	}
}

// Whose share does not allow it, and nice users, get nothing reserved.
func TestNoReservation(t *testing.T) {
	s := newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: time.Hour})
	s.step(0)
	s.pool.Submitters = append(s.pool.Submitters, record("wide@x", 100))
	s.pool.Claims[0].Submitter = "wide@x" // uses something already, and its share is small
	if plan := s.step(1); len(plan.Reservations) > 0 {
		t.Errorf("a small share: reservations %+v, want none", plan.Reservations)
	}
	s = newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: time.Hour})
	s.step(0)
	s.pool.Jobs = []jobprio.Run{aJob(t, wideCluster, 1, "nice-user.wide@x", "RequestCpus = 8")}
	if plan := Cycle(s.pool, s.cfg, now); len(plan.Reservations) > 0 {
		t.Errorf("a nice user: reservations %+v, want none", plan.Reservations)
	}
}

// What was passed over while a slot was kept takes part again when it is set free,
// and shares count with that slot.
func TestReleasedSlotIsForAll(t *testing.T) {
	cfg := defaults(t)
	cfg.Reserve = negotiator.Reserve{Fraction: 1, Time: time.Hour}
	cfg.SkipClusters, cfg.Significant = true, []string{"RequestCpus"}
	p := negotiator.Pool{
		Slots: []pool.Slot{aNode(t, "slot1@a", "Cpus = 4")},
		Jobs:  []jobprio.Run{aJob(t, 1, 1, "alice@x", ""), aJob(t, 2, 1, "alice@x", ""), aJob(t, 3, 1, "alice@x", ""), aJob(t, 4, 3, "nice-user.bob@x", "")},
		// A nice user is entitled to no reservation.
		Reservations: []pool.Reservation{{Slot: "slot1@a", Job: pool.JobID{Cluster: 4, Proc: 1}, Submitter: "nice-user.bob@x", Since: now.Unix()}},
	}
	const want = "1.0>slot1_1@a 2.0>slot1_2@a 3.0>slot1_3@a 4.0>slot1_4@a"
	if got := pairs(Cycle(p, cfg, now)); got != want {
		t.Errorf("Cycle matches %s, want %s", got, want)
	}
}

// A job that is no wider than the ones that fill the pool has its turn when one of
// them ends: nothing is kept for it.
func TestNoReservationForNarrowJobs(t *testing.T) {
	for _, c := range []struct {
		job  string
		want int
	}{{"", 0}, {"RequestCpus = 2", 1}, {"RequestMemory = 16000", 1}} {
		s := newStream(t, 2, negotiator.Reserve{Fraction: 0.5, Time: time.Hour})
		s.step(0)
		s.pool.Jobs = append(s.pool.Jobs, aJob(t, wideCluster, 1, "wide@x", c.job))
		if plan := Cycle(s.pool, s.cfg, now); len(plan.Reservations) != c.want {
			t.Errorf("%q: reservations %+v, want %d", c.job, plan.Reservations, c.want)
		}
	}
}

// What a reservation kept is free for jobs that were passed over for want of it.
func TestPassedOverForReservation(t *testing.T) {
	p := negotiator.Pool{
		Slots: equal(t, 1, `PartitionableSlot = true; Cpus = 4; Memory = 4096`),
		Jobs: []jobprio.Run{
			aJob(t, 1, 1, "alice@x", "JobPrio = 9"),
			{
				Procs:     pool.Procs{Cluster: 1, First: 1, Last: 1},
				Submitter: "alice@x",
				Ad: ad(t, "", `ClusterId = 1; ProcId = 1; JobStatus = 1; QDate = 1600000000; JobPrio = 9; RequestCpus = 1;
				RequestMemory = 256; Requirements = true`),
			},
			aJob(t, 2, 1, "alice@x", "RequestCpus = 2"),
		},
		Reservations: []pool.Reservation{{Slot: "slot1", Job: pool.JobID{Cluster: 2}, Submitter: "alice@x", Since: now.Add(-time.Minute).Unix()}},
	}
	cfg := defaults(t)
	cfg.SkipClusters, cfg.Reserve = true, negotiator.Reserve{Fraction: 0.3, Time: time.Hour}
	if got, want := pairs(Cycle(p, cfg, now)), "2.0>slot1_1 1.0>slot1_2 1.1>slot1_3"; got != want {
		t.Errorf("matches = %s, want %s", got, want)
	}
	p.Reservations[0].Job = pool.JobID{Cluster: 3}
	p.Jobs = append(p.Jobs, aJob(t, 3, 1, "alice@x", "JobPrio = -1; Requirements = false"))
	if got, want := pairs(Cycle(p, cfg, now)), "1.0>slot1_1 1.1>slot1_2 2.0>slot1_3"; got != want {
		t.Errorf("matches when the reservation ends = %s, want %s", got, want)
	}
}

// A submitter has one reservation at most, and a nice user none.
func TestReservationsOfOne(t *testing.T) {
	for name, want := range map[string]int{"wide@x": 1, "nice-user.wide@x": 0} {
		s := newStream(t, 4, negotiator.Reserve{Fraction: 1, Time: time.Hour})
		s.step(0)
		p := s.pool
		p.Jobs = append(p.Jobs, aJob(t, wideCluster, 3, name, "RequestCpus = 8"), aJob(t, wideCluster+1, 1, name, "RequestCpus = 7"))
		for range 2 {
			plan := Cycle(p, s.cfg, now.Add(time.Minute))
			if got := len(plan.Reservations); got != want {
				t.Errorf("%d slots are reserved for %s, want %d", got, name, want)
			}
			p.Reservations = nil
			for _, r := range plan.Reservations {
				p.Reservations = append(p.Reservations, r.Reservation)
			}
		}
	}
}

// Nothing is kept for a job that is wider than the quota of its group, which leaves it no such
// slot however long it waits.
func TestNoReservationBeyondQuota(t *testing.T) {
	for _, policy := range []jobprio.Queue{nil, inTurns{}} {
		cfg := quotas(t, accountant.Group{Name: "a", Quota: 2})
		cfg.Reserve = negotiator.Reserve{Fraction: 1, Time: time.Hour}
		cfg.Queue = policy
		p := negotiator.Pool{Slots: equal(t, 1, "PartitionableSlot = true; Cpus = 8; Memory = 8192"), Jobs: []jobprio.Run{
			aJob(t, 1, 5, "zoe@x", ""), aJob(t, 2, 1, "a.bob@x", "RequestCpus = 6")}}
		if got := Cycle(p, cfg, now).Reservations; len(got) != 0 {
			t.Errorf("one queue %v: reservations %+v, want none", policy != nil, got)
		}
	}
}

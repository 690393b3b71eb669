package negotiation

import (
	"maps"
	"math"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// What settings make of the division of ten slots between alice (EUP 5) and bob (EUP
// 10), who both want all.
func TestSettingsOfTheDivision(t *testing.T) {
	half := append(equal(t, 5, "Rack = 1"), aSlot(t, "slot6", "Rack = 2"), aSlot(t, "slot7", "Rack = 2"), aSlot(t, "slot8", "Rack = 2"),
		aSlot(t, "slot9", "Rack = 2"), aSlot(t, "slot10", "Rack = 2"))
	for _, c := range []struct {
		name   string
		change func(*negotiator.Config)
		alice  string
		want   map[string]int
		slice  float64 // alice's
	}{
		{"the defaults", func(*negotiator.Config) {}, "", map[string]int{"alice@x": 7, "bob@x": 3}, 6.666667},
		{"NEGOTIATOR_IGNORE_USER_PRIORITIES", func(c *negotiator.Config) { c.IgnoreUserPriorities = true }, "", map[string]int{"alice@x": 10}, 10},
		{"the same, but bob's only", func(c *negotiator.Config) { c.IgnoreUserPriorities = true }, "Requirements = TARGET.Rack == 1", map[string]int{"alice@x": 5, "bob@x": 5}, 10},
		{"NEGOTIATOR_SLOT_CONSTRAINT", func(c *negotiator.Config) { c.SlotConstraint = expr(t, "Rack == 1") }, "", map[string]int{"alice@x": 3, "bob@x": 2}, 3.333333},
		{"an undefined one", func(c *negotiator.Config) { c.SlotConstraint = expr(t, "Row == 1") }, "", map[string]int{}, 0},
		{"NEGOTIATOR_JOB_CONSTRAINT", func(c *negotiator.Config) { c.JobConstraint = expr(t, "RequestMemory > 200") }, "RequestMemory = 300", map[string]int{"alice@x": 10}, 10},
		// Slices are cut from five slots: 3.33 and 1.67; the others are dealt out after that.
		{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", func(c *negotiator.Config) { c.PoolSizeConstraint = expr(t, "Rack == 1") }, "", map[string]int{"alice@x": 7, "bob@x": 3}, 3.333333},
	} {
		cfg := defaults(t)
		c.change(&cfg)
		plan := Cycle(negotiator.Pool{Slots: half, Submitters: []accountant.Record{record("alice@x", 5), record("bob@x", 10)},
			Jobs: []jobprio.Run{aJob(t, 1, 20, "alice@x", c.alice), aJob(t, 2, 20, "bob@x", "")}}, cfg, now)
		if got := matched(plan); !maps.Equal(got, c.want) || negotiator.Micro(share(plan, "alice@x").PieSlice) != c.slice {
			t.Errorf("%s: Cycle matches %v, alice's slice is %v, want %v and %v", c.name, got, share(plan, "alice@x").PieSlice, c.want, c.slice)
		}
	}
}

// The rest of a cluster is passed over where that is wanted, and only there.
func TestClusterSkipping(t *testing.T) {
	// Every third proc fits nowhere.
	jobs := func() []jobprio.Run {
		return []jobprio.Run{aJob(t, 1, 6, "alice@x", "Requirements = TARGET.Cpus >= 1 && ProcId % 3 != 0"), aJob(t, 2, 2, "alice@x", "")}
	}
	for _, c := range []struct {
		name   string
		change func(*negotiator.Config)
		want   string
	}{
		{"by default", func(*negotiator.Config) {}, "1.1>slot1 1.2>slot2 1.4>slot3 1.5>slot4 2.0>slot5 2.1>slot6"},
		{"NEGOTIATE_ALL_JOBS_IN_CLUSTER = false", func(c *negotiator.Config) { c.SkipClusters = true }, "2.0>slot1 2.1>slot2"},
		{"SIGNIFICANT_ATTRIBUTES alone", func(c *negotiator.Config) { c.Significant = []string{"ProcId"} }, "1.1>slot1 1.2>slot2 1.4>slot3 1.5>slot4 2.0>slot5 2.1>slot6"},
		{"both", func(c *negotiator.Config) { c.SkipClusters, c.Significant = true, []string{"procid"} }, "1.1>slot1 1.2>slot2 1.4>slot3 1.5>slot4 2.1>slot5"},
		{"REMOVE_SIGNIFICANT_ATTRIBUTES", func(c *negotiator.Config) { c.RemoveSignificant = []string{"ProcId"} }, "2.0>slot1 2.1>slot2"},
	} {
		cfg := defaults(t)
		c.change(&cfg)
		plan := Cycle(negotiator.Pool{Slots: equal(t, 9, ""), Jobs: jobs()}, cfg, now)
		if got := pairs(plan); got != c.want {
			t.Errorf("%s: Cycle matches %s, want %s", c.name, got, c.want)
		}
		if n := len(plan.Matches); n+rejected(plan) != 8 {
			t.Errorf("%s: %d jobs matched, %d told why not, want 8 together", c.name, n, rejected(plan))
		}
	}
}

// A job for which nothing is found has the rest of its cluster passed over, also where that was
// seen by an equal job of another cluster, which is not asked for again.
func TestClusterSkippingBehindAnEqualJob(t *testing.T) {
	unlike := "Requirements = TARGET.Cpus >= 1 && ProcId % 3 != 0"
	for _, first := range []int{1, 0} {
		cfg := defaults(t)
		cfg.SkipClusters = true
		jobs := []jobprio.Run{aJob(t, 1, 1, "alice@x", unlike), aJob(t, 2, 3, "alice@x", unlike)}
		plan := Cycle(negotiator.Pool{Slots: equal(t, 9, ""), Jobs: jobs[1-first:]}, cfg, now)
		if len(plan.Matches) != 0 || rejected(plan) != 3+first {
			t.Errorf("behind %d equal jobs: Cycle matches %s, tells %d why not, want nobody and all", first, pairs(plan), rejected(plan))
		}
	}
}

// ADD_SIGNIFICANT_ATTRIBUTES tells apart what no expression does.
func TestAddedSignificantAttributes(t *testing.T) {
	jobs := []jobprio.Run{aJob(t, 1, 2, "alice@x", "Project = 1"), aJob(t, 2, 1, "alice@x", "Project = 2")}
	for _, c := range []struct {
		add  []string
		want int
	}{{nil, 1}, {[]string{"project"}, 2}, {[]string{"ClusterId", "Missing"}, 2}} {
		cfg := defaults(t)
		cfg.AddSignificant = c.add
		plan := Cycle(negotiator.Pool{Jobs: jobs}, cfg, now)
		if len(plan.Rejections) != c.want || len(plan.Autoclusters) != c.want || rejected(plan) != 3 {
			t.Errorf("with %v: %d rejections of %d autoclusters, %d jobs; want %d, %d and 3", c.add, len(plan.Rejections), len(plan.Autoclusters), rejected(plan), c.want, c.want)
		}
	}
}

// rejected counts the jobs that are told why they got nothing.
func rejected(p *negotiator.Plan) (n int) {
	for _, r := range p.Rejections {
		n += r.Count
	}
	return n
}

// Who holds a slot by its own words counts for the limits that it names.
func TestConcurrencyLimitsOutside(t *testing.T) {
	limits, err := concurrency.NewLimits(100, nil, map[string]float64{"license": 3})
	testenv.OK(t, err)
	cfg := defaults(t)
	cfg.Limits = limits
	slots := append(equal(t, 5, ""), aSlot(t, "slot6", `State = "Claimed"; RemoteUser = "bob@y"; ConcurrencyLimits = "License:2"`))
	plan := Cycle(negotiator.Pool{Slots: slots, Jobs: []jobprio.Run{aJob(t, 1, 5, "alice@x", `ConcurrencyLimits = "license"`)}}, cfg, now)
	const want = "1.1 4 alice@x: concurrency limit license reached: 3 of 3 in use, the job needs 1"
	if got := reasons(plan); len(plan.Matches) != 1 || len(got) != 1 || got[0] != want {
		t.Errorf("Cycle makes %d matches, rejections %q, want 1 and %q", len(plan.Matches), got, want)
	}
}

// Claims count for the limits that their jobs named, and no match goes beyond.
func TestConcurrencyLimits(t *testing.T) {
	limits, err := concurrency.NewLimits(3, map[string]float64{"sw": 1}, map[string]float64{"license": 2})
	testenv.OK(t, err)
	cfg := defaults(t)
	cfg.Limits = limits
	busy := pool.Claim{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1", Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One, MatchedAt: now, Limits: "license"}
	for _, c := range []struct {
		text   string
		claims []pool.Claim
		want   int
		reason string
	}{
		{`"license"`, nil, 2, "concurrency limit license reached"},
		{`"LICENSE:2"`, nil, 1, "concurrency limit license reached"},
		{`"license"`, []pool.Claim{busy}, 1, "concurrency limit license reached"},
		{`"other, license"`, nil, 2, "concurrency limit license reached"},
		{`"other"`, nil, 3, "concurrency limit other reached"},
		{`"sw.matlab"`, nil, 1, "concurrency limit sw.matlab reached"},
		{`"license:3"`, nil, 0, "concurrency limit license reached"},
	} {
		plan := Cycle(negotiator.Pool{Slots: equal(t, 9, ""), Claims: c.claims, Jobs: []jobprio.Run{aJob(t, 1, 5, "alice@x", "ConcurrencyLimits = "+c.text)}}, cfg, now)
		if got := len(plan.Matches); got != c.want || rejected(plan) != 5-c.want || plan.Rejections[0].Reason[:len(c.reason)] != c.reason {
			t.Errorf("ConcurrencyLimits = %s: %d matches, rejections %q, want %d, and %q", c.text, got, reasons(plan), c.want, c.reason)
		}
	}
}

// Where not all of the pool is shared, targets are computed again when they are met: what is
// left goes to whoever is the furthest below its share of everything. Nor do pie slices count
// more than is shared, or what a submitter's own jobs have.
func TestBeyondThePoolsSize(t *testing.T) {
	slots := append(equal(t, 3, ""), aSlot(t, "slot4", "HasG = true"), aSlot(t, "slot5", "HasG = true"))
	heavy := append(equal(t, 4, ""), aSlot(t, "slot5", "SlotWeight = 3"))
	held := charged(runs(9, "alice@x", 5, 5, 2*time.Hour), 3)
	for _, c := range []struct {
		name, size string
		slots      []pool.Slot
		claims     []pool.Claim
		jobs       []jobprio.Run
		eups       [2]float64 // alice's and bob's
		want       string
		slices     [2]float64
	}{
		{"who has enough waits", "HasG =!= true", slots, append(runs(8, "alice@x", 1, 2, 0), runs(9, "alice@x", 4, 4, 0)...),
			[]jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 3, 2, "bob@x", "")}, [2]float64{1, 1}, "3.0>slot3 3.1>slot5", [2]float64{3, 1.5}},
		{"by the share of everything", "HasG =!= true", slots[1:], nil, []jobprio.Run{aJob(t, 1, 3, "alice@x", ""), aJob(t, 4, 2, "bob@x", "")},
			[2]float64{2, 1}, "4.0>slot2 4.1>slot3 1.0>slot4 1.1>slot5", [2]float64{2.0 / 3, 4.0 / 3}},
		{"a slice of what is shared", "HasG =!= true", slots[1:], runs(9, "alice@x", 5, 5, 2*time.Hour), []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			[2]float64{1, 1}, "1.0>slot2 1.1>slot3 1.2>slot4", [2]float64{2, 0}},
		{"its own is not there twice", "true", heavy, held, []jobprio.Run{aJob(t, 1, 1, "alice@x", ""), aJob(t, 2, 1, "bob@x", "")},
			[2]float64{1, 5}, "1.0>slot1 2.0>slot2", [2]float64{4, 1}},
	} {
		cfg := defaults(t)
		cfg.PoolSizeConstraint, cfg.Preemption = expr(t, c.size), negotiator.Preemption{Consider: true, Requirements: expr(t, "true")}
		plan := Cycle(negotiator.Pool{Slots: c.slots, Claims: c.claims, Jobs: c.jobs, Submitters: []accountant.Record{record("alice@x", c.eups[0]), record("bob@x", c.eups[1])}}, cfg, now)
		if got := pairs(plan); got != c.want {
			t.Errorf("%s: Cycle matches %s, want %s", c.name, got, c.want)
		}
		for i, who := range []string{"alice@x", "bob@x"} {
			if got := share(plan, who).PieSlice; math.Abs(got-c.slices[i]) > 1e-6 {
				t.Errorf("%s: pie slice of %s = %v, want %v", c.name, who, got, c.slices[i])
			}
		}
	}
}

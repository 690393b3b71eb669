package negotiator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

// The busy pools of the laws on preemption and quotas: most slots run something, here
// or by their own words, and users are members of accounting groups.

var lawMembers = []string{"a.alice@x", "b.bob@x", "grace@x", "a.x.carol@x", "a.dave@x", "a.x.p.erin@x", "nice-user.heidi@x", "a.y.frank@x", "b.x.ivan@x", "judy@x"}

var busySlots = []string{
	"", "", "", "", "Memory = 2048", "Cpus = 2", "HasG = true", "KFlops = 500", "SlotWeight = 3", "SlotWeight = 0.5", "Cpus = 2.5", "SlotWeight = 0", "SlotWeight = Cpus * 1.5; Cpus = 2",
	"Rank = TARGET.JobPrio", "Rank = TARGET.ClusterId % 3", "Rank = TARGET.ProcId", `Rank = "high"`, "Rank = -1", "Rank = 1", "Rank = error", "Rank = (TARGET.RequestCpus > 1) * 2",
	"Requirements = TARGET.JobPrio > 2", "Requirements = TARGET.ProcId % 2 == 0", `State = "Owner"`, "SlotID = 2", "SlotID = 3; KFlops = 1002", "RetirementTimeRemaining = 50",
}

var busyAges = []time.Duration{0, time.Minute, time.Hour, time.Hour + time.Second, 2 * time.Hour, 2 * time.Hour, 3 * time.Hour, 30 * time.Hour}

// busyPool draws a pool most of whose slots are taken. What runs there is in Jobs, too.
func busyPool(t *rapid.T, outer testing.TB, cfg Config, pieces bool, users []string) Pool {
	p, names := idlePool(t, outer, pieces, users, busySlots)
	b := &occupier{t: t, outer: outer, p: &p, names: names, eval: &classad.Context{Now: now}, weigh: (&plainCycle{cfg: cfg, eval: &classad.Context{Now: now}}).weigh}
	b.jobKinds = rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "JobPrio = 5", "JobPrio = -3", "RequestCpus = 2"}), 1, 3).Draw(t, "kinds that run")
	for i := range p.Slots {
		if rapid.IntRange(0, 3).Draw(t, "idle") == 0 {
			continue
		}
		if pool.Partitionable(b.eval, p.Slots[i].Ad) {
			b.divide(i)
		} else if state, _ := p.Slots[i].Ad.EvalString(b.eval, "State"); state == "Unclaimed" {
			b.occupy(i)
		}
	}
	return p
}

// occupier fills a pool.
type occupier struct {
	t        *rapid.T
	outer    testing.TB
	p        *Pool
	names    []string
	jobKinds []string
	eval     *classad.Context
	weigh    func(*classad.Ad) accountant.Weight
	clusters int
}

// claim draws a claim of a slot or piece that has such an ad, and the job that has it.
func (b *occupier) claim(state pool.ClaimState, slot string, piece pool.Piece, ad *classad.Ad) pool.Claim {
	j := aJob(b.outer, 100+b.clusters, 1, rapid.SampledFrom(b.names).Draw(b.t, "holder"), rapid.SampledFrom(b.jobKinds).Draw(b.t, "running job"))
	b.clusters++
	cl := pool.Claim{Job: j.First, Attempt: 1, Slot: slot, Piece: piece, Submitter: j.Submitter, State: state, Weight: b.weigh(ad),
		Limits: rapid.SampledFrom([]string{"", "", "", "lic"}).Draw(b.t, "limits"), Rank: (&cycle{eval: b.eval}).slotRank(ad, j.Ad)}
	if rapid.IntRange(0, 9).Draw(b.t, "odd") == 0 {
		cl.Weight = accountant.One * accountant.Weight(rapid.IntRange(0, 3).Draw(b.t, "weight"))
		cl.Rank = rapid.SampledFrom([]float64{-1, 0, 1, 2, 100}).Draw(b.t, "rank")
	}
	age := rapid.SampledFrom(busyAges).Draw(b.t, "age")
	cl.MatchedAt = now.Add(-min(age, 3*time.Minute))
	if state == pool.RunningClaim || state == pool.Vacating {
		cl.MatchedAt, cl.StartedAt = now.Add(-age-time.Second), now.Add(-age)
	}
	if state == pool.Vacating {
		cl.VacateSince = now
	}
	b.p.Jobs = append(b.p.Jobs, j)
	return cl
}

// occupy lets somebody have a static slot.
func (b *occupier) occupy(i int) {
	s := &b.p.Slots[i]
	add := func(state pool.ClaimState) *pool.Claim {
		b.p.Claims = append(b.p.Claims, b.claim(state, s.Name, pool.Piece{}, s.Ad))
		return &b.p.Claims[len(b.p.Claims)-1]
	}
	switch rapid.SampledFrom([]string{"runs", "runs", "runs", "runs", "runs", "outside", "outside", "matched", "vacates", "promised", "promised outside"}).Draw(b.t, "what") {
	case "runs":
		add(pool.RunningClaim)
	case "matched":
		add(pool.Matched)
	case "vacates":
		add(pool.Vacating)
	case "promised":
		next := *add(pool.Promised)
		add(pool.Vacating).PromisedTo = next.Job
	case "promised outside":
		b.holdOutside(s)
		add(pool.Promised)
	case "outside":
		b.holdOutside(s)
	}
}

// holdOutside makes a slot say that somebody has it.
func (b *occupier) holdOutside(s *pool.Slot) {
	own := s.Ad.Clone()
	who, age := rapid.SampledFrom(b.names).Draw(b.t, "who"), rapid.SampledFrom(busyAges).Draw(b.t, "age")
	own.SetString("State", "Claimed")
	own.SetString("Activity", rapid.SampledFrom([]string{"Busy", "Busy", "Busy", "Idle", "Suspended"}).Draw(b.t, "activity"))
	own.SetString("RemoteUser", who)
	own.SetString("JobId", "7.1")
	own.SetInt("EnteredCurrentState", now.Add(-age).Unix())
	own.SetInt("TotalJobRunTime", int64(age/time.Second))
	own.SetReal("CurrentRank", rapid.SampledFrom([]float64{0, 0, 1, 5}).Draw(b.t, "current rank"))
	switch rapid.SampledFrom([]string{"", "", "", "owner", "pending", "retires", "group", "limits"}).Draw(b.t, "besides") {
	case "owner":
		own.SetString("RemoteOwner", who)
	case "pending":
		own.SetString("PreemptingUser", "zoe@x")
	case "retires":
		own.SetInt("RetirementTimeRemaining", rapid.Int64Range(0, 1).Draw(b.t, "seconds"))
	case "group":
		own.SetString("AccountingGroup", strings.ToUpper(who[:1])+who[1:])
	case "limits":
		own.SetString("ConcurrencyLimits", "lic")
	}
	s.Ad = own
}

// divide lets some have pieces of a partitionable slot.
func (b *occupier) divide(i int) {
	s := &b.p.Slots[i]
	for k := range rapid.IntRange(0, 3).Draw(b.t, "pieces") {
		takes := rapid.SampledFrom([]pool.Resources{"Cpus=1 Memory=128", "Cpus=1 Memory=128", "Cpus=2", "Cpus=1 GPUs=1 Memory=1024", "Cpus=4 Memory=4096"}).Draw(b.t, "takes")
		if !pool.Fits(b.eval, pool.Left(b.eval, s.Ad, b.p.takesOf(s.Name)), takes) {
			continue
		}
		name := pool.DynamicName(s.Name, k+1)
		ad := pool.DynamicAd(s.Ad, name, takes)
		state := rapid.SampledFrom([]pool.ClaimState{pool.RunningClaim, pool.RunningClaim, pool.RunningClaim, pool.Matched, pool.Vacating}).Draw(b.t, "state")
		cl := b.claim(state, name, pool.Piece{Of: s.Name, Takes: takes}, ad)
		if state == pool.Vacating && rapid.Bool().Draw(b.t, "promised") {
			next := b.claim(pool.Promised, name, cl.Piece, ad)
			cl.PromisedTo = next.Job
			b.p.Claims = append(b.p.Claims, next)
		}
		b.p.Claims = append(b.p.Claims, cl)
	}
}

var busyRequirements = []string{
	"(time() - EnteredCurrentState) > 3600", "(time() - EnteredCurrentState) > 3600", "true", "true", "true", "RemoteUserPrio > SubmitterUserPrio * 1.2",
	"RemoteUserResourcesInUse > SubmitterUserResourcesInUse", "RemoteUserResourcesInUse > 2", "SubmitterUserResourcesInUse < 3", "SubmitterGroup =?= RemoteGroup",
	"RemoteGroupResourcesInUse > RemoteGroupQuota", "SubmitterGroupResourcesInUse < SubmitterGroupQuota", "RemoteGroup =!= \"b\"", "TARGET.JobPrio > 2", "false", "undefined",
	"Cpus == 1", `Activity == "Busy"`, `RemoteUser != "b.bob@x"`, "TotalJobRunTime > 100 && TARGET.ProcId % 2 == 0",
}

var busyRanks = []string{
	"(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)", "-TotalJobRunTime", "EnteredCurrentState", "TARGET.ProcId % 2 * SlotID", "TARGET.JobPrio - Memory",
	"7", `"x"`, "undefined", `real("NaN")`, "SlotID", "RemoteUserResourcesInUse",
}

// busyConfig draws a configuration with preemption.
func busyConfig(t *rapid.T, outer testing.TB) Config {
	cfg := lawConfig(t, outer)
	cfg.VacateTimeout = 10 * time.Minute
	cfg.Preemption = Preemption{Consider: rapid.IntRange(0, 9).Draw(t, "consider preemption") > 0, Early: rapid.Bool().Draw(t, "early")}
	if rapid.IntRange(0, 9).Draw(t, "never") > 0 {
		cfg.Preemption.Requirements = expr(outer, rapid.SampledFrom(busyRequirements).Draw(t, "PREEMPTION_REQUIREMENTS"))
	}
	if rapid.IntRange(0, 3).Draw(t, "no preference") > 0 {
		cfg.Preemption.Rank = expr(outer, rapid.SampledFrom(busyRanks).Draw(t, "PREEMPTION_RANK"))
	}
	return cfg
}

// groupConfig draws a configuration with preemption and accounting groups.
func groupConfig(t *rapid.T, outer testing.TB) Config {
	cfg := busyConfig(t, outer)
	cfg.Params.Groups = lawTree(t)
	cfg.Quotas.Oversubscribe = rapid.Bool().Draw(t, "oversubscribe")
	cfg.Quotas.Strict = rapid.IntRange(0, 3).Draw(t, "strict") > 0
	if rapid.IntRange(0, 3).Draw(t, "sorted") == 0 {
		cfg.Quotas.SortExpr = expr(outer, rapid.SampledFrom([]string{"GroupResourcesInUse", "-GroupQuota", `AccountingGroup == "b" ? 0 : 1`, "undefined", "-GroupResourcesAllocated"}).Draw(t, "GROUP_SORT_EXPR"))
	}
	return cfg
}

// lawTree draws accounting groups.
func lawTree(t *rapid.T) *accountant.Groups {
	var list []accountant.Group
	there := map[string]bool{"": true}
	for _, name := range []string{"a", "b", "a.x", "a.y", "b.x", "a.x.p"} {
		parent := name[:max(0, strings.LastIndexByte(name, '.'))]
		if !there[parent] || rapid.IntRange(0, 4).Draw(t, "without "+name) == 0 {
			continue
		}
		there[name] = true
		g := accountant.Group{Name: name, AcceptSurplus: rapid.Bool().Draw(t, "accepts surplus"), Autoregroup: rapid.IntRange(0, 5).Draw(t, "regroups") == 0}
		switch kind := rapid.IntRange(0, 4).Draw(t, "quota"); {
		case kind == 0:
		case kind < 3:
			g.Quota = rapid.SampledFrom([]float64{0.5, 1, 2, 2.5, 3, 5, 40}).Draw(t, "static")
		default:
			g.Quota, g.Dynamic = rapid.SampledFrom([]float64{0.1, 0.25, 0.3, 0.5, 1, 1.5}).Draw(t, "dynamic"), true
		}
		list = append(list, g)
	}
	tree, err := accountant.NewGroups(list)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// anyBusy draws a busy pool, with groups or without.
func anyBusy(t *rapid.T, outer testing.TB, pieces bool) (Pool, Config) {
	if rapid.Bool().Draw(t, "groups") {
		cfg := groupConfig(t, outer)
		return busyPool(t, outer, cfg, pieces, lawMembers), cfg
	}
	cfg := busyConfig(t, outer)
	return busyPool(t, outer, cfg, pieces, lawUsers), cfg
}

// portrait describes a busy pool and its configuration in a failure.
func portrait(p Pool, cfg Config) string {
	var b strings.Builder
	for _, s := range p.Slots {
		fmt.Fprintf(&b, "%s: %v\n", s.Name, s.Ad)
	}
	for _, cl := range p.Claims {
		fmt.Fprintf(&b, "%s %s of %s on %s %v, weight %v, rank %v, for %v\n", cl.State, cl.Job, cl.Submitter, cl.Slot, cl.Piece.Takes, cl.Weight, cl.Rank, now.Sub(cl.StartedAt))
	}
	for _, j := range p.Jobs {
		if j.First.Cluster < 100 {
			fmt.Fprintf(&b, "%s %d of %s: %v\n", j.First, j.Count, j.Submitter, j.Ad)
		}
	}
	for _, r := range p.Submitters {
		fmt.Fprintf(&b, "%s %v ceiling %+v floor %d\n", r.Name, r.Priority, r.Ceiling, r.Floor)
	}
	if tree := cfg.Params.Groups; tree != nil {
		fmt.Fprintf(&b, "%+v\n", tree.List)
	}
	fmt.Fprintf(&b, "%+v\npre %v post %v weights %v ignore %v pool %v job %v slot %v reserve %+v\nrequirements %v rank %v\n", cfg.Quotas, cfg.PreJobRank, cfg.PostJobRank, cfg.UseSlotWeights, cfg.IgnoreUserPriorities,
		cfg.PoolSizeConstraint, cfg.JobConstraint, cfg.SlotConstraint, cfg.Reserve, cfg.Preemption.Requirements, cfg.Preemption.Rank)
	return b.String()
}

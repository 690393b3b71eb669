package negotiation

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
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

// evenly draws a number below n. Draws of rapid itself prefer small ones.
func evenly(t *rapid.T, n int, what string) int {
	x := 0
	for _, bit := range rapid.SliceOfN(rapid.Bool(), 8, 8).Draw(t, what) {
		x *= 2
		if bit {
			x++
		}
	}
	return x * n / 256
}

func oneOf[T any](t *rapid.T, what string, list []T) T { return list[evenly(t, len(list), what)] }

// busyPool draws a pool most of whose slots are taken. What runs there is in Jobs, too.
func busyPool(t *rapid.T, outer testing.TB, cfg negotiator.Config, pieces bool, users []string) negotiator.Pool {
	names := users[:2+evenly(t, len(users)-1, "users")]
	p := idlePool(t, outer, pieces, names, busySlots)
	least := 3 + evenly(t, 8, "slots at least")
	for i := len(p.Slots); i < least; i++ {
		text := oneOf(t, "more slots", busySlots)
		if pieces && evenly(t, 3, "partitionable") == 0 {
			text = "PartitionableSlot = true; Cpus = 4; Memory = 4096"
		}
		p.Slots = append(p.Slots, aSlot(outer, fmt.Sprintf("slot%d@n", i+1), text))
	}
	for range 1 + evenly(t, 4, "more runs") {
		p.Jobs = append(p.Jobs, aJob(outer, len(p.Jobs)+1, 1+evenly(t, 6, "count"), oneOf(t, "submitter", names), oneOf(t, "job", busyJobs)))
	}
	for i := range p.Submitters {
		p.Submitters[i].Priority = oneOf(t, "rup", []float64{0.5, 1, 2, 3.7, 10, 1000})
	}
	b := &occupier{t: t, outer: outer, p: &p, names: names, rules: rulesOf(cfg)}
	if evenly(t, 2, "one holder") == 0 {
		b.names = names[len(names)-1:]
	}
	for i := range p.Slots {
		if evenly(t, 6, "busy") == 0 {
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

var busyJobs = []string{"", "", "", "JobPrio = 5", "JobPrio = -3", "RequestCpus = 2", "Rank = TARGET.Cpus", `ConcurrencyLimits = "lic"`, "Requirements = TARGET.HasG =!= true", "Rank = TARGET.SlotID", "Rank = (TARGET.RemoteOwner =!= undefined) * 5"}

// occupier fills a pool.
type occupier struct {
	t     *rapid.T
	outer testing.TB
	p     *negotiator.Pool
	names []string
	rules
	clusters int
}

// claim draws a claim of a slot or piece that has such an ad, and the job that has it.
func (b *occupier) claim(state pool.ClaimState, slot string, piece pool.Piece, ad *classad.Ad) pool.Claim {
	j := aJob(b.outer, 100+b.clusters, 1, oneOf(b.t, "holder", b.names), oneOf(b.t, "running job", busyJobs[:6]))
	b.clusters++
	cl := pool.Claim{Job: j.FirstJob(), Attempt: 1, Slot: slot, Piece: piece, Submitter: j.Submitter, State: state, Weight: b.weigh(ad),
		Limits: oneOf(b.t, "limits", []string{"", "", "", "lic"}), Rank: slotRank(b.eval, ad, j.Ad)}
	if evenly(b.t, 10, "odd") == 0 {
		cl.Weight = accountant.One * accountant.Weight(evenly(b.t, 4, "weight"))
		cl.Rank = oneOf(b.t, "rank", []float64{-1, 0, 1, 2, 100})
	}
	age := oneOf(b.t, "age", busyAges)
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
	switch oneOf(b.t, "what", []string{"runs", "runs", "runs", "runs", "runs", "runs", "runs", "outside", "outside", "matched", "vacates", "promised", "promised outside"}) {
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
	who, age := oneOf(b.t, "who", b.names), oneOf(b.t, "age", busyAges)
	own.SetString("State", "Claimed")
	own.SetString("Activity", oneOf(b.t, "activity", []string{"Busy", "Busy", "Busy", "Idle", "Suspended"}))
	own.SetString("RemoteUser", who)
	own.SetString("JobId", "7.1")
	own.SetInt("EnteredCurrentState", now.Add(-age).Unix())
	own.SetInt("TotalJobRunTime", int64(age/time.Second))
	own.SetReal("CurrentRank", oneOf(b.t, "current rank", []float64{0, 0, 1, 5}))
	switch oneOf(b.t, "besides", []string{"", "", "", "owner", "pending", "retires", "group", "limits"}) {
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
	for k := range evenly(b.t, 4, "pieces") {
		takes := oneOf(b.t, "takes", []pool.Resources{"Cpus=1 Memory=128", "Cpus=1 Memory=128", "Cpus=2", "Cpus=1 GPUs=1 Memory=1024", "Cpus=4 Memory=4096"})
		if !pool.Fits(b.eval, pool.Left(b.eval, s.Ad, takesOf(b.p, s.Name)), takes) {
			continue
		}
		name := pool.DynamicName(s.Name, k+1)
		ad := pool.DynamicAd(s.Ad, name, takes)
		state := oneOf(b.t, "state", []pool.ClaimState{pool.RunningClaim, pool.RunningClaim, pool.RunningClaim, pool.Matched, pool.Vacating})
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
func busyConfig(t *rapid.T, outer testing.TB) negotiator.Config {
	cfg := lawConfig(t, outer)
	cfg.VacateTimeout = 10 * time.Minute
	if evenly(t, 6, "constraints") > 0 {
		cfg.JobConstraint, cfg.SlotConstraint, cfg.PoolSizeConstraint = nil, nil, nil
	}
	cfg.Preemption = negotiator.Preemption{Consider: evenly(t, 10, "consider preemption") > 0, Early: rapid.Bool().Draw(t, "early")}
	if evenly(t, 10, "never") > 0 {
		cfg.Preemption.Requirements = expr(outer, oneOf(t, "PREEMPTION_REQUIREMENTS", busyRequirements))
	}
	if evenly(t, 4, "no preference") > 0 {
		cfg.Preemption.Rank = expr(outer, oneOf(t, "PREEMPTION_RANK", busyRanks))
	}
	return cfg
}

// groupConfig draws a configuration with preemption and accounting groups.
func groupConfig(t *rapid.T, outer testing.TB) negotiator.Config {
	cfg := busyConfig(t, outer)
	cfg.Params.Groups = lawTree(t)
	cfg.Quotas.Oversubscribe = rapid.Bool().Draw(t, "oversubscribe")
	cfg.Quotas.Strict = evenly(t, 4, "strict") > 0
	if evenly(t, 4, "sorted") == 0 {
		cfg.Quotas.SortExpr = expr(outer, oneOf(t, "GROUP_SORT_EXPR", []string{"GroupResourcesInUse", "-GroupQuota", `AccountingGroup == "b" ? 0 : 1`, "undefined", "-GroupResourcesAllocated"}))
	}
	return cfg
}

// lawTree draws accounting groups.
func lawTree(t *rapid.T) *accountant.Groups {
	var list []accountant.Group
	there := map[string]bool{"": true}
	for _, name := range []string{"a", "b", "a.x", "a.y", "b.x", "a.x.p"} {
		parent := name[:max(0, strings.LastIndexByte(name, '.'))]
		if !there[parent] || evenly(t, 5, "without "+name) == 0 {
			continue
		}
		there[name] = true
		g := accountant.Group{Name: name, AcceptSurplus: rapid.Bool().Draw(t, "accepts surplus"), Autoregroup: evenly(t, 6, "regroups") == 0}
		switch kind := evenly(t, 5, "quota"); {
		case kind == 0:
		case kind < 3:
			g.Quota = oneOf(t, "static", []float64{0.5, 1, 2, 2.5, 3, 5, 40})
		default:
			g.Quota, g.Dynamic = oneOf(t, "dynamic", []float64{0.1, 0.25, 0.3, 0.5, 1, 1.5}), true
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
func anyBusy(t *rapid.T, outer testing.TB, pieces bool) (negotiator.Pool, negotiator.Config) {
	if rapid.Bool().Draw(t, "groups") {
		cfg := groupConfig(t, outer)
		return busyPool(t, outer, cfg, pieces, lawMembers), cfg
	}
	cfg := busyConfig(t, outer)
	return busyPool(t, outer, cfg, pieces, lawUsers), cfg
}

// portrait describes a busy pool and its configuration in a failure.
func portrait(p negotiator.Pool, cfg negotiator.Config) string {
	var b strings.Builder
	for _, s := range p.Slots {
		fmt.Fprintf(&b, "%s: %v\n", s.Name, s.Ad)
	}
	for _, cl := range p.Claims {
		fmt.Fprintf(&b, "%s %s of %s on %s %v, weight %v, rank %v, for %v\n", cl.State, cl.Job, cl.Submitter, cl.Slot, cl.Piece.Takes, cl.Weight, cl.Rank, now.Sub(cl.StartedAt))
	}
	for _, j := range p.Jobs {
		if j.Cluster < 100 {
			fmt.Fprintf(&b, "%s %d of %s: %v\n", j.FirstJob(), j.Count(), j.Submitter, j.Ad)
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

// slotRank returns what a slot's Rank makes of a job, 0 where that is no number.
func slotRank(eval *classad.Context, slot, job *classad.Ad) float64 {
	x, ok := slot.Eval(eval, pool.AttrRank, job).Number()
	if !ok || math.IsNaN(x) {
		return 0
	}
	return x
}

package negotiation

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// BenchmarkFloors has ten thousand submitters, all with floors that the pool just
// has slots for.
func BenchmarkFloors(b *testing.B) {
	const many, floor = 10_000, 2
	p := negotiator.Pool{Slots: equal(b, many*floor, "")}
	for i := range many {
		name := fmt.Sprintf("u%d@x", i)
		p.Jobs = append(p.Jobs, aJob(b, i+1, 2*floor, name, ""))
		p.Submitters = append(p.Submitters, bounded(name, float64(1+i%17), -1, floor))
	}
	for b.Loop() {
		if plan := Cycle(p, defaults(b), now); len(plan.Matches) != many*floor {
			b.Fatalf("%d matches, want %d", len(plan.Matches), many*floor)
		}
	}
}

// bigPool is made of shapes job shapes, runs of equal procs, and kinds of
// machine with four slots each, all in one pool.
func bigPool(b *testing.B, jobs, shapes, slots, kinds int) negotiator.Pool {
	b.Helper()
	in := classad.NewInterner()
	set := func(ad *classad.Ad, name, text string) {
		e, err := in.Expr(text)
		if err != nil {
			b.Fatal(err)
		}
		ad.Set(name, e)
	}
	var p negotiator.Pool
	for i := range slots {
		kind := i / 4 % kinds
		name := fmt.Sprintf("slot%d@node%d", i%4+1, i/4)
		ad := classad.New()
		set(ad, "Name", fmt.Sprintf("%q", name))
		for _, a := range [][2]string{
			{"MyType", `"Machine"`}, {"State", `"Unclaimed"`}, {"Activity", `"Idle"`}, {"OpSys", `"LINUX"`}, {"Arch", `"X86_64"`}, {"Rank", "0.0"},
			{"Start", "true"}, {"Requirements", "START && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory"},
			{"Cpus", fmt.Sprint(1 + kind%4)}, {"Memory", fmt.Sprint(1024 * (1 + kind%8))}, {"SlotID", fmt.Sprint(i%4 + 1)},
			{"KFlops", fmt.Sprint(100000 + 1000*kind)}, {"LoadAvg", "0.1"}, {"Disk", "1000000"},
		} {
			set(ad, a[0], a[1])
		}
		p.Slots = append(p.Slots, pool.Slot{Name: name, Ad: ad})
	}
	for i := range shapes {
		ad := classad.New()
		for _, a := range [][2]string{
			{"MyType", `"Job"`}, {"ClusterId", fmt.Sprint(i + 1)}, {"ProcId", "0"}, {"JobPrio", fmt.Sprint(i % 3)}, {"QDate", "1600000000"},
			{"RequestCpus", "1"}, {"RequestMemory", fmt.Sprint(100 * (1 + i%40))}, {"Rank", []string{"0.0", "KFlops"}[i%2]},
			{"Requirements", fmt.Sprintf(`TARGET.Arch == "X86_64" && TARGET.OpSys == "LINUX" && TARGET.Memory >= RequestMemory && TARGET.Disk >= %d`, i)},
		} {
			set(ad, a[0], a[1])
		}
		p.Jobs = append(p.Jobs, jobprio.Run{Procs: pool.Procs{Cluster: i + 1, First: 0, Last: jobs/shapes - 1}, Submitter: fmt.Sprintf("user%d@x", i%10), Ad: ad})
	}
	for i := range 10 {
		p.Submitters = append(p.Submitters, record(fmt.Sprintf("user%d@x", i), float64(1+i)))
	}
	return p
}

func BenchmarkCycle(b *testing.B) {
	for _, c := range []struct{ jobs, shapes, slots, kinds int }{
		{10_000, 20, 1_000, 25},
		{100_000, 100, 10_000, 100},
		{100_000, 100, 10_000, 2_500}, // every machine another KFlops
	} {
		b.Run(fmt.Sprintf("jobs=%d/shapes=%d/slots=%d/kinds=%d", c.jobs, c.shapes, c.slots, c.kinds), func(b *testing.B) {
			p, cfg := bigPool(b, c.jobs, c.shapes, c.slots, c.kinds), defaults(b)
			b.ReportAllocs()
			for b.Loop() {
				if plan := Cycle(p, cfg, now); len(plan.Matches) != c.slots {
					b.Fatalf("%d matches, want %d", len(plan.Matches), c.slots)
				}
			}
		})
	}
}

// fullPool says what a pool is like in which every slot runs somebody's job and many
// wait.
type fullPool struct {
	name         string
	slots, kinds int    // kinds: that differ in what jobs ask for
	pieces       int    // of each partitionable slot; 0: static slots
	requirements string // PREEMPTION_REQUIREMENTS
	rank         string // of the slots; empty: 0.0
	pie          negotiator.Pie
}

// fullPools are 100,000 claims each, one of 20,000 in which no slot is like another, and
// 100,000 idle jobs. byDefault is the configuration's
// default PREEMPTION_REQUIREMENTS.
var fullPools = []fullPool{
	{name: "default", slots: 100_000, kinds: 500, requirements: byDefault},
	{name: "priority", slots: 100_000, kinds: 500, requirements: "RemoteUserPrio > SubmitterUserPrio * 1.2 && (time() - EnteredCurrentState) > 3600"},
	{name: "groups", slots: 100_000, kinds: 500, requirements: byDefault + " && SubmitterGroupResourcesInUse < SubmitterGroupQuota && RemoteGroupResourcesInUse > RemoteGroupQuota"},
	{name: "rank", slots: 100_000, kinds: 500, requirements: byDefault, rank: "10 * (TARGET.RequestMemory > 4000)"},
	{name: "all-apart", slots: 20_000, kinds: 20_000, requirements: byDefault},
	{name: "pieces", slots: 10_000, kinds: 50, pieces: 10, requirements: byDefault},
	{name: "spins", slots: 100_000, kinds: 500, requirements: byDefault, pie: negotiator.Spins},
}

const (
	byDefault   = "(time() - EnteredCurrentState) > 3600"
	fullUsers   = 500 // submitters
	fullWaiting = 100_000
)

// fullGroups are 50 groups three levels deep: 5 with a quota of 15 % of the pool each, with 3
// below each that have the half of it together, with 2 below each. Every second leaf
// accepts surplus, and so do those above.
func fullGroups(b *testing.B) *accountant.Groups {
	b.Helper()
	var list []accountant.Group
	for i := range 5 {
		top := fmt.Sprintf("site%d", i)
		list = append(list, accountant.Group{Name: top, Quota: .15, Dynamic: true, AcceptSurplus: true})
		for j := range 3 {
			middle := fmt.Sprintf("%s.lab%d", top, j)
			list = append(list, accountant.Group{Name: middle, Quota: 2000, AcceptSurplus: j > 0})
			for k := range 2 {
				list = append(list, accountant.Group{Name: fmt.Sprintf("%s.team%d", middle, k), Quota: .4, Dynamic: true, AcceptSurplus: k == 0})
			}
		}
	}
	tree, err := accountant.NewGroups(list)
	if err != nil {
		b.Fatal(err)
	}
	return tree
}

func (f fullPool) config(b *testing.B) negotiator.Config {
	b.Helper()
	cfg := preempting(b)
	cfg.PreJobRank = expr(b, `(1.0e12 * (RemoteOwner =?= UNDEFINED)) + (10000000 * My.Rank) - (100000 * Cpus) - Memory`)
	cfg.Preemption.Requirements = expr(b, f.requirements)
	cfg.Preemption.RequirementsStable, cfg.Preemption.RankStable = true, true
	cfg.Pie = f.pie
	cfg.Params.Groups = fullGroups(b)
	cfg.Quotas = negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: math.MaxFloat64, WeightedDemand: true}
	cfg.VacateTimeout = 10 * time.Minute
	return cfg
}

// user returns the name of a submitter: nine of ten are in a group.
func (f fullPool) user(groups *accountant.Groups, i int) string {
	if i %= fullUsers; i%10 > 0 {
		return fmt.Sprintf("%s.user%d@x", groups.List[1+i%(len(groups.List)-1)].Name, i)
	}
	return fmt.Sprintf("user%d@x", i)
}

func (f fullPool) pool(b *testing.B, groups *accountant.Groups) negotiator.Pool {
	b.Helper()
	var p negotiator.Pool
	var text strings.Builder
	for i := range f.slots {
		name := fmt.Sprintf("slot%d@node%d", i%16+1, i/16)
		text.WriteString(f.slotAd(name, i))
		p.Slots = append(p.Slots, pool.Slot{Name: name})
	}
	for i := range f.slots * max(1, f.pieces) {
		p.Claims = append(p.Claims, f.claim(p.Slots, groups, i))
	}
	for i := range fullWaiting / 100 {
		text.WriteString(fullJobAd(i))
		p.Jobs = append(p.Jobs, jobprio.Run{Procs: pool.Procs{Cluster: i + 1, First: 0, Last: 99}, Submitter: f.user(groups, i)})
	}
	r := classad.NewReader(strings.NewReader(text.String()), f.name)
	for i := range p.Slots {
		p.Slots[i].Ad = nextAd(b, r)
	}
	for i := range p.Jobs {
		p.Jobs[i].Ad = nextAd(b, r)
	}
	for i := range fullUsers {
		p.Submitters = append(p.Submitters, record(f.user(groups, i), 1+float64(i*37%fullUsers)))
	}
	return p
}

func nextAd(b *testing.B, r *classad.Reader) *classad.Ad {
	b.Helper()
	ad, err := r.Next()
	if err != nil {
		b.Fatal(err)
	}
	return ad
}

// slotAd is that of a static slot, or of a partitionable one of 32 cores.
func (f fullPool) slotAd(name string, i int) string {
	kind, cpus, memory := i%f.kinds, f.cpus(i), 1024*(1+i%f.kinds%8)
	if f.kinds == f.slots {
		memory = 1024 + i
	}
	if f.pieces > 0 {
		cpus, memory = 32, 128*1024
	}
	return fmt.Sprintf(`MyType = "Machine"
Name = %q
State = "Unclaimed"
Activity = "Idle"
OpSys = "LINUX"
Arch = "X86_64"
Rank = %s
Start = true
Requirements = START && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory
Cpus = %d
Memory = %d
Disk = %d
SlotID = %d
KFlops = %d
LoadAvg = 0.%d
PartitionableSlot = %v

`, name, cmp.Or(f.rank, "0.0"), cpus, memory, 1_000_000+kind, i%16+1, 100_000+1000*kind, i%97, f.pieces > 0)
}

// cpus returns how many cores a static slot has: one, or two.
func (f fullPool) cpus(i int) int { return 1 + i%f.kinds%5/4 }

// claim is the i-th: 50 submitters have two thirds of them, and each has run for anything
// up to a day.
func (f fullPool) claim(slots []pool.Slot, groups *accountant.Groups, i int) pool.Claim {
	who := i * 7919 % fullUsers
	if i%3 > 0 {
		who = who / 10 * 10 % fullUsers
	}
	start := now.Add(-time.Duration(i*7907%86400) * time.Second)
	cl := pool.Claim{Job: pool.JobID{Cluster: 1_000_000 + i/1000, Proc: i % 1000}, Attempt: 1, Slot: slots[i%len(slots)].Name,
		Submitter: f.user(groups, who+7), State: pool.RunningClaim, Weight: accountant.Weight(f.cpus(i%len(slots))) * accountant.One, MatchedAt: start, StartedAt: start}
	if f.pieces > 0 {
		cl.Piece = pool.Piece{Of: cl.Slot, Takes: pool.Resources("Cpus=3 Memory=12000")}
		cl.Slot = strings.Replace(cl.Slot, "@", fmt.Sprintf("_%d@", i/len(slots)+1), 1)
		cl.Weight = 3 * accountant.One
	}
	return cl
}

// fullJobAd is one of 100 shapes.
func fullJobAd(i int) string {
	return fmt.Sprintf(`MyType = "Job"
ClusterId = %d
ProcId = 0
JobPrio = %d
QDate = 1600000000
RequestCpus = 1
RequestMemory = %d
Rank = %s
Requirements = TARGET.Arch == "X86_64" && TARGET.OpSys == "LINUX" && TARGET.Memory >= RequestMemory && TARGET.Disk >= %d

`, i+1, i%3, 100*(1+i/fullUsers*7%25+i%25), []string{"0.0", "KFlops"}[i%2], i%50)
}

// BenchmarkPreemption is a cycle in which all that is to be had runs somebody's job, with 50
// accounting groups three levels deep.
func BenchmarkPreemption(b *testing.B) {
	for _, f := range fullPools {
		b.Run(f.name, func(b *testing.B) {
			cfg := f.config(b)
			p := f.pool(b, cfg.Params.Groups)
			matches := 0
			b.ReportAllocs()
			for b.Loop() {
				matches = len(Cycle(p, cfg, now).Matches)
			}
			b.ReportMetric(float64(matches), "matches")
		})
	}
}

// manyShapes is a pool of equal slots, and jobs of which no two request the same memory, in
// MB from 100 on; their submitters take turns. kind are attributes of the slots.
func manyShapes(tb testing.TB, shapes, submitters, slots int, kind string) negotiator.Pool {
	tb.Helper()
	in := classad.NewInterner()
	set := func(ad *classad.Ad, name, text string) {
		e, err := in.Expr(text)
		if err != nil {
			tb.Fatal(err)
		}
		ad.Set(name, e)
	}
	p := negotiator.Pool{Slots: equal(tb, slots, kind)}
	for i := range shapes {
		ad := classad.New()
		for _, a := range [][2]string{
			{"MyType", `"Job"`}, {"ClusterId", fmt.Sprint(1 + i%submitters)}, {"ProcId", fmt.Sprint(i / submitters)}, {"JobPrio", fmt.Sprint(i * 7919 % 1000)},
			{"QDate", "1600000000"}, {"RequestCpus", "1"}, {"RequestMemory", fmt.Sprint(100 + i)}, {"RequestDisk", "10"},
			{"Requirements", `TARGET.Memory >= RequestMemory && TARGET.Disk >= RequestDisk`},
		} {
			set(ad, a[0], a[1])
		}
		p.Jobs = append(p.Jobs, jobprio.Run{Procs: pool.Procs{Cluster: 1 + i%submitters, First: i / submitters, Last: i / submitters}, Submitter: fmt.Sprintf("user%d@x", i%submitters), Ad: ad})
	}
	for i := range submitters {
		p.Submitters = append(p.Submitters, record(fmt.Sprintf("user%d@x", i), float64(1+i%10)))
	}
	return p
}

// BenchmarkShapes has jobs that are all unlike, most of which no slot has memory enough for.
func BenchmarkShapes(b *testing.B) {
	const whole, divisible = "Memory = 1024; Disk = 1000000; Requirements = true",
		"PartitionableSlot = true; Cpus = 8; Memory = 16384; Disk = 1000000; Requirements = true"
	for _, c := range []struct {
		name                      string
		shapes, submitters, slots int
		kind                      string
	}{
		{"slots", 10_000, 1, 200, whole},
		{"slots", 100_000, 1, 200, whole},
		{"slots", 100_000, 1_000, 200, whole},
		{"partitionable", 10_000, 1, 200, divisible},
		{"partitionable", 100_000, 1, 200, divisible},
		{"partitionable", 100_000, 1_000, 200, divisible},
		{"partitionable", 100_000, 10_000, 200, divisible},
	} {
		b.Run(fmt.Sprintf("%s=%d/shapes=%d/submitters=%d", c.name, c.slots, c.shapes, c.submitters), func(b *testing.B) {
			p, cfg := manyShapes(b, c.shapes, c.submitters, c.slots, c.kind), defaults(b)
			b.ReportAllocs()
			for b.Loop() {
				if plan := Cycle(p, cfg, now); len(plan.Matches) < c.slots || len(plan.Matches)+len(plan.Rejections) != c.shapes {
					b.Fatalf("%d matches and %d rejections, want at least %d, and %d in all", len(plan.Matches), len(plan.Rejections), c.slots, c.shapes)
				}
			}
		})
	}
}

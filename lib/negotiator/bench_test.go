package negotiator

import (
	"fmt"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// BenchmarkFloors has ten thousand submitters, all with floors that the pool just
// has slots for.
func BenchmarkFloors(b *testing.B) {
	const many, floor = 10_000, 2
	p := Pool{Slots: equal(b, many*floor, "")}
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
func bigPool(b *testing.B, jobs, shapes, slots, kinds int) Pool {
	b.Helper()
	in := classad.NewInterner()
	set := func(ad *classad.Ad, name, text string) {
		e, err := in.Expr(text)
		if err != nil {
			b.Fatal(err)
		}
		ad.Set(name, e)
	}
	var p Pool
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

func BenchmarkTargets(b *testing.B) {
	claimants := make([]Claimant, 1000)
	for i := range claimants {
		claimants[i] = Claimant{EUP: float64(1 + i%97), Usage: float64(i % 13), Demand: float64(i % 1009)}
	}
	for b.Loop() {
		Targets(50_000, claimants)
	}
}

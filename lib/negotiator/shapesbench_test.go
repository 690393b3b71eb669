package negotiator

import (
	"fmt"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// manyShapes is a pool of equal slots, and jobs of which no two request the same memory, in
// MB from 100 on; their submitters take turns. kind are attributes of the slots.
func manyShapes(tb testing.TB, shapes, submitters, slots int, kind string) Pool {
	tb.Helper()
	in := classad.NewInterner()
	set := func(ad *classad.Ad, name, text string) {
		e, err := in.Expr(text)
		if err != nil {
			tb.Fatal(err)
		}
		ad.Set(name, e)
	}
	p := Pool{Slots: equal(tb, slots, kind)}
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

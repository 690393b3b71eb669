package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// inTurns is a policy that costs next to nothing: the runs of all submitters by ID, with a limit
// that bounds nobody.
type inTurns struct{}

func (inTurns) Name() string         { return "in turns" }
func (inTurns) Attributes() []string { return []string{"QDate"} }

func (inTurns) Order(w jobprio.Waiting) jobprio.Order {
	o := jobprio.Order{Limits: noLimits{}, CountPassed: true, Places: make([]jobprio.Place, len(w.Idle))}
	for i, r := range w.Idle {
		o.Places[i] = jobprio.Place{Part: jobprio.Part{Run: i, Procs: r.Procs}}
	}
	slices.SortFunc(o.Places, func(a, b jobprio.Place) int {
		x, y := w.Idle[a.Run].FirstJob(), w.Idle[b.Run].FirstJob()
		return cmp.Or(cmp.Compare(x.Proc, y.Proc), cmp.Compare(x.Cluster, y.Cluster))
	})
	return o
}

type noLimits struct{}

func (noLimits) Attributes() []string         { return []string{"JobPrio"} }
func (noLimits) Kind(jobprio.Run) int         { return 0 }
func (noLimits) Refuses(int, bool) string     { return "" }
func (noLimits) Admits(int, []int, bool) bool { return true }
func (noLimits) Take(int)                     {}
func (noLimits) Lasting(int) bool             { return true }

// BenchmarkOneQueue deals by one queue and, to compare, by shares. Runs is how many there are of
// each shape: their procs come in turns, so that the next job is always another submitter's.
func BenchmarkOneQueue(b *testing.B) {
	for _, c := range []struct{ jobs, shapes, runs, slots, kinds int }{
		{100_000, 100, 1, 1_000, 25},
		{100_000, 100, 1_000, 1_000, 25},
		{1_000_000, 100, 1, 10_000, 100},
		{1_000_000, 100, 100, 10_000, 100},
	} {
		p := bigPool(b, c.jobs, c.shapes, c.slots, c.kinds)
		var cut []jobprio.Run
		for _, j := range p.Jobs {
			each := j.Count() / c.runs
			for i := range c.runs {
				ad := classad.New().Chain(j.Ad)
				ad.SetInt(pool.AttrProcID, int64(i*each))
				cut = append(cut, jobprio.Run{Procs: pool.Procs{Cluster: j.Cluster, First: i * each, Last: i*each + each - 1}, Submitter: j.Submitter, Ad: ad})
			}
		}
		p.Jobs = cut
		for _, policy := range []jobprio.Queue{nil, inTurns{}} {
			b.Run(fmt.Sprintf("jobs=%d/runs=%d/slots=%d/one=%v", c.jobs, len(p.Jobs), c.slots, policy != nil), func(b *testing.B) {
				cfg := defaults(b)
				cfg.Queue = policy
				b.ReportAllocs()
				for b.Loop() {
					if plan := Cycle(p, cfg, now); len(plan.Matches) != c.slots {
						b.Fatalf("%d matches, want %d", len(plan.Matches), c.slots)
					}
				}
			})
		}
	}
}

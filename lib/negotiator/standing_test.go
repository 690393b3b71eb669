package negotiator

import (
	"math"
	"strings"
	"testing"

	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

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
		q, at, places := queuedJobs(p, cfg, plan), map[pool.JobID]Standing{}, 0
		last := map[bool]int{false: -1, true: -1} // place in the order, of nice users and others
		for _, x := range plan.Standings {
			for proc := x.First; proc <= x.Last; proc++ {
				id := pool.JobID{Cluster: x.Cluster, Proc: proc}
				if _, twice := at[id]; twice {
					rt.Fatalf("%v stands twice in %v", id, plan.Standings)
				}
				at[id] = Standing{pool.Procs{Cluster: x.Cluster, First: proc, Last: proc}, x.Submitter, x.Place, x.Priority}
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

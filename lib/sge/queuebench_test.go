package sge

import (
	"fmt"
	"testing"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// BenchmarkListing makes the queue of jobs that all stand alone, from their ads: what a cycle
// pays for the policy.
func BenchmarkListing(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := shared()
			c.Complexes = complexes().Complexes
			c.WeightUrgency = 0.1
			var w jobprio.Waiting
			for i := range n / 20 {
				parent := adOf(b, fmt.Sprintf(`Owner = "user%d"; QDate = %d; RequestCpus = 1; RequestLic = 2; Cmd = "/bin/true"; JobPrio = 0; UnixGroup = "staff"`, i%500, noon-i))
				for proc := range 20 {
					r := jobprio.Run{Procs: pool.Procs{Cluster: i + 1, First: proc, Last: proc}, Ad: adOf(b, fmt.Sprintf("ProcId = %d", proc)).Chain(parent)}
					w.Idle = append(w.Idle, r)
				}
			}
			q := NewQueue(c, queueWorld)
			for b.Loop() {
				q.Listing(w)
			}
		})
	}
}

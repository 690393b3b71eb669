package operation

import (
	"math"
	"sort"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// queueFact is an attribute that a policy with one queue keeps in equal procs.
type queueFact struct {
	negotiator.Procs
	name string
	is   int64
}

// queueFacts returns what a plan wants kept in jobs until the next cycle: since when they are
// considered, and how often they were passed over. Jobs that changed since the snapshot are
// left out. It is to be called before the transaction changes any.
func queueFacts(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot) []queueFact {
	var facts []queueFact
	note := func(p negotiator.Procs, name string, is int64) {
		if n := len(facts); n > 0 {
			if last := &facts[n-1]; last.name == name && last.is == is && last.Cluster == p.Cluster && last.Last+1 == p.First {
				last.Last = p.Last
				return
			}
		}
		facts = append(facts, queueFact{p, name, is})
	}
	for _, k := range plan.Clocks {
		eachUnchanged(tx, k.Procs, seen, func(p negotiator.Procs, _ *classad.Ad) { note(p, pool.AttrEligibleSince, k.Since) })
	}
	for _, k := range plan.Passed {
		eachUnchanged(tx, k.Procs, seen, func(p negotiator.Procs, ad *classad.Ad) {
			before, _ := ad.EvalInt(&classad.Context{}, pool.AttrBypassCount)
			note(p, pool.AttrBypassCount, min(max(before, 0), math.MaxInt64-int64(k.Times))+int64(k.Times))
		})
	}
	return facts
}

// eachUnchanged calls do for those of some procs that are as the cycle saw them, run by run.
func eachUnchanged(tx *spool.Tx, p negotiator.Procs, seen Snapshot, do func(negotiator.Procs, *classad.Ad)) {
	cluster, ok := tx.Cluster(p.Cluster)
	if !ok {
		return
	}
	runs := cluster.Runs
	for _, run := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].Last >= p.First }):] {
		if run.First > p.Last {
			return
		}
		if run.Seq <= seen.seq {
			do(negotiator.Procs{Cluster: p.Cluster, First: max(run.First, p.First), Last: min(run.Last, p.Last)}, run.Ad)
		}
	}
}

// keepQueueFacts notes them in the jobs.
func keepQueueFacts(tx *spool.Tx, facts []queueFact) {
	for _, f := range facts {
		tx.SetRange(f.Cluster, f.First, f.Last, f.name, classad.Literal(classad.Int(f.is)))
	}
}

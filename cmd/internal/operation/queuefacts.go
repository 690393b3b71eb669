package operation

import (
	"math"
	"sort"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// queueFact is an attribute that a policy with one queue keeps in equal procs.
type queueFact struct {
	pool.Procs
	name string
	is   int64
	// passed says that is, the BypassCount so far, grows by so many of the plan's matches as
	// come about, the last so many of Plan.Passing.
	passed int
}

// queueFacts returns what a plan wants kept in jobs until the next cycle: since when they are
// considered, and how often they were passed over. Jobs that changed since the snapshot are
// left out. It is to be called before the transaction changes any.
func queueFacts(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot) []queueFact {
	var facts []queueFact
	note := func(f queueFact) {
		if n := len(facts); n > 0 {
			if last := &facts[n-1]; last.name == f.name && last.is == f.is && last.passed == f.passed && last.Extend(f.Procs) {
				return
			}
		}
		facts = append(facts, f)
	}
	for _, k := range plan.Clocks {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, _ *classad.Ad) { note(queueFact{p, pool.AttrEligibleSince, k.Since, 0}) })
	}
	for _, k := range plan.Passed {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, ad *classad.Ad) {
			before, _ := ad.EvalInt(&classad.Context{}, pool.AttrBypassCount)
			note(queueFact{p, pool.AttrBypassCount, max(before, 0), k.Times})
		})
	}
	return facts
}

// eachUnchanged calls do for those of some procs that are as the cycle saw them, run by run.
func eachUnchanged(tx *spool.Tx, p pool.Procs, seen Snapshot, do func(pool.Procs, *classad.Ad)) {
	cluster, ok := tx.Cluster(p.Cluster)
	if !ok {
		return
	}
	runs := cluster.Runs
	for _, run := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].Last >= p.First }):] {
		if run.First > p.Last {
			return
		}
		if both, _ := run.Intersect(p); run.Seq <= seen.seq {
			do(both, run.Ad)
		}
	}
}

// keepQueueFacts notes them in the jobs. passing are the jobs that a plan matched, in the
// order of the queue, and made the matches that came about: a job that got nothing after all
// has passed nobody.
func keepQueueFacts(tx *spool.Tx, facts []queueFact, passing []pool.JobID, made []negotiator.Match) {
	matched := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		matched[m.Job] = true
	}
	failed := make([]int, len(passing)+1) // by how many of the last it is asked about
	for i := range passing {
		failed[i+1] = failed[i]
		if !matched[passing[len(passing)-1-i]] {
			failed[i+1]++
		}
	}
	for _, f := range facts {
		is := f.is
		if f.name == pool.AttrBypassCount {
			more := int64(f.passed - failed[min(f.passed, len(passing))])
			if more == 0 {
				continue
			}
			is = min(is, math.MaxInt64-more) + more
		}
		tx.SetRange(f.Procs, f.name, classad.Literal(classad.Int(is)))
	}
}

// SourcesOf returns those of a view, with times as the clock tells them that at was read
// from.
func SourcesOf(v *spool.View, at accountant.Reading) policy.Sources {
	return policy.Sources{
		Slots:   func() []pool.Slot { slots, _ := Slots(v); return slots },
		Claims:  v.Claims,
		Tallies: func() []accountant.Tally { return Tallies(v, at) },
		Now:     at.Now, Delivered: Delivered(v),
	}
}

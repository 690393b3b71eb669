package userprio

import (
	"slices"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// waitingOf returns the jobs of a pool as the policy is asked about them: those that are idle
// and have no claim, and those that have one. Where something that decides is an expression
// that tells procs apart, each stands alone. Jobs that are barred are none of these.
func waitingOf(c *classad.Context, p negotiator.Pool, attributes []string, barring operation.Barring) jobprio.Waiting {
	w := jobprio.Waiting{Running: p.Running}
	claimed := map[int][]int{} // procs by cluster
	for _, claim := range p.Claims {
		claimed[claim.Job.Cluster] = append(claimed[claim.Job.Cluster], claim.Job.Proc)
	}
	names := make([]*classad.Name, len(attributes))
	for i, name := range attributes {
		names[i] = classad.NewName(name)
	}
	for _, procs := range claimed {
		slices.Sort(procs)
	}
	for _, j := range p.Jobs {
		w.Idle = appendUnclaimed(w.Idle, j, claimed[j.Cluster], func(run spool.Run) bool {
			return barring.TellsApart(run) || slices.ContainsFunc(names, func(n *classad.Name) bool { return tellsApart(run, n) })
		})
	}
	w.Idle = slices.DeleteFunc(w.Idle, func(r jobprio.Run) bool {
		return barring.Bars(c, spool.Run{Procs: r.Procs, Ad: r.Ad}, r.First)
	})
	return w
}

// appendUnclaimed appends the procs of a job but those that are claimed, which are ascending:
// each alone where something tells them apart.
func appendUnclaimed(list []jobprio.Run, j jobprio.Run, claimed []int, apart func(spool.Run) bool) []jobprio.Run {
	at := j.First
	end := at + j.Count()
	alone := apart(spool.Run{Procs: pool.Procs{Cluster: j.Cluster, First: at, Last: end - 1}, Ad: j.Ad})
	from, _ := slices.BinarySearch(claimed, at)
	for _, proc := range claimed[from:] {
		if proc >= end {
			break
		}
		list = appendRun(list, j, at, proc, alone)
		at = proc + 1
	}
	return appendRun(list, j, at, end, alone)
}

// tellsApart tells whether an attribute of a run is an expression that procs have different
// values of.
func tellsApart(run spool.Run, n *classad.Name) bool {
	_, e, ok := run.Ad.Get(n)
	return ok && e != nil && run.TellsApart(e)
}

// appendRun appends the procs of a job from one to before another, if there are any: as one
// run, or each alone.
func appendRun(list []jobprio.Run, j jobprio.Run, from, end int, alone bool) []jobprio.Run {
	step := end - from
	if alone {
		step = 1
	}
	for ; from < end; from += step {
		ad := spool.Run{Ad: j.Ad}.Proc(from)
		list = append(list, jobprio.Run{Procs: pool.Procs{Cluster: j.Cluster, First: from, Last: from + step - 1}, Submitter: j.Submitter, Ad: ad})
	}
	return list
}

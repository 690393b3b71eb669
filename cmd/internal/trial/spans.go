package trial

import (
	"slices"

	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Spans are jobs by cluster, ascending.
type Spans map[int][]pool.Procs

// Has reports whether a job is among them.
func (s Spans) Has(id pool.JobID) bool {
	return slices.ContainsFunc(s[id.Cluster], func(p pool.Procs) bool { return p.Has(id) })
}

// Replaced returns jobs with those in spans replaced by what becomes of them.
func (s Spans) Replaced(list []negotiator.Job, become func(negotiator.Job) []negotiator.Job) []negotiator.Job {
	var jobs []negotiator.Job
	for _, j := range list {
		next, end := j.First.Proc, j.First.Proc+j.Count
		for _, one := range s[j.First.Cluster] {
			from, to := max(one.First, next), min(one.Last+1, end)
			if from >= to {
				continue
			}
			if next < from {
				jobs = append(jobs, Part(j, next, from))
			}
			jobs = append(jobs, become(Part(j, from, to))...)
			next = to
		}
		if next < end {
			jobs = append(jobs, Part(j, next, end))
		}
	}
	return jobs
}

// Part returns the procs of a run from the one to before the other.
func Part(j negotiator.Job, from, to int) negotiator.Job {
	if from != j.First.Proc {
		j.First.Proc = from
		j.Ad = j.Ad.Clone()
		j.Ad.SetInt(pool.AttrProcID, int64(from))
	}
	j.Count = to - from
	return j
}

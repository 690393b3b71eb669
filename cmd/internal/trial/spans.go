package trial

import (
	"slices"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Spans are jobs by cluster, ascending.
type Spans map[int][]pool.Procs

// Has reports whether a job is among them.
func (s Spans) Has(id pool.JobID) bool {
	return slices.ContainsFunc(s[id.Cluster], func(p pool.Procs) bool { return p.Has(id) })
}

// Replaced returns jobs with those in spans replaced by what becomes of them.
func (s Spans) Replaced(list []jobprio.Run, become func(jobprio.Run) []jobprio.Run) []jobprio.Run {
	var jobs []jobprio.Run
	for _, j := range list {
		rest := j.Procs
		for _, one := range s[j.Cluster] {
			both, ok := rest.Intersect(one)
			if !ok {
				continue
			}
			if rest.First < both.First {
				jobs = append(jobs, j.Part(rest.First, both.First-1))
			}
			jobs = append(jobs, become(j.Part(both.First, both.Last))...)
			rest.First = both.Last + 1
		}
		if rest.First <= rest.Last {
			jobs = append(jobs, j.Part(rest.First, rest.Last))
		}
	}
	return jobs
}

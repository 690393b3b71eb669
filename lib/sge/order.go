package sge

import (
	"math"
	"slices"

	"fairspool/lib/parallel"
	"fairspool/lib/radix"
)

// Places returns all procs that wait in the order in which they are dispatched: higher
// priority first, of equal ones the first that was submitted, and then the first by ID.
// Priorities are compared in full precision. Equal procs of a cluster, which follow each other,
// go one after the other, as the tasks of Grid Engine's array jobs: a proc with more tickets
// than one before it stands behind that one, with its priority.
func (r *Ranking) Places() []Place {
	line := r.line()
	type key struct{ prio, submitted uint64 }
	keys := make([]key, len(line))
	for i := range line {
		keys[i] = key{^radix.Float(line[i].Prio), radix.Ascending(r.pending[line[i].Job].Submitted)}
	}
	sorted := make([]Place, len(line))
	for i, item := range radix.Ordered(len(line), func(i int) uint64 { return keys[i].prio }, func(i int) uint64 { return keys[i].submitted }) {
		sorted[i] = line[item.At]
	}
	return sorted
}

// line returns all procs that wait in the order of their IDs. Those of a job that follow each
// other and have the same priority are in one place.
func (r *Ranking) line() []Place {
	bounds := parallel.Bounds(len(r.order), manyJobs)
	for part := 1; part < len(bounds)-1; part++ { // a cluster is in one part
		at := max(bounds[part], bounds[part-1])
		for at > 0 && at < len(r.order) && r.cluster(at) == r.cluster(at-1) {
			at++
		}
		bounds[part] = at
	}
	found := make([][]Place, len(bounds)-1)
	parallel.Parts(bounds, func(part, from, to int) { found[part] = r.places(r.order[from:to]) })
	return slices.Concat(found...)
}

// cluster returns the cluster of the job that stands somewhere in the order of IDs.
func (r *Ranking) cluster(at int) int { return r.pending[r.order[at]].ID.Cluster }

// places returns the procs of some jobs, one job after the other.
func (r *Ranking) places(jobs []int32) []Place {
	places := make([]Place, 0, len(jobs)+len(jobs)/8)
	var last *Job
	npprior, nurg, least := 0.0, 0.0, 0.0 // the least priority of the equal procs before
	for _, i := range jobs {
		job := &r.pending[i]
		if job.Count == 0 {
			continue // stands between nobody
		}
		p, u := r.posix(job), half
		if !r.urgent.none {
			u = r.urgent.normal(r.urgent.pending[i])
		}
		if last == nil || p != npprior || u != nurg || !job.follows(last) {
			npprior, nurg, least = p, u, math.Inf(1)
		}
		last = job
		add := func(from, count int, tckts float64) {
			least = min(least, r.config.prio(npprior, nurg, r.tickets.normal(tckts)))
			if n := len(places); from > 0 && places[n-1].Prio == least {
				places[n-1].Count += count
			} else {
				places = append(places, Place{int(i), from, count, least})
			}
		}
		counted := int(r.counted[i])
		for task := range counted {
			add(task, 1, r.tickets.waiting(int(r.from[i])+task).sum())
		}
		if rest := job.Count - counted; rest > 0 {
			add(counted, rest, 0)
		}
	}
	return places
}

// follows tells whether a job's procs are those of the same array as another's as far as
// tickets go.
func (j *Job) follows(other *Job) bool {
	return j.ID.Cluster == other.ID.Cluster && j.Submitted == other.Submitted && factsOf(j) == factsOf(other)
}

package sge

import (
	"math"
	"slices"
	"sync"

	"fairspool/lib/parallel"
	"fairspool/lib/radix"
)

// Ranking is one scheduler run.
type Ranking struct {
	config           *Config
	world            World
	pending, running []Job
	// order has the indices of the jobs that wait in the order of their IDs.
	order []int32
	// from is the first of the members that wait of each of these jobs, and counted how many
	// of its procs are members; runs is the member of each job that runs.
	from, counted, runs []int32
	urgent              *urgent
	tickets             *tickets
	look                sync.Once // makes trace
	trace               *trace
}

// Rank makes a run over the jobs that wait and those that run. Neither list is changed, nor
// may they be while the ranking is used; their order does not matter. Jobs without procs take
// no part. Numbers that make no sense, such as negative shares, count as the nearest that do;
// what comes out is always finite.
func Rank(c *Config, w World, pending, running []Job) *Ranking {
	r := &Ranking{config: c, world: w, pending: pending, running: running, order: byID(pending)}
	members := r.enlist()
	var both sync.WaitGroup
	both.Go(func() { r.urgent = urgencies(c, w.Now.Unix(), pending, running) })
	both.Go(func() { r.tickets = ticketsOf(c, &r.world.Used, members, len(running)) })
	both.Wait()
	return r
}

// byID returns the indices of jobs in the order of their IDs.
func byID(jobs []Job) []int32 {
	order, inOrder := make([]int32, len(jobs)), true
	for i := range jobs {
		order[i] = int32(i)
		inOrder = inOrder && (i == 0 || !jobs[i].ID.Less(jobs[i-1].ID))
	}
	if inOrder {
		return order
	}
	for i, item := range radix.Ordered(len(jobs),
		func(i int) uint64 { return radix.Ascending(int64(jobs[i].ID.Cluster)) },
		func(i int) uint64 { return radix.Ascending(int64(jobs[i].ID.Proc)) }) {
		order[i] = int32(item.At)
	}
	return order
}

// enlist makes members of the running jobs and of the waiting procs that count: of each
// cluster as many as there are free slots for it, and one more.
func (r *Ranking) enlist() []member {
	r.from, r.counted, r.runs = make([]int32, len(r.pending)), make([]int32, len(r.pending)), make([]int32, len(r.running))
	members := make([]member, 0, len(r.running)+len(r.pending))
	for _, i := range byID(r.running) {
		r.runs[i] = int32(len(members))
		members = append(members, member{job: &r.running[i]})
	}
	most, left := r.config.countable(r.world.FreeSlots), 0
	for n, i := range r.order {
		job := &r.pending[i]
		if n == 0 || job.ID.Cluster != r.pending[r.order[n-1]].ID.Cluster {
			left = most
		}
		some := max(min(job.Count, left), 0)
		left -= some
		r.from[i], r.counted[i] = int32(len(members)-len(r.running)), int32(some)
		for task := range some {
			members = append(members, member{job, task})
		}
	}
	return members
}

// countable returns how many procs of a cluster that wait take part in the ticket policies when
// so many slots are free.
func (c *Config) countable(free int64) int {
	free = min(max(free, 0), math.MaxInt32)
	return max(int(min(int64(c.MaxPendingTasks), free+1)), 1)
}

// posix returns the normalised POSIX priority (Seed, npprior).
func (r *Ranking) posix(j *Job) float64 {
	if r.config.WeightPriority == 0 && !r.config.ReportPending {
		return half
	}
	return float64(min(max(j.POSIX, LeastPOSIX), MostPOSIX)+1024) / 2048
}

// prio returns the weighted sum (Seed, prio). The terms are added in Grid Engine's order, so that
// sums that are equal there are equal here.
func (c *Config) prio(npprior, nurg, ntckts float64) float64 {
	return cut(cut(c.WeightUrgency*nurg) + cut(c.WeightTicket*ntckts) + cut(c.WeightPriority*npprior))
}

// Pending returns the numbers of a proc, counted from 0, of a job by its index among those that
// wait; zeros if there is no such.
func (r *Ranking) Pending(job, task int) Numbers {
	if job < 0 || job >= len(r.pending) || task < 0 || task >= r.pending[job].Count {
		return Numbers{}
	}
	if task >= int(r.counted[job]) {
		n := r.numbers(&r.pending[job], amounts{}, 0)
		n.Uncounted = true
		return n
	}
	return r.numbers(&r.pending[job], r.tickets.waiting(int(r.from[job])+task), r.tickets.pendingSum)
}

// Running returns the numbers of a job by its index among those that run; zeros if there is no
// such.
func (r *Ranking) Running(job int) Numbers {
	if job < 0 || job >= len(r.running) {
		return Numbers{}
	}
	return r.numbers(&r.running[job], r.tickets.runs(int(r.runs[job])), r.tickets.runningSum)
}

// numbers returns the numbers of a job with these tickets of all.
func (r *Ranking) numbers(j *Job, a amounts, all float64) (n Numbers) {
	if !r.urgent.none {
		n.RRContr, n.WTContr, n.DLContr, n.Urg = r.urgent.of(j)
	}
	n.OTckt, n.FTckt, n.STckt, n.Tckts = a[Override], a[Functional], a[ShareTree], a.sum()
	if all > 0 {
		n.Share = n.Tckts / all
	}
	n.NPPrior, n.NUrg, n.NTckts = r.posix(j), r.urgent.normal(n.Urg), r.tickets.normal(n.Tckts)
	n.Prio = r.config.prio(n.NPPrior, n.NUrg, n.NTckts)
	return n
}

// Places returns all waiting procs in the order in which they are dispatched: higher priority
// first, of equal ones the first that was submitted, and then the first by ID. Priorities are
// compared in full precision. Equal, consecutive procs of a cluster go one after the other, as
// the tasks of Grid Engine's array jobs: a proc with more tickets than an earlier one stands
// behind that one, with its priority.
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

// line returns all waiting procs in the order of their IDs. Consecutive ones of a job with
// the same priority are in one place.
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
			continue // between no procs
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

// follows reports whether a job's procs belong to the same array as another's, as far as
// tickets go.
func (j *Job) follows(other *Job) bool {
	return j.ID.Cluster == other.ID.Cluster && j.Submitted == other.Submitted && factsOf(j) == factsOf(other)
}

// mostPriority bounds all numbers of urgency and all priorities, both ways. Nothing real comes
// near it, and the sum of as many as a formula has is still a number.
const mostPriority = 1e300

// cut returns a number within bounds, never -0; NaN counts as 0.
func cut(x float64) float64 {
	if x != x {
		return 0
	}
	return min(max(x, -mostPriority), mostPriority) + 0
}

// entitlement returns shares or tickets as Grid Engine's numbers hold them: 0 to 4294967295.
func entitlement(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, MostShares)
}

// since returns the seconds from a time to another, at least least.
func since(from, to, least int64) float64 {
	if to <= from {
		return float64(least)
	}
	if d := uint64(to) - uint64(from); d < math.MaxInt64 {
		return float64(max(int64(d), least))
	}
	return math.MaxInt64
}

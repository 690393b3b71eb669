package sge

import (
	"math"
	"sync"

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

// enlist makes members of the jobs that run and of those procs that wait and count: of each
// cluster as many as there are slots free for it, and one more.
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

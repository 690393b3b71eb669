package maui

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

// Ranked is a job's place in the queue.
type Ranked struct {
	Index int   // in the list that was ranked
	Start int64 // its start priority, as Of has it
}

// manyJobs are worth another processor.
const manyJobs = 4096

// Rank puts jobs in order: the higher start priority first; of equal ones, the lower job ID.
// Among jobs of one user with equal priority, those with a higher JobPrio go first, in the
// places that these jobs have. The order of jobs does not matter.
func (r *Reckoner) Rank(jobs []Job) []Ranked {
	order := make([]Ranked, len(jobs))
	work := min(runtime.GOMAXPROCS(0), 1+len(jobs)/manyJobs)
	var done sync.WaitGroup
	for w := range work {
		from, to := w*len(jobs)/work, (w+1)*len(jobs)/work
		done.Go(func() { r.starts(jobs, order, from, to) })
	}
	done.Wait()
	order = sortBy(byID(jobs, order), func(o *Ranked) uint64 { return ^ascending(o.Start) })
	byUsersPrio(jobs, order)
	return order
}

// byID puts jobs, which come as they are listed, in the order of their IDs.
func byID(jobs []Job, order []Ranked) []Ranked {
	sorted := true
	for i := 1; i < len(jobs) && sorted; i++ {
		sorted = !jobs[i].ID.Less(jobs[i-1].ID)
	}
	if sorted {
		return order
	}
	type named struct {
		Ranked
		cluster, proc uint64
	}
	all := make([]named, len(order))
	for i := range all {
		all[i] = named{order[i], ascending(int64(jobs[i].ID.Cluster)), ascending(int64(jobs[i].ID.Proc))}
	}
	all = sortBy(all, func(n *named) uint64 { return n.proc })
	all = sortBy(all, func(n *named) uint64 { return n.cluster })
	for i := range all {
		order[i] = all[i].Ranked
	}
	return order
}

// starts sets the start priorities of some jobs.
func (r *Reckoner) starts(jobs []Job, order []Ranked, from, to int) {
	known := map[names]*profile{}
	var own *profile
	var last names
	for i := from; i < to; i++ {
		j := &jobs[i]
		if n := j.names(); own == nil || n != last {
			last = n
			if own = known[n]; own == nil {
				own = r.profile(n)
				known[n] = own
			}
		}
		order[i] = Ranked{i, r.start(own, j)}
	}
}

// byUsersPrio puts the jobs of each user that are equal otherwise in the order of JobPrio.
func byUsersPrio(jobs []Job, order []Ranked) {
	differ := false
	for i := range jobs {
		differ = differ || jobs[i].JobPrio != jobs[0].JobPrio
	}
	if !differ {
		return
	}
	for from, to := 0, 0; from < len(order); from = to {
		for to = from; to < len(order) && order[to].Start == order[from].Start; to++ {
		}
		if to-from > 1 {
			withinUsers(jobs, order[from:to])
		}
	}
}

// withinUsers does so with jobs of one priority.
func withinUsers(jobs []Job, equal []Ranked) {
	places := map[string][]int{} // of each user
	for i, e := range equal {
		user := jobs[e.Index].User
		places[user] = append(places[user], i)
	}
	for _, at := range places {
		own := make([]Ranked, len(at))
		for i, place := range at {
			own[i] = equal[place]
		}
		slices.SortStableFunc(own, func(a, b Ranked) int {
			return cmp.Compare(jobs[b.Index].JobPrio, jobs[a.Index].JobPrio)
		})
		for i, place := range at {
			equal[place] = own[i]
		}
	}
}

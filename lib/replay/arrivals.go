package replay

import (
	"cmp"
	"container/heap"
	"slices"

	"fairspool/lib/workload"
)

// never is later than all times.
const never = int64(1) << 62

// arrivals say when jobs are submitted: at their recorded times, or a think time after the jobs that they follow.
type arrivals struct {
	*workload.Workload
	next      int     // of the jobs, in order
	due       dues    // those that follow jobs that have ended
	left      []int   // jobs that have not ended, by group
	followers [][]int // by group
	list      []int   // what was taken last
}

type due struct {
	at  int64
	job int
}

type dues []due

func (d dues) Len() int { return len(d) }

func (d dues) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(d[i].at, d[j].at), cmp.Compare(d[i].job, d[j].job)) < 0
}

func (d dues) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)   { *d = append(*d, x.(due)) }

func (d *dues) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

func newArrivals(w *workload.Workload) *arrivals {
	a := &arrivals{Workload: w, left: make([]int, w.Groups), followers: make([][]int, w.Groups)}
	for i, s := range w.Steps {
		if s.After >= 0 {
			a.followers[s.After] = append(a.followers[s.After], i)
		}
		if s.Group >= 0 {
			a.left[s.Group]++
		}
	}
	a.skip()
	return a
}

// skip goes on to the next job that follows no others.
func (a *arrivals) skip() {
	for a.Steps != nil && a.next < len(a.Jobs) && a.Steps[a.next].After >= 0 {
		a.next++
	}
}

// at returns when the next jobs are submitted.
func (a *arrivals) at() int64 {
	at := never
	if a.next < len(a.Jobs) {
		at = a.Jobs[a.next].Submit
	}
	if len(a.due) > 0 {
		at = min(at, a.due[0].at)
	}
	return at
}

// take returns the jobs that are submitted at a time, ascending. They last until the next call.
func (a *arrivals) take(at int64) []int {
	a.list = a.list[:0]
	for ; a.next < len(a.Jobs) && a.Jobs[a.next].Submit == at; a.skip() {
		a.list = append(a.list, a.next)
		a.next++
	}
	if n := len(a.list); len(a.due) > 0 {
		for len(a.due) > 0 && a.due[0].at == at {
			a.list = append(a.list, heap.Pop(&a.due).(due).job)
		}
		if n > 0 {
			slices.Sort(a.list)
		}
	}
	return a.list
}

// ended notes that a job has ended.
func (a *arrivals) ended(job int, at int64) {
	if a.Steps == nil || a.Steps[job].Group < 0 {
		return
	}
	group := a.Steps[job].Group
	if a.left[group]--; a.left[group] > 0 {
		return
	}
	for _, i := range a.followers[group] {
		heap.Push(&a.due, due{at + a.Steps[i].Think, i})
	}
}

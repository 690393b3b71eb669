package workload

import (
	"container/heap"
	"fmt"
)

// Session is the longest think time, in seconds: a longer one ends a user's session (Shmueli, Feitelson: On simulation and design of
// parallel-systems schedulers, TPDS 2009).
const Session = 20 * 60

// Step says when a job is submitted where its user waited for others.
type Step struct {
	After int   // the group of jobs after whose end; -1: at its recorded time
	Think int64 // seconds after that end
	Group int   // of jobs of its user that ended at once, to which it belongs; -1: no job follows it
}

// Dependent returns the workload with the Steps that its users took, and how many jobs follow others. It fails unless all waits were
// recorded, as a job ended when it had waited and run.
//
// A user who submits when jobs have ended since the last submission has waited for those that ended last, and begins a new
// batch after a think time. Else the submission belongs to the batch of the one before, at the same distance from it. More than
// Session seconds in either case begin a new session, at the recorded time. What a job depends on and the think times are
// kept thus, and not time stamps that were reactions to another pool (Zakay, Feitelson: Preserving user behavior characteristics in
// trace-based simulation of parallel job scheduling, MASCOTS 2014).
func (w *Workload) Dependent() (*Workload, int, error) {
	changed := *w
	changed.Steps = make([]Step, len(w.Jobs))
	users := map[string]*course{}
	following := 0
	for from := 0; from < len(w.Jobs); {
		to := from
		for ; to < len(w.Jobs) && w.Jobs[to].Submit == w.Jobs[from].Submit; to++ {
			j := w.Jobs[to]
			if j.Wait < 0 {
				return nil, 0, fmt.Errorf("job %s has no recorded wait, so it is not known when it ended", j.Name)
			}
			u := users[j.User]
			if u == nil {
				u = &course{group: -1, before: Step{After: -1}}
				users[j.User] = u
			}
			s := u.step(j.Submit, &changed)
			if changed.Steps[to] = s; s.After >= 0 {
				following++
			}
		}
		for ; from < to; from++ { // what was submitted at once does not follow each other
			j := w.Jobs[from]
			heap.Push(&users[j.User].running, running{j.End(), from})
		}
	}
	return &changed, following, nil
}

// course is what a user has done so far.
type course struct {
	running runnings
	ended   []int // jobs that ended last, together
	end     int64 // their end
	group   int   // their number; -1: no job follows them yet
	any     bool  // something was submitted: at, as before says
	at      int64
	before  Step
}

// step returns how the user came to submit something at a time.
func (u *course) step(at int64, w *Workload) Step {
	if u.any && u.at == at {
		return u.before
	}
	for len(u.running) > 0 && u.running[0].end <= at {
		r := heap.Pop(&u.running).(running)
		if r.end > u.end || len(u.ended) == 0 {
			u.ended, u.end, u.group = u.ended[:0], r.end, -1
		}
		u.ended = append(u.ended, r.job)
	}
	s := Step{After: -1, Group: -1}
	switch {
	case !u.any:
	case len(u.ended) > 0 && u.end >= u.at:
		if at-u.end <= Session {
			if u.group < 0 {
				u.group = w.Groups
				w.Groups++
				for _, j := range u.ended {
					w.Steps[j].Group = u.group
				}
			}
			s.After, s.Think = u.group, at-u.end
		}
	case at-u.at <= Session && u.before.After >= 0:
		s.After, s.Think = u.before.After, u.before.Think+at-u.at
	}
	u.any, u.at, u.before = true, at, s
	return s
}

type running struct {
	end int64
	job int
}

type runnings []running

func (r runnings) Len() int { return len(r) }
func (r runnings) Less(i, j int) bool {
	return r[i].end < r[j].end || r[i].end == r[j].end && r[i].job < r[j].job
}
func (r runnings) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *runnings) Push(x any)   { *r = append(*r, x.(running)) }

func (r *runnings) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"fairspool/lib/workload"
)

// shortest is the run time, in seconds, below which that of a job counts as this in its slowdown.
const shortest = 10

// Spread are the mean and percentiles of some numbers, by the nearest rank; all 0 of none.
type Spread struct{ Mean, P50, P95, P99, Max float64 }

// spreadOf returns the spread of numbers, which it sorts.
func spreadOf(x []float64) (s Spread) {
	if len(x) == 0 {
		return s
	}
	slices.Sort(x)
	for _, v := range x {
		s.Mean += v
	}
	s.Mean /= float64(len(x))
	rank := func(p float64) float64 { return x[max(int(math.Ceil(p*float64(len(x)))), 1)-1] }
	return Spread{s.Mean, rank(0.50), rank(0.95), rank(0.99), x[len(x)-1]}
}

// Measures are what a replay comes to. Times are in seconds.
type Measures struct {
	Jobs, NotStarted int
	// Wait is from a job's submission to its first start. Slowdown is the bounded slowdown, the time from submission to end over the run
	// time, with 10 s for a shorter one, at least 1 (Feitelson, Rudolph, 1998).
	Wait, Slowdown Spread
	// UserWait is the spread over users of the means of their jobs' waits.
	UserWait Spread
	// Utilisation, Loss and ShareError are Result.Busy, Result.Idle and Result.Unfair.
	Utilisation, Loss, ShareError float64
	// Jain is Jain's index over the users' mean slowdowns: the square of their sum, over their number times the sum of their squares; 1: all are
	// equal (Jain, Chiu, Hawe, 1984).
	Jain float64
	// WaitPerRun is what jobs waited over what they ran, both times their cores.
	WaitPerRun float64
	// Starved is how many jobs waited for more than a day.
	Starved int
	// Wasted is the part of the time on cores that went to attempts that had to leave.
	Wasted float64
	// Overtaken is the part of the jobs that started after a job of as many cores that their user submitted later.
	Overtaken float64
	Cycles    int
}

// User is what a replay comes to for a user.
type User struct {
	Name           string
	Jobs           int
	CoreHours      float64 // that its jobs ran, without attempts that had to leave
	Wait, Slowdown float64 // means over its jobs that started
	Surplus        float64 // core hours; see Result.Surplus
}

// Recorded returns what became of a workload's jobs where they were recorded, as far as Measures need it: nothing of slots is known.
// ok is false if the wait of a job is unknown.
func Recorded(w *workload.Workload) (r *Result, ok bool) {
	r = &Result{Fates: make([]Fate, len(w.Jobs))}
	for i, j := range w.Jobs {
		if j.Wait < 0 {
			return nil, false
		}
		r.Fates[i] = Fate{Submit: j.Submit, Start: j.Start(), First: j.Submit + j.Wait, End: j.End(), Starts: 1}
		if j.Again > 0 {
			r.Fates[i].Starts++ // or more: how often it began is not recorded
		}
	}
	return r, true
}

const day = 24 * 60 * 60

// Slowdown returns the bounded slowdown of a job that ended.
func Slowdown(j workload.Job, f *Fate) float64 {
	return max(1, float64(f.End-f.Submit)/float64(max(j.Run, shortest)))
}

// Measure returns the measures of a result, and its users by their names.
func Measure(w *workload.Workload, r *Result) (m Measures, users []User) {
	m.Jobs, m.Cycles, m.Loss, m.ShareError, m.Utilisation = len(w.Jobs), r.Cycles, r.Idle, r.Unfair, r.Busy
	var waits, slow []float64
	byName := map[string]*User{}
	started := map[string]int{}
	submitters := map[string]map[string]bool{}
	var used, lost, waited float64
	for i, j := range w.Jobs {
		f := &r.Fates[i]
		u := byName[j.User]
		if u == nil {
			u = &User{Name: j.User}
			byName[j.User] = u
			submitters[j.User] = map[string]bool{}
		}
		u.Jobs++
		if f.End < 0 {
			m.NotStarted++
			continue
		}
		submitters[j.User][f.Submitter] = true
		cores := float64(j.Cores)
		wait := float64(f.First - f.Submit)
		slowdown := Slowdown(j, f)
		waits, slow = append(waits, wait), append(slow, slowdown)
		started[j.User]++
		u.Wait += wait
		u.Slowdown += slowdown
		u.CoreHours += cores * float64(j.Run) / 3600
		used += cores * float64(j.Run)
		lost += cores * float64(f.Lost)
		waited += cores * wait
		if wait > day {
			m.Starved++
		}
	}
	m.Wait, m.Slowdown = spreadOf(waits), spreadOf(slow)
	var means []float64
	var sum, squares float64
	for name, u := range byName {
		if n := float64(started[name]); n > 0 {
			u.Wait /= n
			u.Slowdown /= n
		}
		for _, s := range slices.Sorted(maps.Keys(submitters[name])) {
			u.Surplus += r.Surplus[s] / 3600
		}
		users = append(users, *u)
	}
	slices.SortFunc(users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	for _, u := range users {
		if started[u.Name] > 0 {
			means = append(means, u.Wait)
			sum += u.Slowdown
			squares += u.Slowdown * u.Slowdown
		}
	}
	m.UserWait = spreadOf(slices.Clone(means))
	if squares > 0 {
		m.Jain = sum * sum / (float64(len(means)) * squares)
	}
	if used > 0 {
		m.WaitPerRun, m.Wasted = waited/used, lost/(used+lost)
	}
	m.Overtaken = overtaken(w, r)
	return m, users
}

// overtaken returns the part of the jobs that started after one like them that was submitted later.
func overtaken(w *workload.Workload, r *Result) float64 {
	type queue struct {
		user  string
		cores int
	}
	earliest := map[queue]int64{} // start of those submitted later
	var order []int
	for i := range w.Jobs {
		if r.Fates[i].Submit >= 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Fates[a].Submit, r.Fates[b].Submit) })
	n := 0
	for to := len(order); to > 0; {
		from := to - 1 // jobs of the same second do not overtake each other
		for from > 0 && r.Fates[order[from-1]].Submit == r.Fates[order[from]].Submit {
			from--
		}
		for _, k := range order[from:to] {
			q := queue{w.Jobs[k].User, w.Jobs[k].Cores}
			if e, ok := earliest[q]; ok && (r.Fates[k].First < 0 || r.Fates[k].First > e) {
				n++
			}
		}
		for _, k := range order[from:to] {
			q := queue{w.Jobs[k].User, w.Jobs[k].Cores}
			if f := r.Fates[k].First; f >= 0 {
				if e, ok := earliest[q]; !ok || f < e {
					earliest[q] = f
				}
			}
		}
		to = from
	}
	return float64(n) / float64(len(w.Jobs))
}

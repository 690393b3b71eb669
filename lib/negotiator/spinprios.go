package negotiator

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// jobPrioOf returns the JobPrio of jobs with USE_GLOBAL_JOB_PRIOS, else 0.
func (c *cycle) jobPrioOf(j jobprio.Run) int {
	if c.cfg.Pie != Spins || !c.cfg.GlobalJobPrios {
		return 0
	}
	n, _ := j.Ad.EvalInt(c.billedFor(j), pool.AttrJobPrio)
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}

// jobPrios returns the JobPrios of the submitter's jobs, ascending, each once.
func (s *submitter) jobPrios() []int {
	var all []int
	for _, q := range s.queues {
		for _, r := range q.runs {
			all = append(all, r.prio)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// restrict leaves in the queues only what an entry has to offer. The function that
// it returns ends the turn: nothing waits or is passed over any more, and the rest
// is back.
func (s *submitter) restrict(e *entry) func() {
	others := map[*queue][]run{}
	if e.ranged {
		for _, q := range s.queues {
			q.runs, others[q] = e.part(q.runs)
			q.count()
		}
		s.lineUp()
	}
	return func() {
		for _, q := range s.queues {
			q.cluster.restore() // others have jobs of that autocluster, too
			q.skips = false
		}
		s.ready()
		if !e.ranged && !slices.ContainsFunc(s.queues, func(q *queue) bool { return len(q.passed) > 0 }) {
			s.kins = nil
			return
		}
		s.kins = nil
		for _, q := range s.queues {
			q.runs = slices.Concat(q.passed, q.runs, others[q])
			slices.SortStableFunc(q.runs, func(a, b run) int { return cmp.Compare(a.order, b.order) })
			q.passed = nil
			q.count()
		}
		s.lineUp()
	}
}

// part divides runs into those of the entry's range and the others.
func (e *entry) part(runs []run) (its, others []run) {
	for _, r := range runs {
		if e.low <= r.prio && r.prio <= e.high {
			its = append(its, r)
		} else {
			others = append(others, r)
		}
	}
	return its, others
}

// leave passes over the next n jobs of a queue in this turn, as far as no other's
// come before them.
func (s *submitter) leave(q *queue, n int) {
	for n > 0 && s.next() == q {
		r := &q.runs[0]
		m := min(n, r.Count())
		left := *r
		left.Last = r.First + m - 1
		q.passed = append(q.passed, left)
		r.First += m
		q.left -= m
		n -= m
		if r.Count() > 0 {
			continue
		}
		if q.runs = q.runs[1:]; q.left > 0 {
			s.line.Fix()
		} else {
			s.line.Pop()
		}
	}
}

// count counts the jobs left in a queue.
func (q *queue) count() {
	q.left = 0
	for _, r := range q.runs {
		q.left += r.Count()
	}
}

// lineUp makes the line of queues with jobs left anew.
func (s *submitter) lineUp() {
	s.line = s.line[:0]
	for _, q := range s.queues {
		if q.left > 0 && q.offered() {
			s.line = append(s.line, place{q})
		}
	}
	s.line.Heapify()
}

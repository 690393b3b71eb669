package sge

import "math"

// runningTickets divides a pool of tickets among the members that run. A node's part goes to
// its jobs alike, or, if any that runs there has a job share, in proportion to those, as
// whole tickets. It is by member.
func (f *forest) runningTickets(pool float64) []float64 {
	pool = entitlement(pool)
	given := make([]float64, f.running)
	sums := make([]float64, len(f.branches))
	for m := range given {
		if i := f.at[m]; i != none {
			sums[i] += entitlement(f.members[m].job.JobShare)
		}
	}
	for m := range given {
		i := f.at[m]
		if i == none {
			continue
		}
		b := &f.branches[i]
		if amount := b.totalShort * pool; sums[i] > 0 {
			given[m] = math.Trunc(entitlement(f.members[m].job.JobShare) * amount / sums[i])
		} else {
			given[m] = amount / float64(b.own)
		}
	}
	return given
}

// pendingTickets gives the members that wait tickets of a pool as if each in turn were the next
// to start: a branch's n-th job has an n-th of its short-term target, where jobs that ask for
// several slots count for as many. That branch is the first below which the ways of the jobs
// part; what lies deeper decides about the order. Before is what each member has of the
// policies that count in the order of a user's own jobs, nil if none does. What comes out is
// by member, from the first that waits.
func (f *forest) pendingTickets(pool float64, before []float64) []float64 {
	given := make([]float64, len(f.members)-f.running)
	if len(f.branches) == 0 || f.branches[0].waiting == 0 {
		return given
	}
	l := newLineup(f, pool, before)
	start := f.fork()
	direct := f.branches[start].own > 0 // its jobs and its children's are in one order
	for i := int32(len(f.branches) - 1); i > start; i-- {
		b := &f.branches[i]
		switch {
		case b.jobs() == 0:
		case b.parent == start && !direct:
			l.give(i, given)
		default:
			l.order(i)
		}
	}
	if direct {
		l.give(start, given)
	}
	return given
}

// give gives the jobs of a branch that wait their parts of its target.
func (l *lineup) give(i int32, given []float64) {
	l.gather(i)
	list, short := l.list(i), l.branches[i].short
	for at, divisor := range divisors(list) {
		if m := int(list[at].at) - l.running; m >= 0 {
			given[m] = short / divisor * l.pool
			l.trace.placed(m, i, divisor)
		}
	}
}

// fork returns the branch below which the ways of the jobs part, or on which some hang.
func (f *forest) fork() int32 {
	i := int32(0)
	for {
		only := f.only(i)
		if only == none {
			return i
		}
		i = only
	}
}

// only returns the child that has all jobs of a branch, or none.
func (f *forest) only(i int32) int32 {
	for child := range f.children(i) {
		if f.branches[child].jobs() == f.branches[i].jobs() {
			return child
		}
	}
	return none
}

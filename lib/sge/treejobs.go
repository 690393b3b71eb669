package sge

import (
	"iter"
	"math"
	"slices"
)

// entry is a member in the order of a branch.
type entry struct {
	key    uint64 // the sort key, ascending: running jobs are before all others
	before float64
	at     int32
	slots  uint32 // how far the jobs behind it are put off
}

// waits is the bit of the keys of entries that wait.
const waits = 1 << 63

// setKey has a value that is 0 or more decide: greater ones come first. The bits of such
// numbers are in their order.
func (e *entry) setKey(value float64) {
	e.key = e.key&waits | (waits - 1 - math.Float64bits(value))
}

// less reports whether an entry is in order before another.
func (e *entry) less(other *entry) bool {
	return e.key < other.key || e.key == other.key && e.at < other.at
}

// sort puts entries in order, and reports whether they were not.
func sort(list []entry) bool {
	inOrder := true
	for i := 1; i < len(list) && inOrder; i++ {
		inOrder = list[i-1].less(&list[i])
	}
	if !inOrder {
		slices.SortFunc(list, func(a, b entry) int {
			if a.less(&b) {
				return -1
			}
			return 1
		})
	}
	return !inOrder
}

// lineup is the jobs of a share tree as its branches put them in order, the deepest first.
type lineup struct {
	*forest
	pool    float64
	entries []entry // each branch's own, then all of each of its children
	spare   []entry // as long
	from    []int   // by branch, where its entries begin
	steady  []bool  // by branch: taken in its order once more, its jobs would stay in it
	ends    []int   // room for gather
}

// newLineup puts each branch's own jobs where they belong, in the order of their IDs.
func newLineup(f *forest, pool float64, before []float64) *lineup {
	l := &lineup{forest: f, pool: entitlement(pool), from: make([]int, len(f.branches)), steady: make([]bool, len(f.branches)),
		entries: make([]entry, f.branches[0].jobs()), spare: make([]entry, f.branches[0].jobs())}
	next := l.divide()
	for m, i := range f.at {
		if i == none {
			continue
		}
		e := &l.entries[next[i]]
		next[i]++
		job := f.members[m].job
		*e = entry{at: int32(m), slots: uint32(min(max(job.LeastSlots, 1), math.MaxUint32))}
		if m >= f.running {
			e.key = waits
		}
		value := entitlement(job.JobShare)
		if before != nil {
			e.before = bounded(before[m])
			value = e.before + 0.01*value
		}
		e.setKey(value)
	}
	return l
}

// divide finds out where each branch's entries begin, and returns it.
func (l *lineup) divide() []int {
	for i := range l.branches {
		at := l.from[i] + l.branches[i].own
		for child := range l.children(int32(i)) {
			l.from[child] = at
			at += l.branches[child].jobs()
		}
	}
	return slices.Clone(l.from)
}

// list returns the jobs of a branch.
func (l *lineup) list(i int32) []entry {
	return l.entries[l.from[i] : l.from[i]+l.branches[i].jobs()]
}

// order sorts a branch's jobs into the order in which its parent takes them. If all come from
// one child, and would get the same again, there is nothing to do: a long way without a fork
// costs little.
func (l *lineup) order(i int32) {
	b := &l.branches[i]
	if only := l.only(i); only != none && l.steady[only] && l.branches[only].short == b.short {
		l.steady[i] = true
		return
	}
	l.gather(i)
	list := l.list(i)
	short := b.short
	for at, divisor := range divisors(list) {
		e := &list[at]
		e.setKey(short/divisor*l.pool + e.before)
	}
	l.steady[i] = !sort(list)
}

// divisors are the divisors of a target for jobs in order: 1 for the first. A job with n
// slots counts as n earlier jobs for the next one (sge_pe(5), the slots of a range).
func divisors(list []entry) iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		divisor := 1.0
		for at := range list {
			if !yield(at, divisor) {
				return
			}
			divisor += float64(list[at].slots)
		}
	}
}

// gather makes one order of a branch's own jobs and those of its children.
func (l *lineup) gather(i int32) {
	list := l.list(i)
	own := l.branches[i].own
	sort(list[:own])
	l.ends = l.ends[:0]
	if own > 0 {
		l.ends = append(l.ends, own)
	}
	for child := range l.children(i) {
		if n := l.branches[child].jobs(); n > 0 {
			l.ends = append(l.ends, l.from[child]-l.from[i]+n)
		}
	}
	merge(list, l.spare, l.ends)
}

// merge makes one order of several, which end where ends says. Spare is as long as list at least.
func merge(list, spare []entry, ends []int) {
	from, to := list, spare[:len(list)]
	for len(ends) > 1 {
		begin, left := 0, ends[:0]
		for k := 0; k < len(ends); k += 2 {
			middle, end := ends[k], ends[min(k+1, len(ends)-1)]
			mergeTwo(to[begin:end], from[begin:middle], from[middle:end])
			left = append(left, end)
			begin = end
		}
		ends = left
		from, to = to, from
	}
	if len(list) > 0 && &from[0] != &list[0] {
		copy(list, from)
	}
}

// mergeTwo makes one order of two.
func mergeTwo(to, a, b []entry) {
	for len(a) > 0 && len(b) > 0 {
		if b[0].less(&a[0]) {
			to[0], b = b[0], b[1:]
		} else {
			to[0], a = a[0], a[1:]
		}
		to = to[1:]
	}
	copy(to[copy(to, a):], b)
}

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

package sge

import (
	"cmp"
	"slices"

	"fairspool/lib/heap"
	"fairspool/lib/parallel"
)

// contest is how members that wait get tickets as if they were started one after the other:
// the one goes first that would get most, and what it gets takes from what the others would.
//
// So what a contender would get never grows while others go, not even by rounding: it is a
// fraction whose divisors grow. What was reckoned earlier is a bound, and only who seems to be
// first by those has to be reckoned again.
type contest struct {
	members []member
	before  []float64 // tickets so far, by member; nil if these do not count
	adds    bool      // what a contender has so far counts among contenders, too
	// submission says that among equals the first that was submitted goes first, and not the
	// first by ID.
	submission bool
	trial      func(*party) float64             // what the next of a party would get
	heap       heap.Heap[contender, *contender] // the one that seems to be first is in front
}

// contender is members of which each would get the same. Only the first of them competes.
type contender struct {
	contest *contest
	party   *party  // of one of them
	members []int32 // those that have not gone; the first by precedence is in front
	sorted  bool    // and so are the others
	trial   float64 // what the first would get, as last reckoned
	value   float64 // what it competes with
}

// begin has contenders compete.
func (c *contest) begin(all []contender) {
	c.heap = all
	parallel.Parts(parallel.Bounds(len(all), 1), func(_, from, to int) {
		for i := from; i < to; i++ {
			c.lead(&all[i])
		}
	})
	for i := range all {
		all[i].contest = c
		c.reckon(&all[i])
	}
	c.heap.Heapify()
}

// lead brings the first of a contender's members to the front. The others are sorted when
// that is needed: of most contenders few members go, or none.
func (c *contest) lead(one *contender) {
	if one.sorted = slices.IsSortedFunc(one.members, c.precedence); !one.sorted {
		first := 0
		for i, m := range one.members {
			if c.precedence(m, one.members[first]) < 0 {
				first = i
			}
		}
		one.members[0], one.members[first] = one.members[first], one.members[0]
	}
}

// precedence compares members of one contender: those with more tickets so far go first.
func (c *contest) precedence(a, b int32) int {
	if c.before != nil && c.before[a] != c.before[b] {
		return cmp.Compare(c.before[b], c.before[a])
	}
	return c.compare(a, b)
}

// compare compares members between which tickets do not decide.
func (c *contest) compare(a, b int32) int {
	if c.submission {
		if x, y := c.members[a].job.Submitted, c.members[b].job.Submitted; x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(a, b) // they are in the order of IDs
}

// next returns the contender that goes next, or nil after all.
func (c *contest) next() *contender {
	for len(c.heap) > 0 {
		top := &c.heap[0]
		value := top.value
		if c.reckon(top); top.value == value {
			return top
		}
		c.heap.Fix()
	}
	return nil
}

// reckon reckons what the first of a contender would get now.
func (c *contest) reckon(one *contender) {
	one.trial = c.trial(one.party)
	c.appraise(one)
}

// appraise sets what the first of a contender competes with.
func (c *contest) appraise(one *contender) {
	one.value = one.trial
	if c.adds && c.before != nil {
		one.value += c.before[one.members[0]]
	}
}

// goes takes away the first of the contender in front. The next one would get no more.
func (c *contest) goes() {
	top := &c.heap[0]
	if !top.sorted {
		slices.SortFunc(top.members, c.precedence)
		top.sorted = true
	}
	if top.members = top.members[1:]; len(top.members) == 0 {
		c.heap.Pop()
		return
	}
	c.appraise(top)
	c.heap.Fix()
}

// Before reports whether a contender seems to go before another of its contest.
func (a *contender) Before(b *contender) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	return a.contest.compare(a.members[0], b.members[0]) < 0
}

// contenders returns the members that wait by what of tells of their parties: those of equal
// numbers are one contender, and those of negative ones none. There are n of them.
func (p *pass) contenders(of []int32, n int) []contender {
	ends := make([]int, n+1)
	waiting := p.crowd.of[p.running:]
	for _, party := range waiting {
		ends[of[party]+1]++ // the first counts those that do not compete
	}
	ends[0] = 0
	for i := 1; i <= n; i++ {
		ends[i] += ends[i-1]
	}
	room := make([]int32, ends[n])
	all := make([]contender, n)
	for i := range all {
		all[i].members = room[ends[i]:ends[i]:ends[i+1]]
	}
	for i, party := range waiting {
		if number := of[party]; number >= 0 {
			one := &all[number]
			one.party = &p.crowd.parties[party]
			one.members = append(one.members, int32(p.running+i))
		}
	}
	return slices.DeleteFunc(all, func(one contender) bool { return len(one.members) == 0 })
}

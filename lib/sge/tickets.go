package sge

// tickets is what the ticket policies give the members in one run.
type tickets struct {
	*pass
	// now is what the share tree gives those that run in their own pass, the second one; nil if
	// it gives nothing.
	now []float64
	// most is the largest sum of any member; pendingSum and runningSum are the sums of all that wait
	// and of all that run.
	most, pendingSum, runningSum float64
}

// amounts are the tickets of one member.
type amounts [TicketPolicies]float64

// sum returns the tickets of all policies (Seed, tckts), added in Grid Engine's order.
func (a amounts) sum() float64 { return a[ShareTree] + a[Functional] + a[Override] }

// ticketsOf has the policies give tickets: to all members together, and then to those that
// run alone. In the second pass only the share tree gives something else than in the first, whose
// amounts have a say in which are the most, though nobody has them any more.
func ticketsOf(c *Config, used *Used, members []member, running int) *tickets {
	t := &tickets{pass: newPass(c, used, members, running)}
	if t.forest != nil && running > 0 {
		t.now = t.forest.onlyRunning(c).runningTickets(c.pool(ShareTree))
	}
	for m := range running {
		first, second := t.of(&t.ran, m), t.runs(m).sum()
		t.most = max(t.most, first.sum(), second)
		t.runningSum += second
	}
	for m := range len(members) - running {
		x := t.waiting(m).sum()
		t.most = max(t.most, x)
		t.pendingSum += x
	}
	return t
}

// of returns the tickets of one of those for whom they are listed.
func (t *tickets) of(lists *[TicketPolicies][]float64, m int) (a amounts) {
	for policy, list := range lists {
		if list != nil {
			a[policy] = list[m]
		}
	}
	return a
}

// waiting returns the tickets of the m-th of those that wait.
func (t *tickets) waiting(m int) amounts { return t.of(&t.waits, m) }

// runs returns the tickets of the m-th of those that run.
func (t *tickets) runs(m int) amounts {
	a := t.of(&t.ran, m)
	if t.now != nil {
		a[ShareTree] = t.now[m]
	}
	return a
}

// normal returns a sum of tickets as a part of the most that anybody has.
func (t *tickets) normal(sum float64) float64 {
	if t.most < negligible {
		return half
	}
	return sum / t.most
}

package negotiator

import "math"

// entitle works out what each submitter is entitled to of the whole pool, whoever has
// it now: the fair division (Targets) among all who use or want something, in which not
// usage is the least that somebody gets, but the floor. Nobody is preempted for priority
// below that, nor does anybody come above it by preempting. Slots that are free and of no
// use to who waits do not count.
func (c *cycle) entitle() {
	if len(c.tenants) == 0 || c.cfg.Preemption.Requirements == nil {
		return
	}
	total, free := 0.0, 0.0
	if c.groupUse != nil {
		clear(c.groupUse.entitled)
	}
	for _, s := range c.submitters {
		total += s.usage.Float()
		free += c.wantsOfFree(s)
		s.entitled = 0
		s.desire = s.usage.Float() + c.wantsOfAll(s)
	}
	if !c.last { // when what is free now is free for good
		total += math.Min(free, c.freeWeight())
	}
	total = math.Min(total, c.poolSize())
	for _, tier := range c.tiers() {
		if c.groupUse != nil && !tier[0].nice {
			c.entitleGroups(tier, total)
		} else {
			entitleAll(tier, total)
		}
		for _, s := range tier {
			total -= s.entitled
			if c.groupUse != nil {
				c.groupUse.entitled[s.group] += s.entitled
			}
		}
		total = math.Max(0, total)
	}
}

// entitleAll divides total among submitters. Nobody is entitled to less than before, nor to
// less than its floor, which comes before shares.
func entitleAll(some []*submitter, total float64) {
	claimants := make([]Claimant, len(some))
	for i, s := range some {
		least := math.Max(s.entitled, math.Min(float64(s.floor), s.desire))
		claimants[i] = Claimant{EUP: s.eup, Usage: least, Demand: s.desire - least}
	}
	for i, t := range Targets(total, claimants) {
		some[i].entitled = t
	}
}

// entitleGroups divides total among the submitters of groups, by quotas and surplus. Those
// that regroup share, besides, what is nobody's group's.
func (c *cycle) entitleGroups(tier []*submitter, total float64) {
	u := c.groupUse
	requested, members := make([]float64, len(u.own)), make([][]*submitter, len(u.own))
	for _, s := range tier {
		requested[s.group] += s.desire
		members[s.group] = append(members[s.group], s)
	}
	allocated := u.tree.Allocate(u.quotas, requested, false)
	for i := range members {
		if i > 0 || !u.tree.Regroups() {
			entitleAll(members[i], allocated[i].Weight)
		}
	}
	if !u.tree.Regroups() {
		return
	}
	rest, some := total, members[0]
	for _, s := range tier {
		switch {
		case s.group == 0:
		case u.tree.List[s.group].Autoregroup:
			some = append(some, s)
		default:
			rest -= s.entitled
		}
	}
	entitleAll(some, math.Max(0, rest))
}

// wantsOfFree returns the weight that the submitter's jobs could use of what is free.
func (c *cycle) wantsOfFree(s *submitter) float64 {
	wants := c.wants(s)
	if u := c.groupUse; u != nil && !u.tree.List[s.group].Autoregroup {
		wants = math.Min(wants, math.Max(0, u.under(s.group)))
	}
	return wants
}

// wantsOfAll returns the weight that the submitter's jobs could use of all slots that
// are free or run others' jobs, within its ceiling, if there was nobody else.
func (c *cycle) wantsOfAll(s *submitter) (sum float64) {
	for _, q := range s.queues {
		n := c.able(q)
		if n == 0 {
			continue
		}
		free, held := c.supply(q.cluster), c.runningSupply(s, q.cluster)
		sum += math.Min(float64(n)*math.Max(free.heaviest, held.heaviest), free.all+held.all)
	}
	return math.Min(sum, math.Max(0, s.room()))
}

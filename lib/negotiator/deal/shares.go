package deal

import (
	"math"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// entitlement is the phase that computes the submitters' entitlements.
type entitlement struct {
	arrangement
	bundles  []*bundle                        // by their first group
	played   bool                             // shares are found by playing the division through
	groupUse *groupUse                        // nil: no group bounds a submitter
	whole    map[*Submitter]accountant.Weight // with Pie Spins: usage with partitionable slots as a whole
	Lightest float64                          // with Pie Spins: the weight of the lightest slot
	reserved map[pool.JobID]*reservation
	dealing  *sharers // that has its turn
	last     bool     // no further free slot can be taken
	parts    bool     // shares may be passed by parts of a slot
	round    int      // of contention
	moves    int      // matches made, and slots set free
}

// divideAmong divides total among submitters. Claim returns the i-th one's minimum, such as its
// usage, and its demand beyond that. divideAmong returns each one's limit.
func (c *entitlement) divideAmong(total float64, some []*Submitter, claim func(i int, s *Submitter) (usage, demand float64)) []float64 {
	claimants := make([]shares.Claimant, len(some))
	for i, s := range some {
		claimants[i].EUP = s.EUP
		claimants[i].Usage, claimants[i].Demand = claim(i, s)
	}
	return c.Config.Division(total, claimants)
}

// room returns how much more weight the submitter's ceiling lets it use.
func (s *Submitter) room() float64 {
	if !s.Ceiling.Set {
		return math.Inf(1)
	}
	return float64(s.Ceiling.Slots) - s.Usage.Float()
}

// underCeiling reports whether the submitter's ceiling allows it one more slot of a weight.
func (s *Submitter) underCeiling(w accountant.Weight) bool { return Fits(w, s.room()) }

func (c *dealer) underCeiling(s *Submitter, w accountant.Weight) bool { return s.underCeiling(w) }

// short reports whether the submitter uses less than its floor.
func (s *Submitter) short() bool { return s.Usage.Float() < float64(s.Floor) }

// Counted returns the usage of a submitter that counts against its share and its ceiling:
// in spins a partitionable slot counts as a whole.
func (c *entitlement) Counted(s *Submitter) float64 {
	if w, ok := c.whole[s]; ok {
		return w.Float()
	}
	return s.Usage.Float()
}

// Headroom returns the room under a ceiling: whole weight in use counts, not fractions.
func Headroom(ceiling accountant.Limit, used float64) int64 {
	if !ceiling.Set {
		return math.MaxInt32
	}
	return max(0, ceiling.Slots-int64(used))
}

// entitle computes each submitter's entitlement: its part in the fair division
// (divideAmong) of the whole pool among all submitters that use or want something. Each
// submitter is guaranteed its floor, not its current usage. Preemption for priority takes
// no submitter below its entitlement, and none above it. Free slots that no waiting job
// can use do not count.
func (c *entitlement) entitle() {
	if len(c.tenants) == 0 || c.Config.Preemption.Requirements == nil {
		return
	}
	total, free := 0.0, 0.0
	if c.groupUse != nil {
		clear(c.groupUse.entitled)
	}
	for _, s := range c.Submitters {
		total += s.Usage.Float()
		free += c.wantsOfFree(s)
		s.entitled = 0
		s.desire = s.Usage.Float() + c.wantsOfAll(s)
	}
	if !c.last { // the free slots stay free
		total += math.Min(free, c.freeWeight())
	}
	total = math.Min(total, c.poolSize())
	for _, tier := range c.tiers() {
		if c.groupUse != nil && !tier[0].Nice {
			c.entitleGroups(tier, total)
		} else {
			c.entitleAll(tier, total)
		}
		for _, s := range tier {
			total -= s.entitled
			if c.groupUse != nil {
				c.groupUse.entitled[s.Group] += s.entitled
			}
		}
		total = math.Max(0, total)
	}
}

// entitleAll divides total among submitters. No submitter is entitled to less than
// before, nor to less than its floor, which comes before shares.
func (c *entitlement) entitleAll(some []*Submitter, total float64) {
	parts := c.divideAmong(total, some, func(_ int, s *Submitter) (usage, demand float64) {
		least := math.Max(s.entitled, math.Min(float64(s.Floor), s.desire))
		return least, s.desire - least
	})
	for i, part := range parts {
		some[i].entitled = part
	}
}

// entitleGroups divides total among the submitters of groups, by quotas and surplus.
// Submitters that regroup also share the root group's part.
func (c *entitlement) entitleGroups(tier []*Submitter, total float64) {
	u := c.groupUse
	requested, members := make([]float64, len(u.own)), make([][]*Submitter, len(u.own))
	for _, s := range tier {
		requested[s.Group] += s.desire
		members[s.Group] = append(members[s.Group], s)
	}
	allocated := u.tree.Allocate(u.quotas, requested, false)
	for i := range members {
		if i > 0 || !u.tree.Regroups() {
			c.entitleAll(members[i], allocated[i].Weight)
		}
	}
	if !u.tree.Regroups() {
		return
	}
	rest, some := total, members[0]
	for _, s := range tier {
		switch {
		case s.Group == 0:
		case u.tree.List[s.Group].Autoregroup:
			some = append(some, s)
		default:
			rest -= s.entitled
		}
	}
	c.entitleAll(some, math.Max(0, rest))
}

// wantsOfFree returns the weight of free slots that the submitter's jobs could use.
func (c *entitlement) wantsOfFree(s *Submitter) float64 {
	wants := c.wants(s)
	if u := c.groupUse; u != nil && !u.tree.List[s.Group].Autoregroup {
		wants = math.Min(wants, math.Max(0, u.under(s.Group)))
	}
	return wants
}

// wantsOfAll returns the weight that the submitter's jobs could use of all slots that are
// free or run others' jobs, within its ceiling, without other submitters.
func (c *entitlement) wantsOfAll(s *Submitter) (sum float64) {
	for _, q := range s.Queues {
		n := c.able(q)
		if n == 0 {
			continue
		}
		free, held := c.supply(q.Cluster), c.runningSupply(s, q.Cluster)
		sum += math.Min(float64(n)*math.Max(free.heaviest, held.heaviest), free.all+held.all)
	}
	return math.Min(sum, math.Max(0, s.room()))
}

// Due divides all usage among all submitters by the fair division. A submitter wants its
// usage and what its waiting jobs request, whichever slots they match.
func (c *Outcome) Due(waiting [][]Waiter) []float64 {
	lightest, total := c.lightestClaim(), accountant.Weight(0)
	for _, s := range c.Submitters {
		total += s.Usage
	}
	return c.divideAmong(total.Float(), c.Submitters, func(i int, s *Submitter) (usage, demand float64) {
		wants := s.Usage.Float()
		for _, w := range waiting[i] {
			wants += float64(w.Jobs) * math.Max(c.asks(w.Cluster.Ad), lightest)
		}
		wants = math.Min(wants, s.Usage.Float()+math.Max(s.room(), 0))
		least := math.Min(float64(s.Floor), wants)
		return least, wants - least
	})
}

// lightestClaim returns the weight of the lightest slot that a claim has, 0 without claims:
// no job that waits for what others have gets less, however little it asks for.
func (c *Outcome) lightestClaim() float64 {
	lightest := math.Inf(1)
	for i := range c.claims {
		lightest = math.Min(lightest, c.claims[i].Weight.Float())
	}
	for i := range c.Plan.Matches {
		lightest = math.Min(lightest, c.Plan.Matches[i].Weight.Float())
	}
	if math.IsInf(lightest, 1) {
		return 0
	}
	return lightest
}

// setTargets computes the targets of a party from present usage and demand, in a pool of
// which no more than size is shared.
func (c *entitlement) setTargets(p *sharers, size float64) {
	tier := p.members
	if p.group >= 0 && !p.extra {
		size = math.Min(size, c.groupUse.allocated[p.group])
	}
	o := c.look(tier)
	total := o.usable
	for _, s := range tier {
		total += s.Usage
	}
	targets := c.divideAmong(math.Min(total.Float(), size), tier, func(i int, s *Submitter) (usage, demand float64) { return s.Usage.Float(), o.wants[i] })
	for i, t := range targets {
		if c.Config.IgnoreUserPriorities {
			t = total.Float()
		}
		tier[i].target = t
	}
}

// withinShares reports whether shares let a submitter preempt one of a lot for priority.
func (c *entitlement) withinShares(s *Submitter, l lot) bool {
	return c.fairer(s, l, s.Usage, s.entitled, l.holder.Usage, l.holder.entitled)
}

// fairer reports whether shares let a submitter preempt one of a lot. usage and entitled are of the
// submitter, or its group, and others and theirs of the holder, or its group: the submitter has no
// more than its share with the slot, the holder no less without it.
//
// Slots are whole and shares are not. When no other slot can be taken, a submitter without a slot may
// pass its share and leave the holder short, each by at most a third of a slot. So may a submitter
// that takes from a holder entitled to less than a third of a slot. Otherwise a slot could stay
// forever with a holder that is not entitled to it. Other submitters would gain nothing: two equal
// users of eleven slots take turns with the odd one by their usage, and it would be preempted each
// time.
func (c *entitlement) fairer(s *Submitter, l lot, usage accountant.Weight, entitled float64, others accountant.Weight, theirs float64) bool {
	if Fits(usage+l.weight, entitled) && c.spares(s, others, l.charged, theirs) {
		return true
	}
	const most = 2.0 / 3
	weight, charged := l.weight.Float(), l.charged.Float()
	return c.parts && (usage == 0 || theirs < (1-most)*charged) &&
		entitled-usage.Float() > most*weight+Slack && others.Float()-theirs > most*charged+Slack
}

// spares reports whether a holder that uses usage still has its entitlement without less
// of it. When no other slot can be taken, a submitter without any slot may leave the
// holder short of a part of a slot: otherwise it could wait forever, if all are above
// their shares by such parts.
func (c *entitlement) spares(s *Submitter, usage, less accountant.Weight, entitled float64) bool {
	if c.parts && s.Usage == 0 {
		return usage.Float() > entitled+Slack
	}
	return (usage - less).Float() >= entitled-Slack
}

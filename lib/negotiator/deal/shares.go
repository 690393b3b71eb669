package deal

import (
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Claimant is one who shares a pool with others. Numbers are slot weight.
type Claimant struct {
	// EUP is the effective user priority, above zero; lower is better.
	EUP float64
	// Usage is what the claimant holds, Demand what it wants beyond that;
	// neither is negative. Demand may be infinite.
	Usage, Demand float64
}

// at returns what the claimant may use when the level is λ: λ/EUP, but no
// more than it wants and no less than it holds.
func (c Claimant) at(level float64) float64 {
	return min(max(level/c.EUP, c.Usage), c.Usage+c.Demand)
}

// Targets divides total among the claimants: the weighted max-min fair
// division, in which a claimant's weight is 1/EUP (manual, "Effective User
// Priority": in inverse ratio to the EUPs, and what somebody does not use is
// divided among the others in the same ratio).
//
//	target_i = min(usage_i + demand_i, λ/EUP_i), but at least usage_i
//
// with λ such that the targets use up total. Nobody gets less than they hold,
// since nobody is preempted here: who is above their share stays there and the
// others share the rest. When all wants are less than total, everybody gets
// what they want; when total is less than what is held, nobody gets more.
//
// 70 slots and EUPs of 5, 10 and 20 give 40, 20 and 10.
func Targets(total float64, claimants []Claimant) []float64 {
	targets := make([]float64, len(claimants))
	level := waterLevel(total, claimants)
	for i, c := range claimants {
		targets[i] = c.at(level)
	}
	return targets
}

// waterLevel returns the λ of Targets, infinite when there is more than
// enough.
func waterLevel(total float64, claimants []Claimant) float64 {
	// Between two neighbours of these levels the same claimants grow, so what
	// all use is a straight line.
	bends := []float64{0}
	for _, c := range claimants {
		bends = append(bends, c.Usage*c.EUP)
		if top := (c.Usage + c.Demand) * c.EUP; !math.IsInf(top, 0) {
			bends = append(bends, top)
		}
	}
	slices.Sort(bends)
	used := func(level float64) (sum float64) {
		for _, c := range claimants {
			sum += c.at(level)
		}
		return sum
	}
	// n is the first bend at which more than total would be used.
	lo, n := 0, len(bends)
	for lo < n {
		mid := (lo + n) / 2
		if used(bends[mid]) > total {
			n = mid
		} else {
			lo = mid + 1
		}
	}
	if n == 0 {
		return 0
	}
	from := bends[n-1]
	fixed, slope := 0.0, 0.0
	for _, c := range claimants {
		if c.Usage*c.EUP <= from && (c.Usage+c.Demand)*c.EUP > from {
			slope += 1 / c.EUP
		} else {
			fixed += c.at(from)
		}
	}
	if slope == 0 {
		return from
	}
	return max(from, (total-fixed)/slope)
}

// shares is who is entitled to what.
type shares struct {
	arrangement
	bundles  []*bundle // by their first group
	played   bool      // shares are found by playing the division through
	GroupUse *groupUse // nil: no group bounds anybody
	Spins    spinUse   // with Pie Spins
	Kept     map[pool.JobID]*reservation
	dealing  *sharers // that has its turn
	last     bool     // who can take no free slot by now will take none
	parts    bool     // who has nothing may leave a holder short of a part of a slot
	round    int      // of contention
	moves    int      // matches made, and slots set free
}

// Room returns how much more weight the submitter's ceiling lets it use.
func (s *Submitter) Room() float64 {
	if !s.Ceiling.Set {
		return math.Inf(1)
	}
	return float64(s.Ceiling.Slots) - s.Usage.Float()
}

// short reports whether the submitter uses less than its floor.
func (s *Submitter) short() bool { return s.Usage.Float() < float64(s.Floor) }

// UnderCeiling reports whether a submitter's ceiling allows it one more slot of a weight.
// In spins a slot may pass the ceiling, but what is left of it has to be as much as
// the lightest slot of the pool.
func (c *shares) UnderCeiling(s *Submitter, w accountant.Weight) bool {
	if c.Config.Pie != negotiator.Spins {
		return Fits(w, s.Room())
	}
	left := Headroom(s.Ceiling, c.Counted(s))
	return left > 0 && float64(left) >= c.Spins.Least
}

// Counted returns what a submitter's use counts against its share and its ceiling:
// in spins a partitionable slot counts as a whole.
func (c *shares) Counted(s *Submitter) float64 {
	if w, ok := c.Spins.usage[s]; ok {
		return w.Float()
	}
	return s.Usage.Float()
}

// Headroom returns what a ceiling leaves: whole weight in use counts, not fractions.
func Headroom(ceiling accountant.Limit, used float64) int64 {
	if !ceiling.Set {
		return math.MaxInt32
	}
	return max(0, ceiling.Slots-int64(used))
}

// entitle works out what each submitter is entitled to of the whole pool, whoever has
// it now: the fair division (Targets) among all who use or want something, in which not
// usage is the least that somebody gets, but the floor. Nobody is preempted for priority
// below that, nor does anybody come above it by preempting. Slots that are free and of no
// use to who waits do not count.
func (c *shares) entitle() {
	if len(c.tenants) == 0 || c.Config.Preemption.Requirements == nil {
		return
	}
	total, free := 0.0, 0.0
	if c.GroupUse != nil {
		clear(c.GroupUse.entitled)
	}
	for _, s := range c.Submitters {
		total += s.Usage.Float()
		free += c.wantsOfFree(s)
		s.entitled = 0
		s.desire = s.Usage.Float() + c.wantsOfAll(s)
	}
	if !c.last { // when what is free now is free for good
		total += math.Min(free, c.freeWeight())
	}
	total = math.Min(total, c.poolSize())
	for _, tier := range c.tiers() {
		if c.GroupUse != nil && !tier[0].Nice {
			c.entitleGroups(tier, total)
		} else {
			entitleAll(tier, total)
		}
		for _, s := range tier {
			total -= s.entitled
			if c.GroupUse != nil {
				c.GroupUse.entitled[s.Group] += s.entitled
			}
		}
		total = math.Max(0, total)
	}
}

// entitleAll divides total among submitters. Nobody is entitled to less than before, nor to
// less than its floor, which comes before shares.
func entitleAll(some []*Submitter, total float64) {
	claimants := make([]Claimant, len(some))
	for i, s := range some {
		least := math.Max(s.entitled, math.Min(float64(s.Floor), s.desire))
		claimants[i] = Claimant{EUP: s.EUP, Usage: least, Demand: s.desire - least}
	}
	for i, t := range Targets(total, claimants) {
		some[i].entitled = t
	}
}

// entitleGroups divides total among the submitters of groups, by quotas and surplus. Those
// that regroup share, besides, what is nobody's group's.
func (c *shares) entitleGroups(tier []*Submitter, total float64) {
	u := c.GroupUse
	requested, members := make([]float64, len(u.Own)), make([][]*Submitter, len(u.Own))
	for _, s := range tier {
		requested[s.Group] += s.desire
		members[s.Group] = append(members[s.Group], s)
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
		case s.Group == 0:
		case u.tree.List[s.Group].Autoregroup:
			some = append(some, s)
		default:
			rest -= s.entitled
		}
	}
	entitleAll(some, math.Max(0, rest))
}

// wantsOfFree returns the weight that the submitter's jobs could use of what is free.
func (c *shares) wantsOfFree(s *Submitter) float64 {
	wants := c.wants(s)
	if u := c.GroupUse; u != nil && !u.tree.List[s.Group].Autoregroup {
		wants = math.Min(wants, math.Max(0, u.under(s.Group)))
	}
	return wants
}

// wantsOfAll returns the weight that the submitter's jobs could use of all slots that
// are free or run others' jobs, within its ceiling, if there was nobody else.
func (c *shares) wantsOfAll(s *Submitter) (sum float64) {
	for _, q := range s.Queues {
		n := c.able(q)
		if n == 0 {
			continue
		}
		free, held := c.supply(q.Cluster), c.runningSupply(s, q.Cluster)
		sum += math.Min(float64(n)*math.Max(free.heaviest, held.heaviest), free.all+held.all)
	}
	return math.Min(sum, math.Max(0, s.Room()))
}

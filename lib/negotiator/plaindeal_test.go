package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// The dealing of plainCycle: contention.go, forecast.go, fill.go and limits.go in
// their simplest words.

func (u *plainUser) room() float64 {
	if !u.ceiling.Set {
		return math.Inf(1)
	}
	return float64(u.ceiling.Slots) - u.usage.Float()
}

// left returns the user's jobs of a shape that are left.
func (u *plainUser) left(shape string) (n int) {
	for _, j := range u.jobs {
		if j.shape == shape && !j.gone && !j.barred {
			n++
		}
	}
	return n
}

func (c *plainCycle) limitsOf(shape string) []demand {
	for _, j := range c.jobs {
		if j.shape == shape {
			text, _ := j.ad.EvalString(c.eval, "ConcurrencyLimits")
			return demandsOf(text)
		}
	}
	return nil
}

// able returns how many of them limits admit.
func (c *plainCycle) able(u *plainUser, shape string) int {
	return min(u.left(shape), c.inUse.headroom(c.limitsOf(shape)))
}

// supply returns the weight of the heaviest slot left that a shape can use, and of
// all.
func (c *plainCycle) supply(shape string) (heaviest, all float64) {
	for _, s := range c.slots {
		if s.free && slices.Contains(s.users, shape) {
			heaviest = max(heaviest, s.weight.Float())
			all += s.weight.Float()
		}
	}
	return heaviest, all
}

func (c *plainCycle) shapeWants(u *plainUser, shape string) float64 {
	heaviest, all := c.supply(shape)
	return min(float64(c.able(u, shape))*heaviest, all)
}

func (c *plainCycle) wants(u *plainUser) (sum float64) {
	for _, shape := range u.shapes {
		sum += c.shapeWants(u, shape)
	}
	return min(sum, max(0, u.room()))
}

// contend puts all slots in the order of contention.
func (c *plainCycle) contend(tier []*plainUser) {
	load, users := map[*plainSlot]float64{}, map[*plainSlot]map[*plainUser]bool{}
	total := 0.0
	for _, s := range c.slots {
		users[s] = map[*plainUser]bool{}
		if s.free && len(s.users) > 0 {
			total += s.weight.Float()
		}
	}
	var claimants []Claimant
	for _, u := range tier {
		claimants = append(claimants, Claimant{u.eup, u.usage.Float(), c.wants(u)})
		total += u.usage.Float()
	}
	for i, target := range Targets(total, claimants) {
		u := tier[i]
		share := target - u.usage.Float()
		for _, shape := range u.shapes {
			part := min(share, c.shapeWants(u, shape))
			share -= part
			_, all := c.supply(shape)
			for _, s := range c.slots {
				if slices.Contains(s.users, shape) && c.played {
					if all > 0 {
						load[s] += part / all
					}
					users[s][u] = true
				}
			}
		}
	}
	less := func(a, b *plainSlot) int {
		round := func(s *plainSlot) float64 { return math.Round(load[s]*1e6) / 1e6 }
		return cmp.Or(cmp.Compare(round(a), round(b)), cmp.Compare(len(users[a]), len(users[b])), cmp.Compare(len(a.users), len(b.users)))
	}
	for _, s := range c.slots {
		s.place = 0
		for _, o := range c.slots {
			if less(o, s) < 0 {
				s.place++
			}
		}
	}
}

// setTargets computes targets from a forecast.
func (c *plainCycle) setTargets(tier []*plainUser, size float64) {
	var claimants []Claimant
	total := 0.0
	for _, u := range tier {
		claimants = append(claimants, Claimant{u.eup, u.usage.Float(), c.wants(u)})
		total += u.usage.Float()
	}
	if c.played {
		total += c.forecast(tier, claimants)
	} else {
		for _, s := range c.slots {
			if s.free && len(s.users) > 0 {
				total += s.weight.Float()
			}
		}
	}
	for i, t := range Targets(min(total, size), claimants) {
		if c.cfg.IgnoreUserPriorities {
			t = total
		}
		tier[i].target = t
	}
}

// forecast plays the division through, and returns what all get together.
func (c *plainCycle) forecast(tier []*plainUser, claimants []Claimant) (dealt float64) {
	type seat struct {
		number int
		u      *plainUser
		left   map[string]int
		wants  map[string]bool // shapes of which not all jobs got a slot
		usage  accountant.Weight
		got    accountant.Weight
		last   accountant.Weight
		ended  int // after how many deals; -1: not yet
	}
	order := c.inForecastOrder()
	for _, s := range order {
		s.spare = true
	}
	var seats, ended []*seat
	for i, u := range tier {
		if claimants[i].Demand > 0 {
			t := &seat{number: i, u: u, left: map[string]int{}, wants: map[string]bool{}, usage: u.usage, last: accountant.One}
			for _, shape := range u.shapes {
				t.left[shape] = c.able(u, shape)
			}
			seats = append(seats, t)
		}
	}
	draw := func(t *seat) *plainSlot {
		for _, shape := range t.u.shapes {
			for _, s := range order {
				if t.left[shape] > 0 && s.spare && slices.Contains(s.users, shape) && fits(s.weight, t.u.usage.Float()+t.u.room()-t.usage.Float()) {
					t.left[shape]--
					return s
				}
			}
			t.wants[shape] = t.wants[shape] || t.left[shape] > 0
			t.left[shape] = 0
		}
		return nil
	}
	deals := 0
	dealtAt := map[*plainSlot]int{}
	// goneAt returns after how many deals nothing was left for the shape.
	goneAt := func(shape string) (at int) {
		for _, s := range order {
			switch {
			case !slices.Contains(s.users, shape):
			case s.spare:
				return deals
			default:
				at = max(at, dealtAt[s])
			}
		}
		return at
	}
	behind := func(t *seat) float64 { return (t.usage.Float() + t.last.Float()/2) * t.u.eup }
	for len(seats) > 0 {
		slices.SortStableFunc(seats, func(a, b *seat) int {
			return cmp.Or(cmp.Compare(behind(a), behind(b)), cmp.Compare(a.number, b.number))
		})
		t := seats[0]
		s := draw(t)
		if s == nil {
			t.ended = 0
			for _, shape := range t.u.shapes {
				if t.wants[shape] {
					t.ended = max(t.ended, goneAt(shape))
				}
			}
			seats, ended = seats[1:], append(ended, t)
			continue
		}
		s.spare = false
		deals++
		dealtAt[s] = deals
		t.got, t.usage, t.last = t.got+s.weight, t.usage+s.weight, s.weight
		dealt += s.weight.Float()
	}
	for _, t := range ended {
		if t.ended < deals {
			claimants[t.number].Demand = t.got.Float()
		}
	}
	return dealt
}

// inForecastOrder returns the slots left by contention; of equals those that the same
// jobs can use together, as their first kind comes first.
func (c *plainCycle) inForecastOrder() []*plainSlot {
	first := func(same func(o *plainSlot) bool) int { return slices.IndexFunc(c.slots, same) }
	kindAt, bundleAt := map[*plainSlot]int{}, map[*plainSlot]int{}
	var order []*plainSlot
	for _, s := range c.slots {
		if s.free {
			kindAt[s] = first(func(o *plainSlot) bool { return o.kind == s.kind })
			order = append(order, s)
		}
	}
	for _, s := range order {
		bundleAt[s] = math.MaxInt
		for _, o := range c.slots {
			if c.wasFree(o) && o.weight == s.weight && slices.Equal(o.users, s.users) {
				bundleAt[s] = min(bundleAt[s], first(func(x *plainSlot) bool { return x.kind == o.kind }))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *plainSlot) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(bundleAt[a], bundleAt[b]))
	})
	return order
}

// wasFree says whether a slot was free when the cycle began.
func (c *plainCycle) wasFree(s *plainSlot) bool {
	return s.free || slices.ContainsFunc(c.matches, func(m Match) bool { return m.Slot == s.name && m.Preempts == nil })
}

func (c *plainCycle) fill() {
	if slices.ContainsFunc(c.users, func(u *plainUser) bool { return u.floor > 0 }) {
		c.contend(c.users)
		c.raise()
	}
	c.entitle()
	for _, tier := range c.tiers() {
		c.contend(tier)
		c.setTargets(tier, c.poolSize())
		for _, u := range tier {
			u.slice = max(u.target, u.entitled)
			u.limit = max(0, u.slice-u.before.Float())
		}
		slices.SortFunc(tier, func(a, b *plainUser) int {
			return cmp.Or(cmp.Compare(a.eup, b.eup), cmp.Compare(a.starvation(), b.starvation()), strings.Compare(a.name, b.name))
		})
		c.deal(tier)
	}
	c.preemptTheRest()
}

func (u *plainUser) starvation() float64 {
	if u.usage == 0 && u.limit == 0 {
		return math.Inf(1)
	}
	return u.usage.Float() / (u.usage.Float() + u.limit)
}

func (c *plainCycle) poolSize() (size float64) {
	for _, s := range c.slots {
		if s.counted {
			size += s.weight.Float()
		}
	}
	if c.cfg.PoolSizeConstraint == nil {
		return math.Inf(1)
	}
	return size
}

// raise serves those below their floors.
func (c *plainCycle) raise() {
	needy := slices.Clone(c.users)
	for {
		needy = slices.DeleteFunc(needy, func(u *plainUser) bool { return u.usage.Float() >= float64(u.floor) })
		if len(needy) == 0 {
			return
		}
		slices.SortStableFunc(needy, func(a, b *plainUser) int {
			return cmp.Or(cmp.Compare(a.usage.Float()*a.eup, b.usage.Float()*b.eup), cmp.Compare(slices.Index(c.users, a), slices.Index(c.users, b)))
		})
		if c.turn(needy[0], math.Inf(1), 1) == 0 {
			needy = needy[1:]
		}
	}
}

func (c *plainCycle) deal(tier []*plainUser) {
	for {
		took := 0
		for _, u := range tier {
			took += c.turn(u, u.target, math.MaxInt)
		}
		if took == 0 {
			c.setTargets(tier, math.Inf(1))
			if !c.roundUp(tier) {
				return
			}
		}
		c.setTargets(tier, math.Inf(1))
	}
}

// roundUp gives one slot each to those furthest below their targets.
func (c *plainCycle) roundUp(tier []*plainUser) (any bool) {
	gap := map[*plainUser]float64{}
	for _, u := range tier {
		gap[u] = math.Round((u.target - u.usage.Float()) / slack)
	}
	line := slices.Clone(tier)
	slices.SortStableFunc(line, func(a, b *plainUser) int { return cmp.Compare(gap[b], gap[a]) })
	for _, u := range line {
		if any && gap[u] <= 0 {
			return true
		}
		if c.turn(u, math.Inf(1), 1) > 0 {
			any = true
		} else if any && slices.ContainsFunc(u.shapes, func(shape string) bool { return u.left(shape) > 0 }) {
			return true
		}
	}
	return any
}

// turn lets a user take slots up to a limit.
func (c *plainCycle) turn(u *plainUser, limit float64, most int) (took int) {
	waits := map[string]bool{}
	for i, j := range u.jobs {
		if took == most {
			break
		}
		if j.gone || j.barred || waits[j.shape] || u.barren[j.shape] {
			continue
		}
		if behind, skips := u.skipped[j.kin]; skips && i > behind {
			j.gone, j.passed = true, true
			continue
		}
		if _, blocked := c.inUse.blocked(c.limitsOf(j.shape)); blocked {
			waits[j.shape] = true
			continue
		}
		switch slot, tenant, why, there := c.offer(u, j, min(limit-u.usage.Float(), u.room())); {
		case tenant != nil:
			c.preempt(j, tenant, why)
			took++
		case slot != nil:
			c.match(j, slot)
			took++
		case there:
			waits[j.shape] = true
		default:
			for i, alike := range u.jobs {
				if alike.shape == j.shape {
					u.skip(alike, i)
				}
			}
			u.barren[j.shape] = true
		}
	}
	return took
}

// skip has the kin of a job for which nothing is found passed over, behind its own place.
func (u *plainUser) skip(j *plainJob, at int) {
	if behind, skips := u.skipped[j.kin]; j.kin != "" && !j.gone && !j.barred && (!skips || at < behind) {
		u.skipped[j.kin] = at
	}
}

// matching returns the free slots for a job, the best first.
func (c *plainCycle) matching(j *plainJob) []*plainSlot {
	var all []*plainSlot
	rank := map[*plainSlot][3]float64{}
	for _, s := range c.slots {
		if s.free && classad.Match(c.eval, j.ad, s.ad) {
			all = append(all, s)
			_, own, _ := classad.MatchRanks(c.eval, j.ad, s.ad)
			rank[s] = [3]float64{c.rank(c.cfg.PreJobRank, s, j), own, c.rank(c.cfg.PostJobRank, s, j)}
		}
	}
	slices.SortStableFunc(all, func(a, b *plainSlot) int {
		for i := range 3 {
			if rank[a][i] != rank[b][i] {
				return cmp.Compare(rank[b][i], rank[a][i])
			}
		}
		return cmp.Compare(a.place, b.place)
	})
	return all
}

func (c *plainCycle) rank(e *classad.Expr, s *plainSlot, j *plainJob) float64 {
	if e == nil {
		return 0
	}
	if x, ok := e.Eval(c.eval, s.ad, j.ad).Number(); ok && !math.IsNaN(x) {
		return x
	}
	return math.Inf(-1)
}

func (c *plainCycle) match(j *plainJob, s *plainSlot) {
	s.free = false
	c.give(j, s, Match{Reason: NoPreemption})
}

// give completes a match.
func (c *plainCycle) give(j *plainJob, s *plainSlot, m Match) {
	j.gone = true
	m.Job, m.Submitter, m.Slot, m.Weight, m.Limits = j.id, j.user.name, s.name, s.weight, demandText(c.limitsOf(j.shape))
	m.Rank = c.number(s.ad, "Rank", j.ad)
	c.inUse.add(m.Limits)
	j.user.usage += s.weight
	c.matches = append(c.matches, m)
}

// told returns what the cycle decided as a text.
func (c *plainCycle) told() string {
	var b strings.Builder
	for _, m := range c.matches {
		fmt.Fprintln(&b, toldOf(m))
	}
	for _, u := range c.users {
		fmt.Fprintf(&b, "%s %.6f %.6f\n", u.name, u.slice, u.limit)
	}
	return b.String()
}

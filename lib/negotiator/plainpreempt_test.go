package negotiator

import (
	"fmt"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// The preemption of plainCycle: running.go, overlay.go, entitle.go and preempt.go in their
// simplest words, for whole slots.

// plainTenant is a slot that runs a job which may have to go.
type plainTenant struct {
	place   int // of the slot
	slot    *plainSlot
	claim   pool.Claim
	outside bool
	holder  *plainUser
	gone    bool
}

// findTenants lists what runs jobs that may be preempted.
func (c *plainCycle) findTenants(claims []pool.Claim) {
	for i, s := range c.slots {
		state, _ := s.ad.EvalString(c.eval, "State")
		activity, _ := s.ad.EvalString(c.eval, "Activity")
		left, retires := s.ad.EvalNumber(c.eval, "RetirementTimeRemaining")
		if retires && left > 0 && !c.cfg.Preemption.Early || !c.cfg.Preemption.Consider || s.rests {
			continue
		}
		var ours []pool.Claim
		for _, cl := range claims {
			if cl.Slot == s.name {
				ours = append(ours, cl)
			}
		}
		switch {
		case len(ours) == 1 && ours[0].State == pool.RunningClaim && !ours[0].StartedAt.IsZero() && slices.Contains([]string{"", "Unclaimed", "Matched", "Claimed"}, state):
			c.tenants = append(c.tenants, &plainTenant{place: i, claim: ours[0], holder: c.user(ours[0].Submitter), slot: c.overlay(s, ours[0])})
		case len(ours) == 0 && state == "Claimed" && Holder(c.eval, s.ad) != "" && activity != "Idle" && !s.ad.Has("PreemptingUser"):
			who := c.user(c.spelled(Holder(c.eval, s.ad)))
			t := &plainTenant{place: i, outside: true, holder: who, claim: pool.Claim{Slot: s.name, Submitter: who.name, Weight: s.weight}, slot: &plainSlot{name: s.name, weight: s.weight, ad: classad.New().Chain(s.ad)}}
			c.tenants = append(c.tenants, t)
		}
	}
}

// overlay returns a slot as a claim of ours makes it look.
func (c *plainCycle) overlay(s *plainSlot, cl pool.Claim) *plainSlot {
	ad := classad.New().Chain(s.ad)
	for name, text := range map[string]string{"State": "Claimed", "Activity": "Busy", "RemoteUser": cl.Submitter, "RemoteOwner": cl.Submitter, "JobId": cl.Job.String(), "ConcurrencyLimits": cl.Limits} {
		ad.SetString(name, text)
	}
	for _, name := range []string{"EnteredCurrentState", "EnteredCurrentActivity", "JobStart"} {
		ad.SetInt(name, cl.StartedAt.Unix())
	}
	ad.SetInt("TotalJobRunTime", c.now.Unix()-cl.StartedAt.Unix())
	ad.SetReal("CurrentRank", cl.Rank)
	return &plainSlot{name: s.name, weight: s.weight, ad: ad}
}

// introduce says in ads what is known of users, as the cycle begins.
func (c *plainCycle) introduce() {
	for _, t := range c.tenants {
		t.slot.ad.SetReal("RemoteUserPrio", t.holder.eup)
		t.slot.ad.SetReal("RemoteUserResourcesInUse", t.holder.before.Float())
	}
	for _, j := range c.jobs {
		j.ad.SetReal("SubmitterUserPrio", j.user.eup)
		j.ad.SetReal("SubmitterUserResourcesInUse", j.user.before.Float())
	}
}

// heldSupply does as supply of what others' jobs run on.
func (c *plainCycle) heldSupply(u *plainUser, shape string) (heaviest, all float64) {
	for _, t := range c.tenants {
		if !t.gone && t.holder != u && t.slot.weight > 0 && slices.Contains(c.usedBy(t.slot), shape) {
			heaviest = max(heaviest, t.slot.weight.Float())
			all += t.slot.weight.Float()
		}
	}
	return heaviest, all
}

// desire is what a user would use of the whole pool if there was nobody else.
func (c *plainCycle) desire(u *plainUser) float64 {
	sum := 0.0
	for _, shape := range u.shapes {
		if n := c.able(u, shape); n > 0 {
			free, allFree := c.supply(shape)
			held, allHeld := c.heldSupply(u, shape)
			sum += min(float64(n)*max(free, held), allFree+allHeld)
		}
	}
	return u.usage.Float() + min(sum, max(0, u.room()))
}

// entitle divides the whole pool, whoever has it now.
func (c *plainCycle) entitle() {
	if len(c.tenants) == 0 || c.cfg.Preemption.Requirements == nil {
		return
	}
	total, free := 0.0, 0.0
	for _, u := range c.users {
		total += u.usage.Float()
		free += c.wants(u)
	}
	if !c.last {
		total += min(free, c.freeForAll())
	}
	total = min(total, c.poolSize())
	for _, tier := range c.tiers() {
		var claimants []Claimant
		for _, u := range tier {
			desire := c.desire(u)
			floor := min(float64(u.floor), desire)
			claimants = append(claimants, Claimant{EUP: u.eup, Usage: floor, Demand: desire - floor})
		}
		parts := Targets(total, claimants)
		for i, u := range tier {
			total -= parts[i]
			u.entitled = parts[i]
		}
		total = max(0, total)
	}
}

// freeForAll is the weight of the free slots that anybody can use.
func (c *plainCycle) freeForAll() (sum float64) {
	for _, s := range c.slots {
		if s.free && len(s.users) > 0 {
			sum += s.weight.Float()
		}
	}
	return sum
}

// tiers are all but the nice users, and these.
func (c *plainCycle) tiers() (tiers [][]*plainUser) {
	nice := len(c.users)
	if i := slices.IndexFunc(c.users, func(u *plainUser) bool { return u.nice }); i >= 0 {
		nice = i
	}
	for _, tier := range [][]*plainUser{c.users[:nice], c.users[nice:]} {
		if len(tier) > 0 {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}

// number returns an attribute as a number, 0 where it is none.
func (c *plainCycle) number(ad *classad.Ad, name string, target *classad.Ad) float64 {
	if x, ok := ad.Eval(c.eval, name, target).Number(); ok && !math.IsNaN(x) {
		return x
	}
	return 0
}

// reason says why a tenant may have to go for a job; empty if it may not.
func (c *plainCycle) reason(j *plainJob, t *plainTenant) string {
	u, h, weight := j.user, t.holder, t.slot.weight
	freed := accountant.Weight(0)
	if u == h {
		freed = t.claim.Weight
	}
	rank, current := c.number(t.slot.ad, "Rank", j.ad), c.number(t.slot.ad, "CurrentRank", nil)
	req := c.cfg.Preemption.Requirements
	switch {
	case t.gone || !classad.Match(c.eval, j.ad, t.slot.ad), weight > freed && !fits(weight-freed, u.room()):
		return ""
	case rank > current:
		return RankPreemption
	case rank < current || u == h || u.eup >= h.eup, u.usage.Float() >= u.entitled, h.usage.Float() <= h.entitled+slack, req == nil || !req.Eval(c.eval, t.slot.ad, j.ad).True():
		return ""
	case c.parts && u.usage == 0 && u.entitled > 2*weight.Float()/3+slack && h.usage.Float()-h.entitled > 2*t.claim.Weight.Float()/3+slack:
		return PriorityPreemption
	case !fits(u.usage+weight, u.entitled), !(c.parts && u.usage == 0) && (h.usage-t.claim.Weight).Float() < h.entitled-slack:
		return ""
	}
	return PriorityPreemption
}

// victim returns whom a job preempts best, and why; nil for nobody.
func (c *plainCycle) victim(j *plainJob) (best *plainTenant, why string) {
	type order struct {
		ranks      [3]float64
		byRank     bool
		preemption float64
	}
	var top order
	for _, t := range c.tenants {
		reason := c.reason(j, t)
		if reason == "" {
			continue
		}
		o := order{c.ranks(j, t.slot), reason == RankPreemption, math.Inf(-1)}
		if e := c.cfg.Preemption.Rank; e != nil {
			o.preemption = c.rank(e, t.slot, j)
		}
		n := slices.Compare(o.ranks[:], top.ranks[:])
		switch {
		case best == nil || n > 0:
		case n < 0 || top.byRank && !o.byRank:
			continue
		case !top.byRank && o.byRank:
		case o.preemption <= top.preemption:
			continue
		}
		best, why, top = t, reason, o
	}
	return best, why
}

// ranks are those by which a job prefers a slot.
func (c *plainCycle) ranks(j *plainJob, s *plainSlot) [3]float64 {
	_, own, _ := classad.MatchRanks(c.eval, j.ad, s.ad)
	if math.IsNaN(own) {
		own = 0
	}
	return [3]float64{c.rank(c.cfg.PreJobRank, s, j), own, c.rank(c.cfg.PostJobRank, s, j)}
}

// offer returns the best slot for a job, or the tenant that has to go for it; there says
// that a free slot matches, at least.
func (c *plainCycle) offer(u *plainUser, j *plainJob, room float64) (_ *plainSlot, _ *plainTenant, why string, there bool) {
	matching := c.matching(j)
	allowed := slices.DeleteFunc(slices.Clone(matching), func(s *plainSlot) bool { return !fits(s.weight, room) })
	later := slices.DeleteFunc(slices.Clone(matching), func(s *plainSlot) bool { return !fits(s.weight, u.room()) })
	t, why := c.victim(j)
	beats := func(s *plainSlot) bool {
		a, b := c.ranks(j, t.slot), c.ranks(j, s)
		return slices.Compare(a[:], b[:]) > 0
	}
	switch {
	case len(allowed) > 0 && (t == nil || !beats(allowed[0])):
		return allowed[0], nil, "", true
	case t == nil, len(allowed) == 0 && len(later) > 0 && !c.last && !beats(later[0]):
		return nil, nil, "", len(matching) > 0
	}
	return nil, t, why, true
}

// preempt takes a slot away from its holder for a job.
func (c *plainCycle) preempt(j *plainJob, t *plainTenant, why string) {
	t.gone = true
	t.holder.usage -= t.claim.Weight
	v := &Preempted{Job: t.claim.Job, Attempt: t.claim.Attempt, Submitter: t.holder.name, Weight: t.claim.Weight}
	c.give(j, t.slot, Match{Reason: why, Preempts: v})
}

// preemptTheRest lets users preempt once more when all is dealt out, until nobody does.
func (c *plainCycle) preemptTheRest() {
	if len(c.tenants) == 0 {
		return
	}
	c.last = true
	c.preemptAll()
	c.parts = true
	c.preemptAll()
}

func (c *plainCycle) preemptAll() {
	for before := -1; before != len(c.matches); {
		before = len(c.matches)
		for _, u := range c.users {
			clear(u.skipped)
			clear(u.barren)
			for _, j := range u.jobs {
				j.gone = j.gone && !j.passed
				j.passed = false
			}
		}
		c.entitle()
		for _, tier := range c.tiers() {
			c.contend(tier)
			c.setTargets(tier, math.Inf(1))
			c.deal(tier)
		}
	}
}

// toldOf returns a match as a text.
func toldOf(m Match) string {
	text := fmt.Sprintf("%s %s %s %v %s %v %s", m.Job, m.Submitter, m.Slot, m.Weight, m.Limits, m.Rank, m.Reason)
	if v := m.Preempts; v != nil {
		text += fmt.Sprintf(" preempts %s %d of %s, %v", v.Job, v.Attempt, v.Submitter, v.Weight)
	}
	return text
}

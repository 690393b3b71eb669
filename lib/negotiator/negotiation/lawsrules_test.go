package negotiation

import (
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// rules are what a configuration says of slots and jobs, evaluated anew each time.
type rules struct {
	cfg  negotiator.Config
	eval *classad.Context
}

func rulesOf(cfg negotiator.Config) rules { return rules{cfg, &classad.Context{Now: now}} }

// weigh returns the weight of a slot or piece with this ad.
func (r rules) weigh(ad *classad.Ad) accountant.Weight {
	e := r.cfg.SlotWeight
	if own, ok := ad.Lookup("SlotWeight"); ok {
		e = own
	}
	if !r.cfg.UseSlotWeights || e == nil {
		return accountant.One
	}
	n, ok := e.Eval(r.eval, ad, nil).Number()
	w, err := accountant.WeightOf(n)
	if !ok || err != nil {
		return accountant.One
	}
	return w
}

// allows reports whether a constraint lets a job or a slot take part.
func (r rules) allows(e *classad.Expr, ad *classad.Ad) bool {
	return e == nil || e.Eval(r.eval, ad, nil).True()
}

// number returns an attribute as a number; 0 stands for every value that is no number.
func (r rules) number(ad *classad.Ad, name string, target *classad.Ad) float64 {
	if x, ok := ad.Eval(r.eval, name, target).Number(); ok && x == x {
		return x
	}
	return 0
}

// rank returns what e ranks a slot with for a job, or less than anything.
func (r rules) rank(e *classad.Expr, slot, job *classad.Ad) float64 {
	if e == nil {
		return 0
	}
	if x, ok := e.Eval(r.eval, slot, job).Number(); ok && !math.IsNaN(x) {
		return x
	}
	return math.Inf(-1)
}

// ranks are those by which a job prefers a slot, the first that differ count.
func (r rules) ranks(job, slot *classad.Ad) []float64 {
	_, own, _ := classad.NewMatcher(r.eval, job).MatchRanks(slot)
	if math.IsNaN(own) {
		own = 0
	}
	return []float64{r.rank(r.cfg.PreJobRank, slot, job), own, r.rank(r.cfg.PostJobRank, slot, job)}
}

// overdue reports whether a match was not taken up in time.
func (r rules) overdue(cl pool.Claim) bool {
	return cl.State == pool.Matched && r.cfg.RequestClaimTimeout > 0 && now.Sub(cl.MatchedAt) > r.cfg.RequestClaimTimeout
}

// freeSlot is a slot that a cycle may hand out, whole or in pieces.
type freeSlot struct {
	name   string
	ad     *classad.Ad
	weight accountant.Weight
}

// look returns the slots that are free when a cycle begins, by name, and how much of the
// concurrency limits is in use.
func (r rules) look(p negotiator.Pool) (free []freeSlot, inUse *concurrency.InUse) {
	claims, inUse := slices.DeleteFunc(slices.Clone(p.Claims), r.overdue), concurrency.NewInUse(r.cfg.Limits)
	for _, cl := range claims {
		inUse.Add(cl.Limits)
	}
	for _, s := range p.Slots {
		life, _ := s.Ad.EvalInt(r.eval, "ClassAdLifetime")
		heard, _ := s.Ad.EvalInt(r.eval, "LastHeardFrom")
		if life > 0 && heard+life < now.Unix() || !r.allows(r.cfg.SlotConstraint, s.Ad) {
			continue
		}
		outside := negotiator.Holder(r.eval, s.Ad) != ""
		if outside {
			limits, _ := s.Ad.EvalString(r.eval, "ConcurrencyLimits")
			inUse.Add(limits)
		}
		state, _ := s.Ad.EvalString(r.eval, "State")
		claimed := slices.ContainsFunc(claims, func(cl pool.Claim) bool { return cl.Slot == s.Name })
		rests := slices.ContainsFunc(p.Backoffs, func(b pool.Backoff) bool { return b.Slot == s.Name && b.Until.After(now) }) ||
			slices.ContainsFunc(p.Claims, func(cl pool.Claim) bool { return cl.SlotAd() == s.Name && r.overdue(cl) })
		if !outside && !claimed && !rests && slices.Contains([]string{"", "Unclaimed", "Matched"}, state) {
			free = append(free, freeSlot{s.Name, s.Ad, r.weigh(s.Ad)})
		}
	}
	slices.SortFunc(free, func(a, b freeSlot) int { return pool.CompareNames(a.name, b.name) })
	return free, inUse
}

// asksOfUse reports whether preemption asks what is in use, which changes as a cycle goes on:
// the cycle may look at it again less often than at each match.
func (r rules) asksOfUse() bool {
	return slices.ContainsFunc([]*classad.Expr{r.cfg.Preemption.Requirements, r.cfg.Preemption.Rank}, func(e *classad.Expr) bool {
		return e != nil && strings.Contains(e.String(), "InUse")
	})
}

package negotiator

import (
	"cmp"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// overlay adds to the ads of slots that run jobs what expressions ask about the claim
// and its holder.
type overlay struct {
	c      *cycle
	claim  []int // those of claimAttributes that are asked for
	holder []int // those of remoteAttributes
	groups []Group
	// ofClaim and ofHolder have the names of what is added for a claim of ours, and for one
	// from outside: copies share them, and are quick to read.
	ofClaim, ofHolder *classad.Ad
}

// claimAttributes say what a claim of ours that runs its job makes of a slot. They are those
// of pool.Overlay, one by one, as most cycles ask for few of them, and what slots have besides.
var claimAttributes = []struct {
	name  string
	value func(*cycle, *pool.Claim) classad.Value
}{
	{pool.AttrState, func(*cycle, *pool.Claim) classad.Value { return classad.String("Claimed") }},
	{pool.AttrActivity, func(*cycle, *pool.Claim) classad.Value { return classad.String("Busy") }},
	{pool.AttrRemoteUser, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.String(cl.Submitter) }},
	{pool.AttrRemoteOwner, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.String(cl.Submitter) }},
	{pool.AttrJobID, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.String(cl.Job.String()) }},
	{pool.AttrEnteredState, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{"EnteredCurrentActivity", func(_ *cycle, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{pool.AttrJobStart, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{pool.AttrTotalJobRunTime, func(c *cycle, cl *pool.Claim) classad.Value {
		return classad.Int(max(0, c.now.Unix()-cl.StartedAt.Unix()))
	}},
	{pool.AttrCurrentRank, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.Real(cl.Rank) }},
	{pool.AttrNiceUser, func(c *cycle, cl *pool.Claim) classad.Value { return classad.Bool(c.cfg.Params.Nice(cl.Submitter)) }},
	{pool.AttrConcurrencyLimits, func(_ *cycle, cl *pool.Claim) classad.Value { return classad.String(cl.Limits) }},
}

// remoteAttributes are what a cycle adds to a claimed slot's ad about its holder
// (manual, "Negotiation"), as it is when the cycle begins.
var remoteAttributes = []struct {
	name   string
	groups bool // only where there are accounting groups
	value  func(*submitter, Group) classad.Value
}{
	{"RemoteUserPrio", false, func(s *submitter, _ Group) classad.Value { return classad.Real(s.eup) }},
	{"RemoteUserResourcesInUse", false, func(s *submitter, _ Group) classad.Value { return classad.Real(s.before.Float()) }},
	{"RemoteUserFloor", false, func(s *submitter, _ Group) classad.Value { return classad.Int(s.floor) }},
	{"RemoteGroup", true, func(_ *submitter, g Group) classad.Value { return classad.String(g.Name) }},
	{"RemoteGroupResourcesInUse", true, func(_ *submitter, g Group) classad.Value { return classad.Real(g.Usage) }},
	{"RemoteGroupQuota", true, func(_ *submitter, g Group) classad.Value { return classad.Real(g.EffectiveQuota) }},
	{"RemoteNegotiatingGroup", true, func(_ *submitter, g Group) classad.Value { return classad.String(g.Name) }},
	{"RemoteAutoregroup", true, func(*submitter, Group) classad.Value { return classad.Bool(false) }},
}

// matchAttributes are those of remoteAttributes that the match decided which made the claim:
// a slot that tells of them itself knows better.
var matchAttributes = []string{"RemoteNegotiatingGroup", "RemoteAutoregroup"}

func (c *cycle) newOverlay(asked names) *overlay {
	w := &overlay{c: c}
	for i, a := range claimAttributes {
		if a.name == pool.AttrCurrentRank || asked.has(strings.ToLower(a.name)) {
			w.claim = append(w.claim, i)
		}
	}
	for i, a := range remoteAttributes {
		if !asked.has(strings.ToLower(a.name)) {
			continue
		}
		if a.groups && w.groups == nil {
			w.groups = c.accounts()
		}
		if !a.groups || w.groups != nil {
			w.holder = append(w.holder, i)
		}
	}
	w.ofClaim, w.ofHolder = classad.New(), classad.New()
	undefined := classad.Literal(classad.Undefined())
	for _, i := range w.claim {
		w.ofClaim.Set(claimAttributes[i].name, undefined)
	}
	for _, i := range w.holder {
		w.ofClaim.Set(remoteAttributes[i].name, undefined)
		w.ofHolder.Set(remoteAttributes[i].name, undefined)
	}
	return w
}

// ours returns the running slot that a claim of this pool makes.
func (w *overlay) ours(slot int, cl *pool.Claim) running {
	c, s := w.c, &w.c.slots[slot]
	r := running{slot: slot, claim: cl, holder: c.called[cl.Submitter], weight: s.weight, ad: s.ad}
	if s.whole != nil {
		r.ad = pool.DynamicAd(s.whole, cl.Slot, cl.Piece.Takes)
		r.weight = c.weighPart(r.ad)
	}
	r.ad = w.ofClaim.Clone().Chain(r.ad)
	for _, i := range w.claim {
		a := &claimAttributes[i]
		r.ad.Set(a.name, classad.Literal(a.value(c, cl)))
	}
	w.remote(r.ad, r.holder)
	return r
}

// outside returns the running slot that is claimed by its own words.
func (w *overlay) outside(slot int) running {
	c, s := w.c, &w.c.slots[slot]
	cl := &pool.Claim{Slot: s.name, Submitter: c.holderOf(s), Weight: s.weight}
	r := running{slot: slot, claim: cl, outside: true, holder: c.called[cmp.Or(c.pendingFor(s), cl.Submitter)], weight: s.weight, ad: s.ad}
	rank, pending := 0.0, false
	if c.cfg.Pie == Spins {
		// Whoever comes now has to be worth more than who waits already.
		rank, pending = s.ad.EvalNumber(c.eval, pool.AttrPreemptingRank)
	}
	if pending || len(w.holder) > 0 {
		r.ad = w.ofHolder.Clone().Chain(s.ad)
		w.remote(r.ad, r.holder)
		for _, name := range matchAttributes {
			if e, told := s.ad.Lookup(name); told {
				r.ad.Set(name, e)
			}
		}
	}
	if pending {
		r.ad.SetReal(pool.AttrCurrentRank, rank)
	}
	return r
}

// remote adds what is asked for of a slot's holder.
func (w *overlay) remote(ad *classad.Ad, holder *submitter) {
	var g Group
	if w.groups != nil {
		g = w.groups[w.c.cfg.Params.Groups.Of(holder.name)]
	}
	for _, i := range w.holder {
		a := &remoteAttributes[i]
		ad.Set(a.name, classad.Literal(a.value(holder, g)))
	}
}

package deal

import (
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// claimed is what slots, or pieces of partitionable ones, that are claimed and protected alike from
// whatever job have in common.
type claimed struct {
	group   *Group         // that reports whether they match at all
	takes   pool.Resources // of pieces
	tenants *tenants       // if they may be preempted at all; else why they may not
	why     negotiator.Protection
}

// claimedSlots are so many that are claimed.
type claimedSlots struct {
	claimed
	left  shapes.Amounts // the resources of pieces; nil: whole slots
	slots int
}

// findClaimed groups the claimed slots.
func (c *Outcome) findClaimed() (list []claimedSlots) {
	type place struct { // of a running slot, pieces by their jobs
		slot int
		job  pool.JobID
	}
	on := map[place]*tenants{}
	for _, t := range c.tenants {
		for _, r := range t.slots {
			p := place{slot: r.slot}
			if t.left != nil {
				p.job = r.claim.Job
			}
			on[p] = t
		}
	}
	gone := map[string]bool{}
	for i := range c.Plan.Matches {
		if m := &c.Plan.Matches[i]; m.Preempts != nil {
			gone[m.Slot] = true
		}
	}
	list = []claimedSlots{} // not nil: it was asked for
	at := map[claimed]int{}
	add := func(s *Slot, name string, p place, x claimed) {
		if x.tenants = on[p]; x.tenants == nil {
			x.why = c.protects(s, gone[name])
		}
		n, known := at[x]
		if !known {
			n = len(list)
			at[x] = n
			list = append(list, claimedSlots{claimed: x})
			if s.Whole != nil {
				list[n].left = c.LeftIn(pool.DynamicAd(s.Whole, name, x.takes))
			}
		}
		list[n].slots++
	}
	for i := range c.Slots {
		s := &c.Slots[i]
		if s.Whole == nil {
			if s.Standing == Claimed {
				add(s, s.Name, place{slot: i}, claimed{group: s.Group})
			}
			continue
		}
		for _, cl := range s.Claims {
			add(s, cl.Slot, place{i, cl.Job}, claimed{group: s.Wholly, takes: cl.Piece.Takes})
		}
	}
	return list
}

// protects returns what protects a slot from whatever job.
func (c *Outcome) protects(s *Slot, gone bool) negotiator.Protection {
	switch {
	case !c.Config.Preemption.Consider:
		return negotiator.Unconsidered
	case gone:
		return negotiator.AlreadyPreempted
	case c.retires(s):
		return negotiator.Retiring
	case c.rests(s):
		return negotiator.LeftAlone
	}
	return negotiator.NotRunning
}

// mostVisits is how often one cycle looks why something was not preempted.
const mostVisits = 5_000_000

// Protections returns the protections of the claimed slots that match jobs of k from those of a
// submitter, as the cycle left them. It evaluates at most asked expressions, and returns nil when
// there is no time left to look.
func (c *Outcome) Protections(s *Submitter, k *Autocluster, asked int) (list []negotiator.Protected) {
	if c.claimed == nil {
		c.claimed = c.findClaimed()
	}
	if c.visits += len(c.claimed); c.visits > mostVisits && !k.Explain {
		return nil
	}
	if k.Explain {
		asked = len(c.claimed)
	}
	counts := map[negotiator.Protection]int{}
	for i := range c.claimed {
		x := &c.claimed[i]
		if c.Verdict(k.Autocluster, x.group.Group) != shapes.Accepts || x.left != nil && !k.Request.Fits(x.left) {
			continue
		}
		why := x.why
		if x.tenants != nil {
			why = c.protection(s, k, x.tenants, &asked)
		}
		counts[why] += x.slots
	}
	for _, why := range negotiator.Protections() {
		if n := counts[why]; n > 0 {
			list = append(list, negotiator.Protected{Why: why, Slots: n})
		}
	}
	return list
}

// protection returns what protects tenants from a submitter's jobs of k; Unprotected for nothing.
// Expressions are not asked any more when asked is used up.
func (c *Outcome) protection(s *Submitter, k *Autocluster, t *tenants, asked *int) negotiator.Protection {
	c.dealTo(s)
	if !c.suits(k, t) {
		return negotiator.Unmatched
	}
	return c.by.protects(s, k, t, asked)
}

func (c *queueDealer) protects(s *Submitter, k *Autocluster, t *tenants, _ *int) negotiator.Protection {
	if t.ranks && c.prefers(k, t) {
		return c.bounds(s, t.lot, negotiator.RankPreemption)
	}
	return negotiator.NotPreferred
}

func (c *shareDealer) protects(s *Submitter, k *Autocluster, t *tenants, asked *int) negotiator.Protection {
	reason, why := c.ask(s, k, t, asked)
	switch {
	case reason == negotiator.RankPreemption:
		return c.bounds(s, t.lot, reason)
	case t.holder == s:
		return why
	case s.EUP >= t.holder.EUP:
		return negotiator.BetterPriority
	case reason == negotiator.NoPreemption:
		return why
	case c.withinShares(s, t.lot):
		return c.bounds(s, t.lot, reason)
	case !c.spares(s, t.holder.Usage, t.charged, t.holder.entitled):
		return negotiator.HolderShare
	}
	return negotiator.OwnShare
}

func (sp *spinning) protects(s *Submitter, k *Autocluster, t *tenants, asked *int) negotiator.Protection {
	reason, why := sp.ask(s, k, t, asked)
	more := t.more(s)
	switch {
	case reason == negotiator.NoPreemption:
		return why
	case s.Spent && reason == negotiator.PriorityPreemption:
		return negotiator.OwnShare
	case more > 0 && !sp.underCeiling(s, more):
		return negotiator.OwnCeiling
	}
	return negotiator.Unprotected
}

// ask returns the reason for which expressions let a submitter's jobs of k preempt tenants, or
// NoPreemption and why they do not. Once asked is used up, it assumes that they may for priority.
func (c *dealer) ask(s *Submitter, k *Autocluster, t *tenants, asked *int) (reason string, why negotiator.Protection) {
	answer := unknown
	if *asked--; *asked >= 0 {
		if c.prefers(k, t) {
			return negotiator.RankPreemption, why
		}
		answer = c.yields(s, k, t)
	}
	switch {
	case t.holder == s:
		return negotiator.NoPreemption, negotiator.OwnJob
	case answer == no:
		return negotiator.NoPreemption, negotiator.SlotRank
	case answer == refused || c.Config.Preemption.Requirements == nil:
		return negotiator.NoPreemption, negotiator.PreemptionRequirements
	}
	return negotiator.PriorityPreemption, why
}

// bounds returns which limit keeps a submitter from the slot of another; Unprotected for
// none.
func (c *preemption) bounds(s *Submitter, l lot, reason string) negotiator.Protection {
	switch more := l.more(s); {
	case more > 0 && !s.underCeiling(more):
		return negotiator.OwnCeiling
	case !c.underQuota(s, l, reason):
		return negotiator.GroupShare
	}
	return negotiator.Unprotected
}

// more returns how much more a submitter uses that takes one of a lot.
func (l *lot) more(s *Submitter) accountant.Weight {
	if l.holder == s {
		return l.weight - l.charged
	}
	return l.weight
}

// dealTo gives a submitter its turn, if only to find out its limits.
func (c *Outcome) dealTo(s *Submitter) {
	group := s.Group
	if c.groupUse == nil || s.Nice {
		group = -1
	}
	if c.dealing == nil || c.dealing.group != group {
		c.dealing = &sharers{group: group}
	}
}

// MayPrefer reports whether any slot that runs a job has a Rank that may prefer another.
func (c *Outcome) MayPrefer() bool {
	return slices.ContainsFunc(c.choosy, func(kind []*tenants) bool { return len(kind) > 0 })
}

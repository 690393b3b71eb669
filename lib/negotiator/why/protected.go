package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// notPreempted tells why claimed slots that match were not preempted, in a clause; empty
// where preemption is not considered, in spins, where HTCondor's words say it, and with a
// Config.Queue where no slot has a Rank that may prefer another job.
func (d *diagnosis) notPreempted(s *deal.Submitter, k *deal.Autocluster) string {
	c := d.c
	noRank := c.OneQueue != nil && !slices.ContainsFunc(c.Choosy, func(kind []*deal.Tenants) bool { return len(kind) > 0 })
	if !c.Config.Preemption.Consider || c.Config.Pie == negotiator.Spins || noRank {
		return ""
	}
	all := d.protections(s, k)
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b negotiator.Protected) int { return cmp.Compare(b.Slots, a.Slots) })
	if len(all) == 1 {
		return "; " + plural.Pick(all[0].Slots, "it is not preempted, as ", "none is preempted, as ") + all[0].Text()
	}
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%d as %s", p.Slots, p.Text()))
	}
	return "; not preempted: " + strings.Join(parts, ", ")
}

// claimedSlots are slots, or pieces of partitionable ones, that are claimed and protected alike
// from whatever job.
type claimedSlots struct {
	group   *deal.Group    // that says whether they match at all
	left    shapes.Amounts // of pieces: what they have; nil: whole slots
	tenants *deal.Tenants  // whose they are, if they may be preempted at all; else why they may not
	why     negotiator.Protection
	slots   int
}

// pieceKind is what pieces are told apart by.
type pieceKind struct {
	whole *deal.Group
	takes pool.Resources
}

// findClaimed divides what is claimed.
func (d *diagnosis) findClaimed() {
	c := d.c
	type key struct {
		group   *deal.Group
		takes   pool.Resources
		tenants *deal.Tenants
		why     negotiator.Protection
	}
	at, sizes := map[key]int{}, map[pieceKind]shapes.Amounts{}
	add := func(k key, left shapes.Amounts) {
		n, known := at[k]
		if !known {
			n = len(d.claimed)
			at[k] = n
			d.claimed = append(d.claimed, claimedSlots{k.group, left, k.tenants, k.why, 0})
		}
		d.claimed[n].slots++
	}
	on, with, gone := c.Tenancies()
	for i := range c.Slots {
		s := &c.Slots[i]
		if s.Whole == nil {
			if s.Standing == deal.Claimed {
				add(key{s.Group, "", on[i], d.protects(s, on[i], gone[s.Name])}, nil)
			}
			continue
		}
		for _, cl := range c.Claims[s.Name] {
			kind := pieceKind{s.Wholly, cl.Piece.Takes}
			left, known := sizes[kind]
			if !known {
				left = c.LeftIn(pool.DynamicAd(s.Whole, cl.Slot, cl.Piece.Takes))
				sizes[kind] = left
			}
			add(key{s.Wholly, cl.Piece.Takes, with[cl.Job], d.protects(s, with[cl.Job], gone[cl.Slot])}, left)
		}
	}
}

// protects returns what protects a slot from whatever job; empty for that of tenants.
func (d *diagnosis) protects(s *deal.Slot, t *deal.Tenants, gone bool) negotiator.Protection {
	switch {
	case !d.c.Config.Preemption.Consider:
		return negotiator.Unconsidered
	case t != nil:
		return ""
	case gone:
		return negotiator.AlreadyPreempted
	case d.c.Retires(s.Ad):
		return negotiator.Retiring
	case d.c.Rests(s):
		return negotiator.LeftAlone
	}
	return negotiator.NotRunning
}

// mostVisits is how often one cycle looks why something was not preempted.
const mostVisits = 5_000_000

// protections returns what protects the claimed slots that match jobs of k from those of
// a submitter, as the cycle left them; nil when there is no time left to look.
func (d *diagnosis) protections(s *deal.Submitter, k *deal.Autocluster) (list []negotiator.Protected) {
	if s == nil {
		return nil
	}
	if d.visits += len(d.claimed); d.visits > mostVisits && !k.Explain {
		return nil
	}
	counts, asked := map[negotiator.Protection]int{}, d.pairs
	if k.Explain {
		asked = len(d.claimed)
	}
	for i := range d.claimed {
		x := &d.claimed[i]
		if d.c.Verdict(k.Autocluster, x.group.Group) != shapes.Accepts || x.left != nil && !k.Request.Fits(x.left) {
			continue
		}
		why := x.why
		if x.tenants != nil {
			why = d.c.ProtectionFrom(s, k, x.tenants, &asked)
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

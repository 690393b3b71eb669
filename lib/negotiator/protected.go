package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Protected is a number of claimed slots that match jobs of an autocluster, or pieces of
// partitionable ones that are large enough, and why they were not preempted for
// Analysis.PreemptionFor.
type Protected struct {
	Why   Protection
	Slots int
}

// Protection is what keeps a slot's job where it is.
type Protection string

// The protections, in the order in which they are looked for.
const (
	// Unconsidered: NEGOTIATOR_CONSIDER_PREEMPTION is false.
	Unconsidered Protection = "Unconsidered"
	// AlreadyPreempted: the slot was preempted in this cycle, for another job.
	AlreadyPreempted Protection = "AlreadyPreempted"
	// Retiring: its job has time left to retire (RetirementTimeRemaining).
	Retiring Protection = "Retiring"
	// LeftAlone: it is left alone after matches that nobody took up.
	LeftAlone Protection = "LeftAlone"
	// NotRunning: it runs no job yet, is being vacated, or is promised.
	NotRunning Protection = "NotRunning"
	// Unmatched: it matches the job, but not as it is while it is claimed.
	Unmatched Protection = "Unmatched"
	// OwnJob: it runs a job of the same submitter, and Rank does not prefer the new one.
	OwnJob Protection = "OwnJob"
	// BetterPriority: the EUP of its holder is not worse than the submitter's.
	BetterPriority Protection = "BetterPriority"
	// SlotRank: its Rank prefers the present job.
	SlotRank Protection = "SlotRank"
	// NotPreferred: its Rank does not prefer the job, and with a Config.Queue nothing else
	// lets it preempt.
	NotPreferred Protection = "NotPreferred"
	// PreemptionRequirements: PREEMPTION_REQUIREMENTS is not true.
	PreemptionRequirements Protection = "PreemptionRequirements"
	// HolderShare: its holder would have less than its share of the pool.
	HolderShare Protection = "HolderShare"
	// OwnShare: the submitter would come above its own.
	OwnShare Protection = "OwnShare"
	// OwnCeiling: or above its ceiling.
	OwnCeiling Protection = "OwnCeiling"
	// GroupShare: or a group above its quota, or the holder's below its part.
	GroupShare Protection = "GroupShare"
	// Unprotected: nothing, but something else is in the way of the job.
	Unprotected Protection = "Unprotected"
)

// Protections are all there are, in the order in which they are looked for.
func Protections() []Protection {
	return []Protection{Unconsidered, AlreadyPreempted, Retiring, LeftAlone, NotRunning, Unmatched, OwnJob, BetterPriority, SlotRank, NotPreferred, PreemptionRequirements,
		HolderShare, OwnShare, OwnCeiling, GroupShare, Unprotected}
}

// protectionTexts complete "6 are not preempted, as ...".
var protectionTexts = map[Protection]struct{ one, many string }{
	Unconsidered:           {"NEGOTIATOR_CONSIDER_PREEMPTION is false", "NEGOTIATOR_CONSIDER_PREEMPTION is false"},
	AlreadyPreempted:       {"it goes to another job already", "they go to other jobs already"},
	Retiring:               {"its job has time to retire", "their jobs have time to retire"},
	LeftAlone:              {"it is left alone after matches that nobody took up", "they are left alone after matches that nobody took up"},
	NotRunning:             {"it runs no job yet, or its job is leaving already", "they run no jobs yet, or their jobs are leaving already"},
	Unmatched:              {"it does not match while it is claimed", "they do not match while they are claimed"},
	OwnJob:                 {"it runs a job of the same submitter", "they run jobs of the same submitter"},
	BetterPriority:         {"its holder's EUP is not worse", "their holders' EUPs are not worse"},
	SlotRank:               {"its Rank prefers the present job", "their Rank prefers the present jobs"},
	NotPreferred:           {"its Rank does not prefer the job", "their Rank does not prefer the job"},
	PreemptionRequirements: {"PREEMPTION_REQUIREMENTS is not true", "PREEMPTION_REQUIREMENTS is not true"},
	HolderShare:            {"its holder would have less than its share", "their holders would have less than their shares"},
	OwnShare:               {"the submitter would have more than its share", "the submitter would have more than its share"},
	OwnCeiling:             {"the submitter would come above its ceiling", "the submitter would come above its ceiling"},
	GroupShare:             {"group quotas do not allow it", "group quotas do not allow it"},
	Unprotected:            {"something else is in the way of the job", "something else is in the way of the job"},
}

// text says why.
func (p Protected) text() string {
	text, known := protectionTexts[p.Why]
	if !known {
		return string(p.Why)
	}
	return plural.Pick(p.Slots, text.one, text.many)
}

// protectionLines tells people of protections, as Analysis.Lines does, and from whose jobs.
func protectionLines(list []Protected, whose string) (lines []string) {
	all := 0
	for _, p := range list {
		all += p.Slots
	}
	if all == 0 {
		return nil
	}
	width := len(fmt.Sprint(all))
	head := plural.Pick(all, "1 claimed slot that matches, and why it is not preempted", "%d claimed slots that match, and why they are not preempted")
	if whose != "" {
		head += " for " + whose
	}
	lines = append(lines, head+":")
	for _, p := range list {
		lines = append(lines, fmt.Sprintf("  %*d  %s", width, p.Slots, p.text()))
	}
	return lines
}

// notPreempted tells why claimed slots that match were not preempted, in a clause; empty
// where preemption is not considered, in spins, where HTCondor's words say it, and with a
// Config.Queue where no slot has a Rank that may prefer another job.
func (d *diagnosis) notPreempted(s *submitter, k *autocluster) string {
	c := d.c
	noRank := c.one != nil && !slices.ContainsFunc(c.choosy, func(kind []*tenants) bool { return len(kind) > 0 })
	if !c.cfg.Preemption.Consider || c.cfg.Pie == Spins || noRank {
		return ""
	}
	all := d.protections(s, k)
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b Protected) int { return cmp.Compare(b.Slots, a.Slots) })
	if len(all) == 1 {
		return "; " + plural.Pick(all[0].Slots, "it is not preempted, as ", "none is preempted, as ") + all[0].text()
	}
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%d as %s", p.Slots, p.text()))
	}
	return "; not preempted: " + strings.Join(parts, ", ")
}

// claimedSlots are slots, or pieces of partitionable ones, that are claimed and protected alike
// from whatever job.
type claimedSlots struct {
	group   *group         // that says whether they match at all
	left    shapes.Amounts // of pieces: what they have; nil: whole slots
	tenants *tenants       // whose they are, if they may be preempted at all; else why they may not
	why     Protection
	slots   int
}

// pieceKind is what pieces are told apart by.
type pieceKind struct {
	whole *group
	takes pool.Resources
}

// findClaimed divides what is claimed.
func (d *diagnosis) findClaimed() {
	c := d.c
	type key struct {
		group   *group
		takes   pool.Resources
		tenants *tenants
		why     Protection
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
	on, with, gone := c.tenancies()
	for i := range c.slots {
		s := &c.slots[i]
		if s.Whole == nil {
			if s.standing == claimed {
				add(key{s.group, "", on[i], c.protects(s, on[i], gone[s.name])}, nil)
			}
			continue
		}
		for _, cl := range c.ours[s.name] {
			kind := pieceKind{s.wholly, cl.Piece.Takes}
			left, known := sizes[kind]
			if !known {
				left = c.LeftIn(pool.DynamicAd(s.Whole, cl.Slot, cl.Piece.Takes))
				sizes[kind] = left
			}
			add(key{s.wholly, cl.Piece.Takes, with[cl.Job], c.protects(s, with[cl.Job], gone[cl.Slot])}, left)
		}
	}
}

// tenancies returns the tenants of whole slots, those of pieces by their jobs, and what was
// preempted in the cycle, by name.
func (c *arrangement) tenancies() (on map[int]*tenants, with map[pool.JobID]*tenants, gone map[string]bool) {
	on, with, gone = map[int]*tenants{}, map[pool.JobID]*tenants{}, map[string]bool{}
	for _, t := range c.tenants {
		for i := range t.slots {
			if r := t.slots[i]; t.left == nil {
				on[r.slot] = t
			} else {
				with[r.claim.Job] = t
			}
		}
	}
	for i := range c.plan.Matches {
		if m := &c.plan.Matches[i]; m.Preempts != nil {
			gone[m.Slot] = true
		}
	}
	return on, with, gone
}

// protects returns what protects a slot from whatever job; empty for that of tenants.
func (c *inventory) protects(s *slot, t *tenants, gone bool) Protection {
	switch {
	case !c.cfg.Preemption.Consider:
		return Unconsidered
	case t != nil:
		return ""
	case gone:
		return AlreadyPreempted
	case c.retires(s.Ad):
		return Retiring
	case c.rests(s):
		return LeftAlone
	}
	return NotRunning
}

// mostVisits is how often one cycle looks why something was not preempted.
const mostVisits = 5_000_000

// protections returns what protects the claimed slots that match jobs of k from those of
// a submitter, as the cycle left them; nil when there is no time left to look.
func (d *diagnosis) protections(s *submitter, k *autocluster) (list []Protected) {
	if s == nil {
		return nil
	}
	if d.visits += len(d.claimed); d.visits > mostVisits && !k.explain {
		return nil
	}
	counts, asked := map[Protection]int{}, d.pairs
	if k.explain {
		asked = len(d.claimed)
	}
	before := d.c.dealing
	d.c.dealing = d.c.partyOf(s)
	for i := range d.claimed {
		x := &d.claimed[i]
		if d.c.Verdict(k.Autocluster, x.group.Group) != shapes.Accepts || x.left != nil && !k.Request.Fits(x.left) {
			continue
		}
		why := x.why
		if x.tenants != nil {
			why = d.c.protectionFrom(s, k, x.tenants, &asked)
		}
		counts[why] += x.slots
	}
	d.c.dealing = before
	for _, why := range Protections() {
		if n := counts[why]; n > 0 {
			list = append(list, Protected{why, n})
		}
	}
	return list
}

// partyOf returns among whom a submitter is dealt slots.
func (c *shares) partyOf(s *submitter) *sharers {
	if c.groupUse == nil || s.nice {
		return everybody(nil)
	}
	return &sharers{group: s.group}
}

// protectionFrom returns what protects tenants from a submitter's jobs of k. Expressions
// are not asked any more when asked is used up.
func (c *preemption) protectionFrom(s *submitter, k *autocluster, t *tenants, asked *int) Protection {
	if !c.suits(k, t) {
		return Unmatched
	}
	if c.one != nil {
		if t.ranks && c.prefers(k, t) {
			return c.bounds(s, t.lot(), RankPreemption)
		}
		return NotPreferred
	}
	answer := unknown
	if *asked--; *asked >= 0 {
		if c.prefers(k, t) {
			return c.bounds(s, t.lot(), RankPreemption)
		}
		answer = c.yields(s, k, t)
	}
	switch {
	case t.holder == s:
		return OwnJob
	case c.cfg.Pie != Spins && s.eup >= t.holder.eup:
		return BetterPriority
	case answer == no:
		return SlotRank
	case answer == refused || c.cfg.Preemption.Requirements == nil:
		return PreemptionRequirements
	case c.cfg.Pie == Spins:
		return c.bounds(s, t.lot(), PriorityPreemption)
	case c.withinShares(s, t.lot()):
		return c.bounds(s, t.lot(), PriorityPreemption)
	case !c.spares(s, t.holder.usage, t.lot().charged, t.holder.entitled):
		return HolderShare
	}
	return OwnShare
}

// bounds returns which limit keeps a submitter from the slot of another; Unprotected for
// none.
func (c *shares) bounds(s *submitter, l lot, reason string) Protection {
	freed := l.charged
	if l.holder != s {
		freed = 0
	}
	switch {
	case c.cfg.Pie == Spins && s.spent && reason == PriorityPreemption:
		return OwnShare
	case l.weight > freed && !c.underCeiling(s, l.weight-freed):
		return OwnCeiling
	case !c.underQuota(s, l, reason):
		return GroupShare
	}
	return Unprotected
}

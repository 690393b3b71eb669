package negotiator

import (
	"fmt"

	"fairspool/lib/plural"
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

// Text says why.
func (p Protected) Text() string {
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
		lines = append(lines, fmt.Sprintf("  %*d  %s", width, p.Slots, p.Text()))
	}
	return lines
}

package negotiator

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/plural"
)

// Cause is one thing that keeps a job from running.
type Cause string

// The causes. The first four are permanent properties of slots, the next eight the slots'
// present state, the others of the job or its submitter.
const (
	// CauseNoSlots: the pool has no slots.
	CauseNoSlots Cause = "NoSlots"
	// CauseRequirements and CauseSlotRequirements: no slot meets the job's
	// Requirements, or none that does accepts the job; see Nearest.Fails.
	CauseRequirements     Cause = "Requirements"
	CauseSlotRequirements Cause = "SlotRequirements"
	// CauseMaintenance: the job may run into a maintenance of the slot; see pool.Maintenance.
	CauseMaintenance Cause = "Maintenance"
	// CauseTooWide: the job requests more than a whole partitionable slot has.
	CauseTooWide Cause = "TooWide"
	// CauseTooSmall: the rest of a partitionable slot is not enough.
	CauseTooSmall Cause = "TooSmall"
	// CauseTaken and CauseClaimed: another job got the slot in this cycle, or held it
	// before.
	CauseTaken   Cause = "Taken"
	CauseClaimed Cause = "Claimed"
	// CauseReserved: the slot is kept for another, wider job.
	CauseReserved Cause = "Reserved"
	// CauseResting: the slot is left alone after matches that no starter took up.
	CauseResting Cause = "Resting"
	// CauseSlotConstraint: NEGOTIATOR_SLOT_CONSTRAINT leaves the slot out.
	CauseSlotConstraint Cause = "SlotConstraint"
	// CauseBusy: the slot is in a state in which it takes no job.
	CauseBusy Cause = "Busy"
	// CauseDrained: the slot's machine is drained.
	CauseDrained Cause = "Drained"
	// CauseBlocked: the policy of Config.Queue leaves the job out.
	CauseBlocked Cause = "Blocked"
	// CauseThrottle: a limit of that policy is reached.
	CauseThrottle Cause = "Throttle"
	// CauseJobConstraint: NEGOTIATOR_JOB_CONSTRAINT is not true for the job. Config.Queue was
	// not asked about it then.
	CauseJobConstraint Cause = "JobConstraint"
	// CauseSteps: the expressions of its owner's jobs took all the steps that there are
	// (Config.Steps), and what else is in the way was not looked at.
	CauseSteps Cause = "Steps"
	// CauseConcurrencyLimit: a concurrency limit is reached; see Rejection.Limits.
	CauseConcurrencyLimit Cause = "ConcurrencyLimit"
	// CauseCeiling: the submitter's ceiling is reached.
	CauseCeiling Cause = "Ceiling"
	// CauseQuota: the quota of its accounting group, or of one above, leaves no room;
	// see Rejection.Groups.
	CauseQuota Cause = "GroupQuota"
	// CauseShare: the submitter has what its share allows. Never with a Config.Queue, which
	// knows no shares.
	CauseShare Cause = "Share"
	// CauseSkipped: no slot was found for an earlier job of its cluster, so the rest of
	// the cluster is skipped.
	CauseSkipped Cause = "Skipped"
	// CauseOthers: other submitters' jobs wait for the same slot; see Analysis.Ahead. With a Config.Queue only jobs
	// before this one in it count (see Rejection.Ahead), and jobs of other groups, whose quotas may go first.
	// CauseOwnJobs: earlier jobs of the same submitter wait for it.
	CauseOthers  Cause = "Others"
	CauseOwnJobs Cause = "OwnJobs"
)

// FullGroup is an accounting group with a quota that leaves no room for a job, in slot
// weight.
type FullGroup struct {
	Name string
	// Used is the usage of the group's members, and Allowed their limit: the quota, and the
	// surplus of other groups. Subtree says that both include all groups below, which its
	// quota bounds together (NEGOTIATOR_STRICT_ENFORCE_QUOTA).
	Used, Allowed float64
	Subtree       bool `json:",omitempty"`
	// AcceptsSurplus says that the group may go beyond its quota, but other groups leave
	// no surplus for it.
	AcceptsSurplus bool `json:",omitempty"`
}

// Text words a group's usage and limit.
func (g FullGroup) Text() string {
	switch {
	case g.Subtree:
		return fmt.Sprintf("%s, with its subgroups, uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
	case g.Allowed == 0 && g.Used == 0:
		return g.Name + " has no quota of its own"
	}
	return fmt.Sprintf("%s uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
}

// GroupNames names groups.
func GroupNames(groups []FullGroup) string {
	var names []string
	for _, g := range groups {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Protected is a number of claimed slots that match jobs of an autocluster, or pieces of
// partitionable ones that are large enough, and why they were not preempted for
// Analysis.PreemptionFor.
type Protected struct {
	Why   Protection
	Slots int
}

// Protection is what keeps a slot's job where it is.
type Protection string

// The protections, in the order of the checks.
const (
	// Unconsidered: NEGOTIATOR_CONSIDER_PREEMPTION is false.
	Unconsidered Protection = "Unconsidered"
	// AlreadyPreempted: the slot was preempted in this cycle, for another job.
	AlreadyPreempted Protection = "AlreadyPreempted"
	// Retiring: its job has time left to retire (RetirementTimeRemaining).
	Retiring Protection = "Retiring"
	// LeftAlone: it is left alone after matches that no starter took up.
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
	// Unprotected: nothing, but another obstacle keeps the job waiting.
	Unprotected Protection = "Unprotected"
)

// Protections returns all protections, in the order of the checks.
func Protections() []Protection {
	return []Protection{Unconsidered, AlreadyPreempted, Retiring, LeftAlone, NotRunning, Unmatched, OwnJob, BetterPriority, SlotRank, NotPreferred, PreemptionRequirements,
		HolderShare, OwnShare, OwnCeiling, GroupShare, Unprotected}
}

// protectionTexts complete "6 are not preempted, as ...".
var protectionTexts = map[Protection]struct{ one, many string }{
	Unconsidered:           {"NEGOTIATOR_CONSIDER_PREEMPTION is false", "NEGOTIATOR_CONSIDER_PREEMPTION is false"},
	AlreadyPreempted:       {"it goes to another job already", "they go to other jobs already"},
	Retiring:               {"its job has time to retire", "their jobs have time to retire"},
	LeftAlone:              {"it is left alone after matches that no starter took up", "they are left alone after matches that no starter took up"},
	NotRunning:             {"its job has not started or is already leaving", "their jobs have not started or are already leaving"},
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
	Unprotected:            {"another obstacle keeps the job waiting", "another obstacle keeps the job waiting"},
}

// Text says why.
func (p Protected) Text() string {
	text, known := protectionTexts[p.Why]
	if !known {
		return string(p.Why)
	}
	return plural.Pick(p.Slots, text.one, text.many)
}

// protectionLines words protections, as Analysis.Lines does; whose names the protected
// jobs.
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

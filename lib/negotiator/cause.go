package negotiator

import (
	"fmt"
	"slices"
	"strings"
)

// Cause is one thing that keeps a job from running.
type Cause string

// The causes. The first four stand with a slot for good, the next eight with what the
// slot is just now, the others with the job or its submitter.
const (
	// CauseNoSlots: the pool has no slots.
	CauseNoSlots Cause = "NoSlots"
	// CauseRequirements and CauseSlotRequirements: no slot meets the job's
	// Requirements, or none that does accepts the job; see Nearest.Fails.
	CauseRequirements     Cause = "Requirements"
	CauseSlotRequirements Cause = "SlotRequirements"
	// CauseTooWide: the job requests more than a whole partitionable slot has.
	CauseTooWide Cause = "TooWide"
	// CauseTooSmall: what is left of a partitionable slot is not enough.
	CauseTooSmall Cause = "TooSmall"
	// CauseTaken and CauseClaimed: somebody got the slot in this cycle, or held it
	// before.
	CauseTaken   Cause = "Taken"
	CauseClaimed Cause = "Claimed"
	// CauseReserved: the slot is kept for another, wider job.
	CauseReserved Cause = "Reserved"
	// CauseResting: the slot is left alone after matches that nobody took up.
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
	// CauseSkipped: the job is passed over with the rest of its cluster, after one
	// for which nothing was found.
	CauseSkipped Cause = "Skipped"
	// CauseOthers: other submitters' jobs wait for the same slot; see
	// Analysis.Ahead. With a Config.Queue only those before the job in it count (see
	// Rejection.Ahead), and those of other groups, whose quotas may go first. CauseOwnJobs: so do jobs of the same submitter that go first.
	CauseOthers  Cause = "Others"
	CauseOwnJobs Cause = "OwnJobs"
)

// FullGroup is an accounting group whose quota leaves no room for a job, in slot weight.
type FullGroup struct {
	Name string
	// Used is what the group's members use, and Allowed what they may: by their quota, and
	// the surplus that others leave. Subtree says that both are of the group with all groups
	// below it, which are together bound by its quota (NEGOTIATOR_STRICT_ENFORCE_QUOTA).
	Used, Allowed float64
	Subtree       bool `json:",omitempty"`
	// AcceptsSurplus says that the group may go beyond its quota, but that nothing is left
	// for it by others.
	AcceptsSurplus bool `json:",omitempty"`
}

// Text tells what a group uses of what it may.
func (g FullGroup) Text() string {
	switch {
	case g.Subtree:
		return fmt.Sprintf("%s, with what is below it, uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
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

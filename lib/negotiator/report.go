package negotiator

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Share is a submitter's entitlement and result.
type Share struct {
	Name string
	// EffectivePriority is the EUP at the time of the cycle, Priority the
	// RUP; lower is better for both.
	EffectivePriority float64
	Priority          float64 `json:"-"`
	// Usage is the slot weight in use before the cycle's matches.
	Usage float64 `json:"-"`
	// PieSlice is the submitter's share of the pool's weight when the cycle began,
	// including Usage: its share of its own slots and the free ones, or its entitlement to
	// the whole pool if that is more. Limit is the weight that it may take by that. For a
	// nice user it is the share of the others' rest. Both are 0 with a Config.Queue, which
	// knows no shares.
	PieSlice, Limit float64
	// Idle and Matched are numbers of jobs: how many wanted a slot, and how
	// many of these got one.
	Idle, Matched int
	// Demand is the slot weight that the idle jobs asked for: by RequestCpus.
	Demand float64 `json:"-"`
}

// Rejection is jobs of one submitter and autocluster that got no slot.
type Rejection struct {
	Job       pool.JobID // the first of them to be served
	Count     int
	Jobs      []pool.Procs // all of them, ascending
	Submitter string
	// Autocluster is the index of their Analysis in the plan.
	Autocluster int
	// Cause is what Reason speaks of, Also what else is in the way of Job: without
	// all of it, and with the slot that is the nearest, the job would run.
	Cause Cause
	Also  []Cause
	// Limits are the concurrency limits that are reached. OwnJobs is the number of the
	// submitter's jobs that go first, by their order or since they ask for less than Job, if
	// the share is too small for Job. Ahead is the number of submitters with a better EUP
	// that have matching slots or wait for them. With a Config.Queue both count the jobs
	// before Job in the queue that wait for the nearest slot: the submitter's own, and the
	// others'.
	Limits  []string
	OwnJobs int
	Ahead   int
	// Place is Job's place in Config.Queue among the jobs that the cycle left: 1 is the
	// first; 0 means that the policy leaves it out, or that there is no such queue.
	// Priority is its priority there, higher goes first; NaN: unknown.
	Place    int
	Priority float64
	// Groups are the accounting groups with quotas that leave no room: the submitter's
	// own first, then those above it.
	Groups []FullGroup
	// Reason begins with "no match found", "submitter limit exceeded", "submitter ceiling reached", "group quota
	// reached", "concurrency limit NAME reached", "limit of the policy reached", "put off to the next cycle" or
	// "blocked" and goes on with the numbers. With Pie Spins it begins with the Reason of the last SpinRejection, which
	// may also be "PREEMPTION_REQUIREMENTS == False", and then explains it.
	Reason string
}

// Report is a cycle's report as programs read it: negotiate -json, and the
// spool's cycle.json.
type Report struct {
	Cycle int   // number of the cycle in its spool
	Time  int64 // policy time in Unix seconds
	Slots int   // slots looked at
	// Warnings are for the administrator.
	Warnings []string `json:",omitempty"`
	// Policy is the name of the policy that puts all jobs into one queue, such as "maui";
	// empty: the order is by EUP.
	Policy     string `json:"JobPriorityPolicy,omitempty"`
	Submitters []Share
	Groups     []Group
	Matches    []ReportedMatch
	Rejections []ReportedRejection
	// Autoclusters are the shapes of the jobs in Rejections, and of Plan.Explained.
	Autoclusters []Analysis
	Reservations []ReportedReservation `json:",omitempty"`
	// PutOff are the owners with too few steps for all of their jobs.
	PutOff []ReportedPutOff `json:",omitempty"`
	// Spins are the plan's, unrounded, as their digits matter.
	Spins []Spin `json:",omitempty"`
}

// Group is an accounting group's part in a cycle, in slot weight.
type Group struct {
	Name string
	// ConfigQuota is the number configured, a fraction of the parent's for a
	// dynamic one; EffectiveQuota what came of it for the group alone, and
	// SubtreeQuota with all groups below.
	ConfigQuota, EffectiveQuota, SubtreeQuota float64
	// SurplusPolicy is "no", "regroup" or "byquota".
	SurplusPolicy string
	// GroupSortKey is where the group stands in the order of groups: what its
	// members used before the cycle, divided by its quota.
	GroupSortKey float64
	// Usage is what its members used before the cycle, Requested that and what
	// their idle jobs asked for.
	Usage, Requested float64
	// Allocated is the limit of its members, by its quota and the surplus of others, Used
	// their usage after the cycle, and Surplus the usage beyond the quota.
	Allocated, Used, Surplus float64
}

// ReportedMatch is a Match in a Report. Preempts is the job that has to leave, if any,
// PreemptedSubmitter its submitter, and WorkLost the slot weight times the seconds for
// which it ran. Of is the partitionable slot and Resources the job's part of it, such as
// "Cpus=2 Memory=2048"; empty for a whole slot. Priority is the job's in the one queue,
// higher goes first; absent without one.
type ReportedMatch struct {
	Job, Submitter, Slot, Reason string
	Priority                     *float64       `json:",omitempty"`
	Preempts                     string         `json:",omitempty"`
	PreemptedSubmitter           string         `json:",omitempty"`
	WorkLost                     float64        `json:",omitempty"`
	Of                           string         `json:",omitempty"`
	Resources                    pool.Resources `json:",omitempty"`
}

// ReportedRejection is a Rejection in a Report. Those of older versions have no
// Cause and no Autocluster; without one queue there is no Place and no Priority.
type ReportedRejection struct {
	Job         string
	Count       int
	Jobs        []pool.Procs // as texts like "7.0" and "1.2-3"
	Submitter   string       `json:",omitempty"`
	Autocluster int          // index in the report
	Cause       Cause
	Also        []Cause     `json:",omitempty"`
	Limits      []string    `json:",omitempty"`
	OwnJobs     int         `json:",omitempty"`
	Ahead       int         `json:",omitempty"`
	Place       int         `json:",omitempty"`
	Priority    *float64    `json:",omitempty"`
	Groups      []FullGroup `json:",omitempty"`
	Reason      string
}

// ReportedPutOff is a PutOff in a Report.
type ReportedPutOff struct {
	Owner, First string
	Jobs         int
}

// ReportedReservation is a Reserved in a Report, weights in slot weight.
type ReportedReservation struct {
	Slot, Job, Submitter string
	Since                int64 // Unix time of the cycle that made it
	Weight, Free         float64
	Lacks                string `json:",omitempty"`
	GivenUp              bool   `json:",omitempty"`
}

// Report returns the plan as the report of the cycle with this number, slot
// weights with six decimals.
func (p *Plan) Report(number int, now time.Time) Report {
	r := Report{
		Cycle: number, Time: now.Unix(), Slots: p.Slots, Warnings: p.Warnings, Policy: p.Policy,
		Submitters:   append([]Share{}, p.Submitters...),
		Groups:       append([]Group{}, p.Groups...),
		Matches:      make([]ReportedMatch, len(p.Matches)),
		Rejections:   make([]ReportedRejection, len(p.Rejections)),
		Autoclusters: append([]Analysis{}, p.Autoclusters...),
		Spins:        p.Spins,
	}
	for i := range r.Submitters {
		s := &r.Submitters[i]
		s.PieSlice, s.Limit = Micro(s.PieSlice), Micro(s.Limit)
	}
	for i, m := range p.Matches {
		r.Matches[i] = m.Report()
		if p.Policy != "" {
			r.Matches[i].Priority = finite(m.Priority)
		}
	}
	for i, x := range p.Rejections {
		r.Rejections[i] = x.Report()
		if p.Policy != "" {
			r.Rejections[i].Priority = finite(x.Priority)
		}
	}
	for _, x := range p.PutOff {
		r.PutOff = append(r.PutOff, ReportedPutOff{x.Owner, x.First.String(), x.Jobs})
	}
	for _, x := range p.Reservations {
		r.Reservations = append(r.Reservations, x.Report())
	}
	return r
}

// finite returns a number that JSON has, nil for any other.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Report returns the match as in a Report, without the priority.
func (m Match) Report() ReportedMatch {
	r := ReportedMatch{Job: m.Job.String(), Submitter: m.Submitter, Slot: m.Slot, Reason: m.Reason, Of: m.Piece.Of, Resources: m.Piece.Takes}
	if p := m.Preempts; p != nil {
		r.Preempts, r.PreemptedSubmitter, r.WorkLost = p.Name(), p.Submitter, Micro(p.Lost())
	}
	return r
}

// Name returns the name of the claim's job; empty for one outside that has no name.
func (p *Preempted) Name() string {
	if p.Job == (pool.JobID{}) {
		return p.Outside
	}
	return p.Job.String()
}

// Lost returns the work that is lost, in slot weight times seconds.
func (p *Preempted) Lost() float64 { return p.Ran.Seconds() * p.Weight.Float() }

// Report returns the rejection as in a Report, without the priority.
func (x Rejection) Report() ReportedRejection {
	return ReportedRejection{Job: x.Job.String(), Count: x.Count, Jobs: x.Jobs, Submitter: x.Submitter, Autocluster: x.Autocluster,
		Cause: x.Cause, Also: x.Also, Limits: x.Limits, OwnJobs: x.OwnJobs, Ahead: x.Ahead, Place: x.Place, Groups: x.Groups, Reason: x.Reason}
}

// Report returns the reservation as a Report has it.
func (x Reserved) Report() ReportedReservation {
	return ReportedReservation{Slot: x.Slot, Job: x.Job.String(), Submitter: x.Submitter,
		Since: x.Since, Weight: x.Weight.Float(), Free: x.Free.Float(), Lacks: x.Lacks, GivenUp: x.GivenUp}
}

// Micro rounds to millionths: digits beyond them tell of the arithmetic, not
// of shares.
func Micro(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// Standing tells people where the first job stands in the one queue of all, and its priority
// there; empty without such a queue.
func (x ReportedRejection) Standing() string {
	var parts []string
	switch {
	case x.Place > 0 && x.Count > 1:
		parts = append(parts, fmt.Sprintf("the first of them, %s, is at place %d in the queue", x.Job, x.Place))
	case x.Place > 0:
		parts = append(parts, fmt.Sprintf("place %d in the queue", x.Place))
	}
	if x.Priority != nil {
		parts = append(parts, "priority "+PriorityText(*x.Priority)+" (higher goes first)")
	}
	return strings.Join(parts, ", ")
}

// PriorityText writes a priority in the queue: a whole number, or with five digits behind
// the point.
func PriorityText(x float64) string {
	digits := 5
	if x == math.Trunc(x) {
		digits = 0
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Line tells people of the reservation.
func (r ReportedReservation) Line() string {
	if r.GivenUp {
		return fmt.Sprintf("%s was kept for %s, and is not any more: RESERVE_MAX_TIME is over", r.Slot, r.Job)
	}
	text := fmt.Sprintf("%s is kept for %s", r.Slot, r.Job)
	if r.Lacks != "" {
		text += ": it has " + r.Lacks + " requested"
	}
	return text
}

// Help says what would let the first job of a rejection run; a is its analysis.
// Empty for a rejection of an older version.
func (x ReportedRejection) Help(a Analysis) string {
	var parts []string
	for _, c := range append([]Cause{x.Cause}, x.Also...) {
		if text := x.helps(c, a); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		return "all of: " + strings.Join(parts, "; ")
	}
	return strings.Join(parts, "")
}

func (x ReportedRejection) helps(c Cause, a Analysis) string {
	slot, held, lacks := "a slot", "", ""
	if a.Nearest != nil {
		slot, held, lacks = a.Nearest.Slot, plural.List(a.Nearest.Holders), a.Nearest.Lacks
	}
	switch c {
	case CauseNoSlots:
		return "a slot"
	case CauseRequirements:
		if a.Nearest == nil {
			return "Requirements that take fewer steps to evaluate"
		}
		return fmt.Sprintf("a slot like %s for which the job's Requirements are true, or Requirements that ask for less", slot)
	case CauseSlotRequirements:
		return fmt.Sprintf("Requirements of %s that accept the job", slot)
	case CauseMaintenance:
		return fmt.Sprintf("a time limit (submit -time) with which the job ends before the maintenance of %s, or the end of that (slots reserve)", slot)
	case CauseTooWide:
		return fmt.Sprintf("a larger slot than %s, which has %s requested, or a smaller request", slot, lacks)
	case CauseTooSmall:
		return fmt.Sprintf("more of %s free, which has %s requested and is held by %s", slot, lacks, held)
	case CauseTaken, CauseClaimed:
		holders := 1
		if a.Nearest != nil {
			holders = max(1, len(a.Nearest.Holders))
		}
		return fmt.Sprintf("the end of the %s of %s on %s, or another slot like it", plural.Noun(holders, "job"), held, slot)
	case CauseReserved:
		return fmt.Sprintf("the end of the reservation of %s", slot)
	case CauseResting:
		return fmt.Sprintf("the end of the time that %s is left alone, and a starter that takes up matches there", slot)
	case CauseSlotConstraint:
		return fmt.Sprintf("a NEGOTIATOR_SLOT_CONSTRAINT that is true for %s", slot)
	case CauseBusy:
		return fmt.Sprintf("a state of %s in which it takes jobs", slot)
	case CauseDrained:
		return fmt.Sprintf("the machine of %s opened again (starter -drain -cancel)", slot)
	case CauseSteps:
		return "expressions of its owner's jobs that take fewer steps to evaluate, or a larger MAX_STEPS_PER_OWNER"
	case CauseJobConstraint:
		return "a NEGOTIATOR_JOB_CONSTRAINT that is true for the job"
	case CauseBlocked:
		return fmt.Sprintf("a job that the policy does not leave out (%s)", strings.TrimPrefix(x.Reason, "blocked: "))
	case CauseThrottle:
		return "a higher limit of the policy, or fewer running of the jobs that it counts"
	case CauseConcurrencyLimit:
		return fmt.Sprintf("more units of %s, or fewer in use", strings.Join(x.Limits, ", "))
	case CauseCeiling:
		return fmt.Sprintf("a higher ceiling of %s, or fewer of its jobs running", x.Submitter)
	case CauseQuota:
		return fmt.Sprintf("a larger quota of %s, or fewer of its jobs running", GroupNames(x.Groups))
	case CauseShare:
		return fmt.Sprintf("a larger share of %s (a lower EUP, or less wanted by others)", x.Submitter)
	case CauseSkipped:
		return "NEGOTIATE_ALL_JOBS_IN_CLUSTER = true, or the end of the jobs of its cluster before it"
	case CauseOthers:
		if a.OneQueue && x.Ahead > 0 {
			return fmt.Sprintf("the same for %s before it in the queue", plural.Pick(x.Ahead, "1 job of others", "%d jobs of others"))
		}
		if a.OneQueue {
			return "the same for the jobs of other groups that wait for it, whose quotas may go first"
		}
		return "the same for the jobs of others that wait for it"
	case CauseOwnJobs:
		return fmt.Sprintf("the same for %s of %s that %s first", plural.Pick(x.OwnJobs, "1 job", "%d jobs"), x.Submitter, plural.Pick(x.OwnJobs, "goes", "go"))
	}
	return ""
}

// Sort keys of groups (HTCondor's default GROUP_SORT_EXPR): groups without a quota come
// late, the root group after them, and groups for which GROUP_SORT_EXPR is not a number
// last.
const (
	SortLate = 3.3e38
	SortLast = 3.4e38
)

// Package negotiator says what goes into a negotiation cycle and what comes out of it, as data
// and in words: the pool and the configuration, the plan with its reasons, and the report.
// Package negotiation runs it.
//
//   - plan.go: Pool, Config and Plan, with HTCondor's division and what claims may go on with
//   - report.go: the report that programs and people read
//   - cause.go, analysis.go: what keeps a job from running
package negotiator

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// Pool is the snapshot that a cycle works on. The order within its lists
// never matters, and nothing in it is changed.
type Pool struct {
	// Slots are all slot ads, whatever state they are in.
	Slots []pool.Slot
	// Claims are all claims of the pool.
	Claims []pool.Claim
	// Jobs are the idle jobs. They may include procs with a claim that lasts, which are
	// left out; procs with a match that is given up take part again in this very cycle.
	// No proc may be in two runs.
	Jobs []jobprio.Run
	// Submitters are all records of the accountant. A submitter without a record has
	// never used anything.
	Submitters []accountant.Record
	// Backoffs are the slots to be left alone, also those whose time is over:
	// they carry the count of failures.
	Backoffs []pool.Backoff
	// Reservations are the reservations of the last cycle.
	Reservations []pool.Reservation
	// Held are jobs that are held or wait for others, and Running those with claims,
	// which Config.Queue needs besides the idle ones. They are not read without a Queue.
	Held    []jobprio.Run
	Running []jobprio.Running
	// Taken are the steps that owners' expressions have taken before the cycle, of those that
	// Config.Steps allows them. PutOff has, for each owner with jobs that were put off in the
	// last cycle, the job with which its turn begins.
	Taken  map[string]int
	PutOff map[string]pool.JobID
	// Lacks reports whether attributes were looked up that are there and were not read: the plan
	// is of no use then, and the cycle may end early; nil: all were read.
	Lacks func() bool
	// Learned is what cycles before this one learned, and keeps what this one learns; nil: nothing.
	Learned *Learned
}

// Config is the administrator's settings for a cycle.
type Config struct {
	// Params are the settings that effective user priorities depend on.
	Params accountant.Params
	// PreJobRank and PostJobRank are NEGOTIATOR_PRE_JOB_RANK and
	// NEGOTIATOR_POST_JOB_RANK, with MY the slot and TARGET the job; nil: no
	// preference.
	PreJobRank, PostJobRank *classad.Expr
	// Queue puts all submitters' jobs into one order, in the place of shares by EUP and of preemption
	// for these; nil: each submitter's jobs go in the order of jobprio.Compare.
	Queue jobprio.Queue
	// SlotWeight is SLOT_WEIGHT, evaluated in ads without a SlotWeight of
	// their own; nil: 1.
	SlotWeight *classad.Expr
	// UseSlotWeights is NEGOTIATOR_USE_SLOT_WEIGHTS; false: every slot
	// weighs 1.
	UseSlotWeights bool
	// RequestClaimTimeout is REQUEST_CLAIM_TIMEOUT: how old a match may grow
	// before it is given up. 0: it never is.
	RequestClaimTimeout time.Duration
	// VacateTimeout is MACHINE_MAX_VACATE_TIME and KILLING_TIMEOUT together: how long a
	// job may take to leave. A slot held outside that was promised to a job has so long,
	// and RequestClaimTimeout, to come free.
	VacateTimeout time.Duration
	// Pie is NEGOTIATOR_PIE: how the pool is divided.
	Pie Pie
	// Division is how a weight is divided among submitters; nil: shares.Targets.
	Division shares.Division
	// IgnoreUserPriorities is NEGOTIATOR_IGNORE_USER_PRIORITIES: no submitter
	// has a limit; only the order is by EUP.
	IgnoreUserPriorities bool
	// GlobalJobPrios is USE_GLOBAL_JOB_PRIOS, which counts with Spins only: a
	// submitter stands in the order once for each JobPrio of its jobs.
	GlobalJobPrios bool
	// Preemption says which claims may end for others.
	Preemption Preemption
	// Quotas say how the quotas of accounting groups (Params.Groups) are kept.
	Quotas Quotas
	// JobConstraint is NEGOTIATOR_JOB_CONSTRAINT, with MY the job: only jobs for which it
	// is true are offered; nil: all are.
	JobConstraint *classad.Expr
	// SlotConstraint is NEGOTIATOR_SLOT_CONSTRAINT, with MY the slot: only slots for
	// which it is true exist; nil: all do.
	SlotConstraint *classad.Expr
	// PoolSizeConstraint is NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT, with MY the slot:
	// the other slots can be matched, but do not count in the size of the pool
	// that pie slices are cut from; nil: all count.
	PoolSizeConstraint *classad.Expr
	// DepthFirst is NEGOTIATOR_DEPTH_FIRST: a partitionable slot that a cycle has
	// begun to divide goes before all others that fit, whatever their ranks.
	DepthFirst bool
	// SkipClusters says that NEGOTIATE_ALL_JOBS_IN_CLUSTER is false: after a job for
	// which no slot is found, the rest of its cluster is skipped.
	SkipClusters bool
	// Significant is SIGNIFICANT_ATTRIBUTES: what SkipClusters takes for a cluster
	// are jobs equal in these attributes; empty: in ClusterId.
	Significant []string
	// AddSignificant is ADD_SIGNIFICANT_ATTRIBUTES, further attributes that divide
	// autoclusters. RemoveSignificant is REMOVE_SIGNIFICANT_ATTRIBUTES: jobs that differ
	// only in these are skipped together.
	AddSignificant, RemoveSignificant []string
	// Limits are the concurrency limits; the zero value limits nothing.
	Limits concurrency.Limits
	// Reserve bounds what may be kept free for wide jobs.
	Reserve Reserve
	// Explain are jobs that the plan has the analysis of, whether they are matched
	// or not, and with nothing left out for the sake of speed.
	Explain []pool.Procs
	// NoReasons leaves out of the plan what only people read of jobs without a slot: Autoclusters, and Reason, Jobs and Ahead of Rejections.
	NoReasons bool
	// Standings says that the plan has its Standings.
	Standings bool
	// Steps is MAX_STEPS_PER_OWNER: how many steps (classad.Budget) the expressions of one
	// owner's jobs may take, including expressions of slots about these jobs; 0: any
	// number.
	Steps int
}

// Preemption says when jobs have to give their slots to others.
type Preemption struct {
	// Consider is NEGOTIATOR_CONSIDER_PREEMPTION: false: claimed slots are not looked
	// at at all.
	Consider bool
	// Early is NEGOTIATOR_CONSIDER_EARLY_PREEMPTION: it includes slots with jobs that
	// still have time to retire (RetirementTimeRemaining).
	Early bool
	// Requirements is PREEMPTION_REQUIREMENTS, with MY the slot and TARGET the job: the
	// condition for preempting a job for a user's priority; nil: no job is.
	Requirements *classad.Expr
	// Rank is PREEMPTION_RANK, with MY the slot and TARGET the job: of slots that are
	// equal otherwise, the one with the highest is preempted; nil: no preference.
	Rank *classad.Expr
	// Cached, RequirementsStable and RankStable are NEGOTIATOR_MATCHLIST_CACHING,
	// PREEMPTION_REQUIREMENTS_STABLE and PREEMPTION_RANK_STABLE. They count with Spins
	// only: a list of candidates, once made, is used up without asking again.
	Cached, RequirementsStable, RankStable bool
}

// Quotas say how the quotas of accounting groups are kept.
type Quotas struct {
	// Oversubscribe is NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION: static quotas stand as they
	// are though they exceed the parent's; false: they are scaled down to fit.
	Oversubscribe bool
	// Strict is NEGOTIATOR_STRICT_ENFORCE_QUOTA: a group that does not accept surplus
	// bounds all groups below it.
	Strict bool
	// SortExpr is GROUP_SORT_EXPR, with MY the group's ad (AccountingGroup, GroupQuota,
	// GroupResourcesInUse, GroupResourcesAllocated): the group with the lowest value goes
	// first; nil: the one with the smallest part of its quota in use.
	SortExpr *classad.Expr
	// Rounds, RoundRobinRate and WeightedDemand are GROUP_QUOTA_MAX_ALLOCATION_ROUNDS,
	// GROUP_QUOTA_ROUND_ROBIN_RATE and NEGOTIATOR_USE_WEIGHTED_DEMAND. They count with Spins
	// only.
	Rounds         int
	RoundRobinRate float64
	WeightedDemand bool
}

// Pie is a way to divide the pool among submitters.
type Pie uint8

// The values of NEGOTIATOR_PIE. MaxMin ("max-min") is the weighted max-min fair
// division (shares.Targets); Spins ("htcondor") does as HTCondor's negotiator does.
const (
	MaxMin Pie = iota
	Spins
)

// Reserve bounds the reservations for jobs that are wider than the free rest of any
// partitionable slot.
type Reserve struct {
	// Fraction is RESERVE_POOL_FRACTION: the part of the pool's weight that may be
	// reserved at a time, from 0 to 1. Above 0 it allows one slot at least; 0
	// turns reservations off.
	Fraction float64
	// Time is RESERVE_MAX_TIME: how long a reservation may last before it is given up.
	Time time.Duration
}

// Plan is the decision of a cycle, with the reasons. Every list has a fixed order.
type Plan struct {
	// Policy is what Config.Queue is called, empty without one. Limited says that it limits
	// what runs, also beyond single submitters.
	Policy  string
	Limited bool

	// Matches are the new matches, in the order in which they were made.
	Matches []Match
	// GiveUp are the claims that no starter took up in time, by job: the match
	// never happened, and the job is idle again. To be done before Matches,
	// where the same job may have another slot already.
	GiveUp []pool.Claim
	// Backoffs are the slots of given-up matches, by name, with the count of
	// failures and the time before which they get no match. They replace an
	// earlier Backoff of the same slot.
	Backoffs []pool.Backoff

	// Submitters are the submitters that want or use something, in the order of
	// negotiation.
	Submitters []Share
	// Outside is what submitters hold by the slots' own words, without a claim of
	// this pool.
	Outside map[string]Holding
	// Groups are the accounting groups in the order of their tree, the root first; empty
	// without groups.
	Groups []Group
	// Rejections are the jobs that got no slot, by submitter in the order of
	// negotiation, then by job priority; or in the order of Config.Queue.
	Rejections []Rejection
	// Standings are where all jobs in Rejections stand, in the order of Config.Queue, those
	// without a place last and by job; none without Config.Standings or such a queue.
	Standings []Standing
	// Autoclusters are the shapes of the jobs in Rejections and Explained, and how
	// far the slots of the pool are from each. Their Autocluster is the index here.
	Autoclusters []Analysis
	// Explained are the jobs of Config.Explain that the cycle looked at, in that order.
	Explained []Explained
	// Reservations are the reservations from now on; they replace all earlier ones.
	Reservations []Reserved
	// Succession is the jobs with which claims go on if their jobs end before the next
	// cycle.
	Succession Succession
	// Clocks and Passed are what Config.Queue wants kept until the next cycle. Passing are
	// the matched jobs that Passed counts, in the order of the queue.
	Clocks  []Clock
	Passed  []Passed
	Passing []pool.JobID
	// Tickets are the tickets, by job, for the run-time priority of jobs with claims,
	// including matched ones; nil: it follows none, and no job keeps any.
	Tickets []Tickets
	// Spins are the rounds of the division, with Pie Spins only.
	Spins []Spin
	// Looked are the attributes that were looked up in slots and jobs, in lower case: all
	// that can make slots or jobs differ.
	Looked []string
	// PutOff are the owners whose steps were not enough for all of their jobs, by name.
	PutOff []PutOff
	// Warnings are for the administrator, such as an unusable ad. They never stop a
	// cycle.
	Warnings []string
	// Slots is the number of slots looked at, Candidates how many of them
	// were free for a match when the cycle began.
	Slots, Candidates int
}

// Reserved is a reservation, with its cost.
type Reserved struct {
	pool.Reservation
	// Weight is the whole slot's, Free that of its part that is idle for the job's sake.
	Weight, Free accountant.Weight
	// Lacks says which resources the job still waits for, such as "Cpus 5 of 8".
	Lacks string
	// GivenUp says that it lasted too long (RESERVE_MAX_TIME): nothing is kept for
	// the job any more, and nothing will be for as long again.
	GivenUp bool `json:",omitempty"`
}

// Clock says since when procs are considered (Unix seconds), 0: they are not.
type Clock struct {
	pool.Procs
	Since int64
}

// Tickets are a job's tickets, a whole number, 0 and more.
type Tickets struct {
	Job     pool.JobID
	Tickets float64
}

// Passed says that jobs behind these procs in the queue were matched while they stayed
// idle: so many as Times, the last of Plan.Passing.
type Passed struct {
	pool.Procs
	Times int
}

// Holding is a number of slots, and their weight.
type Holding struct {
	Slots  int
	Weight accountant.Weight
}

func (h *Holding) Add(w accountant.Weight) {
	h.Slots++
	h.Weight += w
}

// Why a match may have its slot: the slot had no holder; or the slot's Rank prefers the
// job to the one that it runs; or the job's submitter has the better EUP, and less than
// its share (manual, "Negotiation").
const (
	NoPreemption       = "NoPreemption"
	RankPreemption     = "Rank"
	PriorityPreemption = "Priority"
)

// Match gives a slot to a job.
type Match struct {
	Job             pool.JobID
	Submitter, Slot string
	// Piece is the job's part of a partitionable slot; Slot is then the name of the
	// dynamic slot that it makes. Zero for a whole slot.
	Piece pool.Piece
	// Limits are the concurrency limits that the job counts for, such as
	// "license:2,sw.matlab": lower case, sorted, ":1" left out. Empty for none.
	Limits string
	// Weight is the submitter's charge for the slot.
	Weight accountant.Weight
	// QOS and PE belong to the job's place in Config.Queue: the QOS that it is charged
	// under, empty for the ad's, and its processor equivalents, 0 if unknown.
	QOS string
	PE  float64
	// Priority is the job's in Config.Queue, higher goes first.
	Priority float64
	// Rank is the slot's Rank of the job, 0 if that is no number: its CurrentRank from
	// then on.
	Rank float64
	// Reason tells why the job may have the slot: NoPreemption, RankPreemption or
	// PriorityPreemption.
	Reason string
	// Preempts is the claim that ends for the match, nil for none. Slot and Piece are
	// then that claim's.
	Preempts *Preempted
}

// Preempted is a claim that ends for a match.
type Preempted struct {
	// Job and Attempt are a claim's of this pool. For a claim from outside they are zero,
	// and Outside is the slot's name of the job (JobId), if it has one.
	Job     pool.JobID
	Attempt int
	Outside string
	// Submitter held the slot and was charged Weight for it.
	Submitter string
	Weight    accountant.Weight
	// Ran is for how long the job has run there: work that is lost unless the job keeps it.
	// 0 when the slot does not say.
	Ran time.Duration
}

// PutOff is an owner whose jobs' expressions took more steps than Config.Steps. First is the
// first, by number from the beginning of the owner's turn, of the jobs that were left out
// for that, and the next cycle begins with it.
type PutOff struct {
	Owner string
	First pool.JobID
	Jobs  int
}

// Standing is the place of consecutive procs in Config.Queue among the jobs that the
// cycle left: Place is the first one's, and the others follow it directly. Priority is
// the same for all. Both are as in a Rejection; without a Place none of the procs has
// one.
type Standing struct {
	pool.Procs
	Submitter string
	Place     int
	Priority  float64
}

// Explained is jobs that Config.Explain asks about, and the index of their Analysis
// in the plan.
type Explained struct {
	Jobs        pool.Procs
	Autocluster int
}

// Spin is one round of the division of the pie as HTCondor's negotiator does it.
// Weights are slot weights.
type Spin struct {
	// Number counts from 1, anew whenever a group begins. The floor round, which goes
	// before, is 1 as well.
	Number int
	// Group is the accounting group that negotiates, empty when there are none.
	Group string `json:",omitempty"`
	// Floor says that this is the round for submitters below their floors.
	Floor bool `json:",omitempty"`
	// Slots is the number of slots that Config.PoolSizeConstraint counts, with the pieces of
	// partitionable ones. SlotsLeft is the number of all slots still considered when the spin
	// began: also claimed ones if preemption is considered.
	Slots, SlotsLeft int
	// Weight is the weight that shares are parts of, the pool's or at most the group's
	// limit, MinSlotWeight the least of any slot of the pool.
	Weight, MinSlotWeight float64
	// PieLeft is the sum of all limits when the spin began.
	PieLeft float64
	// MaxPrio is the worst EUP, NormalFactor the sum of MaxPrio / EUP over all
	// submitters.
	NormalFactor, MaxPrio float64
	// Turns are the submitters', in the order of negotiation.
	Turns []SpinTurn `json:"Submitters"`
}

// SpinTurn is a submitter's part in a spin.
type SpinTurn struct {
	Name string
	// JobPrios are the least and the greatest JobPrio of the jobs that took part,
	// with USE_GLOBAL_JOB_PRIOS only.
	JobPrios          []int `json:",omitempty"`
	EffectivePriority float64
	// Share is the submitter's part of the pool, from 0 to 1, Limit its limit by that,
	// and Starved the part of its share that it may not take because others took more
	// than theirs.
	Share, Limit float64
	Starved      float64 `json:",omitempty"`
	// Ceiling is the submitter's room under its ceiling, math.MaxInt32 without one.
	Ceiling int64
	// Usage is the weight in use before the turn, Matches the number of slots taken.
	Usage   float64
	Matches int
	// RankOnly says that the limit was reached, and jobs were asked for only in case
	// that a slot should rank one above the job that it runs.
	RankOnly bool `json:",omitempty"`
	// Skipped tells why no job was asked for; empty if some were.
	Skipped string `json:",omitempty"`
	// Outcome is SpinLimited or SpinServed.
	Outcome    string
	Rejections []SpinRejection `json:",omitempty"`
}

// SpinRejection is an autocluster that got no slot, or no more, in one spin. Job is the
// first job of the request that failed. A request is jobs that were consecutive in the
// order when the turn began.
type SpinRejection struct {
	Job, Reason string
}

// The ends of a turn: the submitter takes part in the next spin, or in none any more.
const (
	SpinLimited = "hit submitter limit (stays for next spin)"
	SpinServed  = "got all it wants (removed)"
)

// Succession says how a claim may go on when its job has ended before the next cycle: with the same submitter's next
// job that fits, unless a better one waits for the slot, of a submitter with less than its share or, with a
// Config.Queue, before it there. It is the cycle's view. A supervisor that acts on it must check that a job is still
// idle, and that it matches the slot, which the cycle did not check.
type Succession struct {
	pool.Course
	// Queues are the remaining queues of submitters with claims, in the order in which
	// each submitter's are served. With one queue for all they include those of all
	// submitters that wait for slots, ordered by their first jobs.
	Queues []pool.Successors
	// Entitled are the submitters' entitlements while some wait: first those of
	// submitters with less, in the order of negotiation, then those of submitters with
	// more, by name. A submitter that is not listed has all that it wants. With one queue
	// for all the list is empty.
	Entitled []pool.Entitled
}

// Holder returns the holder of a slot according to its own ad (a claim from outside), or
// an empty text.
func Holder(eval *classad.Context, ad *classad.Ad) string {
	state, _ := ad.EvalString(eval, pool.AttrState)
	return HolderIn(eval, ad, state)
}

// Vacant reports whether a slot can be assigned according to its own ad: it has no
// holder, and its State, if it has one, is Unclaimed or Matched.
func Vacant(eval *classad.Context, ad *classad.Ad) bool {
	state, _ := ad.EvalString(eval, pool.AttrState)
	return IsOpen(state) && HolderIn(eval, ad, state) == ""
}

// IsOpen reports whether a slot in a state takes jobs.
func IsOpen(state string) bool { return pool.IsOpen(state) }

// HolderIn does as Holder of a slot in this state.
func HolderIn(eval *classad.Context, ad *classad.Ad, state string) string {
	return pool.HolderIn(eval, ad, state)
}

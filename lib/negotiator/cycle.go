package negotiator

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Pool is the snapshot that a cycle works on. The order within its lists
// never matters, and nothing in it is changed.
type Pool struct {
	// Slots are all slot ads, whatever state they are in.
	Slots []pool.Slot
	// Claims are all claims of the pool.
	Claims []pool.Claim
	// Jobs are the idle jobs. Procs with a claim that lasts may be among them
	// and are left out; those whose match is given up take part again in this
	// very cycle. No proc may stand in two runs.
	Jobs []Job
	// Submitters are all records of the accountant. Whoever has none has
	// never used anything.
	Submitters []accountant.Record
	// Backoffs are the slots to be left alone, also those whose time is over:
	// they carry the count of failures.
	Backoffs []pool.Backoff
}

// Job is a run of idle jobs that differ in nothing but ProcId: Count procs of
// one cluster, beginning with First.
type Job struct {
	First     pool.JobID
	Count     int
	Submitter string
	// Ad is the complete ad of First, with ClusterId and ProcId. It may be
	// shared and is not changed.
	Ad *classad.Ad
}

// Config is what the administrator decides about a cycle.
type Config struct {
	// Params are the settings that effective user priorities depend on.
	Params accountant.Params
	// PreJobRank and PostJobRank are NEGOTIATOR_PRE_JOB_RANK and
	// NEGOTIATOR_POST_JOB_RANK, with MY the slot and TARGET the job; nil: no
	// preference.
	PreJobRank, PostJobRank *classad.Expr
	// JobOrder is JOB_PRIORITY_POLICY: the order of one submitter's jobs; nil:
	// condor.
	JobOrder jobprio.Policy
	// SlotWeight is SLOT_WEIGHT, evaluated in ads without a SlotWeight of
	// their own; nil: 1.
	SlotWeight *classad.Expr
	// UseSlotWeights is NEGOTIATOR_USE_SLOT_WEIGHTS; false: every slot
	// weighs 1.
	UseSlotWeights bool
	// RequestClaimTimeout is REQUEST_CLAIM_TIMEOUT: how old a match may grow
	// before it is given up. 0: it never is.
	RequestClaimTimeout time.Duration
}

// Plan is what a cycle decided, and why. Every list has a fixed order.
type Plan struct {
	// Matches are the new matches, in the order in which they were made.
	Matches []Match
	// GiveUp are the claims that nobody took up in time, by job: the match
	// never happened, and the job is idle again. To be done before Matches,
	// where the same job may have another slot already.
	GiveUp []pool.Claim
	// Backoffs are the slots of given-up matches, by name, with the count of
	// failures and the time before which they get no match. They replace an
	// earlier Backoff of the same slot.
	Backoffs []pool.Backoff

	// Submitters are everybody who wants or uses something, in the order of
	// negotiation.
	Submitters []Share
	// Outside is what submitters hold by the slots' own words, without a claim of
	// this pool.
	Outside map[string]Holding
	// Groups are the accounting groups in the order of their tree, the root
	// first; none when there are none.
	Groups []Group
	// Rejections are the jobs that got no slot, by submitter in the order of
	// negotiation, then by job priority.
	Rejections []Rejection
	// Warnings are what a person should look at, such as an ad that could not
	// be used as it stands. They never stop a cycle.
	Warnings []string
	// Slots is the number of slots looked at, Candidates how many of them
	// were free for a match when the cycle began.
	Slots, Candidates int
}

// Holding is a number of slots, and their weight.
type Holding struct {
	Slots  int
	Weight accountant.Weight
}

// NoPreemption is the reason of a match with a slot that nobody held.
const NoPreemption = "NoPreemption"

// Match gives a slot to a job.
type Match struct {
	Job             pool.JobID
	Submitter, Slot string
	// Weight is what the submitter is charged for the slot.
	Weight accountant.Weight
	// Reason tells whose the slot was: NoPreemption.
	Reason string
}

// cycle is the state of one negotiation cycle.
type cycle struct {
	cfg  Config
	now  time.Time
	eval *classad.Context
	plan *Plan

	slots      []slot         // by name in natural order
	classes    []*class       // by their first slot
	clusters   []*autocluster // by first appearance among the submitters' jobs
	bundles    []*bundle      // by their first class
	submitters []*submitter   // in the order of negotiation
	contended  bool           // not every autocluster can use the same slots
}

// Cycle runs one negotiation cycle over the pool as of now (policy time) and
// returns what is to be done. It follows the manual's ordered list, section
// "Negotiation": all slots, all submitters, sorted by EUP; then each takes
// what its pie slice allows, job by job in job-priority order, each job the
// best of the slots that match, until no more can be matched.
func Cycle(p Pool, cfg Config, now time.Time) *Plan {
	if cfg.JobOrder == nil {
		cfg.JobOrder = jobprio.Condor{}
	}
	c := &cycle{cfg: cfg, now: now, eval: &classad.Context{Now: now}, plan: &Plan{}}
	lasting := c.giveUp(p.Claims, p.Backoffs)
	c.lookAtSlots(p, lasting)
	jobs := c.withoutClaimed(p.Jobs, lasting)
	c.gather(p.Submitters, jobs, lasting)
	c.fill()
	c.report()
	return c.plan
}

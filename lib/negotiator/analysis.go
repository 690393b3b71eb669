package negotiator

import (
	"slices"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Analysis is how far the slots of the pool are from taking the jobs of one
// autocluster, as the cycle left them.
type Analysis struct {
	// Job is the first job of the autocluster in the order of the negotiation.
	Job pool.JobID `json:"-"`
	// Steps are a funnel: each slot of the pool is counted once, at the step where
	// it drops out, in the order in which steps are taken. Those at the last step,
	// Left, would take a job, and something else is in the way.
	Steps []Step
	// Nearest is the slot that least is in the way of; nil: the pool has no slots, or
	// the job's Requirements take too many steps to look for one.
	Nearest *Nearest `json:",omitempty"`
	// Preemption is why claimed slots that match were not preempted for the submitter
	// PreemptionFor, in the order of Protections: of those that wait with such a job the
	// first, or the one that Config.Explain asks about.
	Preemption    []Protected `json:",omitempty"`
	PreemptionFor string      `json:",omitempty"`
	// Holders are those who hold the most of the slots that match, whatever these
	// are doing, and MoreHolders how many others there are.
	Holders     []SlotHolder `json:",omitempty"`
	MoreHolders int          `json:",omitempty"`
	// Ahead are the submitters that hold slots that match, got some, or wait for the
	// nearest, in the order of negotiation, and MoreAhead how many others there are. OneQueue
	// says that this is the order of their first jobs in Config.Queue; who waits with none
	// comes last.
	Ahead     []Contender `json:",omitempty"`
	MoreAhead int         `json:",omitempty"`
	OneQueue  bool        `json:",omitempty"`
}

// Step is where a number of slots drops out. Its Cause is none of a job's, but for
// Left.
type Step struct {
	Cause Cause
	// Text is the clause of Requirements that is the first not to be true, or the
	// resource that is the first of which there is too little.
	Text  string `json:",omitempty"`
	Slots int
}

// Left is the step of slots that would take a job.
const Left Cause = "Left"

// Nearest is the slot that is the nearest to taking a job: the one that fails the
// fewest clauses, of equals the one whose state is the nearest to free, then the
// first by name.
type Nearest struct {
	Slot string
	// Causes is what is in the way there, none if nothing is.
	Causes []Cause `json:",omitempty"`
	// Fails are the clauses that are not true, of the job's Requirements first.
	Fails []Failing `json:",omitempty"`
	// Lacks says what is too little of a partitionable slot, such as "Cpus 2 of 4":
	// there are 2, and the job requests 4.
	Lacks string `json:",omitempty"`
	// Holders are those who hold the slot, or parts of it, each once, by name.
	Holders []string `json:",omitempty"`
}

// Failing is a clause that is not true.
type Failing struct {
	// Of is "job" or "slot": whose Requirements the clause is of.
	Of string
	// Clause is its text; empty: there are no Requirements.
	Clause string `json:",omitempty"`
	// Values are those of the attributes in it, such as
	// "Memory is 16384, RequestMemory 20000".
	Values string `json:",omitempty"`
}

// SlotHolder is a submitter, and how many of the slots that match it holds: whole
// ones and pieces. New are those of them that it got in this cycle.
type SlotHolder struct {
	Submitter string
	Slots     int
	New       int `json:",omitempty"`
}

// Contender is a submitter in the order of negotiation.
type Contender struct {
	Submitter         string
	EffectivePriority float64
	// Slots are as SlotHolder's; Waiting are idle jobs that could use the nearest slot.
	Slots   int `json:",omitempty"`
	Waiting int `json:",omitempty"`
	// Place is that of the first of these in Config.Queue; see Rejection.Place.
	Place int `json:",omitempty"`
}

// How many are named of those who hold or want slots.
const (
	mostHolders = 5
	mostAhead   = 5
)

// Explained is jobs that Config.Explain asks about, and the index of their Analysis
// in the plan.
type Explained struct {
	Jobs        pool.Procs
	Autocluster int
}

// explainedRun is what Explained is made from.
type explainedRun struct {
	jobs    pool.Procs
	cluster *autocluster
}

// asksAbout reports whether Config.Explain asks about any job of some runs.
func (c *cycle) asksAbout(runs []run) bool {
	return slices.ContainsFunc(c.cfg.Explain, func(p pool.Procs) bool {
		return slices.ContainsFunc(runs, func(r run) bool {
			_, ok := r.Intersect(p)
			return ok
		})
	})
}

// explain notes which jobs of a run Config.Explain asks about.
func (c *cycle) explain(j jobprio.Run, k *autocluster) {
	for _, p := range c.cfg.Explain {
		if both, ok := j.Intersect(p); ok {
			k.explain = true
			c.explained = append(c.explained, explainedRun{both, k})
		}
	}
}

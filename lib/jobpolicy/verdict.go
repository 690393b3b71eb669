package jobpolicy

// Action is what is to be done with a job.
type Action int

// What may be done with a job.
const (
	Stay    Action = iota // nothing
	Hold                  // it is held until it is released
	Release               // it is held no more
	Remove                // it leaves the queue
	Vacate                // it leaves its slot, to run again
	Again                 // it has ended, and is to run once more
)

// String returns the action in a word.
func (a Action) String() string {
	return [...]string{"stay", "hold", "release", "remove", "vacate", "again"}[a]
}

// Verdict is what is to be done with a job, and why.
type Verdict struct {
	Action Action
	Reason string // one line; empty for Stay
	// Code and Subcode are the HoldReasonCode and HoldReasonSubCode of a Hold.
	Code, Subcode int
}

// HTCondor's HoldReasonCodes of what this package decides.
const (
	ByPolicy         = 3  // an expression of the job is true
	PolicyUndefined  = 5  // an expression of the job is neither true nor false
	JobDuration      = 46 // AllowedJobDuration is over
	ExecuteDuration  = 47 // AllowedExecuteDuration is over
	DependencyFailed = 1000
)

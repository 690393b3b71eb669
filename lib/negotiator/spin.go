package negotiator

// Spin is one round of the division of the pie as HTCondor's negotiator does it.
// Weights are slot weights.
type Spin struct {
	// Number counts from 1, anew whenever a group begins. The floor round, which goes
	// before, is 1 as well.
	Number int
	// Group is the accounting group that negotiates, empty when there are none.
	Group string `json:",omitempty"`
	// Floor says that it is the round of those below their floors.
	Floor bool `json:",omitempty"`
	// Slots are those that Config.PoolSizeConstraint counts, with the pieces of partitionable
	// ones, SlotsLeft those of all that were still looked at when the spin began: also claimed
	// ones if preemption is considered.
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
	// Share is the part of the pool that is the submitter's, from 0 to 1; Limit what
	// it may take by that, and Starved what it may not because others took more than
	// their share.
	Share, Limit float64
	Starved      float64 `json:",omitempty"`
	// Ceiling is what the submitter's ceiling leaves it, math.MaxInt32 without one.
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

// SpinRejection is an autocluster that got no slot, or no more, in one spin. Job is
// the first job of the request that failed: of those of its jobs that followed each
// other in the order, without others in between, when the turn began.
type SpinRejection struct {
	Job, Reason string
}

// What a turn ends with: the submitter takes part in the next spin, or in none any
// more.
const (
	SpinLimited = "hit submitter limit (stays for next spin)"
	SpinServed  = "got all it wants (removed)"
)

package waiting

import (
	"fmt"

	"fairspool/lib/pool"
)

// Outcome is how a job ended.
type Outcome struct {
	Job         pool.JobID
	ReturnValue int    // of a normal end
	Signal      int    // that killed it; 0 for a normal end, below 0 for one that is not known
	Removed     bool   // from the queue, before it had ended by itself
	Lost        bool   // nobody knows how it ended
	Reason      string // of the removal; may be empty
}

// bySignal is what shells add to the number of a signal.
const bySignal = 128

// Status returns the exit status that stands for the outcome: the job's own, 128
// and the number of the signal that killed it, and 1 for a job that was removed or
// whose end is not known.
func (o Outcome) Status() int {
	switch {
	case o.Removed || o.Lost:
		return 1
	case o.Signal < 0:
		return bySignal
	case o.Signal > 0:
		return bySignal + o.Signal%bySignal
	case o.ReturnValue != 0 && o.ReturnValue&0xff == 0:
		return 1
	}
	return o.ReturnValue & 0xff
}

// Status returns the exit status that stands for several outcomes in the order of
// their jobs: that of the first that is not 0.
func Status(list []Outcome) int {
	for _, o := range list {
		if s := o.Status(); s != 0 {
			return s
		}
	}
	return 0
}

// String says how the job ended: "12.0 returned 3".
func (o Outcome) String() string {
	switch {
	case o.Removed && o.Reason != "":
		return fmt.Sprintf("%v was removed: %s", o.Job, o.Reason)
	case o.Removed:
		return fmt.Sprintf("%v was removed", o.Job)
	case o.Lost:
		return fmt.Sprintf("%v has ended, nobody knows how", o.Job)
	case o.Signal < 0:
		return fmt.Sprintf("%v was killed by a signal", o.Job)
	case o.Signal > 0:
		return fmt.Sprintf("%v was killed by signal %d", o.Job, o.Signal)
	}
	return fmt.Sprintf("%v returned %d", o.Job, o.ReturnValue)
}

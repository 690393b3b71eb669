package operation

import (
	"time"

	"fairspool/lib/classad"
)

// lockedSteps is how far an expression of a job may go that has to be evaluated in a
// transaction, as it looks at what the transaction itself has done: at most a tenth of a
// millisecond. One that goes further is an error.
const lockedSteps = 5_000

// locked returns the context for such expressions.
func locked(now time.Time) *classad.Context {
	return &classad.Context{Now: now, MaxSteps: lockedSteps}
}

// mostLocked is how far all expressions together may go in the look for a successor.
const mostLocked = 100 * lockedSteps

package launch

import (
	"context"
	"syscall"
	"time"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// Launcher makes the processes of an attempt at a job.
type Launcher interface {
	// Fetch gets the image of a job that runs in a container, and returns how long that took. The scratch directory is there. It is called
	// before Start. A failure that is the job's is a *StartError.
	Fetch(ctx context.Context, job Job) (took time.Duration, err error)
	// Start executes the job's program, from its beginning. A failure that is the job's is a *StartError.
	Start(job Job) (Running, error)
	// Attach returns the function that restores the job from the checkpoint of all its processes, which an
	// earlier attempt left; nil without such a checkpoint. After an error the job has to begin anew. If ctx
	// was cancelled, the checkpoint stays for the next attempt.
	Attach(job Job) func(ctx context.Context) (Running, error)
}

// Running is a job with all processes that it has started.
type Running interface {
	// Wait waits for the job's own process to end and says how it did.
	Wait() Ended
	// Signal sends a signal to the job; os.ErrProcessDone: its own process has ended.
	Signal(sig syscall.Signal) error
	// Catches reports whether the job's own process has a function for a signal.
	Catches(sig syscall.Signal) bool
	// Usage returns the usage of the job's processes so far, except the wall time, and the size of
	// the scratch directory.
	Usage() pool.Progress
	// Exceeded returns the verdict on a job that has taken more than it may; Stay: it has not. Ended is how
	// its own process has; nil: it runs.
	Exceeded(ended *Ended) jobpolicy.Verdict
	// Dump makes a checkpoint of all processes of the job, which end with that, in the time patience; whole
	// reports whether there is one. Unless done is true the job goes on, and has to be told to leave like any
	// other.
	Dump(patience time.Duration) (whole, done bool)
	// Core returns the path of the core file that the program has left; empty for none.
	Core(job Job) (path string, err error)
	// End kills all that is left of the job's processes when its own has ended. Again says that the program
	// is to be started again.
	End(again bool) error
}

// HTCondor's HoldReasonCode of a job that took more than it asked for, and the
// HoldReasonSubCodes that its policies have for memory and disk (its manual,
// HOLD_SUBCODE_MEMORY_EXCEEDED, and its starter).
const (
	HoldResources = 34
	TooMuchMemory = 102
	TooMuchDisk   = 104
)

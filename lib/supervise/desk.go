package supervise

import (
	"context"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// A Desk is where a supervisor does all that one attempt has to do with the queue, the log of its job
// and the files of its submitter. Its methods are called one at a time, but others are called while Inputs or Outputs go
// on. Only these and Finish may take long.
type Desk interface {
	// Begin commits that the attempt runs: from then on no other process may start it. After an error the
	// desk is closed.
	Begin() (Task, error)
	// Await waits until the job's log has the ends of earlier attempts.
	Await()
	// Inputs makes the scratch directory of the job, with its input files and what an earlier attempt has left for this
	// one. A failure that is the job's is a *launch.StartError.
	Inputs(ctx context.Context, job launch.Job) (launch.Placed, error)
	// Executing tells the job's log that the program is executed, and for how long the machine has fetched the image of its
	// container; 0: it has not.
	Executing(fetched time.Duration)
	// Heed returns the queue's word to the attempt, and leaves a sign of life. If nothing has changed it costs
	// next to nothing.
	Heed() Word
	// Lost reports whether the attempt is no longer the supervisor's.
	Lost() Loss
	// Terms returns on which terms the job leaves its slot for a reason, by its ad as it is now.
	Terms(why pool.Reason) (Terms, error)
	// Judge carries out a verdict on the job, or where that is Stay what its policy wants after an attempt of
	// so much. If the policy was asked it returns the job's rules as they are now, and else nil. What
	// follows for the job Heed says.
	Judge(found jobpolicy.Verdict, used Spent) (*Rules, error)
	// Report records the attempt's usage so far.
	Report(p pool.Progress) error
	// Checkpointed records that the job has left a checkpoint of so many bytes, with which it goes on in
	// its slot, and the attempt's usage so far.
	Checkpointed(p pool.Progress, bytes int64) error
	// Outputs takes care of files that the job has left in its scratch directory.
	Outputs(ctx context.Context, job launch.Job, placed launch.Placed, of Files) error
	// Finish records how the attempt has ended, and when; zero: now. It tries for as long as it takes. It removes the
	// kept files of a job that leaves the queue. The slot goes on with the attempt next, which has begun, unless last
	// says that the supervisor is to end; nil: with none.
	Finish(how pool.Ending, at time.Time, last func() bool) (next Desk, t Task, err error)
	// Close gives up the attempt, after Finish.
	Close()
	// Tell has the pool's administrator know of trouble.
	Tell(err error)
}

// Files are the files of a job's scratch directory that Outputs handles.
type Files = launch.Files

// The names that desks have for them.
const (
	Output     = launch.Output
	Checkpoint = launch.Checkpoint
	Rest       = launch.Rest
)

// Task is what an attempt is to do.
type Task struct {
	pool.Attempt
	Run   launch.Job
	Wrong error // why the ad cannot be run; Run is empty then
	On    Machine
	Ad    *classad.Ad // of the job when the attempt began
	// Limits are the limits of the job's policy then.
	Limits []jobpolicy.Limit
	// At is when the job is to be executed, zero for a job without such a time; Missed is the verdict if
	// it was too late for that when the attempt began.
	At     time.Time
	Missed jobpolicy.Verdict
}

// Machine is a machine for one attempt.
type Machine interface {
	launch.Launcher
	// MakeRoom makes the folder of the scratch directories.
	MakeRoom() error
	// Tidy removes the scratch directory.
	Tidy() error
	// Close gives up the processes, which have ended.
	Close() error
}

// Word is the queue's word to an attempt.
type Word struct {
	// Leaves: the job has to leave its slot for the reason Why.
	Leaves bool
	Why    pool.Reason
	Fast   bool // it is killed at once
	// Gone: the attempt is no longer the supervisor's.
	Gone bool
	// Changed: the job's policy has changed since this was said last.
	Changed bool
	// Until is when nothing of the job may be left, by the clock of the process; zero: there is no such time.
	Until time.Time
}

// Loss is a supervisor's loss of its attempt.
type Loss int

const (
	// None: the attempt is the supervisor's.
	None Loss = iota
	// OfQueue: the queue is not there, and nothing that the job does can be recorded.
	OfQueue
	// OfClaim: the claim is not the supervisor's any more: another attempt of the job may begin at any time.
	OfClaim
)

// NoRoom is an error of Judge: the action cannot be recorded, for there is no room.
type NoRoom struct{ Err error }

func (e NoRoom) Error() string { return e.Err.Error() }

func (e NoRoom) Unwrap() error { return e.Err }

// Terms say how a job leaves its slot.
type Terms struct {
	Ad         *classad.Ad // of the job as it is now; nil: it has left the queue
	Leaving    launch.Leaving
	Retirement time.Duration // for so long since its beginning it may run in any case
	Fast       bool          // it is killed at once
}

// Rules are the rules in a job's ad for its attempt.
type Rules struct {
	Limits  []jobpolicy.Limit
	Asks    bool // it has expressions that are to be looked at now and then
	Endless bool // these took more steps than there are
}

// Spent is what an attempt has used so far.
type Spent struct {
	pool.Progress
	// Begun is how long ago the attempt began, and Executed how long ago its program was executed first, in
	// process time. Runs: the program runs.
	Begun, Executed time.Duration
	Runs            bool
}

// Overdue returns the verdict of the first limit that is over, Stay if none is.
func (u Spent) Overdue(limits []jobpolicy.Limit) jobpolicy.Verdict {
	for _, l := range limits {
		switch {
		case l.Executing && !u.Runs:
		case l.Executing && u.Executed >= l.For, !l.Executing && u.Begun >= l.For:
			return l.Verdict
		}
	}
	return jobpolicy.Verdict{}
}

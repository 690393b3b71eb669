package jobpolicy

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

var (
	onExitHold   = rule{classad.NewName("OnExitHold"), Hold}
	onExitRemove = classad.NewName("OnExitRemove")
	leaveInQueue = classad.NewName("LeaveJobInQueue")
)

// OnExit returns what is to be done with a job that ended by itself: Remove, without a
// reason, Again or Hold.
//
// Its ad says how it ended (ExitBySignal, and ExitCode or ExitSignal), and reads otherwise as
// while the job ran, except that NumJobCompletions counts this end already: OnExitRemove of
// max_retries goes by it. JobStatus is not looked at, unless expressions do.
//
// As in HTCondor the periodic expressions come first (its manual, condor_submit,
// periodic_remove): TimerRemove and PeriodicHold, PeriodicRemove, then OnExitHold, and
// OnExitRemove. One that is missing, undefined or an error is as if it asked for
// nothing, so that the job leaves the queue.
func OnExit(c *classad.Context, ad *classad.Ad) Verdict {
	v := waiting(c, ad)
	onExitHold.apply(&v, c, ad)
	switch {
	case v.Action == Hold:
		return v
	case v.Action == Remove || !staysAfterExit(c, ad):
		return Verdict{Action: Remove}
	}
	return Verdict{Action: Again, Reason: sentence(ad, onExitRemove.String(), "FALSE")}
}

// staysAfterExit tells whether OnExitRemove is false, or a number that is 0.
func staysAfterExit(c *classad.Context, ad *classad.Ad) bool {
	v := ad.Eval(c, onExitRemove.String(), nil)
	_, isNumber := v.Number()
	return isNumber && !fires(v)
}

// Stays tells whether a job that has ended or was removed stays in the queue all the
// same: its LeaveJobInQueue is true. The ad is as it is after the end.
func Stays(c *classad.Context, ad *classad.Ad) bool { return isTrue(c, ad, leaveInQueue) }

// Succeeded tells whether a job that ended by itself did so with success: with
// JobSuccessExitCode, 0 without that, and not by a signal.
func Succeeded(c *classad.Context, ad *classad.Ad) bool {
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		return false
	}
	want, _ := ad.EvalInt(c, pool.AttrJobSuccessExitCode)
	code, ok := ad.EvalInt(c, pool.AttrExitCode)
	return ok && code == want
}

// How says in a few words how a job ended whose ad says so.
func How(c *classad.Context, ad *classad.Ad) string {
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		n, _ := ad.EvalInt(c, pool.AttrExitSignal)
		return fmt.Sprintf("ended by signal %d", n)
	}
	code, ok := ad.EvalInt(c, pool.AttrExitCode)
	if !ok {
		return "ended, its exit code is not known"
	}
	return fmt.Sprintf("ended with exit code %d", code)
}

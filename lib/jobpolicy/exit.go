package jobpolicy

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// OnExit returns what is to be done with a job that ended by itself, and whose
// ad says how: Remove, Again or Hold.
func OnExit(c *classad.Context, ad *classad.Ad) Verdict {
	if yes, ok := ad.EvalBool(c, "OnExitHold"); ok && yes {
		return verdict(Hold, ad, "OnExitHold")
	}
	if yes, ok := ad.EvalBool(c, "OnExitRemove"); ok && !yes {
		return Verdict{Action: Again, Reason: "The job attribute OnExitRemove expression evaluated to FALSE"}
	}
	return Verdict{Action: Remove}
}

// Stays tells whether a job that has ended stays in the queue all the same.
func Stays(c *classad.Context, ad *classad.Ad) bool {
	yes, ok := ad.EvalBool(c, "LeaveJobInQueue")
	return ok && yes
}

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
	code, _ := ad.EvalInt(c, pool.AttrExitCode)
	return fmt.Sprintf("ended with exit code %d", code)
}

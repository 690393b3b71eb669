package jobpolicy

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

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
	words := [...]string{"stay", "hold", "release", "remove", "vacate", "again"}
	if a < 0 || int(a) >= len(words) {
		return fmt.Sprintf("action %d", int(a))
	}
	return words[a]
}

// Verdict is what is to be done with a job, and why.
type Verdict struct {
	Action Action
	// Reason is one line of at most 4096 bytes; empty for Stay, and for the Remove
	// of a job that has just ended.
	Reason string
	// Code and Subcode are the HoldReasonCode and HoldReasonSubCode of a Hold.
	Code, Subcode int
}

// HoldReasonCodes of what this package decides, and of what it goes by. Those below 1000
// are HTCondor's (its manual, "Job ClassAd Attributes", HoldReasonCode).
const (
	ByUser           = 1    // somebody held the job
	ByPolicy         = 3    // an expression of the job is true
	PolicyUndefined  = 5    // TimerRemove is no time
	MissedTime       = 20   // it is too late for DeferralTime
	CronSettings     = 25   // the times of cron_minute and its like cannot be read, or never come
	JobDuration      = 46   // AllowedJobDuration is over
	ExecuteDuration  = 47   // AllowedExecuteDuration is over
	DependencyFailed = 1000 // a job of AfterOk's clusters did not succeed
	WallTime         = 1001 // WallTimeLimit is over
)

// maxReason bounds a Reason, in bytes. An expression can make text without end.
const maxReason = 4096

// fires reports whether a policy expression's value asks for the action: true, or a
// number that is not 0 when its fraction is cut, as HTCondor has it. Undefined, error and
// everything else do not.
func fires(v classad.Value) bool {
	x, ok := v.Number()
	return ok && math.Abs(x) >= 1
}

// isTrue reports whether an attribute is there and fires.
func isTrue(c *classad.Context, ad *classad.Ad, name *classad.Name) bool {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = e.Eval(c, ad, nil)
	}
	return ok && fires(v)
}

// whole returns an attribute's number with its fraction cut; ok is false for what is no
// number, or beyond 63 bits.
func whole(c *classad.Context, ad *classad.Ad, name string) (n int64, ok bool) {
	v := ad.Eval(c, name, nil)
	if n, ok = v.Int(); ok {
		return n, true
	}
	x, ok := v.Number()
	if !ok || !(math.Abs(x) < 1<<63) {
		return 0, false
	}
	return int64(x), true
}

// verdict is the Verdict of an attribute that fired. Its reason is the job's own, from the
// attribute of that name with Reason behind it, and so is a Hold's subcode; without, it is the
// sentence that readers of HTCondor's logs know.
func verdict(c *classad.Context, ad *classad.Ad, a Action, name string) Verdict {
	v := Verdict{Action: a}
	if a == Hold {
		v.Code = ByPolicy
		if n, ok := whole(c, ad, name+"SubCode"); ok && n == int64(int32(n)) {
			v.Subcode = int(n)
		}
	}
	own, _ := ad.EvalString(c, name+"Reason")
	if v.Reason = line(own); v.Reason == "" {
		v.Reason = sentence(ad, name, "TRUE")
	}
	return v
}

// sentence says what an expression of the job came to.
func sentence(ad *classad.Ad, name, value string) string {
	text := ""
	if e, ok := ad.Lookup(name); ok {
		text = e.String()
	}
	head, tail := "The job attribute "+name+" expression '", "' evaluated to "+value
	return head + cut(line(text), maxReason-len(head)-len(tail)) + tail
}

// line returns a text as one line: what is not to be printed becomes a blank.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, cut(text, maxReason))
	return cut(strings.TrimSpace(text), maxReason)
}

// cut returns at most n bytes of a text, with dots for what is left out.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("...")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}

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

// staysAfterExit reports whether OnExitRemove is false, or a number that is 0.
func staysAfterExit(c *classad.Context, ad *classad.Ad) bool {
	v := ad.Eval(c, onExitRemove.String(), nil)
	_, isNumber := v.Number()
	return isNumber && !fires(v)
}

// Stays reports whether a job that has ended or was removed stays in the queue all the
// same: its LeaveJobInQueue is true. The ad is as it is after the end.
func Stays(c *classad.Context, ad *classad.Ad) bool { return isTrue(c, ad, leaveInQueue) }

// Succeeded reports whether a job that ended by itself did so with success: with
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

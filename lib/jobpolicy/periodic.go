package jobpolicy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
)

// rule is an expression of the job, and what is done when it fires.
type rule struct {
	attr   *classad.Name
	action Action
}

var (
	vacate  = rule{classad.NewName("PeriodicVacate"), Vacate}
	hold    = rule{classad.NewName("PeriodicHold"), Hold}
	release = rule{classad.NewName("PeriodicRelease"), Release}
	remove  = rule{classad.NewName("PeriodicRemove"), Remove}

	timerRemove = classad.NewName(attrTimer)
)

// PeriodicAttributes returns the names of all that Periodic, Overdue and Next go by:
// jobs for which these come to the same are treated the same.
func PeriodicAttributes() []string {
	names := []string{attrTimer, AttrDeferralTime, AttrDeferralWindow}
	for _, r := range [...]rule{vacate, hold, release, remove} {
		name := r.attr.String()
		names = append(names, name, name+"Reason", name+"SubCode")
	}
	for _, f := range fields {
		names = append(names, f.Attr)
	}
	return names
}

// attrTimer is the time from which a job is removed, in Unix seconds.
const attrTimer = "TimerRemove"

// apply adds to what was found so far: the first rule that fires counts.
func (r rule) apply(found *Verdict, c *classad.Context, ad *classad.Ad) {
	if found.Action == Stay && isTrue(c, ad, r.attr) {
		*found = verdict(c, ad, r.action, r.attr.String())
	}
}

// Never reports whether Periodic gives nothing but Stay for the ad, whatever the
// time and the job's state: all its expressions are constants that do not fire. It
// evaluates nothing.
func Never(ad *classad.Ad) bool {
	for _, r := range [...]rule{vacate, hold, release, remove} {
		if v, constant, ok := constantOf(ad, r.attr); ok && (!constant || fires(v)) {
			return false
		}
	}
	v, constant, ok := constantOf(ad, timerRemove)
	n, isInt := v.Int()
	return !ok || constant && isInt && n < 0
}

// constantOf returns the value of an attribute that is a constant.
func constantOf(ad *classad.Ad, name *classad.Name) (v classad.Value, constant, ok bool) {
	v, e, ok := ad.Get(name)
	if e != nil {
		v, constant = e.Constant()
		return v, constant, ok
	}
	return v, ok, ok
}

// Periodic returns what the job's periodic expressions want done with it in its
// state, JobStatus. The first that fires counts, in HTCondor's order (24 and later,
// condor_utils/user_job_policy.cpp): PeriodicVacate of a job that runs or is suspended,
// TimerRemove, PeriodicHold, PeriodicRelease of a held one, unless somebody held it by hand,
// PeriodicRemove, that also of a job that has ended and stays in the queue. What is undefined
// or an error does not fire, only a TimerRemove that is no number holds the job.
//
// Limits are not looked at. A job without one of the states, or removed, stays.
func Periodic(c *classad.Context, ad *classad.Ad) Verdict {
	n, _ := whole(c, ad, pool.AttrJobStatus)
	switch status := pool.Status(n); status {
	case pool.Running, pool.Suspended:
		var v Verdict
		vacate.apply(&v, c, ad)
		if v.Action == Stay {
			v = waiting(c, ad)
		}
		return v
	case pool.Idle:
		return waiting(c, ad)
	case pool.Held, pool.Completed:
		return resting(c, ad, status == pool.Held)
	}
	return Verdict{}
}

// waiting is Periodic of a job that may be held.
func waiting(c *classad.Context, ad *classad.Ad) Verdict {
	v := timer(c, ad)
	hold.apply(&v, c, ad)
	remove.apply(&v, c, ad)
	return v
}

// resting is Periodic of a job that is held or has ended. A TimerRemove that is no time
// keeps it as it is, as it would be held for that at once.
func resting(c *classad.Context, ad *classad.Ad, held bool) Verdict {
	v := timer(c, ad)
	if v.Action == Hold {
		return Verdict{}
	}
	if code, _ := whole(c, ad, pool.AttrHoldReasonCode); held && code != ByUser {
		release.apply(&v, c, ad)
	}
	remove.apply(&v, c, ad)
	return v
}

// timer is what TimerRemove wants: the job is removed when that second is over.
func timer(c *classad.Context, ad *classad.Ad) Verdict {
	if _, _, ok := ad.Get(timerRemove); !ok {
		return Verdict{}
	}
	n, ok := whole(c, ad, attrTimer)
	switch {
	case !ok:
		return Verdict{Action: Hold, Reason: sentence(ad, attrTimer, "UNDEFINED"), Code: PolicyUndefined}
	case n >= 0 && n < c.Now.Unix():
		return Verdict{Action: Remove, Reason: sentence(ad, attrTimer, "TRUE")}
	}
	return Verdict{}
}

// Limit is how long an attempt may take.
type Limit struct {
	For time.Duration
	// Executing: it counts from when the job's program is executed until that has ended,
	// else from when the job's files begin to be transferred to its slot.
	Executing bool
	Verdict   Verdict // when it is over
}

// limits are the attributes that limit an attempt, in seconds.
var limits = []struct {
	attr      string
	what      string
	executing bool
	code      int
}{
	{"AllowedExecuteDuration", "allowed execute duration", true, ExecuteDuration},
	{"AllowedJobDuration", "allowed job duration", false, JobDuration},
	{"WallTimeLimit", "wall time limit", false, WallTime},
}

// AttemptAttributes returns the names of all that decides how an attempt may go on: what
// Limits and Periodic go by.
func AttemptAttributes() []string {
	names := PeriodicAttributes()
	for _, x := range limits {
		names = append(names, x.attr)
	}
	return names
}

// Limits returns how long an attempt of the job may take, the shortest first. A number
// of seconds below 0 is over at once; what is no number, or more than 292 years, is no limit.
// The ad is that of the running job; an expression that goes by time() is worked out anew
// whenever this is asked.
func Limits(c *classad.Context, ad *classad.Ad) (list []Limit) {
	for _, x := range limits {
		n, ok := whole(c, ad, x.attr)
		if !ok || n > math.MaxInt64/int64(time.Second) {
			continue
		}
		n = max(n, 0)
		reason := fmt.Sprintf("The job exceeded %s of %s", x.what, elapsed.Short(n, 2))
		list = append(list, Limit{
			For: time.Duration(n) * time.Second, Executing: x.executing,
			Verdict: Verdict{Action: Hold, Reason: reason, Code: x.code},
		})
	}
	slices.SortStableFunc(list, func(a, b Limit) int { return cmp.Compare(a.For, b.For) })
	return list
}

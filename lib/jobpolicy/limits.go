package jobpolicy

import (
	"fmt"
	"time"

	"fairspool/lib/classad"
)

// Limit is how long an attempt may take.
type Limit struct {
	For time.Duration
	// Executing: it counts from when the job is executed, else from when its
	// files begin to be transferred.
	Executing bool
	Verdict   Verdict // when it is over
}

// Limits returns how long an attempt of the job may take, the shortest first.
func Limits(c *classad.Context, ad *classad.Ad) (list []Limit) {
	for _, x := range []struct {
		name      string
		executing bool
		code      int
	}{{"AllowedExecuteDuration", true, ExecuteDuration}, {"AllowedJobDuration", false, JobDuration}} {
		if n, ok := ad.EvalInt(c, x.name); ok && n >= 0 {
			d := time.Duration(n) * time.Second
			list = append(list, Limit{d, x.executing, Verdict{Action: Hold, Code: x.code, Reason: fmt.Sprintf("The job exceeded %s of %v", x.name, d)}})
		}
	}
	return list
}

// Deferral returns when a job with a DeferralTime is to be executed, the zero
// time for one without; missed says what is to be done when it is too late for that.
func Deferral(c *classad.Context, ad *classad.Ad) (at time.Time, missed Verdict) {
	n, ok := ad.EvalInt(c, "DeferralTime")
	if !ok {
		return at, missed
	}
	return time.Unix(n, 0), missed
}

package jobpolicy

import (
	"fmt"
	"time"

	"fairspool/lib/classad"
)

// The attributes of jobs that are executed at a time.
const (
	AttrDeferralTime   = "DeferralTime"   // when, in Unix seconds
	AttrDeferralWindow = "DeferralWindow" // how many seconds late it may be
)

// maxUnix bounds the times that are taken seriously, in Unix seconds: the year 9999.
const maxUnix = 253402300799

// Deferral returns when a job with a DeferralTime is to be executed, the zero time
// for one without. missed is a Hold when it is later than that and DeferralWindow, which
// is 0 where it is no number, or when DeferralTime is no time (HTCondor's manual, "Time
// Scheduling for Job Execution"). A time that is over, but not the window, is at: the job
// is to be executed at once.
func Deferral(c *classad.Context, ad *classad.Ad) (at time.Time, missed Verdict) {
	if !ad.Has(AttrDeferralTime) {
		return time.Time{}, Verdict{}
	}
	n, ok := whole(c, ad, AttrDeferralTime)
	if !ok || n <= 0 || n > maxUnix {
		reason := fmt.Sprintf("The job has a %s that is no time", AttrDeferralTime)
		return time.Time{}, Verdict{Action: Hold, Reason: reason, Code: MissedTime}
	}
	at = time.Unix(n, 0).In(c.Now.Location())
	if late := c.Now.Unix() - n; late > window(c, ad) {
		reason := fmt.Sprintf("The job missed its execution time, %s, by %s", at.Format(time.DateTime), clock(late))
		return at, Verdict{Action: Hold, Reason: reason, Code: MissedTime}
	}
	return at, Verdict{}
}

// window returns how many seconds late a job may be executed.
func window(c *classad.Context, ad *classad.Ad) int64 {
	n, _ := whole(c, ad, AttrDeferralWindow)
	return min(max(n, 0), maxUnix)
}

// Overdue tells whether a job with times in the manner of cron(8) is not to be matched any
// more for its DeferralTime, which and its window are over, or has none: Next
// says which one is next.
func Overdue(c *classad.Context, ad *classad.Ad) bool {
	if !IsCron(ad) {
		return false
	}
	n, ok := whole(c, ad, AttrDeferralTime)
	return !ok || n > maxUnix || n+window(c, ad) < c.Now.Unix()
}

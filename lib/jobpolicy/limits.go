package jobpolicy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fairspool/lib/classad"
)

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
		reason := fmt.Sprintf("The job exceeded %s of %s", x.what, clock(n))
		list = append(list, Limit{
			For: time.Duration(n) * time.Second, Executing: x.executing,
			Verdict: Verdict{Action: Hold, Reason: reason, Code: x.code},
		})
	}
	slices.SortStableFunc(list, func(a, b Limit) int { return cmp.Compare(a.For, b.For) })
	return list
}

// clock writes seconds as HTCondor does: 5:03, 2:00:00, 1+02:00:00.
func clock(seconds int64) string {
	days, hours, minutes := seconds/86400, seconds/3600%24, seconds/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d+%02d:%02d:%02d", days, hours, minutes, seconds%60)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds%60)
}

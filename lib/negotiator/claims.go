package negotiator

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// maxBackoff is the longest that a slot is left alone after its matches were
// not taken up.
const maxBackoff = time.Hour

// giveUp decides which matches nobody took up in time and lets their slots
// rest: 2^n times the timeout after the n-th failure in a row. It returns the
// claims that last, by job.
func (c *cycle) giveUp(claims []pool.Claim, backoffs []pool.Backoff) []pool.Claim {
	failures := map[string]int{}
	for _, b := range backoffs {
		failures[b.Slot] = max(failures[b.Slot], b.Failures)
	}
	lasting := make([]pool.Claim, 0, len(claims))
	rested := map[string]bool{}
	vacating := map[string]bool{}
	for _, cl := range claims {
		if cl.State == pool.Vacating {
			vacating[cl.Slot] = true
		}
	}
	for _, cl := range claims {
		if !c.overdue(cl, vacating) {
			lasting = append(lasting, cl)
			continue
		}
		c.plan.GiveUp = append(c.plan.GiveUp, cl)
		if ad := cl.SlotAd(); !rested[ad] {
			rested[ad] = true
			n := max(failures[ad], 0) + 1
			c.plan.Backoffs = append(c.plan.Backoffs,
				pool.Backoff{Slot: ad, Failures: n, Until: c.now.Add(rest(n, c.cfg.RequestClaimTimeout))})
		}
	}
	byJob := func(a, b pool.Claim) int {
		return cmp.Or(a.Job.Compare(b.Job), cmp.Compare(a.Attempt, b.Attempt), strings.Compare(a.Slot, b.Slot))
	}
	slices.SortFunc(lasting, byJob)
	slices.SortFunc(c.plan.GiveUp, byJob)
	slices.SortFunc(c.plan.Backoffs, func(a, b pool.Backoff) int { return strings.Compare(a.Slot, b.Slot) })
	return lasting
}

// overdue reports whether a match is older than the configuration allows. One with a slot that
// was promised to it has as much longer as a job may take to leave; where that is a claim
// of this pool, which vacating has, its supervisor sees to that.
func (c *cycle) overdue(cl pool.Claim, vacating map[string]bool) bool {
	timeout := c.cfg.RequestClaimTimeout
	switch {
	case timeout <= 0:
		return false
	case cl.State == pool.Promised && !vacating[cl.Slot]:
		timeout += c.cfg.VacateTimeout
	case cl.State != pool.Matched:
		return false
	}
	return c.now.Sub(cl.MatchedAt) > timeout
}

// rest returns how long a slot is left alone after n failures in a row.
func rest(n int, timeout time.Duration) time.Duration {
	for d := timeout; d < maxBackoff; d *= 2 {
		if n == 0 {
			return d
		}
		n--
	}
	return maxBackoff
}

// withoutClaimed returns the runs without the procs that hold a claim, by
// job.
func (c *cycle) withoutClaimed(jobs []jobprio.Run, claims []pool.Claim) []jobprio.Run {
	var free []jobprio.Run
	for _, j := range jobs {
		at, _ := slices.BinarySearchFunc(claims, j.FirstJob(), func(cl pool.Claim, id pool.JobID) int { return cl.Job.Compare(id) })
		next, end := j.First, j.Last+1
		for ; at < len(claims) && claims[at].Job.Cluster == j.Cluster && claims[at].Job.Proc < end; at++ {
			free = appendRun(free, j, next, claims[at].Job.Proc)
			next = claims[at].Job.Proc + 1
		}
		free = appendRun(free, j, next, end)
	}
	slices.SortFunc(free, func(a, b jobprio.Run) int { return a.Compare(b.Procs) })
	return free
}

// appendRun appends the procs of j from the one to before the other, if any.
func appendRun(to []jobprio.Run, j jobprio.Run, from, before int) []jobprio.Run {
	if from >= before {
		return to
	}
	return append(to, j.Part(from, before-1))
}

// procAd returns the ad of another proc of the same run.
func procAd(ad *classad.Ad, proc int) *classad.Ad {
	ad = ad.Clone()
	ad.SetInt(pool.AttrProcID, int64(proc))
	return ad
}

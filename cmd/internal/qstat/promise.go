package qstat

import (
	"fmt"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// moving says what a job waits for that is promised a slot, and why one leaves its slot
// that is preempted; nothing of all other jobs.
func (q queue) moving(r *row) string {
	switch {
	case r.claim == nil:
		return ""
	case r.claim.State == pool.Vacating:
		return r.claim.VacateReason
	case r.claim.State != pool.Promised:
		return ""
	}
	all := q.view.Claims()
	if i := slices.IndexFunc(all, func(c pool.Claim) bool { return c.Promises(*r.claim) }); i >= 0 {
		return fmt.Sprintf("waits for job %v of %s to leave %s", all[i].Job, all[i].Submitter, r.slot)
	}
	for _, s := range q.view.SlotsNamed([]string{r.claim.SlotAd()}) {
		if who := negotiator.Holder(&classad.Context{Now: q.call.Now}, s.Ad); who != "" {
			return fmt.Sprintf("waits for %s to leave %s", who, r.slot)
		}
	}
	return fmt.Sprintf("waits for %s to come free", r.slot)
}

package operation

import (
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// leave takes jobs out of the queue that have ended or were removed, at the
// time at, save those that LeaveJobInQueue keeps there. It returns how many left.
func leave(tx *spool.Tx, s pool.Procs, at time.Time) (left int) {
	ad, ok := tx.Job(s.FirstJob())
	if !ok {
		return 0
	}
	if !mayStay(ad) {
		tx.LeaveRange(s, at)
		return s.Count()
	}
	c := locked(at)
	for id := range s.Jobs() {
		if ad, ok := tx.Job(id); ok && !jobpolicy.Stays(c, ad) {
			tx.Leave(id, at)
			left++
		}
	}
	return left
}

// mayStay tells whether LeaveJobInQueue may be true for a job.
func mayStay(ad *classad.Ad) bool {
	e, ok := ad.Lookup(pool.AttrLeaveJobInQueue)
	if !ok {
		return false
	}
	v, constant := e.Constant()
	yes, isBool := v.Bool()
	return !constant || isBool && yes
}

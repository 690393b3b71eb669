package operation

import (
	"cmp"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// HTCondor's VacateReasonCodes of why a job had to leave its slot. One that was held has
// the HoldReasonCode.
const (
	VacatedByJobPolicy    = 1000
	VacatedBySystemPolicy = 1001
	SupervisorFailed      = 1002 // it died, or could not go on (ShadowException)
	NeverStarted          = 1003
	VacatedByUser         = 1004
	VacatedByAdmin        = 1010
	SupervisorStopped     = 1013 // it was told to end (StartdShutdown)
	MachineDrained        = 1014
	PreemptedByRank       = 1018
	PreemptedByPriority   = 1019
)

// left notes that the job had to leave its slot, for the reason why, before it had ended.
func (j job) left(why Reason, at time.Time) {
	j.set(pool.AttrVacateReason, classad.String(why.Text))
	j.set(pool.AttrVacateReasonCode, classad.Int(int64(why.Code)))
	j.set(pool.AttrVacateReasonSub, classad.Int(int64(why.Subcode)))
	j.setTime(pool.AttrLastVacateTime, at)
}

// vacateReason is why the job had to leave its slot: what the claim says, else the end.
func (how Ending) vacateReason(c pool.Claim) Reason {
	why := Reason{c.VacateReason, c.VacateCode, c.VacateSubcode}
	if why.Text == "" {
		why = Reason{Text: cmp.Or(how.Lost, how.StartFailed), Code: how.VacateCode, Subcode: how.VacateSubcode}
	}
	switch {
	case why.Code != 0:
	case how.neverRan():
		why.Code = NeverStarted
	default:
		why.Code = SupervisorFailed
	}
	return why
}

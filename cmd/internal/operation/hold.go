package operation

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Reason is why a job is held: Code and Subcode are its HoldReasonCode and
// HoldReasonSubCode.
type Reason struct {
	Text          string
	Code, Subcode int
}

// HTCondor's HoldReasonCodes of what people do by hand.
const (
	HeldByUser   = jobpolicy.ByUser // with qhold
	HeldAtSubmit = 15               // hold = true
)

// Hold holds jobs: they wait until they are released. One that is matched or
// promised a slot gives that back, and its charge; the claim of a running one turns
// to Vacating, which ends the charge, and its supervisor ends it; one that has to
// leave its slot already stays held when it has. One that runs, has taken more than it
// may and says how much it asks for then only leaves its slot; see Finish. The caller
// names the transaction.
func Hold(tx *spool.Tx, s pool.Procs, why Reason, now time.Time, p accountant.Params) ([]Done, error) {
	tx.UseReserve()
	return each(tx, s, func(x steered) Outcome {
		switch x.status() {
		case pool.Held:
			return Already
		case pool.Removed, pool.Completed:
			return Over
		}
		if x.mayAskForMore(why) {
			x.leaveSlot(why, now, p)
			return LeavesForMore
		}
		x.hold(why, now)
		if !x.leaveSlot(Reason{"held: " + why.Text, why.Code, why.Subcode}, now, p) {
			return HeldRunning
		}
		return HeldNow
	})
}

// hold notes in the jobs' ads that they are held.
func (x steered) hold(why Reason, now time.Time) {
	x.set(pool.AttrHoldReason, classad.String(why.Text))
	x.set(pool.AttrHoldReasonCode, classad.Int(int64(why.Code)))
	x.set(pool.AttrHoldReasonSubCode, classad.Int(int64(why.Subcode)))
	x.set(pool.AttrNumHolds, classad.Int(x.int(pool.AttrNumHolds)+1))
	if why.Code != HeldByUser && why.Code != HeldAtSubmit {
		x.set(pool.AttrNumSystemHolds, classad.Int(x.int(pool.AttrNumSystemHolds)+1))
		countHeld(x.tx, x.Procs, x.ad, why.Text)
	}
	x.unset(pool.AttrReleaseReason)
	x.move(x.status(), pool.Held, now)
}

// lastHold are the attributes of a hold, and what they become when it is over.
var lastHold = [...][2]string{
	{pool.AttrHoldReason, pool.AttrLastHoldReason},
	{pool.AttrHoldReasonCode, pool.AttrLastHoldReasonCode},
	{pool.AttrHoldReasonSubCode, pool.AttrLastHoldReasonSubCode},
}

// Release makes held jobs idle again, for the reason why. One that is still
// leaving its slot is idle when it has. The caller names the transaction.
func Release(tx *spool.Tx, s pool.Procs, why string, now time.Time) ([]Done, error) {
	return each(tx, s, func(x steered) Outcome {
		if x.status() != pool.Held {
			return NotHeld
		}
		if x.int(pool.AttrHoldReasonCode) == jobpolicy.DependencyFailed {
			x.waive()
		}
		x.endHold()
		x.set(pool.AttrReleaseReason, classad.String(why))
		if x.claimed {
			x.move(pool.Held, pool.Running, now)
		} else {
			x.move(pool.Held, pool.Idle, now)
			x.nextTime(now)
		}
		return ReleasedNow
	})
}

// endHold keeps the reason of a hold as that of the last one.
func (x steered) endHold() {
	for _, a := range lastHold {
		if e, ok := x.ad.Lookup(a[0]); ok {
			x.tx.SetRange(x.Procs, a[1], e)
			x.tx.SetRange(x.Procs, a[0], nil)
		}
	}
}

// Vacate makes a running job leave its slot, to run again: its claim turns to
// Vacating. The reason's code is one of those of vacating, such as VacatedByUser. It tells
// whether there was such a claim. The caller names the transaction.
func Vacate(tx *spool.Tx, id pool.JobID, why Reason, now time.Time, p accountant.Params) bool {
	c, ok := tx.Claim(id)
	if !ok || c.State != pool.RunningClaim {
		return false
	}
	steered{tx: tx, Procs: pool.Only(id), claim: c, claimed: true}.leaveSlot(why, now, p)
	return true
}

// nextTime sets when a job is to be executed next that has times in the manner
// of cron(8). One whose times cannot be read is held.
func (x steered) nextTime(now time.Time) {
	at, err := jobpolicy.Next(locked(now), x.ad)
	switch {
	case err != nil:
		x.hold(Reason{Text: err.Error(), Code: jobpolicy.CronSettings}, now)
	case !at.IsZero():
		x.set(jobpolicy.AttrDeferralTime, classad.Int(at.Unix()))
	}
}

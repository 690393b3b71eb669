package operation

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Remove takes a job out of the queue for the reason why, as RemoveAll does.
func Remove(tx *spool.Tx, id pool.JobID, why string, now time.Time, p accountant.Params) (Outcome, error) {
	done, err := RemoveAll(tx, pool.Only(id), why, now, p)
	if err != nil {
		return 0, err
	}
	return done[0].Outcome, nil
}

// RemoveAll takes jobs out of the queue for the reason why. Idle or held ones
// leave at once; one that is matched or promised a slot too, and its charge is given
// back; the claim of a running one turns to Vacating, which ends the charge, and its
// supervisor ends it. One that has ended, or was removed, and only stays because of
// LeaveJobInQueue leaves. The caller names the transaction.
func RemoveAll(tx *spool.Tx, s pool.Procs, why string, now time.Time, p accountant.Params) ([]Done, error) {
	tx.UseReserve()
	return each(tx, s, func(x steered) Outcome { return x.remove(why, now, p) })
}

func (x steered) remove(why string, now time.Time, p accountant.Params) Outcome {
	switch before := x.status(); {
	case x.claimed && before == pool.Removed:
		return Already
	case before == pool.Removed || before == pool.Completed:
		x.tx.LeaveRange(x.Procs, now)
		return RemovedNow
	default:
		x.removing(before, why, now)
	}
	if !x.leaveSlot(Reason{}, now, p) {
		return Marked
	}
	leave(x.tx, x.Procs, now)
	return RemovedNow
}

// RemoveLate sees to it that the jobs of a factory that are still to come are never made,
// for the reason why. Who waits for their cluster is told of them as of removed ones.
// The caller names the transaction.
func RemoveLate(tx *spool.Tx, f spool.Factory, why string) {
	tx.UseReserve()
	tx.DropFactory(f.Cluster)
	if e, ok := EndingsOf(&tx.View, f.Cluster); ok && f.Next < f.Jobs {
		e.neverMade(f.Coming(), why)
		PutEndings(tx, e)
	}
}

// leaveSlot ends what the jobs have of slots. One that has been started has to
// be ended by its supervisor first, for the reason why, which is empty for one
// that is removed: then it returns false.
func (x steered) leaveSlot(why Reason, now time.Time, p accountant.Params) (gone bool) {
	if !x.claimed {
		return true
	}
	c := x.claim
	release(x.tx, c, now, p)
	switch c.State {
	case pool.RunningClaim:
		c.State, c.VacateSince = pool.Vacating, now
		c.VacateReason, c.VacateCode, c.VacateSubcode = why.Text, why.Code, why.Subcode
		x.tx.PutClaim(c)
		return false
	case pool.Vacating:
		return false
	}
	x.tx.DropClaim(c.Job)
	job{x.tx, c.Job, x.ad}.unset(pool.AttrTickets)
	return true
}

// removing notes in the jobs' ads that they are removed.
func (x steered) removing(before pool.Status, why string, now time.Time) {
	x.set(pool.AttrRemoveReason, classad.String(why))
	x.move(before, pool.Removed, now)
	countRemoved(x.tx, x.Procs, x.ad, why)
}

// move moves the jobs from one state to another.
func (x steered) move(before, after pool.Status, now time.Time) {
	x.set(pool.AttrLastJobStatus, classad.Int(int64(before)))
	x.set(pool.AttrJobStatus, classad.Int(int64(after)))
	x.set(pool.AttrEnteredStatus, classad.Int(now.Unix()))
}

package desk

import (
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// EndGone ends, in a transaction, the claim of an attempt on another machine that is believed gone: the
// attempt is lost, for the reason why. Heard is when the machine was last heard of, zero if unknown; the
// attempt is charged until then. The events for the job's log are added to events. pool.ErrGone: the attempt
// has ended already.
func EndGone(tx *spool.Tx, claim pool.Claim, why string, heard time.Time, now accountant.Reading, p accountant.Params, events *joblog.Events) error {
	at := now.Now
	if !heard.IsZero() && heard.Before(at) {
		at = heard
	}
	if at.Before(claim.StartedAt) {
		at = claim.StartedAt
	}
	e := end{how: pool.Ending{Lost: why, Died: true, Recorded: now.Now}, at: at, now: now}
	told := epilogueOf(tx, claim.Job, e, events.Operator())
	last, err := lifecycle.FinishLast(tx, claim.Job, claim.Attempt, at, e.how, p)
	if err != nil {
		return err
	}
	told.log = told.log.Now(last)
	if after, stays := tx.Job(claim.Job); stays {
		told.stays(tx, after)
	}
	for _, body := range told.bodies {
		events.AddTo(told.log, claim.Job, body)
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// attempt is one start of a job: what a claim's lock is named after.
type attempt struct {
	Job    pool.JobID
	Number int
}

// end is how and when an attempt ended.
type end struct {
	how operation.Ending
	at  time.Time
	now accountant.Reading // when that is recorded
}

// finish commits how an attempt ended, and then writes what became of the job to
// the job's event log. Next, if not nil, takes the slot in the same transaction. Events that
// cannot be written are no reason to doubt the first: complain is told of that, and of a clock
// that was set. Claim is the file of the claim, on which this process has the record lock.
func finish(sp *spool.Spool, a attempt, claim *os.File, e end, p accountant.Params, nobody string, complain func(error), next *heir) error {
	var told epilogue
	e.how.Recorded = e.now.Now
	warn := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	err := operation.Account(sp, e.now, warn, func(tx *spool.Tx) error {
		told = epilogueOf(tx, a.Job, e)
		next.look(tx, a)
		if err := operation.Finish(tx, a.Job, a.Number, e.at, e.how, p); err != nil {
			return err
		}
		if ad, ok := tx.Job(a.Job); ok {
			told.stays(ad)
		}
		if err := next.enter(tx, e.now.Clock); err != nil {
			return err
		}
		if err := joblog.Keep(claim, told.log, told.events(a.Job)...); err != nil {
			warn("log: %w", err)
		}
		reached(stepKept)
		return nil
	})
	if err != nil {
		return err
	}
	reached(stepFinished)
	logEvents(sp, told.log, nobody, complain, told.events(a.Job)...)
	reached(stepConcluded)
	return nil
}

// logEvents writes events to the log of a job, behind those that others owe to it.
func logEvents(sp *spool.Spool, log joblog.Log, nobody string, complain func(error), events ...userlog.Event) {
	if log.Path == "" || len(events) == 0 {
		return
	}
	joblog.Deliver(sp, nobody, func(format string, args ...any) { complain(fmt.Errorf(format, args...)) })
	if err := log.Append(nobody, events...); err != nil {
		complain(fmt.Errorf("log: %w", err))
	}
}

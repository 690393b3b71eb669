package main

import (
	"fmt"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
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
// the job's event log. Events that cannot be written are no reason to doubt the
// first: complain is told of that, and of a clock that was set.
func finish(sp *spool.Spool, a attempt, e end, p accountant.Params, complain func(error)) error {
	var log joblog.Log
	var bodies []userlog.Body
	e.how.Recorded = e.now.Now
	warn := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	err := operation.Account(sp, e.now, warn, func(tx *spool.Tx) error {
		var was pool.Status
		if ad, ok := tx.Job(a.Job); ok {
			was, log, bodies = statusOf(ad), joblog.Of(ad), leaves(ad, e.how)
		}
		if err := operation.Finish(tx, a.Job, a.Number, e.at, e.how, p); err != nil {
			return err
		}
		if ad, ok := tx.Job(a.Job); ok {
			bodies = stays(was, ad, e, bodies)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var events []userlog.Event
	for _, body := range bodies {
		events = append(events, userlog.Event{Job: a.Job, At: e.at.Local(), Body: body})
	}
	logEvents(log, complain, events...)
	return nil
}

// leaves returns the events of a job, as it was before its attempt ended, that
// leaves the queue with that.
func leaves(ad *classad.Ad, how operation.Ending) []userlog.Body {
	if isRemoved(ad) {
		why, _ := ad.EvalString(&classad.Context{}, pool.AttrRemoveReason)
		return append(evicted(how, why), userlog.Aborted{Reason: why})
	}
	run := usage(how)
	total := userlog.Usage{User: run.User + cpu(ad, pool.AttrUserCPU), System: run.System + cpu(ad, pool.AttrSysCPU)}
	return []userlog.Body{userlog.Terminated{ReturnValue: how.Code, Signal: how.Signal, Run: run, Total: total}}
}

// stays returns the events of a job that is still in the queue after its attempt
// has ended, before which its status was another: held, idle, or only because of
// LeaveJobInQueue, when they are those of one which left.
func stays(was pool.Status, ad *classad.Ad, e end, left []userlog.Body) (bodies []userlog.Body) {
	c, how := &classad.Context{Now: e.at}, e.how
	vacated, _ := ad.EvalString(c, pool.AttrVacateReason)
	switch statusOf(ad) {
	case pool.Removed, pool.Completed:
		return left
	case pool.Held:
		if was == pool.Held {
			bodies = evicted(how, vacated)
		}
		return append(bodies, joblog.Held(ad))
	}
	if how.Lost == "" {
		requeued := userlog.Evicted{Run: usage(how), Requeued: &userlog.Exit{ReturnValue: how.Code, Signal: how.Signal}}
		if v := jobpolicy.OnExit(c, ad); v.Action == jobpolicy.Again {
			requeued.Reason = v.Reason
		}
		return []userlog.Body{requeued}
	}
	return evicted(how, vacated)
}

// evicted is the event of a job that was made to leave its slot, none
// of one that was never executed there.
func evicted(how operation.Ending, why string) []userlog.Body {
	if how.NotStarted || how.StartFailed != "" {
		return nil
	}
	return []userlog.Body{userlog.Evicted{Run: usage(how), Reason: why}}
}

func usage(how operation.Ending) userlog.Usage {
	return userlog.Usage{User: how.UserCPU, System: how.SysCPU}
}

// cpu returns an attribute in seconds as a duration.
func cpu(ad *classad.Ad, name string) time.Duration {
	seconds, _ := ad.EvalNumber(&classad.Context{}, name)
	return time.Duration(seconds * float64(time.Second))
}

func logEvents(log joblog.Log, complain func(error), events ...userlog.Event) {
	if err := log.Append(events...); err != nil {
		complain(fmt.Errorf("log: %w", err))
	}
}

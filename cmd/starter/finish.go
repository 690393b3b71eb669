package main

import (
	"fmt"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
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
// the job's event log. An event that cannot be written is no reason to doubt the
// first: complain is told of it, and of a clock that was set.
func finish(sp *spool.Spool, a attempt, e end, p accountant.Params, complain func(error)) error {
	var log string
	event := userlog.Event{Job: a.Job, At: e.at.Local()}
	e.how.Recorded = e.now.Now
	warn := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	err := operation.Account(sp, e.now, warn, func(tx *spool.Tx) error {
		if ad, ok := tx.Job(a.Job); ok {
			log, event.Body = joblog.Path(ad), farewell(ad, e.how)
		}
		if err := operation.Finish(tx, a.Job, a.Number, e.at, e.how, p); err != nil {
			return err
		}
		if ad, ok := tx.Job(a.Job); ok {
			event.Body = stays(ad, e.how)
		}
		return nil
	})
	if err != nil {
		return err
	}
	logEvent(log, event, complain)
	return nil
}

// farewell returns the event of a job, as it was before its attempt ended,
// that leaves the queue with that.
func farewell(ad *classad.Ad, how operation.Ending) userlog.Body {
	c := &classad.Context{}
	if status, _ := ad.EvalInt(c, pool.AttrJobStatus); pool.Status(status) == pool.Removed {
		why, _ := ad.EvalString(c, pool.AttrRemoveReason)
		return userlog.Aborted{Reason: why}
	}
	run := usage(how)
	total := userlog.Usage{User: run.User + cpu(ad, pool.AttrUserCPU), System: run.System + cpu(ad, pool.AttrSysCPU)}
	return userlog.Terminated{ReturnValue: how.Code, Signal: how.Signal, Run: run, Total: total}
}

// advice is what somebody whose job is held can do: there is no release. It is
// for people, so that it stands in their event log and not in the ad.
const advice = "; put that right, remove the job with qdel and submit it again"

// stays returns the event of a job that is still in the queue, held or idle,
// after its attempt has ended.
func stays(ad *classad.Ad, how operation.Ending) userlog.Body {
	c := &classad.Context{}
	if status, _ := ad.EvalInt(c, pool.AttrJobStatus); pool.Status(status) == pool.Held {
		why, _ := ad.EvalString(c, pool.AttrHoldReason)
		code, _ := ad.EvalInt(c, pool.AttrHoldReasonCode)
		subcode, _ := ad.EvalInt(c, pool.AttrHoldReasonSubCode)
		return userlog.Held{Reason: why + advice, Code: int(code), Subcode: int(subcode)}
	}
	why, _ := ad.EvalString(c, pool.AttrVacateReason)
	return userlog.Evicted{Run: usage(how), Reason: why}
}

func usage(how operation.Ending) userlog.Usage {
	return userlog.Usage{User: how.UserCPU, System: how.SysCPU}
}

// cpu returns an attribute in seconds as a duration.
func cpu(ad *classad.Ad, name string) time.Duration {
	seconds, _ := ad.EvalNumber(&classad.Context{}, name)
	return time.Duration(seconds * float64(time.Second))
}

func logEvent(path string, event userlog.Event, complain func(error)) {
	if path == "" {
		return
	}
	if err := userlog.Append(path, event); err != nil {
		complain(fmt.Errorf("log: %w", err))
	}
}

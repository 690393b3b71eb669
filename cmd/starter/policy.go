package main

import (
	"context"
	"errors"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// jobPolicy is what the job's own ad says of how its attempt may go on: how long it
// may take, and the expressions that are looked at now and then. All times are
// process time.
//
// An ad that says none of it costs nothing. What is changed in it while the program runs
// (prio -set) counts once that is seen in the journal.
type jobPolicy struct {
	every    time.Duration // PERIODIC_EXPR_INTERVAL; 0: expressions are not looked at
	known    *classad.Ad   // what the job's ad says of it when the attempt begins
	limits   []jobpolicy.Limit
	began    time.Time
	executed time.Time // zero: the program is not there yet, or no more
	next     time.Time // when to look at the expressions; zero: never
	endless  bool      // the last look took more steps than there are
}

// begin takes the policy from the ad of a job that has just been started.
func (p *jobPolicy) begin(ad *classad.Ad, limits []jobpolicy.Limit) {
	p.began, p.known, p.limits = time.Now(), classad.New(), limits
	for _, name := range p.followed() {
		if e, ok := ad.Lookup(name); ok {
			p.known.Set(name, e)
		}
	}
	p.plan(ad)
}

// followed are the names of the attributes that matter while the attempt goes on.
func (p *jobPolicy) followed() []string {
	return append(jobpolicy.AttemptAttributes(), pool.AttrJobStatus)
}

// plan sets when the ad's expressions are to be looked at next.
func (p *jobPolicy) plan(ad *classad.Ad) {
	p.next = time.Time{}
	if p.every > 0 && !jobpolicy.Never(ad) {
		p.next = time.Now().Add(p.every)
	}
}

// ended notes that the program has ended: what is left is to copy its output.
func (p *jobPolicy) ended() { p.executed, p.next = time.Time{}, time.Time{} }

// since returns from when a limit counts; zero when it does not.
func (p *jobPolicy) since(l jobpolicy.Limit) time.Time {
	if l.Executing {
		return p.executed
	}
	return p.began
}

// alarm fires when something is due, but not before least has passed; nil: nothing
// ever is.
func (p *jobPolicy) alarm(least time.Duration) <-chan time.Time { return p.alarmFrom(p.next, least) }

// limitsAlarm is alarm for the limits alone.
func (p *jobPolicy) limitsAlarm() <-chan time.Time { return p.alarmFrom(time.Time{}, 0) }

// alarmFrom fires at first, unless that is zero, or when the first limit is over.
func (p *jobPolicy) alarmFrom(first time.Time, least time.Duration) <-chan time.Time {
	for _, l := range p.limits {
		from := p.since(l)
		if end := from.Add(l.For); !from.IsZero() && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(max(time.Until(first), least))
}

// over returns the verdict of the first limit that is over, Stay if none is.
func (p *jobPolicy) over() jobpolicy.Verdict {
	for _, l := range p.limits {
		if from := p.since(l); !from.IsZero() && time.Since(from) >= l.For {
			return l.Verdict
		}
	}
	return jobpolicy.Verdict{}
}

// ask returns what the ad, as it is now, wants done with the job.
func (p *jobPolicy) ask(ad *classad.Ad, now time.Time, used spent) jobpolicy.Verdict {
	c := &classad.Context{Now: now, Budget: classad.NewBudget(lookSteps)}
	p.limits = jobpolicy.Limits(c, ad)
	p.plan(ad)
	v := p.over()
	if v.Action == jobpolicy.Stay && !p.next.IsZero() {
		v = jobpolicy.Periodic(c, used.over(ad))
		if p.endless = c.Budget.Spent(); p.endless {
			return jobpolicy.Verdict{} // what it says is for want of steps
		}
	}
	return v
}

// lookSteps is what all expressions of one look at the job's policy may take together.
const lookSteps = 5 * classad.UsualSteps

// judge does what the job's policy wants, and returns the order that follows, nil
// for none. The alarm is set anew.
func (s *supervisor) judge(at *spoolWatch) *leave {
	used, before := s.spent(), s.policy.endless
	err := s.carryOut(func(ad *classad.Ad) jobpolicy.Verdict { return s.policy.ask(ad, s.now(), used) })
	s.complain(err)
	if s.policy.endless && !before {
		s.tell("the job's periodic expressions take more than %d steps: nothing is done for them", lookSteps)
	}
	at.due = s.policy.alarm(lookEvery)
	if err != nil {
		at.due = time.After(lookEvery)
	}
	return s.look(at.followed)
}

// carryOut asks what is to be done with the job as its ad is now, and commits that: the
// claim is Vacating then. One that is that already, and let run on, may still be held or
// removed. No expression is evaluated in the transaction: a job that was changed meanwhile is
// judged again. A look at the queue that leads to nothing is forgotten, as a
// machine may have many supervisors.
func (s *supervisor) carryOut(ask func(ad *classad.Ad) jobpolicy.Verdict) (err error) {
	for range mostJudged {
		if err = s.judgeOnce(ask); !errors.Is(err, errJobChanged) {
			break
		}
	}
	return err
}

// mostJudged is how often a job is judged that is changed all the time.
const mostJudged = 10

func (s *supervisor) judgeOnce(ask func(ad *classad.Ad) jobpolicy.Verdict) error {
	now := s.call.Later()
	var v jobpolicy.Verdict
	var seq uint64
	err := s.spool.View(func(view *spool.View) error {
		seq = view.Seq()
		if ad, ok := view.Job(s.Job); ok {
			v = ask(ad)
		}
		return nil
	})
	s.spool.Close()
	if err != nil || v.Action == jobpolicy.Stay {
		return err
	}
	s.spool.At(now.Now)
	return operation.Account(s.spool, now, func(tx *spool.Tx) error {
		claim, ok := tx.Claim(s.Job)
		ad, there := tx.Job(s.Job)
		if !ok || !there || claim.Attempt != s.Number || statusOf(ad) != pool.Running {
			return nil // somebody else was first: claim and ad say what they want
		}
		if r, _ := tx.Run(s.Job); r.Seq > seq {
			return errJobChanged
		}
		return s.enact(tx, v, now.Now)
	})
}

// errJobChanged says that the job's ad is not the one any more that was judged.
var errJobChanged = errors.New("the job was changed while its policy was looked at")

// enact does with the job what a verdict says.
func (s *supervisor) enact(tx *spool.Tx, v jobpolicy.Verdict, now time.Time) (err error) {
	if v.Action == jobpolicy.Stay {
		return nil
	}
	tx.Op("policy", v.Action.String(), s.Job.String())
	tx.UseReserve()
	switch v.Action {
	case jobpolicy.Hold:
		_, err = operation.Hold(tx, pool.Only(s.Job), operation.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}, now, s.params)
	case jobpolicy.Remove:
		_, err = operation.Remove(tx, s.Job, v.Reason, now, s.params)
	case jobpolicy.Vacate:
		operation.Vacate(tx, s.Job, operation.Reason{Text: v.Reason, Code: operation.VacatedByJobPolicy}, now, s.params)
	}
	return err
}

// awaitTime waits until the policy time at which the job is to be executed; the pass
// need not wait for that. Done is false when the job cannot be started: it had to leave
// meanwhile, or placing its files took until it was too late. How is the end of the
// attempt then.
func (s *supervisor) awaitTime(at time.Time) (how operation.Ending, done bool) {
	if s.now().Before(at) {
		s.answer()
		order, _ := s.during(func(ctx context.Context) error { s.sleepUntil(ctx, at); return nil })
		if order != nil {
			return s.leaves(order), false
		}
		return how, true
	}
	missed, err := s.missed()
	switch {
	case err != nil:
		return operation.Ending{Lost: brief(err)}, false
	case missed.Action != jobpolicy.Stay:
		return tooLate(missed), false
	}
	return how, true
}

// sleepUntil returns at a policy time, or when the context ends. The machine may sleep meanwhile.
func (s *supervisor) sleepUntil(ctx context.Context, at time.Time) {
	for {
		left := at.Sub(s.now())
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(left, lookEvery)):
		}
	}
}

// missed returns what is to be done when it is too late for the job's time.
func (s *supervisor) missed() (v jobpolicy.Verdict, err error) {
	now := s.now()
	err = s.spool.View(func(view *spool.View) error {
		if ad, ok := view.Job(s.Job); ok {
			_, v = jobpolicy.Deferral(&classad.Context{Now: now}, ad)
		}
		return nil
	})
	return v, err
}

// tooLate returns the end of an attempt whose job was not executed because of a
// verdict on its time.
func tooLate(v jobpolicy.Verdict) operation.Ending {
	return operation.Ending{StartFailed: v.Reason, HoldCode: v.Code, HoldSubcode: v.Subcode}
}

// spent is what an attempt has used so far.
type spent struct {
	wall, user, sys time.Duration
	rssKB           int64 // resident set: what was measured at most
}

// over returns the ad of the job as it reads with what the attempt has used so far:
// RemoteWallClockTime, RemoteUserCpu and RemoteSysCpu are those of all attempts.
func (u spent) over(ad *classad.Ad) *classad.Ad {
	c := &classad.Context{}
	now := classad.New().Chain(ad)
	for _, x := range []struct {
		name string
		more time.Duration
	}{{pool.AttrWallClock, u.wall}, {pool.AttrUserCPU, u.user}, {pool.AttrSysCPU, u.sys}} {
		before, _ := ad.EvalNumber(c, x.name)
		now.SetReal(x.name, before+x.more.Seconds())
	}
	if u.rssKB > 0 {
		now.SetInt(pool.AttrResidentSetSize, u.rssKB)
		if !ad.Has(pool.AttrMemoryUsage) {
			now.SetInt(pool.AttrMemoryUsage, (u.rssKB+1023)/1024)
		}
	}
	return now
}

// spent returns what the attempt has used, beyond what the ad says of it already.
func (s *supervisor) spent() spent {
	p := s.progress()
	u := spent{wall: p.Wall, user: p.UserCPU, sys: p.SysCPU, rssKB: p.PeakKB}
	if s.updates != nil {
		told := s.updates.reported
		u.wall, u.user, u.sys = u.wall-told.Wall, u.user-told.UserCPU, u.sys-told.SysCPU
	}
	return u
}

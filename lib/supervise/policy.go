package supervise

import (
	"context"
	"fmt"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// jobPolicy is the part of the job's own ad about its attempt: its time limits, and the
// expressions that are evaluated now and then. All times are process time.
//
// An ad without them costs nothing. Changes while the program runs (prio -set) count once
// they are seen in the journal.
type jobPolicy struct {
	every    time.Duration // PERIODIC_EXPR_INTERVAL; 0: expressions are not looked at
	limits   []jobpolicy.Limit
	began    time.Time
	executed time.Time // zero: the program is not there yet, or no more
	next     time.Time // when to look at the expressions; zero: never
	endless  bool      // the last look took more steps than there are
}

// begin takes the policy from the ad of a job that has just been started.
func (p *jobPolicy) begin(ad *classad.Ad, limits []jobpolicy.Limit) {
	p.began, p.limits = time.Now(), limits
	p.plan(!jobpolicy.Never(ad))
}

// plan sets when the ad's expressions are to be looked at next, if it has any.
func (p *jobPolicy) plan(asks bool) {
	p.next = time.Time{}
	if p.every > 0 && asks {
		p.next = time.Now().Add(p.every)
	}
}

// ended notes that the program has ended: only its output is still to be copied.
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

// elapsed returns the times that limits are compared with.
func (p *jobPolicy) elapsed() Spent {
	return Spent{Begun: time.Since(p.began), Executed: time.Since(p.executed), Runs: !p.executed.IsZero()}
}

// over returns the verdict of the first limit that is over, Stay if none is.
func (p *jobPolicy) over() jobpolicy.Verdict { return p.elapsed().Overdue(p.limits) }

// take sets the rules from the present ad.
func (p *jobPolicy) take(r Rules) {
	p.limits, p.endless = r.Limits, r.Endless
	p.plan(r.Asks)
}

// judge applies the job's policy, and returns the order that follows, nil for none. It
// sets the alarm anew.
func (s *supervisor) judge(at *looks) *leave {
	before := s.policy.endless
	s.changed = false
	r, err := s.desk.Judge(jobpolicy.Verdict{}, s.spent())
	s.complain(err)
	if r != nil {
		s.policy.take(*r)
	}
	if s.policy.endless && !before {
		s.complain(fmt.Errorf("the job's periodic expressions take more than %d steps: nothing is done for them", LookSteps))
	}
	at.due = s.policy.alarm(s.LookEvery)
	if err != nil {
		at.due = time.After(s.LookEvery)
	}
	return s.look()
}

// awaitTime waits until the policy time at which the job is to be executed; the pass
// need not wait for that. Done is false when the job cannot be started: it had to leave
// meanwhile, or placing its files took until it was too late. How is the end of the
// attempt then.
func (s *supervisor) awaitTime() (how pool.Ending, done bool) {
	if s.Now().Before(s.At) {
		s.answer()
		order, _ := s.during(func(ctx context.Context) error { s.sleepUntil(ctx, s.At); return nil })
		if order != nil {
			return s.leaves(order), false
		}
		return how, true
	}
	now := s.Now()
	t, err := s.desk.Terms(pool.Reason{})
	if err != nil {
		return pool.Ending{Lost: brief(err)}, false
	}
	if t.Ad == nil {
		return how, true
	}
	if _, missed := jobpolicy.Deferral(&classad.Context{Now: now}, t.Ad); missed.Action != jobpolicy.Stay {
		return tooLate(missed), false
	}
	return how, true
}

// sleepUntil returns at a policy time, or when the context ends. The machine may sleep meanwhile.
func (s *supervisor) sleepUntil(ctx context.Context, at time.Time) {
	for {
		left := at.Sub(s.Now())
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(left, s.LookEvery)):
		}
	}
}

// tooLate returns the end of an attempt with a job that was not executed because of a
// verdict on its time.
func tooLate(v jobpolicy.Verdict) pool.Ending {
	return pool.Ending{StartFailed: v.Reason, HoldCode: v.Code, HoldSubcode: v.Subcode}
}

// spent returns the attempt's usage so far.
func (s *supervisor) spent() Spent {
	used := s.policy.elapsed()
	used.Progress = s.progress()
	return used
}

// LookSteps is what all expressions of one look at the job's policy may take together.
const LookSteps = 5 * classad.UsualSteps

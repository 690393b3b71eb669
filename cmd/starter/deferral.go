package main

import (
	"context"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/spool"
)

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

// sleepUntil returns at a policy time, or when the context ends. The clock may be set
// meanwhile.
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

package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// patience is how long a pass waits for inputs to be copied before it hears that the job
// is under way.
const patience = 5 * time.Second

// place makes the scratch directory of a job, and copies its inputs there if it wants that.
// Done is false when the job cannot be started; how is the end of the attempt then.
func (s *supervisor) place() (placed launch.Placed, how pool.Ending, done bool) {
	if err := s.On.MakeRoom(); err != nil {
		return placed, pool.Ending{Lost: brief(fmt.Errorf("EXECUTE: %w", err))}, false
	}
	s.Reached(Placing)
	order, err := s.during(func(ctx context.Context) (err error) {
		if placed, err = s.desk.Inputs(ctx, s.Run); err == nil {
			s.fetched, err = s.On.Fetch(ctx, s.Run)
		}
		return err
	})
	switch {
	case order != nil:
		return placed, s.leaves(order), false
	case err != nil:
		return placed, failedToStart(err), false
	}
	return placed, how, true
}

// leaves returns the end of an attempt with a job that was ordered to leave before it was
// started.
func (s *supervisor) leaves(order *leave) pool.Ending {
	s.ordered = true
	how := pool.Ending{}
	order.ends(&how)
	how.Lost = cmp.Or(how.Lost, "it was removed")
	return how
}

// during does something that may take long and comes before the job's start. When the
// job has to leave meanwhile its context ends, and the order is returned.
func (s *supervisor) during(do func(context.Context) error) (order *leave, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	return s.attend(result, cancel)
}

// attend waits for the result of work before the job's start, and tells the pass that the job is under way when that
// takes long. If the job has to leave meanwhile, it cancels the work and returns the order.
func (s *supervisor) attend(result <-chan error, cancel func()) (order *leave, err error) {
	at := s.looks()
	defer at.end()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		var now *leave
		select {
		case err := <-result:
			return order, err
		case <-late.C:
			s.answer()
		case <-at.look.C:
			if w := s.heed(); order == nil && w.Leaves {
				now = s.order(w.Why)
			} else if order == nil && s.changed {
				now = s.judge(&at)
			}
		case <-at.due:
			if order == nil {
				now = s.judge(&at)
			}
		case sig := <-s.Stop:
			now = s.stopped(sig)
		}
		if now != nil {
			order = now
			cancel()
		}
	}
}

// failedToStart returns the end of an attempt with a job that could not be started.
func failedToStart(err error) pool.Ending {
	var refused *launch.StartError
	switch {
	case errors.Is(err, pool.ErrGone):
		return pool.Ending{Lost: brief(err)}
	case !errors.As(err, &refused):
		return pool.Ending{StartFailed: brief(err)}
	case refused.Passing:
		return pool.Ending{Lost: brief(err)}
	}
	return pool.Ending{StartFailed: brief(err), HoldCode: refused.Code, HoldSubcode: refused.Subcode}
}

// store handles the files that a job that has ended left in its scratch directory: it
// copies them to where they belong if the job ended by itself, or keeps them for the next
// attempt. It notes a failure in how.
func (s *supervisor) store(placed launch.Placed, how *pool.Ending, told bool) {
	t := s.Run.Transfer
	switch {
	case !told:
		if t.Wanted(launch.Ended{Code: how.Code, Signal: how.Signal}) {
			s.copyBack(placed, how)
		}
	case how.VacateCode == launch.HoldResources && how.VacateSubcode == launch.TooMuchDisk:
		// The disk is to have room again, and the next attempt would begin with too much.
	case how.Lost != "" && t.When == launch.OnExitOrEvict && s.desk.Lost() == None:
		s.complain(s.keep(placed))
	}
}

// copyBack copies the output. The job has ended, so an order to leave changes nothing,
// unless the job was removed: then its output is not wanted. If a limit of the job's
// policy that includes transfers is reached, copying ends as if the output could not be
// copied; other expressions are evaluated after that.
func (s *supervisor) copyBack(placed launch.Placed, how *pool.Ending) {
	s.policy.ended()
	at := s.looks()
	defer at.end()
	switch over, gone, err := s.toEnd(at, func(ctx context.Context) error { return s.desk.Outputs(ctx, s.Run, placed, Output) }); {
	case errors.Is(err, pool.ErrGone): // it runs again if the loss is not final, as when a lease was over only here
		how.Lost = brief(err)
	case err == nil || gone:
	case over.Action != jobpolicy.Stay:
		s.outputFailed(placed, how, errors.New(over.Reason))
		how.HoldCode, how.HoldSubcode = over.Code, over.Subcode
	default:
		s.outputFailed(placed, how, err)
	}
}

// toEnd does something that goes on until its end also when the job has to leave. It ends early when the
// job is removed, and is gone then, or when a limit of its policy is reached. Expressions have to wait.
// The error is a pool.ErrGone if it ended because the claim was taken away.
func (s *supervisor) toEnd(at looks, do func(context.Context) error) (over jobpolicy.Verdict, gone bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	due := s.policy.limitsAlarm()
	var lost error
	for {
		select {
		case err := <-result:
			if err != nil && lost != nil {
				err = lost
			}
			return over, gone, err
		case <-at.look.C:
			if is, e := s.removed(); is {
				gone, lost = true, cmp.Or(lost, e)
				cancel()
			}
		case <-due:
			over = s.policy.over()
			cancel()
		}
	}
}

// removed reports whether the job was removed, or its claim taken away; the error, a pool.ErrGone, says that. When nothing
// has changed it costs next to nothing.
func (s *supervisor) removed() (is bool, lost error) {
	w := s.desk.Heed()
	s.changed = s.changed || w.Changed // for a program that goes on after its checkpoint
	if w.Gone {
		return true, fmt.Errorf("%s: %w", w.Why.Text, pool.ErrGone)
	}
	if !w.Leaves {
		return false, nil
	}
	t, err := s.desk.Terms(w.Why)
	s.complain(err)
	return err == nil && (t.Ad == nil || t.Leaving == launch.Removed), nil
}

// outputFailed says that output could not be copied, and keeps all of it for the job's
// owner.
func (s *supervisor) outputFailed(placed launch.Placed, how *pool.Ending, err error) {
	how.OutputFailed = brief(err)
	var refused *launch.StartError
	if errors.As(err, &refused) {
		how.HoldCode, how.HoldSubcode = refused.Code, refused.Subcode
	}
	if err := s.keep(placed); err != nil {
		s.complain(err)
		return
	}
	how.OutputFailed += "; what it left is in " + s.Run.Transfer.Kept + " until the job leaves the queue"
}

// keep keeps all that is in the scratch directory.
func (s *supervisor) keep(placed launch.Placed) error {
	return s.desk.Outputs(context.Background(), s.Run, placed, Rest)
}

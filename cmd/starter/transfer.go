package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// patience is how long a pass waits for inputs to be copied before it is told that
// the job is under way.
const patience = 5 * time.Second

// place makes the scratch directory of a job, and copies its inputs there if it wants that.
// Done is false when the job cannot be started; how is the end of the attempt then.
func (s *supervisor) place(job launch.Job) (placed launch.Placed, how operation.Ending, done bool) {
	if err := makeFolder(s.folder); err != nil {
		return placed, operation.Ending{Lost: brief(fmt.Errorf("EXECUTE: %w", err))}, false
	}
	reached(stepPlacing)
	order, err := s.during(func(ctx context.Context) (err error) {
		placed, err = job.Place(ctx)
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

// leaves returns the end of an attempt whose job was ordered to leave before it was
// started.
func (s *supervisor) leaves(order *leave) operation.Ending {
	s.ordered = true
	how := operation.Ending{}
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

// attend waits for the result of what goes on before the job's start, leaves signs of
// life, and tells the pass that the job is under way when it takes long. When the job has
// to leave meanwhile it cancels that and returns the order.
func (s *supervisor) attend(result <-chan error, cancel func()) (order *leave, err error) {
	at := s.watchSpool()
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
		case <-at.sign.C:
			s.lock.sign(s.call.Later())
		case <-at.forget.C:
			s.spool.Close()
		case <-at.look.C:
			if order == nil {
				now = s.look(at.followed)
			}
		case <-at.due:
			if order == nil {
				now = s.judge(&at)
			}
		case sig := <-s.stop:
			now = s.stopped(sig)
		}
		if now != nil {
			order = now
			cancel()
		}
	}
}

// failedToStart returns the end of an attempt whose job could not be started.
func failedToStart(err error) operation.Ending {
	var refused *launch.StartError
	switch {
	case !errors.As(err, &refused):
		return operation.Ending{StartFailed: brief(err)}
	case refused.Passing:
		return operation.Ending{Lost: brief(err)}
	}
	return operation.Ending{StartFailed: brief(err), HoldCode: refused.Code, HoldSubcode: refused.Subcode}
}

// store takes care of what a job that has ended left in its scratch directory: it
// is copied to where it belongs if the job ended by itself, or kept for the next
// attempt. When that fails it is said in how.
func (s *supervisor) store(t *launch.Transfer, placed launch.Placed, how *operation.Ending, told bool) {
	switch {
	case !told:
		if t.Wanted(launch.Ended{Code: how.Code, Signal: how.Signal}) {
			s.copyBack(t, placed, how)
		}
	case how.VacateCode == outOfResources && how.VacateSubcode == tooMuchDisk:
		// The disk is to have room again, and the next attempt would begin with too much.
	case how.Lost != "" && t.When == launch.OnExitOrEvict && !s.lock.gone() && !spool.Gone(s.spool.Dir()):
		s.complain(t.Keep())
	}
}

// copyBack copies the output. The job has ended: an order to leave changes nothing,
// unless the job was removed, when nobody wants its output. What the job's policy
// limits with its transfers is over when the limit is, as if the output could not be
// copied; its other expressions are asked when all of that has ended.
func (s *supervisor) copyBack(t *launch.Transfer, placed launch.Placed, how *operation.Ending) {
	s.policy.ended()
	at := s.watchSpool()
	defer at.end()
	switch over, gone, err := s.toEnd(at, func(ctx context.Context) error { return t.Store(ctx, placed) }); {
	case err == nil || gone:
	case over.Action != jobpolicy.Stay:
		s.outputFailed(t, how, errors.New(over.Reason))
		how.HoldCode, how.HoldSubcode = over.Code, over.Subcode
	default:
		s.outputFailed(t, how, err)
	}
}

// toEnd does something that goes on until its end also when the job has to leave, but not
// when it is removed, and is gone then, nor when a limit of its policy is over. Its
// expressions have to wait.
func (s *supervisor) toEnd(at spoolWatch, do func(context.Context) error) (over jobpolicy.Verdict, gone bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	due := s.policy.limitsAlarm()
	for {
		select {
		case err := <-result:
			return over, gone, err
		case <-at.sign.C:
			s.lock.sign(s.call.Later())
		case <-at.forget.C:
			s.spool.Close()
		case <-at.look.C:
			if s.removed(at.followed) {
				gone = true
				cancel()
			}
		case <-due:
			over = s.policy.over()
			cancel()
		}
	}
}

// removed reports whether the job was removed, or its claim taken away. When nothing
// has changed it costs next to nothing.
func (s *supervisor) removed(followed *spool.Watch) (yes bool) {
	if s.gone() != nil {
		return true
	}
	if s.missing > 0 {
		return false
	}
	claim, ok, err := followed.Claim()
	if err != nil {
		s.complain(err)
		return false
	}
	if !ok || claim.Attempt != s.Number {
		return true
	}
	if claim.State != pool.Vacating {
		return false
	}
	s.complain(s.spool.View(func(v *spool.View) error {
		ad, there := v.Job(s.Job)
		yes = !there || isRemoved(ad)
		return nil
	}))
	return yes
}

// outputFailed says that output could not be copied, and keeps all of it for whoever
// looks after the job.
func (s *supervisor) outputFailed(t *launch.Transfer, how *operation.Ending, err error) {
	how.OutputFailed = brief(err)
	var refused *launch.StartError
	if errors.As(err, &refused) {
		how.HoldCode, how.HoldSubcode = refused.Code, refused.Subcode
	}
	if err := t.Keep(); err != nil {
		s.complain(err)
		return
	}
	how.OutputFailed += "; what it left is in " + t.Kept + " until the job leaves the queue"
}

// forgetKept removes what was kept of a job that has left the queue.
func (s *supervisor) forgetKept(t task) {
	if t.job.Scratch == "" || s.lock.gone() || spool.Gone(s.spool.Dir()) {
		return
	}
	s.complain(s.spool.View(func(v *spool.View) error {
		if _, ok := v.Job(s.Job); !ok {
			s.complain(removeKept(s.folder, s.Job))
		}
		return nil
	}))
}

// scratch returns the path of the attempt's scratch directory.
func (s *supervisor) scratch() string {
	return filepath.Join(s.folder, pool.Claim{Job: s.Job, Attempt: s.Number}.LockName())
}

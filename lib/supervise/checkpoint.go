package supervise

import (
	"context"
	"errors"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// checkpoint handles a job with a program that has ended by its checkpoint code. If the
// job has to leave, by an order that it may not even know of, its attempt counts; goesOn
// says that the program is to run again, in the same slot and directory, as its progress
// is safe.
func (s *supervisor) checkpoint(placed launch.Placed, how *pool.Ending, order *leave) (goesOn bool) {
	at := s.looks()
	defer at.end()
	if order == nil {
		order = s.look()
	}
	if order != nil && (order.reason == launch.Removed || s.desk.Lost() != None) {
		order.ends(how) // no attempt continues it
		return false
	}
	over, gone, err := s.keepCheckpoint(placed, at)
	if order == nil {
		order = s.look()
	}
	switch {
	case order != nil:
		if !gone {
			s.complain(err)
		}
		order.ends(how)
		how.Checkpointed = err == nil
		return false
	case err != nil:
		s.outputFailed(placed, how, err)
		if over.Action != jobpolicy.Stay {
			how.HoldCode, how.HoldSubcode = over.Code, over.Subcode
		}
		return false
	}
	s.Reached(Checkpointed)
	_, sent := s.Run.Transfer.Copied()
	err = s.desk.Checkpointed(s.progress(), sent)
	s.complain(err)
	s.Reached(Resuming)
	return !errors.Is(err, pool.ErrGone)
}

// keepCheckpoint copies the job's checkpoint to where its next attempt finds it. If the job
// works on its files in their places, the checkpoint is there already.
func (s *supervisor) keepCheckpoint(placed launch.Placed, at looks) (over jobpolicy.Verdict, gone bool, err error) {
	if s.Run.Transfer == nil {
		return over, false, nil
	}
	return s.toEnd(at, func(ctx context.Context) error { return s.desk.Outputs(ctx, s.Run, placed, Checkpoint) })
}

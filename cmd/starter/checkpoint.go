package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/spool"
)

// checkTime bounds how long the program that makes transparent checkpoints may take to
// say whether it can.
const checkTime = 30 * time.Second

// images returns where the images of the job's processes are, between two attempts.
func (s *supervisor) images() string { return filepath.Join(s.folder, s.Job.String()+imagesName) }

// transparent returns what makes transparent checkpoints of a job (manual, "How HTCondor
// Jobs Vacate Machines": the standard universe); nil for a job that is treated like all
// others, because it is of another universe, works in a scratch directory, which its
// processes would not find again, or the machine cannot do that. Nor are there any for jobs
// that have another user's rights: criu, which is root, opens their files again by names that
// this user may have led elsewhere meanwhile.
func (s *supervisor) transparent(t task) *launch.Criu {
	if !t.standard || t.job.Transfer != nil || t.job.Account.Other() || len(s.config.CheckpointCommand) == 0 {
		return nil
	}
	criu := launch.NewCriu(s.config.CheckpointCommand)
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if err := criu.Usable(ctx); err != nil {
		s.tell("no transparent checkpoints on this machine: %v", err)
		return nil
	}
	return criu
}

// restore makes the job's processes again, where there are images of them. Done is false
// when the job has to begin anew, or it was ordered to leave before they were there: then
// the images are for its next attempt.
func (s *supervisor) restore(job launch.Job) (order *leave, done bool) {
	if s.criu == nil {
		return nil, false
	}
	if _, err := os.Stat(s.images()); err != nil {
		return nil, false
	}
	job.Mark = s.family.Mark()
	var p *launch.Process
	order, err := s.during(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.vacate)
		defer cancel()
		return s.family.Begin(func() (pid int, err error) {
			if p, err = s.criu.Restore(ctx, job, s.images(), s.family); err != nil {
				return 0, err
			}
			return p.PID(), nil
		})
	})
	switch {
	case err == nil:
		s.process = p
		s.executes()
		return order, true
	case order != nil:
		s.complain(s.family.End(s.kill))
		return order, false
	}
	s.complain(fmt.Errorf("it begins anew: %w", err))
	return nil, false
}

// dump takes a transparent checkpoint of a job that has to leave, which ends with that.
// Done is false when it goes on, and has to be told to leave like any other.
func (w *watching) dump() (done bool) {
	if w.criu == nil || w.order.reason == launch.Removed {
		return false
	}
	if alive := w.family.Processes(); !within(w.process.Tree(), alive) {
		return false // images of the tree would not be the whole job
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.order.after)
	defer cancel()
	err := w.criu.Dump(ctx, w.process, w.images())
	w.complain(err)
	w.dumped = err == nil
	return w.dumped || ctx.Err() != nil
}

// within reports whether a tree has all of these processes. It may have others, that wait to be
// reaped.
func within(tree, processes []int) bool {
	return !slices.ContainsFunc(processes, func(pid int) bool { return !slices.Contains(tree, pid) })
}

// checkpoint takes care of a job whose program has ended by its checkpoint code. Of one
// that has to leave, by an order that it may not even know of, it makes an attempt that
// counts; goesOn says that the program is to run again, in the same slot and directory:
// what it has reached is safe.
func (s *supervisor) checkpoint(t *launch.Transfer, how *operation.Ending, order *leave) (goesOn bool) {
	at := s.watchSpool()
	defer at.end()
	if order == nil {
		order = s.look(at.followed)
	}
	if order != nil && (order.reason == launch.Removed || s.lock.gone() || spool.Gone(s.spool.Dir())) {
		order.ends(how) // nobody goes on from it
		return false
	}
	over, gone, err := s.keepCheckpoint(at, t)
	if order == nil {
		order = s.look(at.followed)
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
		s.outputFailed(t, how, err)
		if over.Action != jobpolicy.Stay {
			how.HoldCode, how.HoldSubcode = over.Code, over.Subcode
		}
		return false
	}
	reached(stepCheckpointed)
	_, sent := t.Copied()
	err = s.updates.checkpointed(s, s.progress(), sent)
	s.complain(err)
	reached(stepResuming)
	return !errors.Is(err, operation.ErrGone)
}

// keepCheckpoint copies the job's checkpoint to where its next attempt finds it. A job that
// works on its files in their places has it there.
func (s *supervisor) keepCheckpoint(at spoolWatch, t *launch.Transfer) (over jobpolicy.Verdict, gone bool, err error) {
	if t == nil {
		return over, false, nil
	}
	return s.toEnd(at, t.Checkpoint)
}

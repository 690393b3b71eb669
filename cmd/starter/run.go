package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/userlog"
)

// run executes the job, stays with it until it has ended and nothing that it started is
// left, and takes care of its output. Started is false when it could not be executed; how
// is the end of the attempt in any case.
func (s *supervisor) run(t task, placed launch.Placed) (how operation.Ending, started bool) {
	s.criu = s.transparent(t)
	order, restored := s.restore(t.job)
	switch {
	case restored:
	case order != nil:
		return s.leaves(order), false
	default:
		s.complain(removeScratch(s.folder, filepath.Base(s.images()))) // they are of what the job was
		if err := s.start(t.job); err != nil {
			return failedToStart(err), false
		}
	}
	logEvents(s.spool, t.log, s.config.NobodySlotUser, s.log.Add, userlog.Event{Job: s.Job, At: s.now().Local(), Body: t.executing})
	reached(stepLogged)
	s.answer()
	s.updates = newUpdates(s.config)
	defer s.updates.end()
	for goesOn := true; goesOn; {
		how, goesOn = s.stay(t, placed, order)
		if !goesOn {
			break
		}
		t.job.AppendOut, t.job.AppendErr = true, true
		if err := s.start(t.job); err != nil {
			how.Lost, how.Checkpointed = brief(err), true
			break
		}
	}
	how.Received, how.Sent = t.job.Transfer.Copied()
	return how, true
}

// stay stays with a program until it has ended, and takes care of what it leaves behind:
// processes, and files. It may have to leave by an order already; nil: there is none. It
// returns how that ends the attempt, unless the job goes on after a checkpoint.
func (s *supervisor) stay(t task, placed launch.Placed, order *leave) (how operation.Ending, goesOn bool) {
	w, e := s.watch(order)
	reached(stepEnded)
	checkpoint := t.checkpoints(e)
	empty := s.family.End
	if checkpoint {
		empty = s.family.Clear
	}
	s.complain(empty(s.kill))
	reached(stepAlone)
	s.earlier, s.executed = s.earlier+e.Wall, time.Time{}
	how = s.ending(t.job, e)
	if checkpoint {
		return how, s.checkpoint(t.job.Transfer, &how, w.order)
	}
	s.over = e.At
	told := w.told()
	if told {
		w.order.ends(&how)
		how.Checkpointed = w.dumped
	} else if v, over := s.limits.stopped(e, s.family.Usage(), s.family.OutOfMemory()); over {
		s.complain(s.carryOut(func(*classad.Ad) jobpolicy.Verdict { return v }))
		told, how.Lost, how.VacateCode, how.VacateSubcode = true, v.Reason, v.Code, v.Subcode
	}
	if t.job.Transfer != nil {
		s.store(t.job.Transfer, placed, &how, told)
		s.over = time.Now()
	}
	reached(stepStored)
	return how, false
}

// executes notes that the program is there from now on.
func (s *supervisor) executes() {
	s.executed = time.Now()
	if s.policy.executed.IsZero() {
		s.policy.executed = s.executed
	}
}

// start executes the job's program.
func (s *supervisor) start(job launch.Job) error {
	job.Mark = s.family.Mark()
	job.Limits = slices.Concat(job.Limits, s.limits.rlimits())
	held := s.lock.pipe
	if s.criu != nil {
		held = nil // criu cannot restore the pipe: the job's family alone tells who is left
	}
	err := s.family.Begin(func() (pid int, err error) {
		if s.process, err = launch.Start(job, held, s.family); err != nil {
			return 0, err
		}
		return s.process.PID(), nil
	})
	if err != nil {
		s.process = nil
		return err
	}
	s.executes()
	reached(stepExecuted)
	return nil
}

// ending returns how an attempt ends whose program has ended so.
func (s *supervisor) ending(job launch.Job, e launch.Ended) operation.Ending {
	p := s.progress()
	how := operation.Ending{
		Code: e.Code, Signal: e.Signal, Wall: p.Wall, UserCPU: p.UserCPU, SysCPU: p.SysCPU,
		MaxRSSKB: max(e.MaxRSSKB, p.PeakKB), DiskKB: max(p.DiskKB, s.limits.finalDiskKB()), IOBytes: p.IOBytes,
		Reported: s.updates.reported,
	}
	if e.Core {
		s.complain(job.Account.As(func() error { how.Core = coreOf(job.Dir, s.process.PID()); return nil }))
	}
	return how
}

// coreOf returns the path of the core file that a process left in its working directory;
// empty where it went elsewhere (core(5)).
func coreOf(dir string, pid int) string {
	for _, name := range []string{"core", fmt.Sprintf("core.%d", pid)} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// progress returns what the attempt has used since the program was executed first.
func (s *supervisor) progress() operation.Progress {
	wall := s.earlier
	if !s.executed.IsZero() {
		wall += time.Since(s.executed)
	}
	if wall == 0 {
		return operation.Progress{}
	}
	u := s.family.Usage()
	return operation.Progress{
		Wall: wall, UserCPU: u.User, SysCPU: u.System,
		RSSKB: u.RSSKB, PeakKB: u.PeakKB, DiskKB: s.limits.diskKB(), IOBytes: u.ReadBytes + u.WrittenBytes,
	}
}

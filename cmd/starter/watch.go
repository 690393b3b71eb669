package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// lookEvery is how often a supervisor looks whether the spool tells its job
// to leave.
const lookEvery = 500 * time.Millisecond

// signEvery is how often a supervisor leaves a sign of life: so much of an attempt
// that ends with the machine is not charged.
const signEvery = 30 * time.Second

// attention is what a supervisor gives the spool while something goes on: it looks
// whether the job is to leave, leaves signs of life, and does what the job's own
// policy wants when that is due.
type attention struct {
	followed   *spool.Watch
	look, sign *time.Ticker
	due        <-chan time.Time // nil: the job's policy wants nothing
}

func (s *supervisor) attention() attention {
	followed, err := s.spool.Watch(s.Job, s.policy.known, jobpolicy.AttemptAttributes()...)
	s.complain(err) // the first look tries again
	return attention{followed, time.NewTicker(lookEvery), time.NewTicker(signEvery), s.policy.alarm(0)}
}

func (a attention) end() {
	a.look.Stop()
	a.sign.Stop()
}

// leave is an order to end the job.
type leave struct {
	why   string         // what the ad says when the job has to run again
	sig   syscall.Signal // the job is sent this
	after time.Duration  // and SIGKILL so much later
}

// watch waits until the job has ended, and makes it do so when its claim is
// told to vacate or the supervisor itself is told to end: then told is true.
func (s *supervisor) watch(p *launch.Process) (how operation.Ending, told bool) {
	ended := make(chan launch.Ended, 1)
	go func() { ended <- p.Wait() }()
	s.policy.executed = time.Now()
	at := s.attention()
	defer at.end()
	var kill <-chan time.Time
	why := ""
	for {
		var order *leave
		select {
		case e := <-ended:
			return endingOf(e, why), kill != nil
		case <-at.look.C:
			if kill == nil {
				order = s.look(at.followed)
			}
			if at.followed.Changed() && kill == nil && order == nil {
				order = s.judge(&at)
			}
		case <-at.due:
			if kill == nil {
				order = s.judge(&at)
			}
		case <-at.sign.C:
			s.lock.sign() // one that cannot be left is missed only after a reboot
		case sig := <-s.stop:
			order = s.order("its supervisor was sent " + signalName(sig))
		case <-kill:
			if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
				s.complain(err)
			}
		}
		if order == nil || kill != nil {
			continue
		}
		if err := p.Signal(order.sig); !errors.Is(err, os.ErrProcessDone) {
			s.complain(err)
			why, kill = order.why, time.After(order.after)
		}
	}
}

func (s *supervisor) complain(err error) {
	if err != nil {
		s.log.add(err)
	}
}

// tell tells of something that is no error.
func (s *supervisor) tell(format string, args ...any) { s.log.add(fmt.Errorf(format, args...)) }

// endingOf returns how an attempt ends that was told to leave for the reason
// why; empty when it was not told, or its job was removed.
func endingOf(e launch.Ended, why string) operation.Ending {
	return operation.Ending{
		Lost: why, Code: e.Code, Signal: e.Signal,
		Wall: e.Wall, UserCPU: e.UserCPU, SysCPU: e.SysCPU, MaxRSSKB: e.MaxRSSKB, IOBytes: e.IOBytes,
	}
}

// errLockGone says that the claim's file was removed or replaced: another
// attempt of the job may begin at any time.
var errLockGone = errors.New("the lock of its claim is gone")

// look returns the order that the spool has for the job, nil for none. When
// nothing has changed it costs next to nothing.
func (s *supervisor) look(followed *spool.Watch) *leave {
	if s.lock.gone() {
		s.log.add(fmt.Errorf("%w: ending the job", errLockGone))
		return s.order(errLockGone.Error())
	}
	claim, ok, err := followed.Claim()
	switch {
	case err != nil:
		s.log.add(err)
	case !ok || claim.Attempt != s.Number:
		s.log.add(errors.New("its claim is gone: ending the job"))
		return s.order("its claim is gone")
	case claim.State == pool.Vacating:
		return s.order(claim.VacateReason)
	}
	return nil
}

// order words an order as the job's ad asks for, if that can be read.
func (s *supervisor) order(why string) *leave {
	order := &leave{why, syscall.SIGTERM, s.vacate}
	s.complain(s.spool.View(func(v *spool.View) error {
		ad, ok := v.Job(s.Job)
		if !ok {
			return nil
		}
		order.sig, order.after = launch.KillSignal(ad, leaving(ad)), launch.VacateTime(ad, s.vacate)
		return nil
	}))
	return order
}

// leaving returns why a job has to leave, as its state tells.
func leaving(ad *classad.Ad) launch.Leaving {
	switch statusOf(ad) {
	case pool.Removed:
		return launch.Removed
	case pool.Held:
		return launch.Held
	}
	return launch.Vacated
}

// statusOf returns the state that a job's ad says.
func statusOf(ad *classad.Ad) pool.Status {
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	return pool.Status(status)
}

// isRemoved tells whether a job was removed and has not left the queue yet.
func isRemoved(ad *classad.Ad) bool { return statusOf(ad) == pool.Removed }

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// leave is an order to end the job.
type leave struct {
	why    operation.Reason // what the ad says when the job has to run again; empty: it was removed
	reason launch.Leaving
	wait   time.Duration  // for so long the job goes on as if nothing had happened
	sig    syscall.Signal // then it is sent this
	after  time.Duration  // and SIGKILL so much later
}

// ends says of the end of an attempt that it came of the order. Nothing is said of that
// when the job was removed.
func (l *leave) ends(how *operation.Ending) {
	how.Lost, how.VacateCode, how.VacateSubcode = l.why.Text, l.why.Code, l.why.Subcode
}

var (
	// errLockGone says that the claim's file was removed or replaced: another
	// attempt of the job may begin at any time.
	errLockGone = errors.New("the lock of its claim is gone")
	// errSpoolGone says that the spool was removed or renamed: nothing that the job does
	// can be recorded.
	errSpoolGone = errors.New("the spool is gone")
)

// goneLooks is how many looks in a row have to find the spool gone before that counts, so that
// a folder that is renamed and put back ends no job. It counts looks, as time also passes while
// a file system does not answer or the machine is suspended. Tests have fewer.
var goneLooks = 10

// gone returns why the claim is no longer the supervisor's to follow: errLockGone or
// errSpoolGone; nil while it is, or its spool was not gone for long enough to count (missing).
// It is one look.
func (s *supervisor) gone() error {
	switch {
	case s.lock.gone():
		return errLockGone
	case !spool.Gone(s.spool.Dir()):
		s.missing = 0
	case s.missing == goneLooks:
		return errSpoolGone
	default:
		s.missing++
	}
	return nil
}

// awaitSpool waits for a spool that is gone to come back, until that counts, and returns what
// gone does.
func (s *supervisor) awaitSpool() error {
	for {
		if err := s.gone(); err != nil || s.missing == 0 {
			return err
		}
		time.Sleep(lookEvery)
	}
}

// says returns what the spool has to say to the job: nothing, or why it has to leave. When
// nothing has changed that costs next to nothing.
func (s *supervisor) says(followed *spool.Watch) (why operation.Reason, leaves bool) {
	if err := s.gone(); err != nil {
		s.log.Add(fmt.Errorf("%w: ending the job", err))
		return operation.Reason{Text: err.Error()}, true
	}
	if s.missing > 0 {
		return why, false
	}
	s.complain(s.seeToCycles())
	claim, ok, err := followed.Claim()
	switch {
	case err != nil:
		s.log.Add(err)
	case !ok || claim.Attempt != s.Number:
		s.log.Add(errors.New("its claim is gone: ending the job"))
		return operation.Reason{Text: "its claim is gone"}, true
	case claim.State == pool.Vacating:
		return operation.Reason{Text: claim.VacateReason, Code: claim.VacateCode, Subcode: claim.VacateSubcode}, true
	}
	return why, false
}

// look returns the order that the spool has for the job, nil for none.
func (s *supervisor) look(followed *spool.Watch) *leave {
	why, leaves := s.says(followed)
	if !leaves {
		return nil
	}
	return s.order(why)
}

// stopped is the order that a signal to the supervisor itself is.
func (s *supervisor) stopped(sig os.Signal) *leave {
	s.ends = true
	return s.order(operation.Reason{Text: "its supervisor was sent " + signalName(sig), Code: operation.SupervisorStopped})
}

// heard is the order of a signal to the supervisor that it has not followed yet; nil: there is none.
func (w *watching) heard() *leave {
	select {
	case sig := <-w.stop:
		return w.stopped(sig)
	default:
		return nil
	}
}

// stopSignals tell a supervisor to end.
var stopSignals = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP}

// stopLag is how long a supervisor waits for a signal that ended its job and may have been sent to both.
// Tests wait for a shorter or longer time.
var stopLag = 5 * time.Second

// withhold returns the order by which a job has left its slot whose program was ended by a signal that
// its supervisor did not send; nil: there is none, and the job has ended by itself. Engines, systemd and
// the shutdown of a machine send the same signal to the job and its supervisor, in any order. So it waits
// stopLag for the supervisor's own; SIGKILL ends the supervisor in that time. It does not wait for a job
// that exits, or dies of a fault of its own.
func (w *watching) withhold(e launch.Ended) *leave {
	sig := syscall.Signal(e.Signal)
	if sig != unix.SIGKILL && !slices.Contains(stopSignals, os.Signal(sig)) {
		return nil
	}
	select {
	case sig := <-w.stop:
		return w.stopped(sig)
	case <-time.After(stopLag):
	}
	if !systemd.Stopping() {
		return nil
	}
	w.ends = true
	return &leave{why: operation.Reason{Text: "the machine shuts down", Code: operation.SupervisorStopped}}
}

// order words an order as the ads of the job and its slot ask for, if they can be read.
func (s *supervisor) order(why operation.Reason) *leave {
	order := &leave{why: why, sig: syscall.SIGTERM, after: s.vacate}
	c := &classad.Context{Now: s.now()}
	s.complain(s.spool.View(func(v *spool.View) error {
		ad, ok := v.Job(s.Job)
		if !ok {
			return nil
		}
		order.reason = leaving(ad, why.Code)
		order.sig = launch.KillSignal(ad, order.reason, s.catches)
		retirement := time.Duration(0)
		if claim, ok := v.Claim(s.Job); ok && order.reason.Retires() && operation.HasteOf(why) < operation.Quick {
			if slot := operation.SlotOf(v, claim); slot != nil {
				retirement = launch.Retirement(c, s.retirement, slot, ad)
			}
		}
		order.wait, order.after = launch.Retiring(ad, s.vacate, retirement, time.Since(s.policy.began))
		if operation.HasteOf(why) == operation.Fast {
			order.sig, order.wait, order.after = syscall.SIGKILL, 0, 0
		}
		return nil
	}))
	s.spool.Close()
	return order
}

// catches reports whether the job's own process has a function for a signal.
func (s *supervisor) catches(sig syscall.Signal) (yes bool) {
	asuser.Root(func() { yes = s.process != nil && launch.Handles(s.process.PID(), sig) })
	return yes
}

// leaving returns why a job has to leave, as its state tells and the code of its claim.
func leaving(ad *classad.Ad, code int) launch.Leaving {
	switch statusOf(ad) {
	case pool.Removed:
		return launch.Removed
	case pool.Held:
		return launch.Held
	}
	switch code {
	case operation.MachineDrained:
		return launch.Drained
	case operation.PreemptedByRank, operation.PreemptedByPriority:
		return launch.Preempted
	}
	return launch.Vacated
}

// statusOf returns the state that a job's ad says.
func statusOf(ad *classad.Ad) pool.Status {
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	return pool.Status(status)
}

// isRemoved reports whether a job was removed and has not left the queue yet.
func isRemoved(ad *classad.Ad) bool { return statusOf(ad) == pool.Removed }

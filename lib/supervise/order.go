package supervise

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// leave is an order to end the job.
type leave struct {
	why    pool.Reason // for the ad when the job has to run again; empty: it was removed
	reason launch.Leaving
	wait   time.Duration  // for so long the job goes on as if nothing had happened
	sig    syscall.Signal // then it is sent this
	after  time.Duration  // and SIGKILL so much later
}

// ends says of the end of an attempt that it came of the order. Nothing is said of that
// when the job was removed.
func (l *leave) ends(how *pool.Ending) {
	how.Lost, how.VacateCode, how.VacateSubcode = l.why.Text, l.why.Code, l.why.Subcode
}

// heed returns the queue's word to the job, and complains if its attempt is gone.
func (s *supervisor) heed() Word {
	w := s.desk.Heed()
	s.changed = s.changed || w.Changed
	s.bound(w.Until)
	if w.Gone {
		s.complain(errors.New(w.Why.Text + ": ending the job"))
	}
	return w
}

// look returns the order that the queue has for the job, nil for none.
func (s *supervisor) look() *leave {
	if w := s.heed(); w.Leaves {
		return s.order(w.Why)
	}
	return nil
}

// stopped is the order that a signal to the supervisor itself is.
func (s *supervisor) stopped(sig os.Signal) *leave {
	s.ends = true
	if s.Engine != nil {
		why, until := s.Engine(sig)
		s.bound(until)
		return s.order(why)
	}
	return s.order(pool.Reason{Text: "its supervisor was sent " + SignalName(sig), Code: pool.SupervisorStopped})
}

// bound notes when nothing of the job may be left; the earliest such time counts.
func (s *supervisor) bound(until time.Time) {
	if !until.IsZero() && (s.until.IsZero() || until.Before(s.until)) {
		s.until = until
	}
}

// left returns how much of a length of time there is.
func (s *supervisor) left(d time.Duration) time.Duration {
	if s.until.IsZero() {
		return d
	}
	return max(min(d, time.Until(s.until)), 0)
}

// heard returns the order of a signal to the supervisor that is not carried out yet; nil: there is
// none.
func (w *watching) heard() *leave {
	select {
	case sig := <-w.Stop:
		return w.stopped(sig)
	default:
		return nil
	}
}

// StopSignals tell a supervisor to end.
var StopSignals = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP}

// withhold returns the order by which a job has left its slot after a signal, not sent by its supervisor, ended its
// program; nil: there is none, and the job has ended by itself. Engines, systemd and the shutdown of a machine send the
// same signal to the job and its supervisor, in any order. So it waits StopLag for the supervisor's own signal, or the
// word that its pilot leaves; SIGKILL ends the supervisor in that time. It does not wait for a job that exits, or dies
// of a fault of its own.
func (w *watching) withhold(e launch.Ended) *leave {
	if !w.isDoubtful(e) {
		return nil
	}
	over := time.After(w.StopLag)
	look := time.NewTicker(w.LookEvery)
	defer look.Stop()
	for waits := true; waits; {
		select {
		case sig := <-w.Stop:
			return w.stopped(sig)
		case <-look.C:
			if now := w.heed(); w.Engine != nil && now.Leaves && now.Why.Code == pool.SupervisorStopped {
				return &leave{why: now.Why}
			}
		case <-over:
			waits = false
		}
	}
	if !w.Stopping() {
		return nil
	}
	w.ends = true
	return &leave{why: pool.Reason{Text: "the machine shuts down", Code: pool.SupervisorStopped}}
}

// isDoubtful reports whether a program may have been ended by a signal that was sent to its supervisor, too. An
// engine sends more signals than others, and to children of a shell, which exits then as if it were that
// itself.
func (w *watching) isDoubtful(e launch.Ended) bool {
	sig := syscall.Signal(e.Signal)
	const bySignal = 128 // as shells have it
	if w.Engine != nil && sig == 0 && e.Code > bySignal {
		sig = syscall.Signal(e.Code - bySignal)
	}
	ofEngine := w.Engine != nil && (sig == unix.SIGUSR1 || sig == unix.SIGUSR2)
	return sig == unix.SIGKILL || ofEngine || slices.Contains(StopSignals, os.Signal(sig))
}

// order words an order by the terms on which the job leaves, if they are known.
func (s *supervisor) order(why pool.Reason) *leave {
	order := &leave{why: why, sig: syscall.SIGTERM, after: s.left(s.Vacate)}
	t, err := s.desk.Terms(why)
	s.complain(err)
	if err != nil || t.Ad == nil {
		return order
	}
	order.reason = t.Leaving
	order.sig = launch.KillSignal(t.Ad, t.Leaving, s.catches)
	order.wait, order.after = launch.Retiring(t.Ad, s.Vacate, t.Retirement, time.Since(s.policy.began))
	order.after = s.left(order.after)
	order.wait = min(order.wait, max(s.left(order.wait+order.after)-order.after, 0))
	if t.Fast {
		order.sig, order.wait, order.after = syscall.SIGKILL, 0, 0
	}
	return order
}

// catches reports whether the job's own process has a function for a signal.
func (s *supervisor) catches(sig syscall.Signal) bool {
	return s.running != nil && s.running.Catches(sig)
}

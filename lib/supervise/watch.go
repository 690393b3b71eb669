package supervise

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// looks are the moments at which a supervisor checks whether the job is to leave, and carries out
// the job's own policy.
type looks struct {
	look *time.Ticker
	due  <-chan time.Time // nil: the job's policy is never due
}

func (s *supervisor) looks() looks { return looks{time.NewTicker(s.LookEvery), s.policy.alarm(0)} }

func (a looks) end() { a.look.Stop() }

// watching is the state of a supervisor while the job's program runs.
type watching struct {
	*supervisor
	at     looks
	order  *leave           // nil: the job does not have to leave
	retire <-chan time.Time // when it is sent a signal to leave
	kill   <-chan time.Time // when it is killed; nil: it was sent no signal yet
	by     time.Time        // when that is, or will be; zero: it has no order
	dumped bool             // its processes have ended, and have images
}

// told reports whether the job was sent a signal to leave before it ended, or could have been: the
// supervisor itself was told to end before it saw that the job had.
func (w *watching) told() bool { return w.kill != nil || w.ends }

// watch waits until the job's program has ended. It ends the program if the claim has to vacate, if a
// signal ends the supervisor, or for an earlier order, if that is not nil.
func (s *supervisor) watch(order *leave) (*watching, launch.Ended) {
	ended := make(chan launch.Ended, 1)
	go func() { ended <- s.running.Wait() }()
	w := &watching{supervisor: s, at: s.looks()}
	defer w.at.end()
	chore := s.Chore(s.Task, s.complain)
	measure := time.NewTicker(s.MeasureEvery)
	defer measure.Stop()
	w.obey(order)
	for {
		select {
		case e := <-ended:
			w.order = cmp.Or(w.heard(), w.order)
			return w, e
		case <-w.at.look.C:
			w.lookAtQueue()
		case <-w.at.due:
			w.judge()
		case <-measure.C:
			w.enforce()
		case <-s.updates.next():
			s.updates.again()
			s.complain(s.desk.Report(s.progress()))
		case <-chore.Next():
			chore.Apply()
		case sig := <-s.Stop:
			w.obey(s.stopped(sig))
		case <-w.retire:
			w.signal()
		case <-w.kill:
			if err := s.running.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				s.complain(err)
			}
			s.Reached(Killed)
		}
	}
}

// lookAtQueue follows changes of the claim and of the job's policy.
func (w *watching) lookAtQueue() {
	now := w.heed()
	const tolerance = 100 * time.Millisecond
	late := !w.until.IsZero() && w.by.After(w.until.Add(tolerance))
	if w.kill != nil { // it was sent a signal to leave
		switch {
		case now.Leaves && now.Why != w.order.why && now.Fast:
			w.order.why = now.Why
			w.killAfter(0)
		case late:
			w.killAfter(time.Until(w.until))
		}
		return
	}
	if now.Leaves && (w.order == nil || late || now.Why != w.order.why) {
		w.obey(w.supervisor.order(now.Why))
	}
	if w.changed {
		w.judge()
	}
}

// judge carries out the job's policy, also while a job that has to leave may still run, and follows the
// order of that.
func (w *watching) judge() {
	if w.kill == nil && (w.order == nil || w.retire != nil) {
		w.obey(w.supervisor.judge(&w.at))
	}
}

// obey makes the job leave by an order, in place of an earlier order for which no signal was sent yet. A
// nil order does nothing.
func (w *watching) obey(order *leave) {
	if order == nil || w.kill != nil {
		return
	}
	w.order, w.retire = order, time.After(order.wait)
	w.by = time.Now().Add(order.wait + order.after)
	if order.wait <= 0 {
		w.signal()
	}
}

// signal sends the job its signal to leave.
func (w *watching) signal() {
	w.retire = nil
	if w.dump() {
		w.kill = time.After(0)
		return
	}
	err := w.running.Signal(w.order.sig)
	if !errors.Is(err, os.ErrProcessDone) {
		w.complain(err)
		w.killAfter(w.order.after)
	}
	w.Reached(Told)
}

// killAfter has the job killed so much later.
func (w *watching) killAfter(d time.Duration) {
	w.by, w.kill = time.Now().Add(d), time.After(d)
}

// dump takes a transparent checkpoint of a job that has to leave, which ends with that.
// Done is false when it goes on, and has to be told to leave like any other.
func (w *watching) dump() (done bool) {
	if w.order.reason == launch.Removed {
		return false
	}
	w.dumped, done = w.running.Dump(w.order.after)
	return done
}

// enforce makes a job that has taken more than it may leave.
func (w *watching) enforce() {
	if w.kill != nil {
		return
	}
	v := w.running.Exceeded(nil)
	if v.Action == jobpolicy.Stay {
		return
	}
	_, err := w.desk.Judge(v, w.spent())
	w.complain(err)
	if errors.As(err, &NoRoom{}) && v.Subcode == launch.TooMuchDisk {
		// Only its end makes room for recording that.
		why := pool.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}
		w.obey(&leave{why: why, reason: launch.Held, sig: syscall.SIGKILL})
		return
	}
	w.lookAtQueue()
}

// updates are the moments at which a running attempt's usage is reported.
type updates struct {
	every time.Duration
	timer *time.Timer // nil: no updates
}

// newUpdates returns the updates of a program that is executed now: the first after a time, then
// every so long; 0: none.
func newUpdates(first, every time.Duration) *updates {
	u := &updates{every: every}
	if every > 0 {
		u.timer = time.NewTimer(first)
	}
	return u
}

// next fires when the next update is due; nil: never.
func (u *updates) next() <-chan time.Time {
	if u.timer == nil {
		return nil
	}
	return u.timer.C
}

// again sets when the next update is due.
func (u *updates) again() { u.timer.Reset(u.every) }

// end ends the updates.
func (u *updates) end() {
	if u.timer != nil {
		u.timer.Stop()
	}
}

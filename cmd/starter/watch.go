package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// lookEvery is how often a supervisor checks whether its claim's job has to leave. Tests check more often.
var lookEvery = 500 * time.Millisecond

// signEvery is how often a supervisor leaves a sign of life. At most this time of an attempt
// that ends with the machine is not charged.
const signEvery = 30 * time.Second

// measureEvery is how often the processes of a job are measured. The peak of their memory
// is the largest measured value. Tests measure more often.
var measureEvery = time.Second

// forgetAfter is how long a supervisor keeps in memory what it has read of the queue, as a
// machine may have many supervisors for hours. It is not zero: for short jobs, the supervisor would read
// the whole queue again for each.
const forgetAfter = 10 * time.Second

// spoolWatch are the moments at which a supervisor checks whether the job is to leave, leaves a sign of
// life, and carries out the job's own policy.
type spoolWatch struct {
	followed   *spool.Watch
	look, sign *time.Ticker
	due        <-chan time.Time // nil: the job's policy is never due
	forget     *time.Ticker
}

func (s *supervisor) watchSpool() spoolWatch {
	followed, err := s.spool.Watch(s.Job, s.policy.known, s.policy.followed()...)
	s.complain(err) // the first look tries again
	return spoolWatch{
		followed, time.NewTicker(lookEvery), time.NewTicker(signEvery), s.policy.alarm(0), time.NewTicker(forgetAfter),
	}
}

func (a spoolWatch) end() {
	a.look.Stop()
	a.sign.Stop()
	a.forget.Stop()
}

// watching is what a supervisor does while the job's program runs.
type watching struct {
	*supervisor
	at     spoolWatch
	order  *leave           // nil: the job does not have to leave
	retire <-chan time.Time // when it is sent a signal to leave
	kill   <-chan time.Time // when it is killed; nil: it was sent no signal yet
	dumped bool             // its processes have ended, and have images
}

// told reports whether the job was sent a signal to leave before it ended, or could have been: the
// supervisor itself was told to end before it saw that the job had.
func (w *watching) told() bool { return w.kill != nil || w.ends }

// watch waits until the job's program has ended. It ends the program if the claim has to vacate, if a
// signal ends the supervisor, or for an earlier order, if that is not nil.
func (s *supervisor) watch(order *leave) (*watching, launch.Ended) {
	ended := make(chan launch.Ended, 1)
	go func() { ended <- s.process.Wait() }()
	w := &watching{supervisor: s, at: s.watchSpool()}
	defer w.at.end()
	priority := s.reprioritizer(s.family)
	measure := time.NewTicker(measureEvery)
	defer measure.Stop()
	w.obey(order)
	for {
		select {
		case e := <-ended:
			w.order = cmp.Or(w.heard(), w.order)
			return w, e
		case <-w.at.look.C:
			w.lookAtSpool()
		case <-w.at.due:
			w.judge()
		case <-w.at.sign.C:
			s.lock.sign(s.call.Later()) // an error matters only after a reboot
		case <-w.at.forget.C:
			s.spool.Close()
		case <-measure.C:
			w.enforce(s.family.Usage())
		case <-s.updates.next():
			s.updates.send(s, s.progress())
		case <-priority.next():
			priority.apply()
		case sig := <-s.stop:
			w.obey(s.stopped(sig))
		case <-w.retire:
			w.signal()
		case <-w.kill:
			if err := s.process.Kill(); !errors.Is(err, os.ErrProcessDone) {
				s.complain(err)
			}
			reached(stepKilled)
		}
	}
}

// lookAtSpool follows changes of the claim and of the job's policy.
func (w *watching) lookAtSpool() {
	why, leaves := w.says(w.at.followed)
	changed := w.at.followed.Changed()
	if w.kill != nil {
		if leaves && why != w.order.why && operation.HasteOf(why) == operation.Fast {
			w.order.why, w.kill = why, time.After(0) // it was sent a signal to leave, and has no more time
		}
		return
	}
	if leaves && (w.order == nil || why != w.order.why) {
		w.obey(w.supervisor.order(why))
	}
	if changed {
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

// obey makes the job leave as an order says, instead of an earlier order for which it was sent no signal
// yet. A nil order does nothing.
func (w *watching) obey(order *leave) {
	if order == nil || w.kill != nil {
		return
	}
	w.order, w.retire = order, time.After(order.wait)
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
	err := w.process.Signal(w.order.sig)
	if !errors.Is(err, os.ErrProcessDone) {
		w.complain(err)
		w.kill = time.After(w.order.after)
	}
	reached(stepTold)
}

// enforce makes a job that has taken more than it may leave.
func (w *watching) enforce(u family.Usage) {
	if w.kill != nil {
		return
	}
	v, over := w.limits.over(u)
	if !over {
		return
	}
	err := w.carryOut(func(*classad.Ad) jobpolicy.Verdict { return v })
	w.complain(err)
	if spool.IsFull(err) && v.Subcode == tooMuchDisk {
		// Only its end makes room for recording that.
		why := operation.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}
		w.obey(&leave{why: why, reason: launch.Held, sig: syscall.SIGKILL})
		return
	}
	w.lookAtSpool()
}

func (s *supervisor) complain(err error) {
	if err != nil {
		s.log.Add(err)
	}
}

// tell writes a line to the log.
func (s *supervisor) tell(format string, args ...any) { s.log.Add(fmt.Errorf(format, args...)) }

// updates record the usage of a running attempt now and then: in the job's ad, in the
// accounts, and in the job's event log when the job has grown.
type updates struct {
	every    time.Duration // STARTER_UPDATE_INTERVAL
	timer    *time.Timer   // nil: no updates
	reported operation.Progress
	sizeKB   int64 // as it was logged last
}

// newUpdates returns the updates of a program that is executed now.
func newUpdates(c *config.Config) *updates {
	u := &updates{every: c.UpdateInterval}
	if u.every > 0 {
		u.timer = time.NewTimer(c.InitialUpdateInterval)
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

// end ends the updates.
func (u *updates) end() {
	if u.timer != nil {
		u.timer.Stop()
	}
}

// send commits the attempt's usage so far, and sets when the next update is due.
// It reports an error, and the next update includes the usage.
func (u *updates) send(s *supervisor, p operation.Progress) {
	if u.timer != nil {
		u.timer.Reset(u.every)
	}
	s.complain(u.commit(s, p, operation.Report, nil))
}

// checkpointed commits that the job has left a checkpoint of so many bytes, with which it
// goes on in its slot. After an error, the next checkpoint commits the usage until then.
func (u *updates) checkpointed(s *supervisor, p operation.Progress, bytes int64) error {
	usage := userlog.Usage{User: p.UserCPU, System: p.SysCPU}
	return u.commit(s, p, operation.Checkpointed, userlog.Checkpointed{Run: usage, Sent: bytes})
}

// telling is Report or Checkpointed of package operation.
type telling func(tx *spool.Tx, id pool.JobID, attempt int, p, before operation.Progress, at time.Time, params accountant.Params) error

// commit records the attempt's usage in a transaction, and then writes the event to its log, unless that is
// nil, and another one if the job has grown.
func (u *updates) commit(s *supervisor, p operation.Progress, tell telling, event userlog.Body) error {
	now := s.call.Later()
	s.spool.At(now.Now)
	var log joblog.Log
	size := userlog.ImageSize{}
	err := operation.Account(s.spool, now, func(tx *spool.Tx) error {
		if err := tell(tx, s.Job, s.Number, p, u.reported, now.Now, s.params); err != nil {
			return err
		}
		ad, _ := tx.Job(s.Job)
		log, size = joblog.Of(tx, ad), sizeOf(ad)
		return nil
	})
	s.spool.Close() // a machine may have many supervisors: none keeps the queue in memory
	if err != nil {
		return err
	}
	u.reported = p.After(u.reported)
	var events []userlog.Event
	add := func(body userlog.Body) {
		events = append(events, userlog.Event{Job: s.Job, At: now.Now.Local(), Body: body})
	}
	if event != nil {
		add(event)
	}
	if u.reported.PeakKB > u.sizeKB {
		u.sizeKB = u.reported.PeakKB
		add(size)
	}
	logEvents(s.spool, log, s.config.NobodySlotUser, s.complain, events...)
	return nil
}

// sizeOf returns the event of a job that has grown, with the size in its ad.
func sizeOf(ad *classad.Ad) userlog.ImageSize {
	number := func(name string) int64 { n, _ := ad.EvalInt(&classad.Context{}, name); return n }
	return userlog.ImageSize{
		ImageKB: number(pool.AttrImageSize), MemoryMB: number(pool.AttrMemoryUsage),
		ResidentKB: number(pool.AttrResidentSetSize), ProportionalKB: -1,
	}
}

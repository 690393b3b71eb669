package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// Settings are a supervisor's settings.
type Settings struct {
	Vacate        time.Duration // MACHINE_MAX_VACATE_TIME
	PeriodicEvery time.Duration // PERIODIC_EXPR_INTERVAL; 0: expressions are not looked at
	FirstUpdate   time.Duration // STARTER_INITIAL_UPDATE_INTERVAL
	UpdateEvery   time.Duration // STARTER_UPDATE_INTERVAL; 0: no updates
	LookEvery     time.Duration // how often it is looked whether the job has to leave
	MeasureEvery  time.Duration // how often the processes of the job are measured
	// StopLag is how long a supervisor waits for a signal that ended its job and may have been sent to both.
	StopLag time.Duration
	// Now returns the policy time: the machine's, or the start's plus the time passed
	// since. So jobs in a day played with -now take as long as they really do.
	Now func() time.Time
	// Stop delivers the signals that end the supervisor, which are StopSignals.
	Stop <-chan os.Signal
	// Engine interprets a signal that ends the supervisor because a batch engine ends its pilot: why the job has to
	// leave, and by when it must be gone, as Word.Until. nil: no engine does that.
	Engine func(os.Signal) (why pool.Reason, until time.Time)
	// Stopping reports whether the machine shuts down. It may take some seconds.
	Stopping func() bool
	// UnderWay is called when the first job is under way.
	UnderWay func()
	// Left is called when the slot has no successor.
	Left func()
	// Chore returns something else to do now and then while the job of an attempt runs.
	Chore func(t Task, tell func(error)) Chore
	// Reached is called at each step; tests end the process there.
	Reached func(Step)
}

// Chore is something that is to be done when Next fires.
type Chore interface {
	Next() <-chan time.Time // nil: never
	Apply()
}

// Step is something that has just been done for an attempt.
type Step string

// The steps of a supervisor.
const (
	Placing      Step = "placing"      // the scratch directory and the inputs come next
	Placed       Step = "placed"       // they are there
	Executed     Step = "executed"     // the program was started, at first or after a checkpoint
	Logged       Step = "logged"       // the event log has that
	Told         Step = "told"         // the job was told to leave
	Killed       Step = "killed"       // it was sent SIGKILL, since it did not
	Ended        Step = "ended"        // the program has ended
	Alone        Step = "alone"        // nothing that it started is left
	Stored       Step = "stored"       // the output is where it belongs, or kept
	Checkpointed Step = "checkpointed" // a checkpoint is kept
	Resuming     Step = "resuming"     // and recorded
	Tidied       Step = "tidied"       // the scratch directory is gone
)

// Serve supervises the attempt of a desk from its beginning to its end, and then its successors in the
// slot. The error is the last attempt's: why it could not begin, or its end not be recorded, or why
// its job could not be executed, unless UnderWay was called before.
func Serve(at Desk, s Settings) error { return (&tenure{Settings: s}).serve(at) }

// tenure is the time for which a supervisor has a slot: one attempt after the other.
type tenure struct {
	Settings
	told bool // it is known that the first job is under way
	ends bool // the supervisor was told to end, and has told its job
}

// isToEnd reports whether a signal ends the supervisor after this job.
func (n *tenure) isToEnd() bool { return n.ends || len(n.Stop) > 0 }

// serve supervises the attempt of a desk, and then its successors in the slot.
func (n *tenure) serve(at Desk) error {
	t, err := at.Begin()
	if err != nil {
		return err
	}
	for at != nil {
		at, t, err = n.supervisor(at, t).live()
	}
	n.Left()
	return err
}

// supervisor returns the supervisor of an attempt in the tenure, which has begun.
func (n *tenure) supervisor(at Desk, t Task) *supervisor {
	s := &supervisor{tenure: n, Task: t, desk: at, policy: jobPolicy{every: n.PeriodicEvery}}
	if t.Ad != nil {
		s.policy.begin(t.Ad, t.Limits)
	}
	return s
}

// supervisor stays with one attempt from its claim to its end.
type supervisor struct {
	*tenure
	Task
	desk    Desk
	policy  jobPolicy // the job's own
	updates *updates
	running launch.Running // nil before the start
	fetched time.Duration  // how long the image of the job's container was fetched

	executed time.Time     // when the program was started last, in process time; zero: never
	earlier  time.Duration // what programs took that have ended
	// over is when the program ended, or the copying of its output, with a monotonic reading;
	// zero: it has not, or it left a checkpoint.
	over time.Time
	// changed: the job's policy has changed since it was judged last.
	changed bool
	// ordered: the job had to leave before it was started.
	ordered bool
	// until is when nothing of the job may be left; zero: there is no such time.
	until time.Time
}

func (s *supervisor) complain(err error) {
	if err != nil {
		s.desk.Tell(err)
	}
}

// answer tells the process that started the supervisor that the job has begun.
func (s *supervisor) answer() {
	if !s.told {
		s.told = true
		s.UnderWay()
	}
}

// live starts the job, waits for its end and commits that. The slot goes on with the
// attempt next, which has begun; nil for none.
func (s *supervisor) live() (next Desk, t Task, err error) {
	defer s.desk.Close()
	s.desk.Await()
	placed, how, ready := s.ready()
	if ready {
		how, ready = s.run(placed)
	}
	// The next attempt's processes are prepared with its beginning, and may have the same name.
	s.complain(s.On.Close())
	s.tidy() // first: the disk may be full of it, and the end need room
	how.NotStarted = !ready
	next, t, err = s.desk.Finish(how, s.over, s.isToEnd)
	if ready {
		return next, t, err
	}
	if err != nil || s.ordered {
		return nil, t, err
	}
	if err = errors.New(how.Lost + how.StartFailed); s.told {
		s.complain(err)
		err = nil
	}
	return nil, t, err
}

// tidy removes the scratch directory of the attempt. All needed files are stored. If the lock is
// gone the directory may be another attempt's by now.
func (s *supervisor) tidy() {
	if s.Run.Scratch != "" && s.desk.Lost() != OfClaim {
		s.complain(s.On.Tidy())
	}
	s.Reached(Tidied)
}

// ready prepares all for the execution of the job, and waits for its time. If that fails
// it returns the end of the attempt. Placed is the content of its scratch directory.
func (s *supervisor) ready() (placed launch.Placed, how pool.Ending, done bool) {
	if s.Wrong != nil {
		return placed, failedToStart(s.Wrong), false
	}
	if s.Missed.Action != jobpolicy.Stay {
		return placed, tooLate(s.Missed), false
	}
	if placed, how, done = s.place(); done {
		s.Reached(Placed)
	}
	if done && !s.At.IsZero() {
		how, done = s.awaitTime()
	}
	return placed, how, done
}

// longestReason bounds what an ad and a message say of a failed start. It is
// more than the longest path, but an ad's attributes may be of any length.
const longestReason = 5000

func brief(err error) string {
	text := err.Error()
	if len(text) > longestReason {
		const half = longestReason / 2 // what stands at either end tells most
		text = strings.ToValidUTF8(text[:half], "") + "..." + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	return text
}

// SignalName returns the name of a signal.
func SignalName(sig os.Signal) string {
	if n, ok := sig.(syscall.Signal); ok && unix.SignalName(n) != "" {
		return unix.SignalName(n)
	}
	return sig.String()
}

// run executes the job, stays with it until it has ended and nothing that it started is
// left, and takes care of its output. Started is false when it could not be executed; how
// is the end of the attempt in any case.
func (s *supervisor) run(placed launch.Placed) (how pool.Ending, started bool) {
	order, attached := s.attach()
	switch {
	case attached:
	case order != nil:
		return s.leaves(order), false
	default:
		if err := s.start(); err != nil {
			return failedToStart(err), false
		}
	}
	s.desk.Executing(s.fetched)
	s.Reached(Logged)
	s.answer()
	s.updates = newUpdates(s.FirstUpdate, s.UpdateEvery)
	defer s.updates.end()
	for goesOn := true; goesOn; {
		how, goesOn = s.stay(placed, order)
		if !goesOn {
			break
		}
		s.Run.AppendOut, s.Run.AppendErr = true, true
		if err := s.start(); err != nil {
			how.Lost, how.Checkpointed = brief(err), true
			break
		}
	}
	how.Received, how.Sent = s.Run.Transfer.Copied()
	return how, true
}

// attach has the job go on from the checkpoint of its processes, where there is one. Done is false
// when the job has to begin anew, or it was ordered to leave before its processes were there: then
// the checkpoint is for its next attempt.
func (s *supervisor) attach() (order *leave, done bool) {
	again := s.On.Attach(s.Run)
	if again == nil {
		return nil, false
	}
	order, err := s.during(func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, s.Vacate)
		defer cancel()
		s.running, err = again(ctx)
		return err
	})
	switch {
	case err == nil:
		s.executes()
		return order, true
	case order != nil:
		return order, false
	}
	s.complain(fmt.Errorf("it begins anew: %w", err))
	return nil, false
}

// stay stays with a program until it has ended, and handles the processes and files that
// it leaves. The order by which it has to leave already may be nil. It returns the end of
// the attempt, unless the job goes on after a checkpoint.
func (s *supervisor) stay(placed launch.Placed, order *leave) (how pool.Ending, goesOn bool) {
	w, e := s.watch(order)
	s.Reached(Ended)
	checkpoint := launch.CheckpointExit(s.Ad, e)
	s.complain(s.running.End(checkpoint))
	s.Reached(Alone)
	s.earlier, s.executed = s.earlier+e.Wall, time.Time{}
	how = s.ending(e)
	if checkpoint {
		return how, s.checkpoint(placed, &how, w.order)
	}
	s.over = e.At
	told := w.left(e, &how)
	if s.Run.Transfer != nil {
		s.store(placed, &how, told)
		s.over = time.Now()
	}
	s.Reached(Stored)
	return how, false
}

// left reports whether a job with a program that ended so had to leave its slot, and notes the
// reason in how.
func (w *watching) left(e launch.Ended, how *pool.Ending) bool {
	if w.told() {
		w.order.ends(how)
		how.Checkpointed = w.dumped
		return true
	}
	if v := w.running.Exceeded(&e); v.Action != jobpolicy.Stay {
		_, err := w.desk.Judge(v, w.spent())
		w.complain(err)
		how.Lost, how.VacateCode, how.VacateSubcode = v.Reason, v.Code, v.Subcode
		return true
	}
	order := w.withhold(e)
	if order != nil {
		order.ends(how)
	}
	return order != nil
}

// executes notes that the program is there from now on.
func (s *supervisor) executes() {
	s.executed = time.Now()
	if s.policy.executed.IsZero() {
		s.policy.executed = s.executed
	}
}

// start executes the job's program.
func (s *supervisor) start() (err error) {
	if s.running, err = s.On.Start(s.Run); err != nil {
		s.running = nil
		return err
	}
	s.executes()
	s.Reached(Executed)
	return nil
}

// ending returns the end of an attempt with a program that ended so.
func (s *supervisor) ending(e launch.Ended) pool.Ending {
	p := s.progress()
	how := pool.Ending{
		Code: e.Code, Signal: e.Signal, Wall: p.Wall, UserCPU: p.UserCPU, SysCPU: p.SysCPU,
		MaxRSSKB: max(e.MaxRSSKB, p.PeakKB), DiskKB: p.DiskKB, IOBytes: p.IOBytes,
	}
	if e.Core {
		var err error
		how.Core, err = s.running.Core(s.Run)
		s.complain(err)
	}
	return how
}

// progress returns the attempt's usage since the program was first executed.
func (s *supervisor) progress() pool.Progress {
	wall := s.earlier
	if !s.executed.IsZero() {
		wall += time.Since(s.executed)
	}
	if wall == 0 {
		return pool.Progress{}
	}
	p := s.running.Usage()
	p.Wall = wall
	return p
}

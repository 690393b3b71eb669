package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/classad"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// supervisor stays with one attempt from its claim to its end.
type supervisor struct {
	*tenure
	pool.Attempt
	log    *trouble.Log
	lock   *claimLock
	policy jobPolicy // the job's own
	limits limits    // what is enforced

	process  *launch.Process // nil before the start
	family   *family.Family  // of its processes
	updates  *updates
	criu     *launch.Criu  // what makes transparent checkpoints of it; nil: nothing does
	executed time.Time     // when the program was started last, in process time; zero: never
	earlier  time.Duration // what programs took that have ended
	// over is when the program ended, or the copying of its output, with a monotonic reading;
	// zero: it has not, or it left a checkpoint.
	over time.Time
	// ordered: the job had to leave before it was started.
	ordered bool
}

// now returns the policy time: the machine's, or that of the start and what has
// passed since. So a day played with -now has jobs that take as long as they
// really do.
func (s *supervisor) now() time.Time { return s.call.Later().Now }

// live starts the job, waits for its end and commits that. The slot goes on with the
// attempt next, which has begun; nil for none.
func (s *supervisor) live(t task) (next *supervisor, nextTask task, err error) {
	if t.log.Path != "" && s.Number > 1 { // the log is told of the ends of earlier attempts first
		joblog.Await(s.spool, s.config.NobodySlotUser, s.tell, s.Job, s.Number)
	}
	placed, how, ready := s.ready(t)
	if ready {
		how, ready = s.run(t, placed)
	}
	// The next attempt's family is opened with its beginning, and may have the same name.
	s.complain(s.family.Close())
	s.tidy(t) // first: the disk may be full of it, and the end need room
	if ready {
		next, nextTask, err = s.finish(how)
		s.forgetKept(t)
		return next, nextTask, err
	}
	how.NotStarted = true
	_, _, err = s.finish(how)
	s.forgetKept(t)
	if err != nil || s.ordered {
		return nil, task{}, err
	}
	if err = errors.New(how.Lost + how.StartFailed); s.told {
		s.log.Add(err)
		err = nil
	}
	return nil, task{}, err
}

// tidy removes the scratch directory of the attempt: what is still needed of it was stored. When the
// lock is gone the directory may be that of another attempt by now.
func (s *supervisor) tidy(t task) {
	if t.job.Scratch != "" && !s.lock.gone() {
		s.complain(removeScratch(s.folder, filepath.Base(s.scratch())))
	}
	reached(stepTidied)
}

// task is what the spool says of an attempt when it begins.
type task struct {
	job       launch.Job
	wrong     error // why the ad cannot be run; job is empty then
	log       joblog.Log
	executing userlog.Executing // what the log is told when it is executed
	standard  bool              // it is of the standard universe
	// checkpoints reports whether the program has only written a checkpoint when it ends so.
	checkpoints func(launch.Ended) bool
	// at is when the job is to be executed, zero for a job without such a time;
	// missed what is done if it was too late for that already when it began.
	at     time.Time
	missed jobpolicy.Verdict
}

// begin commits that the attempt runs. From then on nobody else may start it.
func (s *supervisor) begin() (t task, err error) {
	at := s.call.Later()
	err = operation.Account(s.spool, at, func(tx *spool.Tx) (err error) {
		t, err = s.enter(tx, at.Now)
		return err
	})
	return t, err
}

// enter makes the attempt run, in a transaction.
func (s *supervisor) enter(tx *spool.Tx, now time.Time) (t task, err error) {
	claim, _ := tx.Claim(s.Job)
	var found []launch.Found
	if ad, ok := tx.Job(s.Job); ok {
		t = task{log: joblog.Of(tx, ad)}
		if t.log.Path != "" {
			t.executing = executing(tx, ad, operation.SlotOf(&tx.View, claim), claim, s.scratch())
		}
		t.job, found, t.wrong = s.read(tx, ad, claim)
		t.at, t.missed = operation.Deferral(tx, ad, now)
		t.standard = isStandard(ad)
		t.checkpoints = func(e launch.Ended) bool { return launch.CheckpointExit(ad, e) }
	}
	if err := operation.Begin(tx, s.Job, s.Number, now, os.Getpid(), s.params); err != nil {
		return t, err
	}
	for _, f := range found {
		tx.Set(s.Job, f.Name, f.Expr)
	}
	ad, _ := tx.Job(s.Job)
	s.policy.begin(ad, operation.Limits(tx, ad, now))
	if s.family == nil && !tx.Forked {
		s.limits = limitsOf(s.config, ad, operation.SlotOf(&tx.View, claim), s.folder)
		s.family = s.limits.open(familyOf(s.config, s.spool, claim, ad), s.scratch())
	}
	s.limits.record(tx, s.Job)
	return t, nil
}

// read returns what the ad of the job asks to be run in the claim's slot, and what its
// ad is to say of that: what was taken from the slot's ad, and the processors.
func (s *supervisor) read(tx *spool.Tx, ad *classad.Ad, claim pool.Claim) (launch.Job, []launch.Found, error) {
	slot := operation.SlotOf(&tx.View, claim)
	expanded, found, err := launch.Expand(ad, slot, func(e *classad.Expr) classad.Value { return operation.Value(tx, e, ad, slot) })
	if err != nil {
		return launch.Job{}, nil, err
	}
	owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
	account, err := s.accountOf(owner)
	if err != nil {
		return launch.Job{}, nil, err
	}
	place := launch.Place{Slot: claim.Slot, SlotAd: slot, Scratch: s.scratch(), Kept: keptPath(s.folder, s.Job)}
	if s.config.AssignCPUAffinity {
		place.CPUs = processorsFor(&tx.View, claim, slot)
		found = append(found, bound(place.CPUs)...)
	}
	job, err := launch.FromAd(expanded, place, account)
	return job, found, err
}

// ready makes everything ready for the job to be executed, and waits for its time; when
// that does not succeed it returns how the attempt ends for it. Placed is what its scratch
// directory holds.
func (s *supervisor) ready(t task) (placed launch.Placed, how operation.Ending, done bool) {
	if t.wrong != nil {
		return placed, failedToStart(t.wrong), false
	}
	if t.missed.Action != jobpolicy.Stay {
		return placed, tooLate(t.missed), false
	}
	if placed, how, done = s.place(t.job); done {
		reached(stepPlaced)
	}
	if done && !t.at.IsZero() {
		how, done = s.awaitTime(t.at)
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

// Waits between two tries to commit the end of a job.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// finish commits how and when the attempt ended, and with it that the slot goes on with the
// next one, if there is one. It tries for as long as it takes, however long the spool is
// locked or the disk full: nobody else knows what it has to say. Only a spool that is
// not there any more is given up, and a claim whose lock is gone, which is for others to
// end.
func (s *supervisor) finish(how operation.Ending) (next *supervisor, t task, err error) {
	last := s.call.Later()
	if !s.over.IsZero() {
		last.Now = last.Now.Add(-time.Since(s.over))
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if err := s.awaitSpool(); err != nil {
			return nil, t, err
		}
		now := s.call.Later()
		e := end{how, last.Now, now}
		s.spool.At(e.at)
		after := s.successor(how, wait == firstRetry)
		err := finish(s.spool, &s.answers, s.Attempt, s.lock.file, e, s.params, s.config.NobodySlotUser, s.log.Add, after)
		if err == nil || errors.Is(err, operation.ErrGone) {
			if next, t = after.taken(); next != nil && after.waited {
				s.complain(s.note())
			}
			return next, t, err
		}
		after.release()
		s.log.Add(fmt.Errorf("its end (%s) is not recorded yet: %w", describe(how), err))
		time.Sleep(wait)
	}
}

// describe says in a few words how an attempt ended.
func describe(how operation.Ending) string {
	switch {
	case how.Lost != "":
		return how.Lost
	case how.StartFailed != "":
		return how.StartFailed
	case how.OutputFailed != "":
		return how.OutputFailed
	case how.Signal != 0:
		return "by " + signalName(syscall.Signal(how.Signal))
	}
	return fmt.Sprintf("exit code %d", how.Code)
}

func signalName(sig os.Signal) string {
	if n, ok := sig.(syscall.Signal); ok && unix.SignalName(n) != "" {
		return unix.SignalName(n)
	}
	return sig.String()
}

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
	told := w.left(e, &how)
	if t.job.Transfer != nil {
		s.store(t.job.Transfer, placed, &how, told)
		s.over = time.Now()
	}
	reached(stepStored)
	return how, false
}

// left reports whether a job whose program has ended so had to leave its slot, and says in how why.
func (w *watching) left(e launch.Ended, how *operation.Ending) bool {
	if w.told() {
		w.order.ends(how)
		how.Checkpointed = w.dumped
		return true
	}
	if v, over := w.limits.stopped(e, w.family.Usage(), w.family.OutOfMemory()); over {
		w.complain(w.carryOut(func(*classad.Ad) jobpolicy.Verdict { return v }))
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

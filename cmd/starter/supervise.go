package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// supervisor stays with one attempt from its claim to its end.
type supervisor struct {
	attempt
	call   *cmdline.Call
	spool  *spool.Spool
	params accountant.Params
	log    *trouble
	lock   *claimLock
	stop   chan os.Signal // what tells the supervisor itself to end
	vacate time.Duration  // MACHINE_MAX_VACATE_TIME
	kill   time.Duration  // KILLING_TIMEOUT
	folder string         // of the scratch directories
	policy policy         // the job's own
	told   bool           // the pass knows that the job is under way
	// ordered: the job had to leave before it was started.
	ordered bool
}

// now returns the policy time: the machine's, or that of the start and what has
// passed since. So a day played with -now has jobs that take as long as they
// really do.
func (s *supervisor) now() time.Time { return s.call.Later().Now }

// supervise is the life of the supervisor of the named attempt. An attempt
// that is not there to be started, or that somebody else supervises, is no
// error: it ends without a word.
func supervise(c *cmdline.Call, name string) error {
	a, err := parseAttempt(name)
	if err != nil {
		return cmdline.Usagef("-supervise: %v", err)
	}
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	s := &supervisor{
		attempt: a, call: c, spool: sp, params: operation.Params(c.Config), log: &trouble{dir: sp.Dir(), attempt: a},
		stop:   make(chan os.Signal, 1),
		vacate: c.Config.MachineMaxVacateTime, kill: c.Config.KillingTimeout,
		folder: scratchFolder(c.Config, sp), policy: policy{every: c.Config.PeriodicInterval},
	}
	s.prepare()
	s.lock, err = lockClaim(sp.ClaimLock(name))
	if errors.Is(err, errBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.lock.remove()
	err = s.live()
	if errors.Is(err, operation.ErrGone) {
		return nil
	}
	return err
}

// parseAttempt reads CLUSTER.PROC.ATTEMPT, the name of a claim's lock.
func parseAttempt(name string) (attempt, error) {
	wrong := fmt.Errorf("%q: want CLUSTER.PROC.ATTEMPT", name)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return attempt{}, wrong
	}
	id, err := pool.ParseJobID(name[:dot])
	if err != nil {
		return attempt{}, wrong
	}
	n, err := strconv.ParseUint(name[dot+1:], 10, 31)
	if err != nil || n < 1 {
		return attempt{}, wrong
	}
	return attempt{id, int(n)}, nil
}

// prepare makes the process fit to be a supervisor: signals that would end it
// end the job first (also where the caller ignores them, which the job would
// inherit), a pass that does not listen any more does no harm, what the job
// leaves behind becomes the supervisor's own, and the job gets the usual umask.
func (s *supervisor) prepare() {
	signal.Notify(s.stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
	unix.Umask(0o022)
	s.complain(adopt())
}

// live starts the job, waits for its end and commits that.
func (s *supervisor) live() error {
	t, err := s.begin()
	if err != nil {
		return err
	}
	p, placed, how := s.execute(t)
	if p == nil {
		how.NotStarted = true
		err := s.finish(how)
		s.tidy(t)
		if err != nil || s.ordered {
			return err
		}
		if err = errors.New(how.Lost + how.StartFailed); s.told {
			s.log.add(err)
			return nil
		}
		return err
	}
	logEvents(t.log, s.log.add, userlog.Event{
		Job: s.Job, At: s.now().Local(), Body: userlog.Executing{Host: t.host, Slot: t.slot},
	})
	s.answer()
	go reapOrphans(p.PID())
	how, told := s.watch(p)
	s.complain(endOrphans(s.kill))
	s.store(t.job.Transfer, placed, &how, told)
	err = s.finish(how)
	s.tidy(t)
	return err
}

// tidy cleans up behind a job that had a scratch directory. When the lock is gone
// the directory may be that of another attempt by now.
func (s *supervisor) tidy(t task) {
	if t.job.Transfer != nil && !s.lock.gone() {
		s.cleanUp()
	}
}

// answer tells the pass that the job is under way, and lets go of it.
func (s *supervisor) answer() {
	if s.told {
		return
	}
	s.told = true
	fmt.Fprintln(s.call.Stdout, running)
	s.call.Flush() // a pass that has gone away does not matter
	s.log.detach()
}

// task is what the spool says of an attempt when it begins.
type task struct {
	job        launch.Job
	wrong      error // why the ad cannot be run; job is empty then
	host, slot string
	log        joblog.Log
	// at is when the job is to be executed, zero for a job without such a time;
	// missed what is done if it was too late for that already when it began.
	at     time.Time
	missed jobpolicy.Verdict
}

// begin commits that the attempt runs. From then on nobody else may start it.
func (s *supervisor) begin() (t task, err error) {
	at := s.call.Later()
	err = operation.Account(s.spool, at, s.tell, func(tx *spool.Tx) error {
		claim, _ := tx.Claim(s.Job)
		var found []launch.Found
		if ad, ok := tx.Job(s.Job); ok {
			t = task{host: claim.Machine, slot: claim.Slot, log: joblog.Of(ad)}
			t.job, found, t.wrong = s.read(tx, ad, claim)
			t.at, t.missed = jobpolicy.Deferral(&classad.Context{Now: at.Now}, ad)
		}
		if err := operation.Begin(tx, s.Job, s.Number, at.Now, os.Getpid(), s.params); err != nil {
			return err
		}
		for _, f := range found {
			tx.Set(s.Job, f.Name, f.Expr)
		}
		ad, _ := tx.Job(s.Job)
		s.policy.begin(ad, at.Now)
		return nil
	})
	return t, err
}

// read returns what the ad of the job asks to be run in the claim's slot, and what
// it took from the slot's ad.
func (s *supervisor) read(tx *spool.Tx, ad *classad.Ad, claim pool.Claim) (launch.Job, []launch.Found, error) {
	expanded, found, err := launch.Expand(ad, slotAd(tx, claim))
	if err != nil {
		return launch.Job{}, nil, err
	}
	place := launch.Place{Slot: claim.Slot, Scratch: s.scratch(), Kept: keptPath(s.folder, s.Job)}
	job, err := launch.FromAd(expanded, place, launch.CurrentAccount())
	return job, found, err
}

// slotAd returns the ad of the slot that a claim has, of a part of one that of the
// dynamic slot; nil when it is not there any more.
func slotAd(tx *spool.Tx, claim pool.Claim) *classad.Ad {
	slots := tx.SlotsNamed([]string{claim.SlotAd()})
	switch {
	case len(slots) == 0:
		return nil
	case claim.Piece.Of == "":
		return slots[0].Ad
	}
	return pool.DynamicAd(slots[0].Ad, claim.Slot, claim.Piece.Takes)
}

// execute runs the job; when that does not succeed it returns how the attempt
// ends for it. Placed is what its scratch directory held when it started.
func (s *supervisor) execute(t task) (p *launch.Process, placed launch.Placed, how operation.Ending) {
	if t.wrong != nil {
		return nil, placed, failedToStart(t.wrong)
	}
	if t.missed.Action != jobpolicy.Stay {
		return nil, placed, tooLate(t.missed)
	}
	placed, how, done := s.place(t.job)
	if done && !t.at.IsZero() {
		how, done = s.awaitTime(t.at)
	}
	if !done {
		return nil, placed, how
	}
	p, err := launch.Start(t.job, s.lock.file)
	if err != nil {
		return nil, placed, failedToStart(err)
	}
	return p, placed, how
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

// finish commits how the attempt ended. It tries for as long as it takes,
// however long the spool is locked or the disk full: nobody else knows what
// it has to say. Only a spool that is not there any more is given up, and a
// claim whose lock is gone, which is for others to end.
func (s *supervisor) finish(how operation.Ending) error {
	last := s.call.Later()
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		switch {
		case s.lock.gone():
			return errLockGone
		case spoolIsGone(s.spool.Dir()):
			return errSpoolGone
		}
		now := s.call.Later()
		e := end{how, last.By(now.Clock).Now, now} // the clock may be set while it waits
		s.spool.At(e.at)
		err := finish(s.spool, s.attempt, e, s.params, s.log.add)
		if err == nil || errors.Is(err, operation.ErrGone) {
			return err
		}
		s.log.add(fmt.Errorf("its end (%s) is not recorded yet: %w", describe(how), err))
		time.Sleep(wait)
	}
}

var errSpoolGone = errors.New("the spool is gone")

// spoolIsGone tells whether the spool was removed, be it not wholly yet: no
// directory without VERSION is a spool. What we write there now would only
// keep it from being removed.
func spoolIsGone(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "VERSION"))
	return errors.Is(err, os.ErrNotExist)
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

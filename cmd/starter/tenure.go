package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// tenure is the time for which a supervisor has a slot: one attempt after the other.
type tenure struct {
	call   *cmdline.Call
	config *config.Config
	spool  *spool.Spool
	params accountant.Params
	stop   chan os.Signal // signals that end the supervisor
	vacate time.Duration  // MACHINE_MAX_VACATE_TIME
	kill   time.Duration  // KILLING_TIMEOUT
	folder string         // of the scratch directories
	// retirement is MAXJOBRETIREMENTTIME.
	retirement *classad.Expr
	answers    operation.Answers // of the ends of its attempts
	since      time.Time         // process time
	// accounts are those of owners, kept because looking one up may take a question to another
	// machine.
	accounts map[string]launch.Account
	// cycles starts a cycle now and then, and one for a change after its driver was killed; nil:
	// changes start no cycles.
	cycles  *onchange.Watch
	missing int  // looks in a row that found the spool gone
	told    bool // the pass knows that the first job is under way
	ends    bool // the supervisor was told to end, and has told its job
}

// isToEnd reports whether a signal ends the supervisor after this job.
func (n *tenure) isToEnd() bool { return n.ends || len(n.stop) > 0 }

// supervise is the life of a supervisor, which begins with the named attempt. It does nothing, without
// an error, if the attempt is not there to be started or has another supervisor.
func supervise(c *cmdline.Call, name string) error {
	a, err := pool.ParseAttempt(name)
	if err != nil {
		return cmdline.Usagef("-supervise: %v", err)
	}
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	sp.FollowDomain()
	n := &tenure{
		call: c, config: c.Config, spool: sp, params: c.Config.Params, stop: make(chan os.Signal, 1),
		vacate: c.Config.MachineMaxVacateTime, kill: c.Config.KillingTimeout,
		folder: scratchFolder(c.Config, sp), since: time.Now(), accounts: map[string]launch.Account{},
	}
	if n.retirement, err = c.Config.Expr("MAXJOBRETIREMENTTIME"); err != nil {
		return err
	}
	if p, on, err := c.OnChange(); err != nil {
		return err
	} else if on {
		p.Beside = true
		n.cycles = &onchange.Watch{Pool: p, Interval: c.Config.CycleInterval}
	}
	s := n.supervisor(a)
	s.prepare()
	s.lock, err = lockClaim(sp.ClaimLock(name))
	if errors.Is(err, errBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	reached(stepLocked)
	err = n.serve(s)
	if errors.Is(err, operation.ErrGone) {
		return nil
	}
	return err
}

// supervisor returns the supervisor of an attempt in the tenure.
func (n *tenure) supervisor(a pool.Attempt) *supervisor {
	return &supervisor{
		tenure: n, Attempt: a, log: n.logOf(a), policy: jobPolicy{every: n.config.PeriodicInterval},
	}
}

// logOf returns the log of an attempt's supervisor: starter.log in the spool.
func (n *tenure) logOf(a pool.Attempt) *trouble.Log {
	return &trouble.Log{
		Path: filepath.Join(n.spool.Dir(), "starter.log"), About: fmt.Sprintf("job %v, attempt %d", a.Job, a.Number),
	}
}

// serve supervises an attempt, whose lock the supervisor has, and then its successors in the slot.
func (n *tenure) serve(s *supervisor) error {
	n.ask(s.Job)
	t, err := s.begin()
	if err != nil {
		s.lock.remove()
		return err
	}
	reached(stepBegun)
	for s != nil {
		next, nextTask, e := s.live(t)
		if errors.Is(e, operation.ErrGone) {
			s.lock.leave() // the end may be recorded in spite of the error
		} else {
			s.lock.remove()
		}
		reached(stepUnlocked)
		s, t, err = next, nextTask, e
	}
	n.call.Changed() // the slot has no successor
	return err
}

// ask looks up the owner of a job before the spool is locked for the job. The job's beginning reports
// errors.
func (n *tenure) ask(id pool.JobID) {
	var owner string
	err := n.spool.View(func(v *spool.View) error {
		if ad, ok := v.Job(id); ok {
			owner, _ = ad.EvalString(&classad.Context{}, pool.AttrOwner)
		}
		return nil
	})
	if err == nil && owner != "" {
		n.accountOf(owner)
	}
}

// accountOf returns the account of an owner's jobs.
func (n *tenure) accountOf(owner string) (launch.Account, error) {
	if a, known := n.accounts[owner]; known {
		return a, nil
	}
	a, err := launch.AccountOf(owner, n.config.NobodySlotUser)
	if err == nil {
		n.accounts[owner] = a
	}
	return a, err
}

// answer tells the pass that the job is under way, and lets go of it.
func (s *supervisor) answer() {
	if s.told {
		return
	}
	s.told = true
	fmt.Fprintln(s.call.Stdout, running)
	s.call.Flush() // a pass that has gone away does not matter
	s.log.Detach()
	s.call.Stderr = s.log
}

// seeToCycles starts a driver if the pool needs one and has none. The driver is no child of this
// process, whose children count as the job's.
func (n *tenure) seeToCycles() error {
	if n.cycles == nil {
		return nil
	}
	driver, err := n.cycles.Look()
	if driver != nil {
		driver.Process.Release() // it is our parent's child
	}
	return err
}

// note notes that the queue was changed. Another process, or the next look, starts the driver.
func (n *tenure) note() error {
	if n.cycles == nil {
		return nil
	}
	return n.cycles.Note()
}

// prepare makes the process a supervisor: signals that would end it
// end the job first (also where the caller ignores them, which the job would
// inherit), a pass that has closed its pipe does no harm, processes that the job
// leaves behind become the supervisor's children, and the job gets the usual umask.
func (s *supervisor) prepare() {
	signal.Notify(s.stop, stopSignals...)
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
	unix.Umask(0o022)
}

// successor is the attempt that takes over a slot in the transaction that ends the attempt before: of
// the submitter's next job of the same autocluster, if there is one. A nil successor takes nothing.
type successor struct {
	*supervisor             // of the attempt that ends
	ended       pool.Claim  // the zero Claim: there is no slot to take over
	ad          *classad.Ad // of its job
	tickets     int64       // of its job; negative: none

	waited bool        // other jobs wait for the end of the cluster, or mail may be due
	next   *supervisor // nil: none; has the lock of its claim
	task   task
}

// successor returns the successor of an attempt that ended so, nil if there may be none. Only a job
// that ended by itself has one, and only until CLAIM_WORKLIFE is over or a signal ends the
// supervisor.
func (s *supervisor) successor(how operation.Ending, wanted bool) *successor {
	over := time.Since(s.since) >= s.config.ClaimWorklife
	if !wanted || over || how.Lost != "" || how.StartFailed != "" || how.OutputFailed != "" || how.NotStarted {
		return nil
	}
	return &successor{supervisor: s}
}

// look takes note of the claim before it ends.
func (n *successor) look(tx *spool.Tx, a pool.Attempt) {
	if n == nil {
		return
	}
	n.release() // of a transaction that was not committed
	n.ended = pool.Claim{}
	if claim, ok := tx.Claim(a.Job); ok && claim.Attempt == a.Number {
		n.ended = claim
		n.ad, _ = tx.Job(a.Job)
		n.tickets = operation.TicketsOf(n.ad)
	}
}

// enter makes the next job's attempt run in the slot when the attempt before has ended. The charge begins
// now, and not before the wait for the spool's lock. The lock of the claim is taken before the
// transaction is committed. Without a successor, enter changes nothing.
func (n *successor) enter(tx *spool.Tx) error {
	if n == nil || n.ad == nil || n.isToEnd() {
		return nil
	}
	now := n.call.Later().Now
	claim, found := operation.Successor(tx, n.ended, n.ad, n.spool.Domain(), now, n.params)
	if !found {
		return nil
	}
	next := n.tenure.supervisor(pool.Attempt{Job: claim.Job, Number: claim.Attempt})
	var err error
	if !tx.Forked {
		if next.lock, err = lockClaim(n.spool.ClaimLock(claim.LockName())); err != nil {
			n.complain(err)
			return nil
		}
		n.next, n.waited = next, operation.Awaited(&tx.View, n.ended.Job.Cluster)
	}
	operation.Succeed(tx, claim, n.tickets, now, n.params)
	if n.task, err = next.enter(tx, now); err == nil {
		tx.Op("finish, start", n.ended.Job.String(), claim.Job.String())
	}
	return err
}

// taken returns the attempt that has begun, once that is committed.
func (n *successor) taken() (*supervisor, task) {
	if n == nil || n.next == nil {
		return nil, task{}
	}
	return n.next, n.task
}

// release lets go of an attempt whose beginning was not committed.
func (n *successor) release() {
	if n == nil || n.next == nil {
		return
	}
	if n.next.family != nil {
		n.next.family.Close()
	}
	n.next.lock.remove()
	n.next = nil
}

package desk

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// end is how and when an attempt ended.
type end struct {
	how pool.Ending
	at  time.Time
	now accountant.Reading // when that is recorded
	// instance is the instance of the attempt's pilot; empty: the attempt ran on this
	// machine.
	instance string
	// executing returns the event to log first if the program was executed only now; nil: no such
	// event.
	executing func(pool.Claim) userlog.Executing
	executed  time.Time
}

// finish commits how an attempt ended, and then writes the result to the job's event log. Next, if not nil, takes the
// slot in the same transaction. Complain reports events that cannot be written; the end stands all the same. Kept files
// of a job that has left the queue are removed. The lock is the claim's.
func (n *Desks) finish(a pool.Attempt, lock *claimlock.Lock, e end, complain func(error), next *successor) error {
	var told epilogue
	stays := false
	e.how.Recorded = e.now.Now
	err := n.answers.Account(n.Spool, e.now, func(tx *spool.Tx) error {
		claim, _ := tx.Claim(a.Job)
		if claim.Instance != e.instance {
			return pool.ErrGone
		}
		if e.instance != "" { // its machine may say anything
			e.at = within(e.at, claim.StartedAt, e.now.Now)
			e.executed = within(e.executed, claim.StartedAt, e.at)
		}
		told = epilogueOf(tx, a.Job, e, n.operator())
		if e.executing != nil {
			told.began = &userlog.Event{Job: a.Job, At: e.executed.Local(), Body: e.executing(claim)}
		}
		next.look(tx, a)
		last, err := lifecycle.FinishLast(tx, a.Job, a.Number, e.at, e.how, n.params)
		if err != nil {
			return err
		}
		told.log = told.log.Now(last)
		var ad *classad.Ad
		if ad, stays = tx.Job(a.Job); stays {
			told.stays(tx, ad)
		}
		if err := next.enter(tx); err != nil || tx.Forked { // nothing outside of a fork may change
			return err
		}
		if err := joblog.Keep(lock.File, told.log, told.events(a.Job)...); err != nil {
			complain(fmt.Errorf("log: %w", err))
		}
		if err := hooks.Keep(n.Spool.ClaimLock(""), a, told.log.Orders(told.events(a.Job)...)); err != nil {
			complain(fmt.Errorf("commands for events: %w", err))
		}
		n.Reached(Kept)
		return nil
	})
	if err != nil {
		return err
	}
	n.Reached(Finished)
	n.logEvents(told.log, complain, told.events(a.Job)...)
	if told.log.Wanted() && hooks.Commit(n.Spool.ClaimLock(""), a) {
		n.runHooks(complain)
	}
	n.Reached(Concluded)
	if !stays {
		if err := n.machine.Folder.Forget(a.Job); err != nil {
			complain(err)
		}
	}
	return nil
}

// The steps of a desk in the spool, and of a pass that ends the attempt of a dead supervisor.
const (
	Locked    supervise.Step = "locked"    // it has the claim's lock
	Begun     supervise.Step = "begun"     // it is recorded that the attempt runs
	Kept      supervise.Step = "kept"      // the events of the end are kept until the event log has them
	Finished  supervise.Step = "finished"  // the end is recorded, and the slot's next attempt, if there is one
	Concluded supervise.Step = "concluded" // the event log has the end
	Unlocked  supervise.Step = "unlocked"  // the lock file, too
)

// Waits between two tries to commit the end of a job.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Finish tries as long as the spool is locked or the disk full, as no other process knows how the job
// ended. It gives up only if the spool is gone, or the claim's lock, as other processes end such a
// claim.
func (d *Desk) Finish(how pool.Ending, at time.Time, last func() bool) (next supervise.Desk, t supervise.Task, err error) {
	how.Reported = d.reported
	ended := d.Now().Now
	if !at.IsZero() {
		ended = ended.Add(-time.Since(at))
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if err := d.awaitSpool(); err != nil {
			return nil, t, err
		}
		e := end{how: how, at: ended, now: d.Now()}
		d.Spool.At(e.at)
		after := d.successor(how, wait == firstRetry, last)
		err := d.finish(d.Attempt, d.lock, e, d.log.Add, after)
		if d.gone = errors.Is(err, pool.ErrGone); err == nil || d.gone {
			if after == nil || after.next == nil {
				return nil, t, err
			}
			if after.waited {
				d.complain(d.changed())
			}
			if d.Cycles != nil && d.Cycles.Due() { // short jobs one after the other never look
				d.complain(d.seeToCycles())
			}
			return after.next, after.next.task, err
		}
		after.release()
		d.tell("its end (%s) is not recorded yet: %w", describe(how), err)
		time.Sleep(wait)
	}
}

// Close frees the lock of the claim. The file stays if the claim was gone: the end may be recorded in spite
// of that.
func (d *Desk) Close() {
	if d.gone {
		d.lock.Leave()
	} else {
		d.lock.Remove()
	}
	d.Reached(Unlocked)
}

// describe says in a few words how an attempt ended.
func describe(how pool.Ending) string {
	switch {
	case how.Lost != "":
		return how.Lost
	case how.StartFailed != "":
		return how.StartFailed
	case how.OutputFailed != "":
		return how.OutputFailed
	case how.Signal != 0:
		return "by " + supervise.SignalName(syscall.Signal(how.Signal))
	}
	return fmt.Sprintf("exit code %d", how.Code)
}

// successor is the attempt that takes over a slot in the transaction that ends the attempt before: of
// the submitter's next job, if there is one. A nil successor takes nothing.
type successor struct {
	*Desk               // of the attempt that ends
	last    func() bool // the supervisor is to end
	ended   pool.Claim  // the zero Claim: there is no slot to take over
	ad      *classad.Ad // of its job
	tickets int64       // of its job; negative: none

	waited bool  // other jobs wait for the end of the cluster, mail may be due, or a part of the slot is free
	next   *Desk // nil: none; has the lock of its claim if it runs here
}

// successor returns the successor of an attempt that ended so, nil if there may be none. Only a job
// that ended by itself has one, and only until CLAIM_WORKLIFE is over or the supervisor is to end.
func (d *Desk) successor(how pool.Ending, wanted bool, last func() bool) *successor {
	worked := time.Since(d.since)
	if d.pilot != nil {
		worked = math.MinInt64 // the pilot says when it is over
	}
	if !wanted || !lifecycle.MayGoOn(how, worked, d.Config.ClaimWorklife) {
		return nil
	}
	return &successor{Desk: d, last: last}
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
		n.tickets = lifecycle.TicketsOf(n.ad)
	}
}

// enter makes the next job's attempt run in the slot when the attempt before has ended. The charge begins
// now, and not before the wait for the spool's lock. The lock of the claim is taken before the
// transaction is committed. Without a successor, enter changes nothing.
func (n *successor) enter(tx *spool.Tx) error {
	if n == nil || n.ad == nil || n.last() {
		return nil
	}
	now := n.Now().Now
	claim, found := lifecycle.Successor(tx, n.ended, n.ad, n.Spool.Domain(), now, &n.cycle)
	if !found {
		return nil
	}
	next := n.desk(pool.Attempt{Job: claim.Job, Number: claim.Attempt})
	next.pilot, next.there = n.pilot, n.there
	if !tx.Forked {
		if err := next.lockHere(); err != nil {
			n.complain(err)
			return nil
		}
		n.next, n.waited = next, lifecycle.Awaited(&tx.View, n.ended.Job.Cluster) || claim.Piece != n.ended.Piece
	}
	lifecycle.Succeed(tx, claim, n.tickets, now, n.params)
	err := next.enter(tx, now)
	if err == nil {
		tx.Op("finish, start", n.ended.Job.String(), claim.Job.String())
	}
	return err
}

// release gives up an attempt whose beginning was not committed.
func (n *successor) release() {
	if n == nil || n.next == nil {
		return
	}
	if n.next.on != nil {
		n.complain(n.next.on.Close())
	}
	if n.next.lock != nil {
		n.next.lock.Remove()
	}
	n.next = nil
}

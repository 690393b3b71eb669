package desk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/family"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// SupervisorDied is the reason in a job's ad when its supervisor has died: killed, or by
// a reboot.
const SupervisorDied = "its supervisor died"

// EndLost ends the claim of an attempt if its supervisor is gone, after killing the rest of its job, and reports
// whether it did. Complain gets problems that do not keep EndLost from that.
func (n *Desks) EndLost(claim pool.Claim, complain func(error)) (over bool, err error) {
	path := n.Spool.ClaimLock(claim.LockName())
	_, err = os.Stat(path)
	unsigned := errors.Is(err, os.ErrNotExist) // the next line makes the file
	lock, err := claimlock.TakeCharge(path)
	if errors.Is(err, claimlock.ErrBusy) {
		return false, nil // it lives
	}
	if err != nil {
		return false, err
	}
	of, ad, ended, err := n.familyOfLost(claim)
	if ended {
		lock.Leave() // another pass has ended it: its job's next attempt may have the same name
		return false, nil
	}
	if err == nil {
		err = KillLeft(lock, of, n.Config.KillingTimeout)
	}
	if err != nil {
		lock.Close()
		return false, err
	}
	n.Reached(supervise.Alone)
	// First: it may have filled the disk, and recording the end needs room.
	forgotten := n.machine.EndContainer(pool.Attempt{Job: claim.Job, Number: claim.Attempt}, ad)
	if err := errors.Join(forgotten, n.machine.Folder.Remove(claim.LockName())); err != nil {
		complain(err)
	}
	n.Reached(supervise.Tidied)
	e := end{how: pool.Ending{Lost: SupervisorDied, Died: true}, at: n.endOf(claim, lock, unsigned), now: n.Now()}
	if err := n.finish(pool.Attempt{Job: claim.Job, Number: claim.Attempt}, lock, e, complain, nil); err != nil {
		lock.Leave() // the end may be recorded in spite of the error, and the log lack it
		if errors.Is(err, pool.ErrGone) {
			err = nil
		}
		return false, err
	}
	lock.Remove()
	return true, nil
}

// endOf returns when the attempt of a dead supervisor ended. Unsigned: the claim's file was gone.
func (n *Desks) endOf(claim pool.Claim, lock *claimlock.Lock, unsigned bool) time.Time {
	now, signed := n.Now(), lock.Signed()
	if booted := now.Clock.Booted(); claim.StartedAt.Before(booted) && (unsigned || signed.Before(booted)) {
		// A file system may have lost the latest signs, too.
		if last := lastEvent(n.Spool, booted); unsigned || last.After(signed) {
			signed = last
		}
	}
	return ended(now, signed)
}

// familyOfLost returns the family of an attempt without a supervisor, the ad of its job, nil if that has left, and whether the attempt has
// ended since the claim was read. The caller has the record lock of the claim, so that no other process
// ends the attempt from now on.
func (n *Desks) familyOfLost(claim pool.Claim) (of family.Options, ad *classad.Ad, over bool, err error) {
	err = n.Spool.View(func(v *spool.View) error {
		now, there := v.Claim(claim.Job)
		over = !there || now.Attempt != claim.Attempt
		ad, _ = v.Job(claim.Job)
		of = n.machine.FamilyOf(pool.Attempt{Job: claim.Job, Number: claim.Attempt}, ad)
		return nil
	})
	return of, ad, over, err
}

// ended returns when an attempt ended whose supervisor died after its last sign of life at signed.
// That is now, as processes of the job may have run until now. If the machine was booted since, it is
// signed, so that the time that the machine was off is not charged. If the claim's file is gone, as
// after spool restore, signed is the last event before the boot.
func ended(now accountant.Reading, signed time.Time) time.Time {
	if now.Clock.Known() && !signed.IsZero() && signed.Before(now.Clock.Booted()) {
		return signed
	}
	return now.Now
}

// lastEvent returns the time of the last event before the machine was booted: a job that the spool has
// as running ran at least until then. It is zero where that is not known.
func lastEvent(sp *spool.Spool, booted time.Time) (last time.Time) {
	sp.View(func(v *spool.View) error { last = pool.LastEvent(v, spool.Flocked.All(v), booted); return nil })
	return last
}

// KillLeft kills the remaining processes of a job without a supervisor until none has the claim's pipe
// open any more, for at most the time patience.
func KillLeft(lock *claimlock.Lock, o family.Options, patience time.Duration) error {
	if _, err := family.Survivors(o, patience); err != nil {
		return fmt.Errorf("%s, and %w", SupervisorDied, err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		alive, err := lock.IsAlive()
		if err != nil || !alive {
			return err
		}
		if killed := family.EndHolders(lock.PipePath()); time.Now().After(end) {
			return fmt.Errorf("%s, and %d processes of the job are still there %v after SIGKILL", SupervisorDied, killed, patience)
		}
	}
}

// EndGone ends, in a transaction, the claim of an attempt on another machine that is believed gone: the
// attempt is lost, for the reason why. Heard is when the machine was last heard of, zero if unknown; the
// attempt is charged until then. The events for the job's log are added to events. pool.ErrGone: the attempt
// has ended already.
func EndGone(tx *spool.Tx, claim pool.Claim, why string, heard time.Time, now accountant.Reading, p accountant.Params, events *joblog.Events) error {
	at := now.Now
	if !heard.IsZero() && heard.Before(at) {
		at = heard
	}
	if at.Before(claim.StartedAt) {
		at = claim.StartedAt
	}
	e := end{how: pool.Ending{Lost: why, Died: true, Recorded: now.Now}, at: at, now: now}
	told := epilogueOf(tx, claim.Job, e, events.Operator())
	last, err := lifecycle.FinishLast(tx, claim.Job, claim.Attempt, at, e.how, p)
	if err != nil {
		return err
	}
	told.log = told.log.Now(last)
	if after, stays := tx.Job(claim.Job); stays {
		told.stays(tx, after)
	}
	for _, body := range told.bodies {
		events.AddTo(told.log, claim.Job, body)
	}
	return nil
}

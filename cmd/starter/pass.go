package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/family"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// report is what a pass did, as -json prints it.
type report struct {
	Started []string
	Failed  []failure // jobs that could not be started, or whose claim could not be ended
	Lost    []failure // jobs with a dead supervisor and an ended claim
	locked  int       // those of Failed for which only the spool's lock was missing
}

type failure struct{ Job, Reason string }

// fail notes that a job could not be started, or its claim not be ended.
func (r *report) fail(id, why string, locked bool) {
	r.Failed = append(r.Failed, failure{id, why})
	if locked {
		r.locked++
	}
}

// status returns the error for the exit status. All errors have been reported.
func (r *report) status() error {
	switch {
	case len(r.Failed) == 0:
		return nil
	case len(r.Failed) == r.locked:
		return errors.Join(cmdline.ErrReported, spool.ErrLocked)
	}
	return cmdline.ErrReported
}

// pass looks after this machine's claims once.
func pass(c *cmdline.Call) error {
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	sp.FollowDomain()
	r := newReport()
	claims, err := r.around(c, sp)
	if err != nil {
		return err
	}
	supervisors, err := r.start(c, familyPrefix(sp), claims)
	if err != nil {
		return err
	}
	if len(r.Lost) > 0 {
		c.Changed()
	}
	err = r.print(c, sp)
	sp.Close() // a pass that waits keeps no old generation
	if c.Has("wait") {
		for _, s := range supervisors {
			s.Wait()
		}
	}
	if err == nil {
		err = r.status()
	}
	return err
}

func newReport() report { return report{Started: []string{}, Failed: []failure{}, Lost: []failure{}} }

// around ends claims without a supervisor and writes events that job logs do not have yet. It returns all
// claims of this machine as they are then.
func (r *report) around(c *cmdline.Call, sp *spool.Spool) ([]pool.Claim, error) {
	joblog.Finish(sp, c.Config.NobodySlotUser, c.Warn)
	claims, err := claimsHere(c, sp)
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		if claim.State == pool.RunningClaim || claim.State == pool.Vacating {
			r.lookAfter(c, sp, claim)
		}
	}
	return r.promised(c, sp, claims)
}

// promised returns the claims as they are after lost claims have ended and promises of their slots have
// become matches.
func (r *report) promised(c *cmdline.Call, sp *spool.Spool, claims []pool.Claim) ([]pool.Claim, error) {
	if !slices.ContainsFunc(claims, func(k pool.Claim) bool { return k.State == pool.Promised }) {
		return claims, nil
	}
	arrived, err := arrive(c, sp)
	if err != nil || !arrived && len(r.Lost) == 0 {
		return claims, err
	}
	return claimsHere(c, sp)
}

// arrive turns promises of slots into matches if the slots' ads no longer say that they are held.
func arrive(c *cmdline.Call, sp *spool.Spool) (arrived bool, err error) {
	err = sp.View(func(v *spool.View) error { arrived = len(lifecycle.Arriving(v)) > 0; return nil })
	if err != nil || !arrived {
		return false, err
	}
	return true, lifecycle.Account(sp, c.Reading(), func(tx *spool.Tx) error {
		tx.Op("slots came free")
		lifecycle.Arrive(tx, c.Now)
		return nil
	})
}

// claimsHere returns the claims on slots of this machine, by ascending job,
// and removes the files of claims and jobs that have ended.
func claimsHere(c *cmdline.Call, sp *spool.Spool) ([]pool.Claim, error) {
	host, err := c.Hostname()
	if err != nil {
		return nil, err
	}
	sp.NoteServed(host) // only negotiate -health depends on it
	left := findLeftBehind(machineFor(c.Config, sp), sp)
	var here []pool.Claim
	err = sp.View(func(v *spool.View) error {
		claims := v.Claims()
		left.spare(v, claims)
		for _, claim := range claims {
			if strings.EqualFold(claim.Machine, host) {
				here = append(here, claim)
			}
		}
		return nil
	})
	if err == nil {
		left.sweep(sp)
	}
	return here, err
}

// print writes the report. Errors have been reported, a line each.
func (r *report) print(c *cmdline.Call, sp *spool.Spool) error {
	switch {
	case c.Has("json"):
		if err := c.JSON(r); err != nil {
			return err
		}
	case !c.Has("q"):
		fmt.Fprintf(c.Stdout, "%s started.\n", plural.Count(len(r.Started), "job"))
		if err := tellClosed(c, sp); err != nil {
			return err
		}
	}
	return c.Flush()
}

// supervisorDied is what a job's ad says when its supervisor has died: killed,
// or by a reboot.
const supervisorDied = "its supervisor died"

// lookAfter ends the claim of an attempt whose supervisor is gone.
func (r *report) lookAfter(c *cmdline.Call, sp *spool.Spool, claim pool.Claim) {
	id := claim.Job.String()
	path := sp.ClaimLock(claim.LockName())
	_, err := os.Stat(path)
	unsigned := errors.Is(err, os.ErrNotExist) // the next line makes the file
	lock, err := takeCharge(path)
	if errors.Is(err, errBusy) {
		return // it lives
	}
	if err == nil {
		var of family.Options
		var over bool
		if of, over, err = familyOfLost(c, sp, claim); over {
			lock.leave() // another pass has ended it: its job's next attempt may have the same name
			return
		}
		if err == nil {
			err = killLeft(lock, of, c.Config.KillingTimeout)
		}
		if err != nil {
			lock.close()
		}
	}
	if err != nil {
		c.Warn("job %s: %v", id, err)
		r.fail(id, err.Error(), errors.Is(err, spool.ErrLocked))
		return
	}
	reached(supervise.Alone)
	// First: it may have filled the disk, and recording the end needs room.
	if err := folderOf(c.Config, sp).Remove(claim.LockName()); err != nil {
		c.Warn("job %s: %v", id, err)
	}
	reached(supervise.Tidied)
	how := pool.Ending{Lost: supervisorDied, Died: true}
	signed := lock.signed()
	if booted := c.Reading().Clock.Booted(); claim.StartedAt.Before(booted) && (unsigned || signed.Before(booted)) {
		// A file system may have lost the latest signs, too.
		if last := lastEvent(sp, booted); unsigned || last.After(signed) {
			signed = last
		}
	}
	e := end{how, ended(c.Reading(), signed), c.Reading()}
	complain := func(err error) { c.Warn("job %s: %v", id, err) }
	err = finish(sp, new(lifecycle.Answers), pool.Attempt{Job: claim.Job, Number: claim.Attempt}, lock.file, e, c.Config.Params, c.Config.NobodySlotUser, complain, nil)
	if err != nil {
		lock.leave() // the end may be recorded in spite of the error, and the log lack it
		if !errors.Is(err, pool.ErrGone) {
			c.Warn("job %s: %v", id, err)
			r.fail(id, err.Error(), errors.Is(err, spool.ErrLocked))
		}
		return
	}
	defer lock.remove()
	c.Warn("job %s: %s on %s; the claim was ended", id, supervisorDied, claim.Slot)
	r.Lost = append(r.Lost, failure{id, supervisorDied})
}

// familyOfLost returns the family of an attempt without a supervisor, and whether the attempt has
// ended since the claim was read. The caller has the record lock of the claim, so that no other process
// ends the attempt from now on.
func familyOfLost(c *cmdline.Call, sp *spool.Spool, claim pool.Claim) (of family.Options, over bool, err error) {
	err = sp.View(func(v *spool.View) error {
		now, there := v.Claim(claim.Job)
		over = !there || now.Attempt != claim.Attempt
		ad, _ := v.Job(claim.Job)
		of = machineFor(c.Config, sp).FamilyOf(pool.Attempt{Job: claim.Job, Number: claim.Attempt}, ad)
		return nil
	})
	return of, over, err
}

// ended returns when an attempt ended whose supervisor has died after its last sign of life at signed:
// now, as processes of the job may have run until now; but the time of that sign
// if the machine was booted since, so that the time that the machine was off is not charged. Where
// the claim's file is gone, as after spool restore, signed is the last event before the boot.
func ended(now accountant.Reading, signed time.Time) time.Time {
	if now.Clock.Known() && !signed.IsZero() && signed.Before(now.Clock.Booted()) {
		return signed
	}
	return now.Now
}

// lastEvent returns the time of the last event before the machine was booted: a job that the spool has
// as running ran at least until then. It is zero where that is not known.
func lastEvent(sp *spool.Spool, booted time.Time) (last time.Time) {
	sp.View(func(v *spool.View) error { last = pool.LastEvent(v, booted); return nil })
	return last
}

// killLeft kills the remaining processes of a job without a supervisor until none has the claim's pipe
// open any more, for at most the time patience.
func killLeft(lock *claimLock, o family.Options, patience time.Duration) error {
	if _, err := family.Survivors(o, patience); err != nil {
		return fmt.Errorf("%s, and %w", supervisorDied, err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		alive, err := lock.isAlive()
		if err != nil || !alive {
			return err
		}
		if killed := family.EndHolders(lock.pipePath()); time.Now().After(end) {
			return fmt.Errorf("%s, and %d processes of the job are still there %v after SIGKILL", supervisorDied, killed, patience)
		}
	}
}

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/pool"
	"fairspool/spool"
)

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
	reached(stepAlone)
	// First: the disk may be full of it, and the end need room.
	if err := removeScratch(scratchFolder(c.Config, sp), claim.LockName()); err != nil {
		c.Warn("job %s: %v", id, err)
	}
	reached(stepTidied)
	how := operation.Ending{Lost: supervisorDied, Died: true}
	signed := lock.signed()
	if booted := c.Reading().Clock.Booted(); claim.StartedAt.Before(booted) && (unsigned || signed.Before(booted)) {
		// A file system may have lost the latest signs, too.
		if last := lastEvent(sp, booted); unsigned || last.After(signed) {
			signed = last
		}
	}
	e := end{how, ended(c.Reading(), signed), c.Reading()}
	complain := func(err error) { c.Warn("job %s: %v", id, err) }
	err = finish(sp, attempt{claim.Job, claim.Attempt}, lock.file, e, c.Config.Params, c.Config.NobodySlotUser, complain, nil)
	if err != nil {
		lock.leave() // the end may be recorded all the same, and the log lack it
		if !errors.Is(err, operation.ErrGone) {
			c.Warn("job %s: %v", id, err)
			r.fail(id, err.Error(), errors.Is(err, spool.ErrLocked))
		}
		return
	}
	defer lock.remove()
	c.Warn("job %s: %s on %s; the claim was ended", id, supervisorDied, claim.Slot)
	r.Lost = append(r.Lost, failure{id, supervisorDied})
}

// familyOfLost returns what keeps the processes of an attempt together whose supervisor is gone,
// and whether it has ended since the claim was read. The caller has the record lock of the claim,
// so that nobody else ends it from now on.
func familyOfLost(c *cmdline.Call, sp *spool.Spool, claim pool.Claim) (of family.Options, over bool, err error) {
	err = sp.View(func(v *spool.View) error {
		now, there := v.Claim(claim.Job)
		over = !there || now.Attempt != claim.Attempt
		ad, _ := v.Job(claim.Job)
		of = familyOf(c.Config, sp, claim, ad)
		return nil
	})
	return of, over, err
}

// ended returns when an attempt ended whose supervisor is found gone, and gave its
// last sign of life at signed: now, as what is left of a job may run for as long;
// but when the machine was booted since, that sign is the last that is known of
// it, and the time that the machine was off is nobody's. Where the file is gone, as
// in a spool that was restored, the last event before that is such a sign.
func ended(now accountant.Reading, signed time.Time) time.Time {
	if now.Clock.Known() && !signed.IsZero() && signed.Before(now.Clock.Booted()) {
		return signed
	}
	return now.Now
}

// lastEvent returns the last event before the machine was booted: what the spool
// says was running then ran at least until that. It is zero where that cannot be
// told.
func lastEvent(sp *spool.Spool, booted time.Time) (last time.Time) {
	if err := sp.View(func(v *spool.View) error { last = operation.LastEvent(v, booted); return nil }); err != nil {
		return time.Time{}
	}
	return last
}

// lockFiles returns the names of all claims' files.
func lockFiles(sp *spool.Spool) map[string]bool {
	entries, _ := os.ReadDir(sp.ClaimLock(""))
	names := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), pipeName)
		if _, err := parseAttempt(name); err == nil {
			names[name] = true
		}
	}
	return names
}

// familyOf returns what the processes of an attempt are kept together by. Those of a job of
// the standard universe may be made again in a later attempt, with the environment that
// they had, so that all of its attempts have one name.
func familyOf(cfg *config.Config, sp *spool.Spool, claim pool.Claim, ad *classad.Ad) family.Options {
	name := claim.LockName()
	if ad != nil && isStandard(ad) {
		name = claim.Job.String()
	}
	return family.Options{Name: familyPrefix(sp) + name, Base: cfg.BaseCgroup}
}

func isStandard(ad *classad.Ad) bool {
	n, ok := ad.EvalInt(&classad.Context{}, pool.AttrJobUniverse)
	return ok && pool.Universe(n) == pool.Standard
}

// familyPrefix begins the names of the families of a spool. Copies of a spool have its id,
// and claims of the same names, so that its directory is part of it.
func familyPrefix(sp *spool.Spool) string {
	dir := sp.Dir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(sp.ID() + "\x00" + dir))
	return fmt.Sprintf("%x-", sum[:8])
}

// sweepCgroups removes the cgroups of attempts whose supervisors died when all had ended.
// A supervisor has its lock file for as long as it has a cgroup.
func sweepCgroups(cfg *config.Config, sp *spool.Spool) {
	prefix := familyPrefix(sp)
	family.Sweep(cfg.BaseCgroup, func(group string) bool {
		name, ours := strings.CutPrefix(group, prefix)
		if !ours {
			return true
		}
		if _, err := parseAttempt(name); err != nil {
			locks, err := filepath.Glob(sp.ClaimLock(name + ".*")) // of any attempt of the job
			return err != nil || len(locks) > 0
		}
		_, err := os.Lstat(sp.ClaimLock(name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// killLeft kills what is left of a job whose supervisor is gone, until none of it has the claim's pipe
// open any more. It has the patience to go.
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

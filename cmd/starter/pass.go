package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// report is what a pass did, as -json prints it.
type report struct {
	Started []string
	Failed  []failure // jobs that could not be started, or rescued from a dead supervisor
	Lost    []failure // jobs whose supervisor had died, and whose claim was ended
	locked  int       // of the Failed, those that only the locked spool kept
}

type failure struct{ Job, Reason string }

// fail notes that a job could not be started or rescued.
func (r *report) fail(id, why string, locked bool) {
	r.Failed = append(r.Failed, failure{id, why})
	if locked {
		r.locked++
	}
}

// status is the error that says what became of the pass, all of which was told.
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
	sp.Close() // a pass that waits keeps nothing from being swept away
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

// around looks after the claims that have been started and after events of jobs that are still
// to be written, and returns all claims of this machine as they are then.
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

// promised returns the claims as they are after those that were lost have ended, and
// with it what others waited for.
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

// arrive makes Matched what waits for slots that others held by the slots' own words,
// and hold no more.
func arrive(c *cmdline.Call, sp *spool.Spool) (arrived bool, err error) {
	err = sp.View(func(v *spool.View) error { arrived = len(operation.Arriving(v)) > 0; return nil })
	if err != nil || !arrived {
		return false, err
	}
	return true, operation.Account(sp, c.Reading(), c.Warn, func(tx *spool.Tx) error {
		tx.Op("slots came free")
		operation.Arrive(tx, c.Now)
		return nil
	})
}

// claimsHere returns the claims on slots of this machine, by ascending job,
// and removes the files of claims and jobs that are long gone.
func claimsHere(c *cmdline.Call, sp *spool.Spool) ([]pool.Claim, error) {
	host, err := c.Hostname()
	if err != nil {
		return nil, err
	}
	sp.NoteServed(host) // what cannot be noted is only asked for by negotiate -health
	left := findLeftBehind(c.Config, sp)
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
		sweepCgroups(c.Config, sp)
	}
	return here, err
}

// print writes the report: bad news has been told line by line already.
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

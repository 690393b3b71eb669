package starter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// report is the output of a pass with -json.
type report struct {
	Started []string
	Failed  []failure // jobs that could not be started, or had a claim that could not be ended
	Lost    []failure // jobs with a dead supervisor and an ended claim
	locked  int       // the jobs of Failed that failed only for the spool's lock
}

type failure struct{ Job, Reason string }

// outputs are what -json prints: of a pass, and the lines of a watch and of a drain.
func outputs() []cmdline.Output {
	return []cmdline.Output{
		{Name: "starter", Value: report{}}, {Name: "starter-watch", Value: passed{}}, {Name: "starter-reload", Value: reloaded{}},
		{Name: "starter-drain", Value: drained{}}, {Name: "starter-drain-left", Value: emptied{}}, {Name: "starter-drain-cancel", Value: reopened{}},
	}
}

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
func pass(c *cmdline.Call, o options) error {
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
	var matched []pool.Attempt
	for _, claim := range claims {
		if claim.State == pool.Matched {
			matched = append(matched, pool.Attempt{Job: claim.Job, Number: claim.Attempt})
		}
	}
	supervisors, err := r.start(c, desk.Prefix(sp), matched)
	if err != nil {
		return err
	}
	if len(r.Lost) > 0 {
		c.Changed()
	}
	err = r.print(c, o, sp)
	sp.Close() // a pass that waits keeps no old generation
	if o.wait {
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
	n, err := desksOf(c, sp, c.Reading, nil)
	if err != nil {
		return nil, err
	}
	claims, err := claimsHere(c, n)
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		if claim.State == pool.RunningClaim || claim.State == pool.Vacating {
			r.lookAfter(c, n, claim)
		}
	}
	if err := r.endUnheard(c, sp); err != nil {
		c.Warn("%v", err)
	}
	if err := startHooks(c, sp); err != nil {
		c.Warn("commands for events: %v", err)
	}
	return r.promised(c, n, claims)
}

// promised returns the claims as they are after lost claims have ended and promises of their slots have
// become matches.
func (r *report) promised(c *cmdline.Call, n *desk.Desks, claims []pool.Claim) ([]pool.Claim, error) {
	if !slices.ContainsFunc(claims, func(k pool.Claim) bool { return k.State == pool.Promised }) {
		return claims, nil
	}
	arrived, err := arrive(c, n.Spool)
	if err != nil || !arrived && len(r.Lost) == 0 {
		return claims, err
	}
	return claimsHere(c, n)
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
func claimsHere(c *cmdline.Call, n *desk.Desks) ([]pool.Claim, error) {
	host, err := c.Hostname()
	if err != nil {
		return nil, err
	}
	n.Spool.NoteServed(host) // only negotiate -health depends on it
	left := n.LeftBehind()
	var here []pool.Claim
	err = n.Spool.View(func(v *spool.View) error {
		claims := v.Claims()
		left.Spare(v, claims)
		for _, claim := range claims {
			if strings.EqualFold(claim.Machine, host) {
				here = append(here, claim)
			}
		}
		return nil
	})
	if err == nil {
		left.Sweep()
	}
	return here, err
}

// print writes the report. Errors have been reported, a line each.
func (r *report) print(c *cmdline.Call, o options, sp *spool.Spool) error {
	switch {
	case o.json:
		if err := c.JSON(r); err != nil {
			return err
		}
	case !o.quiet:
		fmt.Fprintf(c.Stdout, "%s started.\n", plural.Count(len(r.Started), "job"))
		if err := tellClosed(c, sp); err != nil {
			return err
		}
	}
	return c.Flush()
}

// lookAfter ends the claim of an attempt whose supervisor is gone.
func (r *report) lookAfter(c *cmdline.Call, n *desk.Desks, claim pool.Claim) {
	id := claim.Job.String()
	over, err := n.EndLost(claim, func(err error) { c.Warn("job %s: %v", id, err) })
	switch {
	case err != nil:
		c.Warn("job %s: %v", id, err)
		r.fail(id, err.Error(), errors.Is(err, spool.ErrLocked))
	case over:
		c.Warn("job %s: %s on %s; the claim was ended", id, desk.SupervisorDied, claim.Slot)
		r.Lost = append(r.Lost, failure{id, desk.SupervisorDied})
	}
}

// endUnheard ends the claims on machines with pilots that have not been heard of for so long that they have ended
// their jobs themselves.
func (r *report) endUnheard(c *cmdline.Call, sp *spool.Spool) error {
	boot, up := cmdline.Uptime()
	elapsed := heard.By(sp.Dir(), boot, up)
	var given []pool.Claim
	var silent []pool.Pilot
	err := sp.View(func(v *spool.View) error {
		given, silent = lifecycle.Unheard(v, elapsed, c.Config.JobLease), lifecycle.Silent(v, elapsed, c.Config.JobLease)
		return noteUnknown(sp, v, heard.Sign{Boot: boot, Up: up, At: c.Now})
	})
	if err != nil || len(given)+len(silent) == 0 {
		return err
	}
	var events joblog.Events
	var reasons []string // as given
	now := c.Reading()
	err = lifecycle.Account(sp, now, func(tx *spool.Tx) error {
		events, reasons, given = joblog.For(c), nil, lifecycle.Unheard(&tx.View, elapsed, c.Config.JobLease)
		for _, claim := range given {
			sign, _, _ := heard.Last(sp.Dir(), claim.Machine)
			reasons = append(reasons, notHeardOf(&tx.View, claim, elapsed))
			if err := desk.EndGone(tx, claim, reasons[len(reasons)-1], sign.At, now, c.Config.Params, &events); err != nil {
				return err
			}
		}
		for _, p := range lifecycle.Silent(&tx.View, elapsed, c.Config.JobLease) {
			lifecycle.Bye(tx, p.ID, "it has not been heard of", now.Now, c.Config.Params)
		}
		tx.UseReserve()
		if len(given) == 0 || tx.Forked {
			return nil
		}
		return events.Keep(sp, c.Now)
	})
	if err != nil {
		events.Release()
		return err
	}
	events.Write(c)
	for i, claim := range given {
		id, why := claim.Job.String(), reasons[i]
		c.Warn("job %s: %s; the claim was ended", id, why)
		r.Lost = append(r.Lost, failure{id, why})
	}
	return nil
}

// notHeardOf returns why a claim is given up, with what is known of its pilot, such as the state that a batch
// engine gives.
func notHeardOf(v *spool.View, claim pool.Claim, elapsed func(string) (time.Duration, bool)) string {
	ago, _ := elapsed(claim.Machine)
	why := "its machine " + claim.Machine + " was not heard of for " + ago.Round(time.Second).String()
	for _, p := range spool.Pilots.All(v) {
		if p.State == pool.Leaving && p.Why != "" && strings.EqualFold(p.Machine, claim.Machine) {
			why += "; " + p.Why
		}
	}
	return why
}

// noteUnknown starts the time limit for machines with claims of pilots of which no sign is known, as after spool
// restore.
func noteUnknown(sp *spool.Spool, v *spool.View, now heard.Sign) (err error) {
	seen := map[string]bool{}
	for _, c := range v.Claims() {
		if c.Instance == "" || seen[c.Machine] {
			continue
		}
		seen[c.Machine] = true
		if _, known, e := heard.Last(sp.Dir(), c.Machine); e == nil && !known {
			err = errors.Join(err, heard.Note(sp.Dir(), c.Machine, now))
		}
	}
	return err
}

package starter

import (
	"errors"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/heard"
)

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

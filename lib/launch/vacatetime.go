package launch

import (
	"math"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// longest is a time that no job and no machine needs, but that a Duration holds.
const longest = 1e9 * time.Second

// durationOf returns a number of seconds as a time from 0 to longest; ok is false for a
// NaN.
func durationOf(seconds float64) (d time.Duration, ok bool) {
	switch {
	case math.IsNaN(seconds):
		return 0, false
	case seconds >= longest.Seconds():
		return longest, true
	}
	return time.Duration(max(seconds, 0) * float64(time.Second)), true
}

// VacateTime returns how long a job may take to leave after the kill signal:
// JobMaxVacateTime, else KillSigTimeout (both in seconds, a time below zero is none), but
// no more than the machine allows, which is also what a job gets that asks for nothing. A
// job that asks for more may use what remains of its retirement time for it, if that is
// more than the machine allows. Source: condor.md's section on vacating, HTCondor's
// Resource::evalMaxVacateTime.
func VacateTime(ad *classad.Ad, machine, remaining time.Duration) time.Duration {
	for _, name := range []string{pool.AttrMaxVacateTime, pool.AttrKillSigTimeout} {
		seconds, ok := ad.EvalNumber(&classad.Context{}, name)
		if !ok {
			continue
		}
		if asked, ok := durationOf(seconds); ok {
			return min(asked, max(machine, remaining))
		}
	}
	return machine
}

// Retirement returns how long a job may run, from its start on, though another is to
// have its slot or its machine is to be empty: the slot's MaxJobRetirementTime, else
// limit, evaluated with the slot as MY and the job as TARGET, both in seconds. The job's
// own MaxJobRetirementTime may shorten it. What is no number counts as 0 for the slot,
// and as not said for the job. It is for a Leaving that Retires.
func Retirement(c *classad.Context, limit *classad.Expr, slot, job *classad.Ad) time.Duration {
	v := limit.Eval(c, slot, job)
	if slot.Has(pool.AttrMaxJobRetirementTime) {
		v = slot.Eval(c, pool.AttrMaxJobRetirementTime, job)
	}
	seconds, _ := v.Number()
	allowed, _ := durationOf(seconds)
	if wants, ok := job.Eval(c, pool.AttrMaxJobRetirementTime, slot).Number(); ok {
		if d, ok := durationOf(wants); ok {
			return min(d, allowed)
		}
	}
	return allowed
}

// Retiring returns how long a job that has run for ran is still let run before it is told
// to leave, and how long it may then take: together they end with its retirement time,
// even if it takes all the time that it may, or as soon as the machine allows. Whoever
// does not retire is told at once, with a retirement of 0. Source: HTCondor's
// Resource::retirementExpired.
func Retiring(ad *classad.Ad, machine, retirement, ran time.Duration) (wait, vacate time.Duration) {
	remaining := max(retirement-max(ran, 0), 0)
	vacate = VacateTime(ad, machine, remaining)
	return max(remaining-vacate, 0), vacate
}

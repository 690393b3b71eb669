package maui

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// clock is what queue time counts from.
type clock struct {
	stopped bool
	since   int64
}

func (j *Job) clock() clock { return clock{j.Stopped, j.Since} }

// set makes the job go by a clock.
func (j *Job) set(c clock) { j.Stopped, j.Since = c.stopped, c.since }

// from returns a clock that runs. Nothing began before 1970, and 0 would be a clock that
// stands.
func from(since int64) clock { return clock{since: max(1, since)} }

// accrual returns the accrual policy. With USESYSTEMQUEUETIME off nothing stops a clock.
func (c *Config) accrual() Accrual {
	if !c.UseSystemQueueTime {
		return Always
	}
	return c.Accrual
}

// setClock sets the clock of jobs before their priority is known. ALWAYS counts all time
// since submission, whatever another policy made of it before. Otherwise a clock that stood
// begins anew when the job is considered; FULLPOLICY stops that of jobs that are not, or are
// kept by a limit on what runs.
func (q *Queue) setClock(s *Queued, limited bool) {
	switch policy := q.config.accrual(); {
	case policy == Always:
		s.Job.set(from(s.Job.Submitted))
	case policy == FullPolicy && (limited || s.Why != ""):
		s.Job.Stopped = true
	case s.Job.Stopped && s.Why == "":
		s.Job.set(from(q.world.Now.Unix()))
	}
}

// clocks returns those that differ from what the jobs' ads have.
func (q *Queue) clocks(places, blocked []*Queued, held []jobprio.Run) (changed []jobprio.Clock) {
	note := func(p jobprio.Procs, held bool, stored, now clock) {
		switch {
		case now.stopped && !stored.stopped:
			changed = append(changed, jobprio.Clock{Procs: p, Held: held})
		case !now.stopped && now != stored:
			changed = append(changed, jobprio.Clock{Procs: p, Held: held, Since: now.since})
		}
	}
	for _, all := range [...][]*Queued{places, blocked} {
		for _, s := range all {
			note(s.Procs, false, s.stored, s.Job.clock())
		}
	}
	c := &classad.Context{Now: q.world.Now}
	for i, r := range held {
		if q.stopsHeld(c, r) {
			j := JobOf(c, r)
			note(jobprio.Procs{Run: i, Count: r.Count()}, true, j.clock(), clock{stopped: true})
		}
	}
	return changed
}

// stopsHeld says whether the clock of jobs stands while they are held or wait for others.
// Maui 3.3.1 never looks so far at jobs that are held (observed).
func (q *Queue) stopsHeld(c *classad.Context, r jobprio.Run) bool {
	if q.config.accrual() != FullPolicy {
		return false
	}
	status, _ := r.Ad.EvalInt(c, pool.AttrJobStatus)
	return !q.config.Compatible || pool.Status(status) != pool.Held
}

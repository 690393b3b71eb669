package sge

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// Job returns the facts of a run of procs by the queue's configuration, as JobOf does: of
// jobs that neither wait nor run, which no Listing has. Many goroutines may ask.
func (q *Queue) Job(ctx *classad.Context, r jobprio.Run) Job { return q.reader.job(ctx, r) }

// SlotsContribution returns what a job's slots add to its urgency (Seed, hrr): that of one
// slot times the assumed slots and the processors of each.
func (c *Config) SlotsContribution(j *Job) float64 {
	return cut(c.slotUrgency() * float64(j.Slots) * j.CPUs)
}

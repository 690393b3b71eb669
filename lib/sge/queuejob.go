package sge

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// Job returns the facts of a run of procs by the queue's configuration, also of jobs that
// neither wait nor run, which no Listing has. Attributes are evaluated in the run's ad alone,
// which is that of its first proc: an expression that needs ProcId counts for all as for this
// one. Values of the wrong kind are as if there were none, and so are deadlines, priorities,
// shares and tickets that are not constants. Many goroutines may ask.
//
// A job that asks for slots in a way that Slots does not know, or of a parallel environment
// that is not there any more, counts as one with a single slot.
func (q *Queue) Job(ctx *classad.Context, r jobprio.Run) Job { return q.reader.job(ctx, r) }

// SlotsContribution returns what a job's slots add to its urgency (Seed, hrr): that of one
// slot times the assumed slots and the processors of each.
func (c *Config) SlotsContribution(j *Job) float64 { return slotsAdd(j, c.slotUrgency()) }

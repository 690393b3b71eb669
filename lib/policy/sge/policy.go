// Package sge adapts Grid Engine's policy to the pool: its settings, its queue, its rules for
// attributes, and its part of lists. The arithmetic is fairspool/lib/sge.
//
// Its settings are the table [sge], with parameters of sched_conf(5) and objects under their own
// names, and the saved output of qconf that the table names. Reading those files never fails: problems
// become warnings. The table overrides them.
package sge

import (
	"fmt"
	"math"
	"time"

	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// policyName is also the table's name.
const policyName = "sge"

// Policy is Grid Engine's.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return policyName }

// Inert says why the share tree has no effect; it is empty if the tree does.
func Inert(c *config.Config) string {
	s := Settings(c)
	switch {
	case c.JobPriorityPolicy != policyName:
		return fmt.Sprintf("JOB_PRIORITY_POLICY is %q and not %q", c.JobPriorityPolicy, policyName)
	case s.TicketsShare == 0:
		return "weight_tickets_share is 0"
	case s.WeightTicket == 0 && c.RunTime.Interval == 0:
		return "weight_ticket is 0, and so is reprioritize_interval"
	}
	return ""
}

// Queue returns the queue by dispatch priority.
func (Policy) Queue(c *config.Config, from policy.Sources) jobprio.Queue { return queueOf(c, from) }

func queueOf(c *config.Config, from policy.Sources) *sge.Queue {
	q := sge.NewQueue(Settings(c), World(c, from))
	q.KeepTickets(c.RunTime.Interval > 0)
	q.SpareRunning(!delivers(c.RunTime.Interval, from.Delivered, from.Now))
	return q
}

// Beside selects the jobs that have a claim.
func (Policy) Beside(*config.Config) policy.Beside { return policy.Beside{Running: true} }

// World returns what Grid Engine's priorities are reckoned with: usage if there is a share
// tree that gives tickets, and the free slots.
func World(cfg *config.Config, from policy.Sources) sge.World {
	c := Settings(cfg)
	w := sge.World{Now: from.Now}
	w.FreeSlots = freeSlots(from.Summarized(), from.Claims())
	if c.TicketsShare > 0 && c.Tree != nil {
		w.Used = sge.UsedOf(from.Tallies(), cfg.Decay, from.Now)
	}
	return w
}

// freeSlots returns the number of free slots in the pool. A partitionable slot counts as
// many as it has free processors, any other as one. Slots that others hold, by the slot's
// own words, and drained ones are not free.
func freeSlots(slots []pool.SlotSummary, claims []pool.Claim) (n int64) {
	taken, pieces := make(map[string]bool, len(claims)), map[string][]pool.Resources{}
	for _, c := range claims {
		taken[c.Slot] = true
		if c.Piece.Of != "" && c.State != pool.Promised { // it shares the piece that is being vacated
			pieces[c.Piece.Of] = append(pieces[c.Piece.Of], c.Piece.Takes)
		}
	}
	for i := range slots {
		switch s := &slots[i]; {
		case !s.Vacant() || taken[s.Name]:
		case s.Partitionable:
			n += int64(min(s.CpusLeft(pieces[s.Name]), math.MaxInt32))
		default:
			n++
		}
	}
	return n
}

// delivers reports whether a cycle is to write the tickets of running jobs: the first in
// each multiple of reprioritize_interval, because they are not read more often. Each
// delivery changes the job's ad, for which a fold of the journal makes a cluster anew.
func delivers(every time.Duration, last, now time.Time) bool {
	number := func(t time.Time) float64 { return math.Floor(float64(t.Unix()) / every.Seconds()) }
	return every > 0 && (last.IsZero() || number(last) != number(now))
}

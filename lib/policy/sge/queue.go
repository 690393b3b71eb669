package sge

import (
	"math"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

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
	from.Slots(func(slots []pool.Slot) { w.FreeSlots = freeSlots(slots, from.Claims()) })
	if c.TicketsShare > 0 && c.Tree != nil {
		w.Used = sge.UsedOf(from.Tallies(), cfg.Decay, from.Now)
	}
	return w
}

// freeSlots returns the number of free slots in the pool. A partitionable slot counts as
// many as it has free processors, any other as one. Slots that others hold, by the slot's
// own words, and drained ones are not free.
func freeSlots(slots []pool.Slot, claims []pool.Claim) (n int64) {
	taken, pieces := map[string]bool{}, map[string][]pool.Resources{}
	for _, c := range claims {
		taken[c.Slot] = true
		if c.Piece.Of != "" && c.State != pool.Promised { // it shares the piece that is being vacated
			pieces[c.Piece.Of] = append(pieces[c.Piece.Of], c.Piece.Takes)
		}
	}
	eval := &classad.Context{}
	for _, s := range slots {
		switch {
		case taken[s.Name] || !negotiator.Vacant(eval, s.Ad):
		case pool.Partitionable(eval, s.Ad):
			n += int64(min(pool.AmountOf(eval, pool.Left(eval, s.Ad, pieces[s.Name]), pool.AttrCpus), math.MaxInt32))
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

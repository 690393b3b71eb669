// Package deal says who is entitled to what in a negotiation cycle, and gives the slots to the
// jobs. Each phase is a struct with the one before in it, so that none asks those behind it:
//
//   - slots.go: what there is: slots, who holds them, matches that nobody took up (inventory)
//   - submitters.go: who wants something, with which jobs (roster)
//   - autocluster.go, class.go, running.go, partition.go: what becomes of autoclusters, groups and
//     classes, running slots and pieces (arrangement)
//   - shares.go, forecast.go, groups.go: who is entitled to what (entitlement)
//   - order.go: which slot is the best (offers)
//   - preempt.go: who has to go for whom, and who would yield at all (preemption)
//   - reserve.go: slots kept for wide jobs (reservations)
//   - fill.go: turn by turn (dealer), by shares: floors first, group by group (shareDealer)
//   - onequeue.go: by the one queue of a policy that has one (queueDealer)
//   - spins.go, spinturn.go: HTCondor's division (spinning)
//   - putoff.go: whose jobs were put off
//   - deal.go: all of it (Outcome)
package deal

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// Outcome is a negotiation cycle. Each phase is a struct that has the one before in it, so
// that none can ask those behind it: common, inventory, roster, arrangement, shares,
// offers, preemption, reservations, dealer.
type Outcome struct {
	dealer
}

// Out does all of a cycle but to say why.
func Out(p negotiator.Pool, cfg negotiator.Config, now time.Time) *Outcome {
	if cfg.Queue != nil { // there are no shares, so that nobody preempts for one
		cfg.Pie, cfg.IgnoreUserPriorities, cfg.Preemption.Requirements = negotiator.MaxMin, false, nil
	}
	if cfg.Division == nil {
		cfg.Division = shares.Targets
	}
	c := newCycle(p, cfg, now)
	lasting := c.giveUp(p.Claims, p.Backoffs)
	c.OneQueue = c.newOneQueue(p)
	c.InUse = concurrency.NewInUse(cfg.Limits)
	c.lookAtSlots(p, lasting)
	jobs := withoutClaimed(p.Jobs, lasting)
	c.recall(p.Reservations, jobs)
	waiting := c.gather(p.Submitters, jobs, lasting)
	c.GroupUse = c.newGroupUse()
	c.shape(jobs, waiting)
	c.bundleUp()
	c.fill()
	c.settleQueue()
	c.settleGroupUse()
	c.inGroupOrder()
	c.Plan.PutOff = c.putOffs()
	return c
}

// newCycle returns a cycle that has looked at nothing of a pool yet.
func newCycle(p negotiator.Pool, cfg negotiator.Config, now time.Time) *Outcome {
	c := &Outcome{}
	c.Config, c.Now, c.Plan = cfg, now, &negotiator.Plan{}
	c.Payers = shapes.NewPayers(&classad.Context{Now: now}, cfg.Steps, p.Taken, p.PutOff)
	c.pieces, c.named, c.spent = map[piece]accountant.Weight{}, map[string]bool{}, map[pool.JobID]bool{}
	return c
}

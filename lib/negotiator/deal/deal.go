// Package deal computes the submitters' entitlements in a negotiation cycle, and gives
// the slots to the jobs. Each phase is a struct that embeds the previous one, so that no
// phase uses a later one:
//
//   - slots.go: the slots, their holders, and matches that no starter took up (inventory)
//   - room.go: memory that one cycle has of the one before
//   - submitters.go: the submitters that want slots, with their jobs (roster)
//   - autocluster.go, class.go, running.go: autoclusters, groups and classes, running slots and pieces (arrangement)
//   - shares.go, forecast.go, groups.go: each submitter's entitlement (entitlement)
//   - order.go: the best slot for a job (offers)
//   - preempt.go: which jobs may have to leave for others (preemption)
//   - reserve.go: slots kept for wide jobs (reservations)
//   - fill.go: the ways to deal (dealing); turn by turn (dealer); by shares: floors first, group by group (shareDealer)
//   - onequeue.go: by the one queue of a policy that has one (queueDealer)
//   - spins.go, spinturn.go: HTCondor's division (spinning)
//   - deal.go: the whole deal (Outcome)
//   - protect.go: after the deal, the protection of running slots from other jobs
//   - fork.go: an outcome after some jobs have ended (Fork)
//
// Autoclusters that rank alike share an order; an order and a group have a lane, a heap of the group's classes. An
// autocluster picks the best of its lanes' heads. A lane is made when it is first used, and its head is checked again
// when it comes to the front, since a class only grows worse as its slots are taken.
//
// Slots that run jobs are candidates of another kind. Slots of one holder that are equal in all that expressions look
// at are one set of tenants, in the order of PREEMPTION_RANK. Tenants of one holder that weigh the same, and yield to a
// job all or none, are an estate, which shares and quotas treat alike. The running slots of a group that jobs rank
// alike are a level, in the order of PREEMPTION_RANK, made once for all jobs that NEGOTIATOR_PRE_JOB_RANK and
// NEGOTIATOR_POST_JOB_RANK cannot tell apart. A job chooses among the heads of its groups' levels, and passes over the
// slots of estates that it may not preempt.
package deal

import (
	"cmp"
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// Outcome is a deal: all that is known of the pool, and what came of it.
type Outcome struct {
	dealer
	by       dealing
	lastOf   map[string]int // by slot, once asked for: the number of the last match with it, from 1
	sameSlot []int          // by match: the previous match with the same slot; 0: none
	claimed  []claimedSlots // once asked for
	visits   int            // of these, to find what protects them
}

// UnderCeiling reports whether a submitter's ceiling allows it one more slot of a weight.
func (c *Outcome) UnderCeiling(s *Submitter, w accountant.Weight) bool {
	return c.by.underCeiling(s, w)
}

// Out deals out the slots of a pool as of now. The plan says all but why: it has no Rejections,
// Standings, Autoclusters, Explained and no Succession.
func Out(p negotiator.Pool, cfg negotiator.Config, now time.Time) *Outcome {
	if cfg.Queue != nil { // there are no shares, so there is no preemption for shares
		cfg.Pie, cfg.IgnoreUserPriorities, cfg.Preemption.Requirements = negotiator.MaxMin, false, nil
	}
	if cfg.Division == nil {
		cfg.Division = shares.Targets
	}
	c := &Outcome{}
	c.Config, c.Now, c.Plan = cfg, now, &negotiator.Plan{}
	c.Payers = shapes.NewPayers(&classad.Context{Now: now}, cfg.Steps, p.Taken, p.PutOff)
	c.pieces, c.spent, c.learned = map[piece]accountant.Weight{}, map[pool.JobID]bool{}, p.Learned
	c.views, c.asked, c.asking = jobprio.NewViews(), map[*classad.Ad]float64{}, classad.NewOrigin(requestCpusName)
	lasting := c.giveUp(p.Claims, p.Backoffs)
	c.OneQueue = c.newOneQueue(p)
	c.InUse = concurrency.NewInUse(cfg.Limits)
	c.lookAtSlots(p, lasting)
	jobs := withoutClaimed(p.Jobs, lasting)
	c.recall(p.Reservations, jobs)
	c.gather(p.Submitters, jobs, lasting)
	c.groupUse = c.newGroupUse()
	c.shape(jobs)
	c.Plan.Looked = c.lookedUp()
	if p.Lacks != nil && p.Lacks() {
		return c
	}
	c.bundleUp()
	c.by = c.newDealing()
	c.by.fill()
	c.Plan.PutOff = c.putOffs()
	c.Plan.Groups = c.accounts()
	for _, s := range c.Submitters {
		c.Plan.Submitters = append(c.Plan.Submitters, negotiator.Share{
			Name: s.Name, EffectivePriority: s.EUP, Priority: s.priority, Usage: s.before.Float(),
			PieSlice: s.Slice, Limit: s.limit, Idle: s.idle, Matched: s.matched, Demand: s.demand,
		})
	}
	return c
}

// lookedUp returns the names of the attributes that made slots and jobs differ.
func (c *arrangement) lookedUp() (names []string) {
	for _, name := range slices.Concat(c.InSlots, c.InJobs, c.telling) {
		names = append(names, name.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Taken reports, for each slot, whether it was free when the cycle began, and takes no more jobs.
func (c *Outcome) Taken() []bool {
	taken := make([]bool, len(c.Slots))
	for i := range c.Slots {
		s := &c.Slots[i]
		taken[i] = s.Standing == Free && (s.Whole == nil || c.once(s.Group))
	}
	for _, k := range c.classes {
		for _, i := range k.free {
			taken[i] = false
		}
	}
	return taken
}

// putOffs lists the owners with jobs that were put off, or found no slot for want of steps.
// The analysis takes steps, too, but puts no job off.
func (c *Outcome) putOffs() (list []negotiator.PutOff) {
	for _, k := range c.Clusters {
		k.Short = k.PutOff || k.Poor()
	}
	of := map[*shapes.Payer]*negotiator.PutOff{}
	for _, s := range c.Submitters {
		for _, q := range s.Queues {
			w := WaiterOf(q)
			if !q.Cluster.Short || w.Jobs == 0 {
				continue
			}
			for _, r := range w.Runs {
				x := of[r.Payer]
				if x == nil {
					x = &negotiator.PutOff{Owner: r.Payer.Owner, First: r.FirstJob()}
					of[r.Payer] = x
				}
				x.Jobs += r.Count()
				if r.Payer.Before(r.FirstJob(), x.First) {
					x.First = r.FirstJob()
				}
			}
		}
	}
	for _, x := range of {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b negotiator.PutOff) int { return cmp.Compare(a.Owner, b.Owner) })
	return list
}

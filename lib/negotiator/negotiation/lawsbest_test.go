package negotiation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// preemptions returns how a job that was matched could have preempted each running job by the
// slots' Rank, or for priority one of the holder whom it did preempt, as far as shares cannot
// tell the two apart.
func (r *replay) preemptions(m negotiator.Match) (list []negotiator.Match) {
	victims := func(slot string, v negotiator.Preempted) {
		other := m
		other.Slot, other.Piece, other.Preempts, other.Reason = slot, pool.Piece{}, &v, negotiator.RankPreemption
		ad, err := r.victim(other)
		if err != nil || !r.allows(r.cfg.SlotConstraint, slotOf(r.Pool, slot, pool.Piece{})) {
			return
		}
		other.Weight, other.Rank = r.weigh(slotOf(r.Pool, slot, pool.Piece{})), r.number(ad, "Rank", r.candidate(m))
		if r.lawful(other) == nil && other.Weight <= m.Weight {
			list = append(list, other)
			return
		}
		other.Reason = negotiator.PriorityPreemption
		if was := m.Preempts; m.Reason == other.Reason && was.Submitter == v.Submitter && was.Weight == v.Weight && other.Weight == m.Weight && r.lawful(other) == nil {
			list = append(list, other)
		}
	}
	for _, cl := range r.Claims {
		if cl.Piece.Of == "" {
			victims(cl.Slot, negotiator.Preempted{Job: cl.Job, Attempt: cl.Attempt, Submitter: cl.Submitter, Weight: cl.Weight, Ran: now.Sub(cl.StartedAt)})
		}
	}
	for _, s := range r.Slots {
		victims(s.Name, negotiator.Preempted{Submitter: r.cfg.Params.Groups.Spelled(negotiator.Holder(r.eval, s.Ad)), Weight: r.weigh(s.Ad)})
	}
	return list
}

// preference returns the place of a slot in a job's order: what is greater comes first.
func (r *replay) preference(m negotiator.Match) (keys []float64) {
	job := r.candidate(m)
	if m.Preempts == nil {
		return append(r.ranks(job, slotOf(r.Pool, m.Slot, m.Piece)), 2)
	}
	slot, _ := r.victim(m)
	reason := map[string]float64{negotiator.RankPreemption: 1}[m.Reason]
	return append(r.ranks(job, slot), reason, r.rank(r.cfg.Preemption.Rank, slot, job))
}

// Each job gets the best of the slots that it could have: by the ranks, of equals one that is
// free before one whose job the slot's Rank preempts, and that before one that is preempted for
// a priority, then by PREEMPTION_RANK, then by name.
func TestBestSlotIsTaken(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := busyConfig(rt, t)
		p := busyPool(rt, t, cfg, false, lawUsers)
		p, cfg = maybeQueued(rt, t, p, cfg)
		for i := range p.Submitters {
			p.Submitters[i].Ceiling = accountant.Limit{}
		}
		plan := Cycle(p, cfg, now)
		r := newReplay(p, cfg, plan)
		if r.asksOfUse() {
			return
		}
		free, _ := r.look(p)
		for _, m := range plan.Matches {
			mine := r.preference(m)
			for _, s := range free {
				other := m
				other.Slot, other.Preempts, other.Reason = s.name, nil, negotiator.NoPreemption
				if m.Preempts == nil && s.weight <= m.Weight && classad.Match(r.eval, r.candidate(m), s.ad) && slices.Compare(r.preference(other), mine) > 0 {
					rt.Fatalf("%s of %s gets %s, with %v, not %s, with %v\n%s", m.Job, m.Submitter, m.Slot, mine, s.name, r.preference(other), portrait(p, cfg))
				}
			}
			for _, other := range r.preemptions(m) {
				theirs := r.preference(other)
				if at := slices.Compare(theirs, mine); at > 0 || at == 0 && m.Preempts != nil && other.Weight == m.Weight && pool.CompareNames(other.Slot, m.Slot) < 0 {
					rt.Fatalf("%s of %s gets %s (%s), with %v, not %s (%s), with %v\n%s", m.Job, m.Submitter, m.Slot, m.Reason, mine, other.Slot, other.Reason, theirs, portrait(p, cfg))
				}
			}
			free = slices.DeleteFunc(free, func(s freeSlot) bool { return s.name == m.Slot })
			r.step(m)
		}
	})
}

// A submitter's jobs go in their order: none stays behind while a later one has a free slot
// that the first could have had.
func TestOwnJobsGoInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, false), lawConfig(rt, t)
		cfg.SkipClusters, cfg.RemoveSignificant, cfg.Reserve = false, nil, negotiator.Reserve{}
		plan := Cycle(p, cfg, now)
		r := rulesOf(cfg)
		free, _ := r.look(p)
		for _, m := range plan.Matches {
			at := slices.IndexFunc(free, func(s freeSlot) bool { return s.name == m.Slot })
			_, job := jobOf(p, m.Job)
			for _, rej := range plan.Rejections {
				for _, x := range rej.Jobs {
					id := pool.JobID{Cluster: x.Cluster, Proc: x.First}
					_, first := jobOf(p, id)
					earlier := jobprio.Compare(jobprio.NewViews().Of(r.eval, id, first), jobprio.NewViews().Of(r.eval, m.Job, job)) < 0
					if rej.Submitter == m.Submitter && earlier && at >= 0 && !first.Has("ConcurrencyLimits") && r.allows(cfg.JobConstraint, first) && classad.Match(r.eval, first, free[at].ad) {
						rt.Fatalf("%s of %s stays behind, but %s has %s\n%s", id, m.Submitter, m.Job, m.Slot, portrait(p, cfg))
					}
				}
			}
		}
	})
}

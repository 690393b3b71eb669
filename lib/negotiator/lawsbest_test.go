package negotiator

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// preemptions returns how a job that was matched could have preempted each running job by the
// slots' Rank, or for priority one of the holder whom it did preempt, as far as shares cannot
// tell the two apart.
func (r *replay) preemptions(m Match) (list []Match) {
	victims := func(slot string, v Preempted) {
		other := m
		other.Slot, other.Piece, other.Preempts, other.Reason = slot, pool.Piece{}, &v, RankPreemption
		ad, err := r.victim(other)
		if err != nil || !r.allows(r.cfg.SlotConstraint, slotOf(r.Pool, slot, pool.Piece{})) {
			return
		}
		other.Weight, other.Rank = r.weigh(slotOf(r.Pool, slot, pool.Piece{})), r.number(ad, "Rank", r.candidate(m))
		if r.lawful(other) == nil && other.Weight <= m.Weight {
			list = append(list, other)
			return
		}
		other.Reason = PriorityPreemption
		if was := m.Preempts; m.Reason == other.Reason && was.Submitter == v.Submitter && was.Weight == v.Weight && other.Weight == m.Weight && r.lawful(other) == nil {
			list = append(list, other)
		}
	}
	for _, cl := range r.Claims {
		if cl.Piece.Of == "" {
			victims(cl.Slot, Preempted{Job: cl.Job, Attempt: cl.Attempt, Submitter: cl.Submitter, Weight: cl.Weight, Ran: now.Sub(cl.StartedAt)})
		}
	}
	for _, s := range r.Slots {
		victims(s.Name, Preempted{Submitter: r.cfg.Params.Groups.Spelled(Holder(r.eval, s.Ad)), Weight: r.weigh(s.Ad)})
	}
	return list
}

// preference returns the place of a slot in a job's order: what is greater comes first.
func (r *replay) preference(m Match) (keys []float64) {
	job := r.candidate(m)
	if m.Preempts == nil {
		return append(r.ranks(job, slotOf(r.Pool, m.Slot, m.Piece)), 2)
	}
	slot, _ := r.victim(m)
	reason := map[string]float64{RankPreemption: 1}[m.Reason]
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
				other.Slot, other.Preempts, other.Reason = s.name, nil, NoPreemption
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
		cfg.SkipClusters, cfg.RemoveSignificant, cfg.Reserve = false, nil, Reserve{}
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
					earlier := jobprio.Compare(jobprio.JobOf(r.eval, id, first), jobprio.JobOf(r.eval, m.Job, job)) < 0
					if rej.Submitter == m.Submitter && earlier && at >= 0 && !first.Has("ConcurrencyLimits") && r.allows(cfg.JobConstraint, first) && classad.Match(r.eval, first, free[at].ad) {
						rt.Fatalf("%s of %s stays behind, but %s has %s\n%s", id, m.Submitter, m.Job, m.Slot, portrait(p, cfg))
					}
				}
			}
		}
	})
}

// What is said of the contenders for a slot is what counting says: who holds the most, how many
// come before a submitter, and what others than a submitter took.
func TestContenders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []contender
		for i, name := range lawUsers[:rapid.IntRange(1, len(lawUsers)).Draw(rt, "submitters")] {
			s := &submitter{name: name, nice: i%4 == 3, eup: rapid.SampledFrom([]float64{1, 2, 3}).Draw(rt, "EUP")}
			all = append(all, contender{who: i, submitter: s, slots: rapid.IntRange(0, 3).Draw(rt, "slots"), got: rapid.IntRange(0, 2).Draw(rt, "got")})
		}
		f := newField(slices.Clone(all), len(all))
		holders := slices.DeleteFunc(slices.Clone(all), func(x contender) bool { return x.slots == 0 })
		slices.SortFunc(holders, func(a, b contender) int { return cmp.Or(cmp.Compare(b.slots, a.slots), cmp.Compare(a.name, b.name)) })
		if n := min(len(holders), mostHolders); len(f.holders) != n || f.moreHolders != len(holders)-n {
			rt.Fatalf("holders are %v and %d more, want %v", f.holders, f.moreHolders, holders)
		}
		for i, h := range f.holders {
			if h != (SlotHolder{holders[i].name, holders[i].slots, holders[i].got}) {
				rt.Fatalf("holder %d is %v, want %v", i, h, holders[i])
			}
		}
		for _, x := range all {
			before, sum, takers, most := 0, 0, 0, contender{got: math.MinInt}
			for _, o := range all {
				if inTurn(o.submitter, x.submitter) < 0 {
					before++
				}
				if o.who == x.who || o.got == 0 {
					continue
				}
				sum += o.got
				takers++
				if o.got > most.got || o.got == most.got && o.name < most.name {
					most = o
				}
			}
			gotSum, gotTakers, first := f.got.without(x.submitter, f.of(x.submitter).got)
			if got := f.before(x.submitter); got != before || gotSum != sum || gotTakers != takers || takers > 0 && first != most.submitter {
				rt.Fatalf("of %s: %d before, %d took %d, first %v; want %d, %d, %d, %s", x.name, got, gotTakers, gotSum, first, before, takers, sum, most.name)
			}
		}
	})
}

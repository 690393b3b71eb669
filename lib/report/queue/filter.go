package queue

import (
	"path"
	"slices"

	"fairspool/lib/pool"
	"fairspool/spool"
)

// Filter says which jobs are shown: those in some states, on some slots.
type Filter struct {
	States States
	// Slots are patterns of names of slots or machines, with * and ?; none: with a slot or without.
	Slots []string
}

// None reports whether all jobs are shown.
func (f Filter) None() bool { return f.States == EveryState && f.Slots == nil }

// Chosen returns the jobs that a filter passes.
func (q *Queue) Chosen(f Filter, jobs []spool.Run) []spool.Run {
	chosen := make([]spool.Run, 0, len(jobs))
	r, claims := q.reader(), claimsOf(q.View.Claims())
	for _, s := range jobs {
		for part, claim := range claims.parts(s) {
			if f.onSlot(claim) {
				chosen = f.inState(chosen, r, part, claim)
			}
		}
	}
	return chosen
}

// inState adds the jobs of a part that are in a state that is wanted: all of it or
// none where nothing that decides is an expression.
func (f Filter) inState(list []spool.Run, r *reader, part spool.Run, claim *pool.Claim) []spool.Run {
	for last := part.Last; part.First <= last; {
		r.of(part)
		yes := f.States.has(r.standing(claim).state(), r.holds())
		if r.varies {
			part.Last = part.First
		}
		if yes {
			list = join(list, part)
		}
		part.First, part.Last = part.Last+1, last
	}
	return list
}

// join adds a part, to the last one where it is what follows in its run.
func join(list []spool.Run, part spool.Run) []spool.Run {
	if k := len(list) - 1; k >= 0 && list[k].Ad == part.Ad && list[k].Extend(part.Procs) {
		return list
	}
	return append(list, part)
}

// onSlot reports whether a claim is on one of the slots that are wanted.
func (f Filter) onSlot(c *pool.Claim) bool {
	return f.Slots == nil || c != nil && f.takes(c.Slot, c.SlotAd(), c.Machine)
}

// takes reports whether one of the names is wanted.
func (f Filter) takes(names ...string) bool {
	return f.Slots == nil || slices.ContainsFunc(f.Slots, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	})
}

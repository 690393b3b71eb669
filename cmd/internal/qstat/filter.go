package qstat

import (
	"path"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/pool"
)

// filter is which of the named jobs are shown.
type filter struct {
	states     choice
	slots      []string // patterns; none: with a slot or without
	constraint *selection.Constraint
}

// filterOf reads -s, -q and -constraint.
func filterOf(c *cmdline.Call) (f filter, err error) {
	f.states = everyState
	if c.Has("s") {
		var ok bool
		if f.states, ok = parseStates(c.Value("s")); !ok {
			return f, cmdline.Usagef("-s %s: want p for waiting, r for running or h for held jobs, or letters of s, z, hu, ho, hs, hd, hj, ha and a", c.Value("s"))
		}
	}
	if c.Has("q") {
		f.slots = strings.Split(c.Value("q"), ",")
		for _, pattern := range f.slots {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return f, cmdline.Usagef("-q %s: want names of slots or machines, with * and ?", c.Value("q"))
			}
		}
	}
	if c.Has("constraint") {
		if f.constraint, err = selection.ParseConstraint(c.Value("constraint"), c.Config.Cycle.Steps); err != nil {
			return f, cmdline.Usagef("%v", err)
		}
	}
	return f, nil
}

// none reports whether all jobs are shown.
func (f filter) none() bool {
	return f.states == everyState && f.slots == nil && f.constraint == nil
}

// choose returns the jobs that are shown.
func (f filter) choose(q queue, procs []selection.Procs) ([]selection.Procs, error) {
	if f.states != everyState || f.slots != nil {
		procs = f.standing(q, procs)
	}
	if f.constraint == nil {
		return procs, nil
	}
	chosen, err := f.constraint.Of(procs, q.call.Now)
	if err == nil && len(chosen) == 0 && forPeople(q.call) {
		if doubt := f.constraint.Doubt(procs); doubt != "" {
			q.call.Warn("warning: -constraint: %s", doubt)
		}
	}
	return chosen, err
}

// standing returns the jobs in the states and on the slots that are wanted.
func (f filter) standing(q queue, procs []selection.Procs) []selection.Procs {
	chosen := make([]selection.Procs, 0, len(procs))
	r, claims := q.reader(), claimsOf(q.view.Claims())
	for _, s := range procs {
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
func (f filter) inState(list []selection.Procs, r *reader, part selection.Procs, claim *pool.Claim) []selection.Procs {
	for last := part.Last; part.First <= last; {
		r.of(part)
		yes := f.states.has(r.standing(claim).state(), r.holds())
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
func join(list []selection.Procs, part selection.Procs) []selection.Procs {
	if k := len(list) - 1; k >= 0 && list[k].Run.Procs == part.Run.Procs && list[k].Extend(part.Procs) {
		return list
	}
	return append(list, part)
}

// onSlot reports whether a claim is on one of the slots that are wanted.
func (f filter) onSlot(c *pool.Claim) bool {
	return f.slots == nil || c != nil && f.takes(c.Slot, c.SlotAd(), c.Machine)
}

// takes reports whether one of the names is one of those of -q.
func (f filter) takes(names ...string) bool {
	return f.slots == nil || slices.ContainsFunc(f.slots, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	})
}

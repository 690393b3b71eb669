package deal

import (
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// Fork is an outcome after the jobs on one slot have ended, to find the remaining obstacles
// for a job. It has only the differences, and does not change the outcome.
type Fork struct {
	c       *Outcome
	Holders []string                  // the submitters whose jobs have ended, each once, by name
	freed   *concurrency.InUse        // what these used of concurrency limits
	weight  map[int]accountant.Weight // the charge for the jobs, by group
	kinds   []int                     // what limits of the policy make of them
	full    map[fullness][]negotiator.FullGroup
}

// Fork returns a fork in which no job has ended.
func (c *Outcome) Fork() *Fork {
	return &Fork{c: c, freed: concurrency.NewInUse(c.Config.Limits), weight: map[int]accountant.Weight{}, full: map[fullness][]negotiator.FullGroup{}}
}

// Without returns a fork in which the jobs on a slot, or on pieces of it, have ended.
func (c *Outcome) Without(s *Slot) *Fork {
	f, o := c.Fork(), c.OneQueue
	limited := o != nil && o.Limits != nil
	for _, cl := range s.Claims {
		weight := cl.Usage()
		if !cl.State.Charged() {
			weight = 0
		}
		f.end(cl.Submitter, cl.Limits, weight)
		if !limited {
			continue
		}
		if at := slices.IndexFunc(o.waiting.Running, func(r jobprio.Running) bool { return r.Has(cl.Job) }); at >= 0 {
			f.kinds = append(f.kinds, o.Limits.Kind(o.waiting.Running[at].Run))
		}
	}
	for i := c.lastMatch(s.Name); i > 0; i = c.sameSlot[i-1] {
		m := &c.Plan.Matches[i-1]
		f.end(m.Submitter, m.Limits, m.Weight)
		if limited {
			f.kinds = append(f.kinds, o.kindsOf[i-1])
		}
	}
	limits, _ := s.Ad.EvalString(c.Eval, pool.AttrConcurrencyLimits)
	switch state, _ := s.Ad.EvalString(c.Eval, pool.AttrState); {
	case len(s.Claims) > 0 && negotiator.HolderIn(c.Eval, s.Ad, state) != "":
		f.freed.Add(limits) // of the holder outside, which has not left yet
	case len(f.Holders) == 0:
		for _, name := range c.Holders(s) {
			f.end(name, limits, s.Weight)
		}
	}
	return f
}

// end ends one job.
func (f *Fork) end(submitter, limits string, weight accountant.Weight) {
	f.freed.Add(limits)
	f.weight[f.c.Config.Params.Groups.Of(submitter)] += weight
	if at, known := slices.BinarySearch(f.Holders, submitter); !known {
		f.Holders = slices.Insert(f.Holders, at, submitter)
	}
}

// lastMatch returns the number, from 1, of the last match with a slot or with pieces of it, 0 for
// none. sameSlot has, for each match, the previous match with the same slot.
func (c *Outcome) lastMatch(slot string) int {
	matches := c.Plan.Matches
	if c.lastOf == nil {
		c.lastOf, c.sameSlot = make(map[string]int, len(matches)), make([]int, len(matches))
		for i := range matches {
			name := cmp.Or(matches[i].Piece.Of, matches[i].Slot)
			c.sameSlot[i] = c.lastOf[name]
			c.lastOf[name] = i + 1
		}
	}
	return c.lastOf[slot]
}

// Limited reports whether limits, the policy's among them, counted any of the jobs that have ended.
func (f *Fork) Limited() bool { return len(f.freed.Used)+len(f.kinds) > 0 }

// Blocked returns the concurrency limits that do not admit one more job of k.
func (f *Fork) Blocked(k *Autocluster) (names []string) {
	for _, l := range k.Limits {
		if most, limited := f.c.InUse.Limits.Of(l.Name); limited && most-(f.c.InUse.Used[l.Name]-f.freed.Used[l.Name]) < l.Units {
			names = append(names, l.Name)
		}
	}
	return names
}

// Throttled returns the limit of the policy that keeps the jobs of a queue from running, without
// the limit's usage; soft says that jobs may go beyond it.
func (f *Fork) Throttled(q *Queue) (limit string, soft bool) {
	switch hard := q.Refused != ""; {
	case !hard && !q.soft:
		return "", false
	case hard && !f.c.OneQueue.Limits.Admits(q.Kind, f.kinds, true):
		return limitName(q.Refused), false
	}
	return "", !f.c.OneQueue.Limits.Admits(q.Kind, f.kinds, false)
}

// UnderCeiling does as the outcome's. Submitters whose jobs have ended have room for
// another.
func (f *Fork) UnderCeiling(s *Submitter, w accountant.Weight) bool {
	return slices.Contains(f.Holders, s.Name) || f.c.UnderCeiling(s, w)
}

// fullness asks which groups leave no room for a weight; nice users are bound by strict quotas
// alone.
type fullness struct {
	group  int
	nice   bool
	alone  bool // no other submitter asks for anything
	weight accountant.Weight
}

// Full returns the groups without room for a submitter's job of a weight, even if no
// other submitter asks for anything: its own group first, then those above.
func (f *Fork) Full(s *Submitter, weight accountant.Weight, alone bool) []negotiator.FullGroup {
	tree := f.c.Config.Params.Groups
	if tree.None() {
		return nil
	}
	ask := fullness{group: tree.Of(s.Name), nice: s.Nice, alone: alone, weight: weight}
	list, known := f.full[ask]
	if !known {
		list = f.c.by.full(ask, f.weight)
		f.full[ask] = list
	}
	return list
}

// limitName returns the name of a limit of the policy, without its usage.
func limitName(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

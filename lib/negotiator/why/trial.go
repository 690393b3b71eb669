package why

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
)

// trials find which job gets a slot once it is open: on a fork of the outcome in which the jobs
// there have ended, the queues whose jobs the slot takes and nothing keeps back come one after the
// other. What keeps a queue back is asked of the fork, by the functions of the deal. The slot is not
// dealt out again: a rejection says how many jobs go first, which would take a deal for each of them.
// What is the same for many shapes is tried once.
type trials struct {
	findings
	asIs    *deal.Fork
	open    map[string]*deal.Fork // by name of the slot
	wanted  map[opening][]entrant
	tried   map[trial]*rivals
	own     map[ownTrial]map[*deal.Queue]int
	askers  map[*deal.Submitter]map[string][]*deal.Waiter // by their nearest slot
	nothing map[hopeless]map[int]int                      // by kin
}

// once returns what find returns for a key, which is called once for each.
func once[K comparable, V any](known *map[K]V, key K, find func() V) V {
	v, ok := (*known)[key]
	if !ok {
		if v = find(); *known == nil {
			*known = map[K]V{}
		}
		(*known)[key] = v
	}
	return v
}

// opening is a slot, and whether jobs there have to end before it takes others: they need not on
// one that is drained, say, and has room beside them.
type opening struct {
	slot string
	ends bool
}

// trial is what is taken away for a job: an opening is there, a limit of the policy and the quotas
// of some groups are raised.
type trial struct {
	opening
	limit, groups string
}

func openingOf(n *nearest) opening {
	return opening{n.slot.Name, n.small || slices.Contains(n.doing, negotiator.CauseTaken) || slices.Contains(n.doing, negotiator.CauseClaimed)}
}

// without returns a fork in which the jobs on a slot have ended.
func (d *trials) without(n *nearest) *deal.Fork {
	return once(&d.open, n.slot.Name, func() *deal.Fork { return d.c.Without(n.slot) })
}

// fork returns the outcome as it is when a slot takes jobs.
func (d *trials) fork(n *nearest) *deal.Fork {
	if openingOf(n).ends {
		return d.without(n)
	}
	return d.asIs
}

// entrant is a queue that waits for a slot, or for another one.
type entrant struct {
	*deal.Waiter
	who   *deal.Submitter
	later int                    // how much later than by its order its turn is
	limit string                 // of the policy, that keeps it back; empty: none
	full  []negotiator.FullGroup // that keep it back
}

// entering returns the queues of a submitter that the policy, constraints and concurrency limits let
// have slots on the fork for n, and whether that slot takes their jobs.
func (d *trials) entering(s *deal.Submitter, n *nearest) iter.Seq2[entrant, bool] {
	return func(yield func(entrant, bool) bool) {
		f := d.fork(n)
		for i := range d.queues[s] {
			w := &d.queues[s][i]
			k := w.Cluster
			if k.Barred || w.Kept != "" || len(f.Blocked(k)) > 0 {
				continue
			}
			limit, _ := f.Throttled(w.Queue)
			if !yield(entrant{Waiter: w, who: s, later: d.round(n, s, w.Queue, false), limit: limit}, d.accepts(k, n)) {
				return
			}
		}
	}
}

// entrants returns the queues that wait for a slot, in the order of negotiation: also those whom
// what its holders use of limits and quotas keeps from it.
func (d *trials) entrants(n *nearest) []entrant {
	return once(&d.wanted, openingOf(n), func() (list []entrant) {
		for _, s := range d.c.Submitters {
			for e, takes := range d.entering(s, n) {
				if takes {
					list = d.bound(list, e, n, d.weigh(e.Cluster, n))
				}
			}
		}
		return list
	})
}

// bound adds a queue to those that wait for a slot, for which its jobs are charged weight, unless
// its submitter's ceiling leaves it out.
func (d *trials) bound(list []entrant, e entrant, n *nearest, weight accountant.Weight) []entrant {
	f := d.fork(n)
	if !f.UnderCeiling(e.who, weight) {
		return list
	}
	e.full = f.Full(e.who, weight, true)
	return append(list, e)
}

// round returns the first turn of the round that a queue has its turns in when a slot is open.
func (d *trials) round(n *nearest, s *deal.Submitter, q *deal.Queue, worst bool) int {
	if d.precedence == nil {
		return 0
	}
	_, soft := d.fork(n).Throttled(q)
	return round(len(d.precedence.Places), d.c.SharesRest(s, worst), soft, s.Nice)
}

// asker is a queue that asks how many jobs go before its first, and the turn of that.
type asker struct {
	*deal.Waiter
	turn int
}

// asking returns a submitter's queues that have a slot as their nearest, by their turns.
func (d *trials) asking(s *deal.Submitter, n *nearest) (list []asker) {
	bySlot := once(&d.askers, s, func() map[string][]*deal.Waiter {
		bySlot := map[string][]*deal.Waiter{}
		for i := range d.queues[s] {
			w := &d.queues[s][i]
			if n := d.nearest(w.Cluster); n != nil {
				bySlot[n.slot.Name] = append(bySlot[n.slot.Name], w)
			}
		}
		return bySlot
	})
	for _, w := range bySlot[n.slot.Name] {
		turn := w.Runs[0].Order
		if d.precedence != nil {
			turn = d.round(n, s, w.Queue, true) + d.precedence.turn(s, w)
		}
		list = append(list, asker{w, turn})
	}
	return list
}

// countBefore returns how many jobs of some queues go before the first of each that asks, by
// queue.
func countBefore(asking []asker, some []entrant) map[*deal.Queue]int {
	slices.SortFunc(asking, func(a, b asker) int { return cmp.Compare(a.turn, b.turn) })
	more := make([]int, len(asking)+1) // jobs that go before the one in this place, and not before the one before
	for _, e := range some {
		for _, r := range e.Runs {
			more[sort.Search(len(asking), func(i int) bool { return asking[i].turn > e.later+r.Order })] += r.Count()
		}
	}
	before, jobs := make(map[*deal.Queue]int, len(asking)), 0
	for i, a := range asking {
		jobs += more[i]
		before[a.Queue] = jobs
	}
	return before
}

// rivals are the jobs that may get a slot before others.
type rivals struct {
	who    []*deal.Submitter   // but for those of whom only jobs wait that the limit keeps back
	before map[*deal.Queue]int // with a Config.Queue: how many jobs of others go before a queue's first
}

// rivals returns the jobs that wait for the slot that is nearest to some jobs, once a
// limit of the policy and the quotas of groups are raised for these.
func (d *trials) rivals(n *nearest, limit string, raise []negotiator.FullGroup) *rivals {
	return once(&d.tried, trial{openingOf(n), limit, negotiator.GroupNames(raise)}, func() *rivals {
		r := &rivals{}
		var all []entrant
		own := map[*deal.Submitter][]entrant{}
		for _, e := range append(d.raisedToo(n, raise), d.entrants(n)...) {
			if e.limit != "" && e.limit != limit || len(e.full) > 0 && !d.raised(e.full, raise) {
				continue
			}
			if d.precedence != nil {
				all, own[e.who] = append(all, e), append(own[e.who], e)
			}
			if e.limit == "" && (len(r.who) == 0 || r.who[len(r.who)-1] != e.who) {
				r.who = append(r.who, e.who)
			}
		}
		if d.precedence == nil {
			return r
		}
		var asking []asker
		for _, s := range d.c.Submitters {
			asking = append(asking, d.asking(s, n)...)
		}
		r.before = countBefore(asking, all)
		for s, list := range own {
			for q, jobs := range countBefore(d.asking(s, n), list) {
				r.before[q] -= jobs
			}
		}
		return r
	})
}

// raisedToo returns the queues that do not want a slot, but could use another that is there when
// the quotas of some groups are raised: what they take then counts for quotas and limits.
func (d *trials) raisedToo(n *nearest, raise []negotiator.FullGroup) (list []entrant) {
	if len(raise) == 0 {
		return nil
	}
	for _, s := range d.c.Submitters {
		for e, takes := range d.entering(s, n) {
			if !takes && d.anyLeft(*e.Waiter, false) {
				list = d.bound(list, e, n, d.nearest(e.Cluster).weight)
			}
		}
	}
	return list
}

// raised reports whether to raise the quotas of others, and of those above them, may help any
// of some groups: where one group is above both.
func (d *trials) raised(some, others []negotiator.FullGroup) bool {
	tree := d.c.Config.Params.Groups
	top := func(g negotiator.FullGroup) int {
		at, _ := tree.Find(g.Name)
		up := tree.Up(at)
		return up[len(up)-1]
	}
	return slices.ContainsFunc(others, func(o negotiator.FullGroup) bool {
		return slices.ContainsFunc(some, func(g negotiator.FullGroup) bool { return top(g) == top(o) })
	})
}

// ownTrial is a trial of one submitter's jobs.
type ownTrial struct {
	opening
	limit  string // of the policy, that is raised
	wider  bool   // jobs count that could use any slot that is there
	alone  bool   // or that is kept for others, which are out of the way as well
	who    *deal.Submitter
	weight accountant.Weight // jobs that weigh less go first
}

// ownAhead counts the submitter's waiting jobs that could use the slot that is the nearest to w, or
// with wider any that is there and counts for the same ceiling, quota or limit, and go before those
// of w: by their order, or without a Config.Queue since they are lighter and so fit into a share
// that is too small for these.
func (d *trials) ownAhead(s *deal.Submitter, w deal.Waiter, key ownTrial) int {
	n := d.nearest(w.Cluster)
	if key.who = s; d.precedence == nil {
		key.weight = n.weight
	}
	return once(&d.own, key, func() map[*deal.Queue]int {
		var list []entrant
		for e, takes := range d.entering(s, n) {
			if e.limit != "" && e.limit != key.limit || !takes && !(key.wider && d.anyLeft(*e.Waiter, key.alone)) {
				continue
			}
			if own := d.nearest(e.Cluster); own != nil && own.weight < key.weight || takes && n.stand != nil && d.weigh(e.Cluster, n) < key.weight {
				e.later = math.MinInt32
			}
			list = append(list, e)
		}
		return countBefore(d.asking(s, n), list)
	})[w.Queue]
}

// hopeless asks which of a submitter's jobs find nothing on a fork.
type hopeless struct {
	who  *deal.Submitter
	fork *deal.Fork
}

// skipped reports whether an earlier job of the same submitter and cluster, for which
// nothing is found, has the job passed over: in this cycle, where a limit may keep that one
// from being asked about since then, or in the next.
func (d *trials) skipped(s *deal.Submitter, w deal.Waiter) bool {
	kin := w.Runs[0].Kin
	if kin == 0 {
		return false
	}
	if w.WasPassed() {
		return true
	}
	order, any := d.hopeless(s, w)[kin]
	return any && order < w.Runs[0].Order
}

// hopeless returns, by kin, where the first of a submitter's jobs stands for which nothing is
// found. Limits may keep jobs from being asked about, but those that have room again when the
// jobs have ended that are on the slot which is the nearest to w.
func (d *trials) hopeless(s *deal.Submitter, w deal.Waiter) map[int]int {
	key := hopeless{s, d.asIs}
	if n := d.nearest(w.Cluster); n != nil && d.fork(n).Limited() {
		key.fork = d.fork(n)
	}
	return once(&d.nothing, key, func() map[int]int {
		found := map[int]int{}
		for _, o := range d.queues[s] {
			if limit, _ := key.fork.Throttled(o.Queue); !o.Offered() || limit != "" || len(key.fork.Blocked(o.Cluster)) > 0 || d.anyLeft(o, false) {
				continue
			}
			for _, r := range o.Runs {
				if first, any := found[r.Kin]; !any || r.Order < first {
					found[r.Kin] = r.Order
				}
			}
		}
		return found
	})
}

// anyLeft reports whether a slot is left that the jobs of a queue could use, or would be if none
// was kept for others.
func (d *findings) anyLeft(w deal.Waiter, unkept bool) bool {
	if n := d.nearest(w.Cluster); n == nil || d.there(n, w) {
		return n != nil
	}
	return unkept && slices.ContainsFunc(d.kept, func(g *deal.Group) bool { return d.c.Verdict(w.Cluster.Autocluster, g.Group) == shapes.Accepts })
}

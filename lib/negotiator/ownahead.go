package negotiator

import (
	"cmp"
	"slices"
	"sort"

	"fairspool/lib/accountant"
)

// lineKey is what answers of ownAhead have in common: whose jobs, for which slot, and
// whether those count, too, that could use any slot that is there.
type lineKey struct {
	who   *submitter
	slot  string
	wider bool
	limit string // of the policy that keeps them back
}

// ownAhead counts the submitter's waiting jobs that could use the slot, or any that
// is there and counts for the same ceiling or quota, and go before those of w: by their order, or
// since they are lighter and so fit into a share that is too small for these. The slot
// is the one that is the nearest to w. With a Config.Queue only the order counts, and jobs do
// that the same limit of the policy keeps back.
func (d *diagnosis) ownAhead(s *submitter, w waiter, n *nearest, bounded bool) (jobs int) {
	key := lineKey{who: s, slot: d.caseOf(n), wider: bounded || s.ceiling.Set}
	if p := d.precedence; p != nil && p.throttled(w.queue) {
		key.limit = p.limitOf(w.queue).name
	}
	ahead, known := d.lines[key]
	if !known {
		if d.precedence == nil {
			ahead = d.lineUp(key, n)
		} else {
			ahead = countBefore(d.inTurns(s, n), d.ownEntrants(key, n))
		}
		d.lines[key] = ahead
	}
	return ahead[w.queue]
}

// ownEntrants returns a submitter's rivals as they go with a Config.Queue.
func (d *diagnosis) ownEntrants(key lineKey, n *nearest) (list []entrant) {
	for _, r := range d.rivalsOf(key, n) {
		if e, ok := d.enter(key.who, r.waiter, n); ok && (e.limit == "" || e.limit == key.limit) {
			list = append(list, e)
		}
	}
	return list
}

// rival is a queue whose jobs may go before others of the same submitter, and the least
// weight that one of them may have: at a slot, or at their own nearest.
type rival struct {
	*waiter
	least accountant.Weight
}

// lineUp returns, for each of a submitter's queues that have the slot as their nearest,
// what ownAhead counts. To look at all pairs of queues would take for ever where thousands
// of shapes wait, so each rival is put into the line once: all of its jobs count while it is
// lighter than who asks, and else those before the asking one.
func (d *diagnosis) lineUp(key lineKey, n *nearest) map[*queue]int {
	asking := d.nearestTo(key.who)[n.name]
	rivals, lighter := d.rivalsOf(key, n), 0
	for _, r := range rivals {
		lighter += r.jobs
	}
	slices.SortFunc(rivals, func(a, b rival) int { return cmp.Compare(b.least, a.least) })
	places := make([]int, len(asking)) // in line, of those first that weigh most
	l := line{starts: make([]int, len(asking)), sums: make([]int, len(asking))}
	for i, w := range asking {
		places[i], l.starts[i] = i, w.runs[0].order
	}
	weight := func(place int) accountant.Weight { return d.nearest(asking[place].cluster).weight }
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	ahead := make(map[*queue]int, len(asking))
	for _, at := range places {
		for ; len(rivals) > 0 && rivals[0].least >= weight(at); rivals = rivals[1:] {
			l.add(rivals[0].waiter, 0)
			lighter -= rivals[0].jobs
		}
		ahead[asking[at].queue] = lighter + l.before(at)
	}
	return ahead
}

// rivalsOf returns a submitter's queues that could use the slot or, with wider, any
// that is there.
func (d *diagnosis) rivalsOf(key lineKey, n *nearest) (list []rival) {
	freed := d.freed(n).units
	for i := range d.queues[key.who] {
		o := &d.queues[key.who][i]
		k := o.cluster
		if k.barred || d.blockedBut(k, freed) {
			continue
		}
		takes := d.accepts(k, n)
		if !takes && !(key.wider && d.anyLeft(*o)) {
			continue
		}
		least := n.weight
		own := d.nearest(k)
		if own != nil {
			least = own.weight
		}
		if takes && n.stand != nil {
			if here := d.weigh(k, n); own == nil || here < least {
				least = here
			}
		}
		list = append(list, rival{o, least})
	}
	return list
}

// nearestTo returns a submitter's queues by their nearest slot, each list in the order of
// first jobs.
func (d *diagnosis) nearestTo(s *submitter) map[string][]*waiter {
	if bySlot, known := d.askers[s]; known {
		return bySlot
	}
	bySlot := map[string][]*waiter{}
	for i := range d.queues[s] {
		w := &d.queues[s][i]
		if n := d.nearest(w.cluster); n != nil {
			bySlot[n.name] = append(bySlot[n.name], w)
		}
	}
	for _, list := range bySlot {
		slices.SortFunc(list, func(a, b *waiter) int { return cmp.Compare(a.runs[0].order, b.runs[0].order) })
	}
	d.askers[s] = bySlot
	return bySlot
}

// line counts jobs by where they stand among some that ask: a Fenwick tree, in
// which a place and a sum up to a place cost the logarithm of their number.
type line struct {
	starts []int // the orders of those that ask, ascending
	sums   []int // of the places from i&(i+1) to i, by i
}

// add counts the jobs of a queue, whose orders are to be taken as so much later.
func (l *line) add(w *waiter, later int) {
	if len(w.runs) > len(l.starts) {
		before := 0
		for at, start := range l.starts {
			n := w.before(start - later)
			l.put(at, n-before)
			before = n
		}
		return
	}
	for _, r := range w.runs {
		l.put(sort.SearchInts(l.starts, later+r.order+1), r.Count())
	}
}

// put counts jobs that go before the one in this place and those behind it.
func (l *line) put(at, jobs int) {
	for ; at < len(l.sums); at |= at + 1 {
		l.sums[at] += jobs
	}
}

// before returns how many jobs go before the one in this place.
func (l *line) before(at int) (jobs int) {
	for at++; at > 0; at &= at - 1 {
		jobs += l.sums[at-1]
	}
	return jobs
}

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
}

// ownAhead counts the submitter's waiting jobs that could use the slot, or any that
// is there and counts for the same ceiling or quota, and go before those of w: by their order, or
// since they are lighter and so fit into a share that is too small for these. The slot
// is the one that is the nearest to w.
func (d *diagnosis) ownAhead(s *submitter, w waiter, n *nearest, bounded bool) (jobs int) {
	key := lineKey{s, n.name, bounded || s.ceiling.Set}
	ahead, known := d.lines[key]
	if !known {
		ahead = d.lineUp(key, n)
		d.lines[key] = ahead
	}
	return ahead[w.cluster]
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
func (d *diagnosis) lineUp(key lineKey, n *nearest) map[*autocluster]int {
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
	ahead := make(map[*autocluster]int, len(asking))
	for _, at := range places {
		for ; len(rivals) > 0 && rivals[0].least >= weight(at); rivals = rivals[1:] {
			l.add(rivals[0].waiter)
			lighter -= rivals[0].jobs
		}
		ahead[asking[at].cluster] = lighter + l.before(at)
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

// add counts the jobs of a queue.
func (l *line) add(w *waiter) {
	if len(w.runs) > len(l.starts) {
		before := 0
		for at, start := range l.starts {
			n := w.before(start)
			l.put(at, n-before)
			before = n
		}
		return
	}
	for _, r := range w.runs {
		l.put(sort.SearchInts(l.starts, r.order+1), r.count)
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

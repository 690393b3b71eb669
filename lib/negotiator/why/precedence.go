package why

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
)

// precedence is the order of the jobs that are left, with a Config.Queue. A job's turn is
// its place in the queue; jobs of nice users, and of submitters that may only exceed a
// soft limit, come in separate rounds behind all others.
type precedence struct {
	*deal.OneQueue
	left leftBefore
}

// leftBefore is, by place, how many of the jobs before it are left, and of all behind the last place.
type leftBefore []int

// add adds what is left of a queue to its places.
func (l leftBefore) add(w deal.Waiter) {
	for _, r := range w.Runs {
		if r.Order+1 < len(l) {
			l[r.Order+1] += r.Count()
		}
	}
}

// sum has each place count all before it, once all queues are added.
func (l leftBefore) sum() {
	for i := range l[1:] {
		l[i+1] += l[i]
	}
}

// standing returns the place of a run among the jobs that are left, from 1, and its priority:
// no place for one that is left out, no number for one that the policy was not asked about.
func (p *precedence) standing(r deal.Run) (at int, priority float64) {
	if place, ok := p.Place(r); ok {
		return p.left[r.Order] + 1, place.Priority
	}
	if n := r.Order - len(p.Places); n < len(p.Blocked) {
		return 0, p.Blocked[n].Priority
	}
	return 0, math.NaN()
}

// round returns the first turn of a round of so many turns: nice users come behind all
// others, then submitters beyond a soft limit, then those that share the root group's
// part.
func round(turns int, rest, soft, nice bool) (first int) {
	for i, later := range []bool{rest, soft, nice} {
		if later {
			first += (turns + 1) << i
		}
	}
	return first
}

// turn returns where the first job of w goes once nothing is in its way: one that is left
// out behind all with its priority or a higher one, and one that is not known behind all.
// Priorities only fall among the places of nice users, and among those of all others.
func (p *precedence) turn(s *deal.Submitter, w *deal.Waiter) int {
	at, priority := p.standing(w.Runs[0])
	switch {
	case at > 0:
		return w.Runs[0].Order
	case math.IsNaN(priority):
		return len(p.Places)
	}
	first, places := 0, p.Places[:p.NiceFrom]
	if s.Nice {
		first, places = p.NiceFrom, p.Places[p.NiceFrom:]
	}
	return first + sort.Search(len(places), func(i int) bool { return places[i].Priority < priority })
}

// standings returns where all jobs stand that are left.
func (d *trials) standings() (list []negotiator.Standing) {
	for _, s := range d.c.Submitters {
		for _, w := range d.queues[s] {
			for _, r := range w.Runs {
				at, priority := d.precedence.standing(r)
				list = append(list, negotiator.Standing{Procs: r.Procs, Submitter: s.Name, Place: at, Priority: priority})
			}
		}
	}
	behind := func(x *negotiator.Standing) int { return cmp.Or(x.Place, math.MaxInt) }
	slices.SortFunc(list, func(a, b negotiator.Standing) int {
		return cmp.Or(cmp.Compare(behind(&a), behind(&b)), a.Compare(b.Procs))
	})
	return list
}

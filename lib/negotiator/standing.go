package negotiator

import (
	"cmp"
	"fairspool/lib/pool"
	"math"
	"slices"
)

// Standing is where consecutive procs stand in Config.Queue among the jobs that the cycle
// left: Place is that of the first, and each of the others comes right behind the one before.
// Place and Priority, which is the same for all of them, are as in a Rejection; without a
// place none of them has one.
type Standing struct {
	pool.Procs
	Submitter string
	Place     int
	Priority  float64
}

// standings returns where all jobs stand that are left.
func (d *diagnosis) standings() (list []Standing) {
	for _, s := range d.c.submitters {
		for _, w := range d.queues[s] {
			for _, r := range w.runs {
				at, priority := d.precedence.standing(r)
				list = append(list, Standing{r.Procs, s.name, at, priority})
			}
		}
	}
	behind := func(x *Standing) int { return cmp.Or(x.Place, math.MaxInt) }
	slices.SortFunc(list, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(behind(&a), behind(&b)), a.Compare(b.Procs))
	})
	return list
}

package negotiator

import (
	"cmp"
	"slices"

	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// PutOff is an owner whose jobs' expressions took more steps than there were (Config.Steps):
// its jobs that were left out for that, the first of them by number from where the cycle
// began, and the next one begins.
type PutOff struct {
	Owner string
	First pool.JobID
	Jobs  int
}

// putOffs lists the owners whose jobs were put off, or found nothing for want of steps. What
// is said of jobs takes steps, too, but is no reason to put any off.
func (c *cycle) putOffs() (list []PutOff) {
	for _, k := range c.clusters {
		k.short = k.PutOff || k.Poor()
	}
	of := map[*shapes.Payer]*PutOff{}
	for _, s := range c.submitters {
		for _, q := range s.queues {
			w := waiterOf(q)
			if !q.cluster.short || w.jobs == 0 {
				continue
			}
			for _, r := range w.runs {
				x := of[r.payer]
				if x == nil {
					x = &PutOff{Owner: r.payer.Owner, First: r.FirstJob()}
					of[r.payer] = x
				}
				x.Jobs += r.Count()
				if r.payer.Before(r.FirstJob(), x.First) {
					x.First = r.FirstJob()
				}
			}
		}
	}
	for _, x := range of {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b PutOff) int { return cmp.Compare(a.Owner, b.Owner) })
	return list
}

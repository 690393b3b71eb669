package deal

import (
	"cmp"
	"slices"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
)

// putOffs lists the owners whose jobs were put off, or found nothing for want of steps. What
// is said of jobs takes steps, too, but is no reason to put any off.
func (c *Outcome) putOffs() (list []negotiator.PutOff) {
	for _, k := range c.Clusters {
		k.Short = k.PutOff || k.Poor()
	}
	of := map[*shapes.Payer]*negotiator.PutOff{}
	for _, s := range c.Submitters {
		for _, q := range s.Queues {
			w := WaiterOf(q)
			if !q.Cluster.Short || w.Jobs == 0 {
				continue
			}
			for _, r := range w.Runs {
				x := of[r.Payer]
				if x == nil {
					x = &negotiator.PutOff{Owner: r.Payer.Owner, First: r.FirstJob()}
					of[r.Payer] = x
				}
				x.Jobs += r.Count()
				if r.Payer.Before(r.FirstJob(), x.First) {
					x.First = r.FirstJob()
				}
			}
		}
	}
	for _, x := range of {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b negotiator.PutOff) int { return cmp.Compare(a.Owner, b.Owner) })
	return list
}

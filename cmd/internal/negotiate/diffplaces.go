package negotiate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// QueuePlace is where a job stands in the one queue: its place among the jobs that the cycle
// leaves, 0 for one that the policy leaves out, and its priority, nil where it is not known.
type QueuePlace struct {
	Place    int
	Priority *float64
}

// ChangedPlace is where consecutive procs stand: the first of them, with each of the others
// right behind the one before.
type ChangedPlace struct {
	Jobs        pool.Procs
	Submitter   string
	Now, WhatIf QueuePlace
}

// comparePlaces returns the jobs that both cycles leave and that have another place, those
// before others first that are after the changes. Jobs that are one stretch in the one queue
// may be several in the other.
func comparePlaces(a, b *negotiator.Plan) []ChangedPlace {
	list := []ChangedPlace{}
	if a.Policy == "" || b.Policy == "" {
		return list
	}
	overlay(standing(a.Standings), standing(b.Standings), func(p pool.Procs, now, then *stretch) {
		if now != nil && then != nil && now.Place != then.Place {
			list = append(list, ChangedPlace{p, then.submitter, now.QueuePlace, then.QueuePlace})
		}
	})
	behind := func(c ChangedPlace) int { return cmp.Or(c.WhatIf.Place, math.MaxInt) }
	slices.SortStableFunc(list, func(a, b ChangedPlace) int { return cmp.Compare(behind(a), behind(b)) })
	return list
}

// standing returns where jobs stand, by job.
func standing(list []negotiator.Standing) []stretch {
	all := make([]stretch, len(list))
	for i, x := range list {
		s := stretch{Procs: x.Procs, submitter: x.Submitter, QueuePlace: QueuePlace{Place: x.Place}}
		if !math.IsNaN(x.Priority) && !math.IsInf(x.Priority, 0) {
			s.Priority = &x.Priority
		}
		all[i] = s
	}
	slices.SortFunc(all, func(a, b stretch) int { return a.Compare(b.Procs) })
	return all
}

// tellPlaces prints the places that are other ones.
func (d Difference) tellPlaces(c *cmdline.Call) {
	var lines []string
	jobs, shown := 0, 0
	for _, x := range d.Places {
		n := x.Jobs.Last - x.Jobs.First + 1
		if jobs += n; len(lines) < mostLines {
			lines = append(lines, fmt.Sprintf("%s of %s: %s -> %s", x.Jobs, x.Submitter, x.Now.text(n), x.WhatIf.text(n)))
			shown = jobs
		}
	}
	if jobs == 0 {
		return
	}
	fmt.Fprintf(c.Stdout, "\n%s would have another place in the queue:\n", plural.Count(jobs, "job"))
	for _, l := range lines {
		fmt.Fprintf(c.Stdout, "  %s\n", l)
	}
	if jobs > shown {
		fmt.Fprintf(c.Stdout, "  and %d more\n", jobs-shown)
	}
}

// text words where the first of so many procs stands, and the others behind it.
func (s QueuePlace) text(procs int) string {
	place := "no place"
	if s.Place > 0 {
		place = fmt.Sprint(s.Place)
		if procs > 1 {
			place += fmt.Sprintf("-%d", s.Place+procs-1)
		}
	}
	if s.Priority == nil {
		return place
	}
	return fmt.Sprintf("%s (%s)", place, priority(s.Priority))
}

package sge

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// The attributes that say from when on a slot may be looked for: DeferralPrepTime before
// DeferralTime, and the seconds from one look to the next before that.
var (
	deferralTime     = classad.NewName("DeferralTime")
	deferralPrepTime = classad.NewName("DeferralPrepTime")
	scheddInterval   = classad.NewName("ScheddInterval")
)

// isLater tells whether jobs are to start at a time for which no slot is looked for yet. Grid
// Engine leaves jobs that have a start time (qsub -a) out of all computations until then.
func isLater(c *classad.Context, ad *classad.Ad) bool {
	at, ok := secondsIn(c, ad, deferralTime)
	if !ok {
		return false
	}
	early, _ := secondsIn(c, ad, deferralPrepTime)
	interval, _ := secondsIn(c, ad, scheddInterval)
	return c.Now.Unix()+interval < at-early
}

// secondsIn returns a number of seconds in an ad, 0 to latest; false without one.
func secondsIn(c *classad.Context, ad *classad.Ad, name *classad.Name) (int64, bool) {
	v, ok := valueOf(c, ad, name, false)
	if !ok {
		return 0, false
	}
	n, ok := whole(v)
	return min(max(n, 0), latest), ok
}

// later are the places of jobs that take no part since they are to start later, behind all
// others, in the order of their submission.
func (l *Listing) later(idle []jobprio.Run) (places []jobprio.Place) {
	for i := range l.jobs {
		if l.jobs[i].Count == 0 && idle[i].Count() > 0 {
			places = append(places, jobprio.Place{Procs: jobprio.Procs{Run: i, Count: idle[i].Count()}})
		}
	}
	slices.SortFunc(places, func(a, b jobprio.Place) int {
		return cmp.Or(cmp.Compare(l.jobs[a.Run].Submitted, l.jobs[b.Run].Submitted), l.jobs[a.Run].ID.Compare(l.jobs[b.Run].ID))
	})
	return places
}

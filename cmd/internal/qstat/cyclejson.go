package qstat

import (
	"fairspool/cmd/internal/selection"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Waiting is what -j prints with -json of jobs that are in one state.
type Waiting struct {
	Jobs  []pool.Procs
	State string // as in the table, such as qw; empty for jobs that are still to come
	// Reason is why the last cycle matched none of them, and Help what would let the
	// first run. Of one that is promised a slot, Reason says who has to leave that; of one
	// that has to leave, why; of held ones, by what; of those that are still to come, what
	// keeps them back; of those that have left the queue, how they ended. Empty if they do not wait.
	Reason string `json:",omitempty"`
	Help   string `json:",omitempty"`
	// Rejection and Analysis are the report's, of a job that may be of another
	// cluster but is like these.
	Rejection *negotiator.ReportedRejection `json:",omitempty"`
	Analysis  *negotiator.Analysis          `json:",omitempty"`
	// Reservations are those that are kept for any of the jobs in this state.
	Reservations []negotiator.ReportedReservation `json:",omitempty"`
}

// waiting returns why jobs wait.
func (q queue) waiting(spans []selection.Span) []Waiting {
	last := q.report()
	list, claims := []Waiting{}, q.claims(spans)
	for _, s := range spans {
		for _, r := range q.split(s, claims) {
			if why := q.moving(r); why != "" {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: why})
				continue
			}
			d := sheet{queue: q, row: r, context: q.context()}
			if q.past {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: ending(d.context, r.ad)})
				continue
			}
			if why := d.held(); why != "" {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: why})
				continue
			}
			list = append(list, last.waiting(r)...)
		}
	}
	return list
}

func (c cycle) waiting(r *row) (list []Waiting) {
	jobs := r.ranges
	switch {
	case r.state != "qw":
		return []Waiting{{Jobs: jobs, State: r.state}}
	case c.unknown != "":
		return []Waiting{{Jobs: jobs, State: r.state, Reason: c.unknown}}
	}
	for _, v := range c.ofRow(r) {
		w := Waiting{Jobs: []pool.Procs{v.Procs}, State: r.state, Reason: v.reason, Reservations: c.reservations(r)}
		if w.Rejection, w.Analysis = c.rejection(v); w.Rejection != nil {
			w.Help = w.Rejection.Help(*w.Analysis)
		}
		list = append(list, w)
	}
	return list
}

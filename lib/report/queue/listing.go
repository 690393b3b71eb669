package queue

import (
	"io"
	"slices"

	"fairspool/spool"
)

// Listing is jobs of a queue that are shown in a list.
type Listing struct {
	*Queue
	Options
	Filter
	Jobs  []spool.Run     // those that the filter lets through
	All   bool            // the list is of all jobs, for totals: then Jobs is not used
	Kept  []spool.Factory // clusters with jobs still to come, for the brief layout
	Named bool            // jobs or users were named
}

// OneQueue makes the queue one of all jobs, where the policy has one; Rank then gives them their
// places.
func (q *Queue) OneQueue() (err error) {
	q.hierarchy, err = hierarchyOf(q)
	return err
}

// Rank gives all waiting jobs of the queue their places, whichever are shown.
func (q *Queue) Rank() { q.hierarchy.rank(q) }

// Reads returns the attributes by which the jobs can be chosen and counted, and if they are listed the
// attributes of columns and of places in one queue; ok is false if these may be any.
func (q *Queue) Reads(o Options, listed bool) (names []string, ok bool) {
	names, ok = q.hierarchy.reads()
	if !listed {
		return totalsNames, ok
	}
	return slices.Concat(names, listedNames, q.columns(o).reads()), ok
}

// Write writes the list: as a table, by slot, in the brief layout, or as XML.
func (l Listing) Write(w io.Writer) error {
	c := l.columns(l.Options)
	rows := l.rows(c)
	switch {
	case l.Brief:
		return l.briefList(w, c, rows)
	case l.XML:
		return l.xml(w, c, rows)
	case l.BySlot:
		return l.bySlot(w, c, rows)
	}
	return c.list(w, rows)
}

package queue

import (
	"fmt"
	"io"
	"strings"

	"fairspool/lib/clean"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Past returns the queue as sheets of jobs that have left it need it: they stand in no order.
func (q *Queue) Past() *Queue {
	past := *q
	past.hierarchy, past.past = nil, true
	return &past
}

// Kept writes a line for each factory: how many of its cluster's jobs are
// still to come, and what keeps them back.
func Kept(w io.Writer, factories []spool.Factory) error {
	for _, f := range factories {
		if _, err := fmt.Fprintf(w, "%7d %s\n", f.Cluster, kept(f)); err != nil {
			return err
		}
	}
	return nil
}

// kept says which jobs of a factory are still to come, and when.
func kept(f spool.Factory) string {
	jobs := fmt.Sprintf("jobs %d-%d are still to come", f.Next, f.Jobs-1)
	if f.Next == f.Jobs-1 {
		jobs = fmt.Sprintf("job %d is still to come", f.Next)
	}
	if why, held := lifecycle.HeldBack(f); held {
		return fmt.Sprintf("%s, held back: %s; qrls %d releases them", jobs, clean.Line(why), f.Cluster)
	}
	if f.Paused != "" {
		return fmt.Sprintf("%s, and will not: %s; qdel %d gives them up", jobs, clean.Line(f.Paused), f.Cluster)
	}
	var bounds []string
	if f.MaxMaterialize > 0 {
		bounds = append(bounds, fmt.Sprintf("max_materialize %d", f.MaxMaterialize))
	}
	if f.MaxIdle > 0 {
		bounds = append(bounds, fmt.Sprintf("max_idle %d", f.MaxIdle))
	}
	return fmt.Sprintf("%s (%s)", jobs, strings.Join(bounds, ", "))
}

// ToCome returns what -j prints with -json of jobs that are still to come: they
// have no state yet, and the reason is what keeps them back.
func ToCome(factories []spool.Factory) (list []Waiting) {
	for _, f := range factories {
		list = append(list, Waiting{Jobs: []pool.Procs{f.Coming()}, Reason: kept(f)})
	}
	return list
}

// LeftOut says which jobs a display of ads leaves out, since they have none yet; nothing without such.
func LeftOut(factories []spool.Factory) string {
	if len(factories) == 0 {
		return ""
	}
	list, jobs := make([]string, len(factories)), 0
	for i, f := range factories {
		list[i] = f.Coming().String()
		jobs += f.Jobs - f.Next
	}
	const most = 10
	if len(list) > most {
		list = append(list[:most], "...")
	}
	return fmt.Sprintf("%d %s still to come %s left out here: %s", jobs, plural.Pick(jobs, "job that is", "jobs that are"), plural.Pick(jobs, "is", "are"), strings.Join(list, ", "))
}

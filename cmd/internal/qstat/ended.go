package qstat

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ended returns those of the named jobs that have left the queue, ascending, with the ads of
// the history, and the names for which there are none.
func (q queue) ended(words []string) (procs []selection.Procs, missing []string, err error) {
	for _, word := range words {
		found, err := q.endedOf(word)
		if err != nil {
			return procs, missing, err
		}
		if len(found) == 0 {
			missing = append(missing, word)
		}
		procs = append(procs, found...)
	}
	order := func(a, b selection.Procs) int { return a.Compare(b.Procs) }
	slices.SortStableFunc(procs, order)
	return slices.CompactFunc(procs, func(a, b selection.Procs) bool { return order(a, b) == 0 }), missing, nil
}

// endedOf looks for the jobs of one name from the end of the history back. One job is all that
// the name of a job stands for, and no job of a cluster left before the cluster was submitted.
func (q queue) endedOf(word string) (procs []selection.Procs, err error) {
	names, err := selection.Parse([]string{word})
	if err != nil {
		return nil, err
	}
	which, named := names.Past()
	if !q.submitted(which.Clusters) {
		return nil, nil
	}
	_, notOne := pool.ParseJobID(word)
	_, notCluster := pool.ParseCluster(word)
	look := func(enough func() bool) error {
		procs = nil
		return q.view.History(which, func(ad *classad.Ad) bool {
			if named(ad) {
				id := idOf(ad)
				one := pool.Only(id)
				procs = append(procs, selection.Procs{Procs: one, Run: spool.Run{Procs: one, Ad: ad}})
			}
			return !enough()
		})
	}
	one := func() bool { return len(procs) > 0 }
	switch {
	case notOne == nil:
		err = look(one)
	case notCluster == nil:
		if err = look(one); err == nil && one() {
			if n, ok := procs[0].Run.Ad.EvalInt(&classad.Context{}, pool.AttrQDate); ok {
				which.Since = time.Unix(n, 0)
			}
			err = look(func() bool { return false })
		}
	default:
		err = look(func() bool { return false })
	}
	return procs, err
}

// submitted reports whether any of the clusters has been submitted so far; nil stands for any
// clusters.
func (q queue) submitted(clusters map[int]bool) bool {
	for id := range clusters {
		if id < q.view.NextCluster() {
			return true
		}
	}
	return clusters == nil
}

// warnOfMissing says which named jobs there are not. Where the history was looked into, it says
// which there have been, and which there must have been.
func (d display) warnOfMissing(q queue, ids []string) {
	var gone []string
	if d.form == "j" {
		gone, ids = q.gone(ids)
	}
	last := q.view.NextCluster() - 1
	so := ""
	switch {
	case d.form != "j":
	case last == 0:
		so = "; no jobs have been submitted so far"
	case last == 1:
		so = "; cluster 1 is all that has been submitted so far"
	default:
		so = fmt.Sprintf("; clusters 1 to %d have been submitted so far", last)
	}
	if len(ids) > 0 {
		// Grid Engine's words, on one line.
		q.call.Warn("following jobs do not exist: %s%s", strings.Join(ids, ", "), so)
	}
	if len(gone) > 0 {
		q.call.Warn("%s: neither in the queue nor in the history; spool archive moves months of the history away", strings.Join(gone, ", "))
	}
}

// gone divides names of which no job is in the queue or the history into those whose clusters
// are there no more, though they were submitted, and the others.
func (q queue) gone(ids []string) (gone, others []string) {
	for _, word := range ids {
		cluster, _, _ := strings.Cut(word, ".")
		id, err := pool.ParseCluster(cluster)
		_, here := q.view.Cluster(id)
		_, comes := q.view.Factory(id)
		if err == nil && id < q.view.NextCluster() && !here && !comes {
			if known, err := q.endedOf(cluster); err == nil && len(known) == 0 {
				gone = append(gone, word)
				continue
			}
		}
		others = append(others, word)
	}
	return gone, others
}

// history returns the queue as sheets of jobs that have left it need it: they stand in no
// order.
func (q queue) history() queue {
	q.hierarchy, q.past = nil, true
	return q
}

// keptBy keeps the factories of a list of users, each an Owner or a User of the
// domain.
func keptBy(factories []spool.Factory, users, domain string) []spool.Factory {
	wanted := strings.Split(users, ",")
	if users == "" || slices.Contains(wanted, everybody) {
		return factories
	}
	return slices.DeleteFunc(factories, func(f spool.Factory) bool {
		return !slices.Contains(wanted, f.Owner) && !slices.Contains(wanted, f.Owner+"@"+domain)
	})
}

// tellKept writes a line for each factory: how many of its cluster's jobs are
// still to come, and what keeps them back.
func tellKept(w io.Writer, factories []spool.Factory) error {
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
	if why, held := steer.HeldBack(f); held {
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

// warnOfKept says which jobs a display of ads leaves out, since they have none yet.
func warnOfKept(c *cmdline.Call, factories []spool.Factory) {
	if len(factories) == 0 {
		return
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
	c.Warn("%d %s still to come %s left out here: %s", jobs, plural.Pick(jobs, "job that is", "jobs that are"), plural.Pick(jobs, "is", "are"), strings.Join(list, ", "))
}

// toCome returns what -j prints with -json of jobs that are still to come: they
// have no state yet, and the reason is what keeps them back.
func toCome(factories []spool.Factory) (list []Waiting) {
	for _, f := range factories {
		list = append(list, Waiting{Jobs: []pool.Procs{f.Coming()}, Reason: kept(f)})
	}
	return list
}

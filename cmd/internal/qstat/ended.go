package qstat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/report/queue"
	"fairspool/spool"
)

// ended returns the named jobs that have left the queue, ascending, with their ads from the
// history, and the names without such jobs.
func (d look) ended(words []string) (jobs []spool.Run, missing []string, err error) {
	for _, word := range words {
		found, err := d.endedOf(word)
		if err != nil {
			return jobs, missing, err
		}
		if len(found) == 0 {
			missing = append(missing, word)
		}
		jobs = append(jobs, found...)
	}
	slices.SortStableFunc(jobs, func(a, b spool.Run) int { return a.Compare(b.Procs) })
	return slices.CompactFunc(jobs, func(a, b spool.Run) bool { return a.Procs == b.Procs }), missing, nil
}

// endedOf looks for the jobs of one name from the end of the history back. One job is all that
// the name of a job stands for, and no job of a cluster left before the cluster was submitted.
func (d look) endedOf(word string) (jobs []spool.Run, err error) {
	names, err := selection.Parse([]string{word})
	if err != nil {
		return nil, err
	}
	which, named := names.Past()
	if !d.submitted(which.Clusters) {
		return nil, nil
	}
	_, notOne := pool.ParseJobID(word)
	_, notCluster := pool.ParseCluster(word)
	look := func(enough func() bool) error {
		jobs = nil
		return d.View.History(which, func(ad *classad.Ad) bool {
			if named(ad) {
				jobs = append(jobs, ofAd(ad))
			}
			return !enough()
		})
	}
	one := func() bool { return len(jobs) > 0 }
	switch {
	case notOne == nil:
		err = look(one)
	case notCluster == nil:
		if err = look(one); err == nil && one() {
			if n, ok := jobs[0].Ad.EvalInt(&classad.Context{}, pool.AttrQDate); ok {
				which.Since = time.Unix(n, 0)
			}
			err = look(func() bool { return false })
		}
	default:
		err = look(func() bool { return false })
	}
	return jobs, err
}

// ofAd returns the job of an ad, as a run.
func ofAd(ad *classad.Ad) spool.Run { return spool.Run{Procs: pool.Only(queue.IDOf(ad)), Ad: ad} }

// submitted reports whether any of the clusters has been submitted so far; nil stands for any
// clusters.
func (d look) submitted(clusters map[int]bool) bool {
	for id := range clusters {
		if id < d.View.NextCluster() {
			return true
		}
	}
	return clusters == nil
}

// warnOfMissing says which named jobs there are not. Where the history was looked into, it says
// which there have been, and which there must have been.
func (d look) warnOfMissing(ids []string) {
	var gone []string
	if d.form == "j" {
		gone, ids = d.gone(ids)
	}
	last := d.View.NextCluster() - 1
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
		d.Call.Warn("following jobs do not exist: %s%s", strings.Join(ids, ", "), so)
	}
	if len(gone) > 0 {
		d.Call.Warn("%s: neither in the queue nor in the history; spool archive moves months of the history away", strings.Join(gone, ", "))
	}
}

// gone divides ids without a job in the queue or the history into those of clusters that were
// submitted and are gone, and the others.
func (d look) gone(ids []string) (gone, others []string) {
	for _, word := range ids {
		cluster, _, _ := strings.Cut(word, ".")
		id, err := pool.ParseCluster(cluster)
		_, here := d.View.Cluster(id)
		_, comes := d.View.Factory(id)
		if err == nil && id < d.View.NextCluster() && !here && !comes {
			if known, err := d.endedOf(cluster); err == nil && len(known) == 0 {
				gone = append(gone, word)
				continue
			}
		}
		others = append(others, word)
	}
	return gone, others
}

// keptBy keeps the factories of a list of users, each an Owner or a User of the
// domain.
func keptBy(factories []spool.Factory, users []string, domain string) []spool.Factory {
	if users == nil {
		return factories
	}
	return slices.DeleteFunc(factories, func(f spool.Factory) bool {
		return !slices.Contains(users, f.Owner) && !slices.Contains(users, f.Owner+"@"+domain)
	})
}

package qstat

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/clean"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

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

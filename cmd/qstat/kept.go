package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

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
	if f.Paused != "" {
		return fmt.Sprintf("%s, and will not: %s; qdel %d gives them up", jobs, printable(f.Paused), f.Cluster)
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

package main

import (
	"fmt"
	"io"
	"math"

	"fairspool/lib/negotiator"
)

// procs returns the jobs that are asked about.
func (x *explained) procs() []negotiator.Procs {
	if x.whole {
		return []negotiator.Procs{{Cluster: x.id.Cluster, First: 0, Last: math.MaxInt}}
	}
	return []negotiator.Procs{procOf(x.id)}
}

// refusal returns why some of the jobs of a rejection are not matched.
func refusal(jobs []negotiator.Procs, r negotiator.Rejection, plan *negotiator.Plan) Refusal {
	a := plan.Autoclusters[r.Autocluster]
	return Refusal{Jobs: jobs, Submitter: r.Submitter, Cause: r.Cause, Also: r.Also, Reason: r.Reason, Help: r.Report().Help(a), Analysis: &a}
}

// explain prints how far the slots of the pool are from taking a job, and what would
// help.
func (r Refusal) explain(w io.Writer) {
	for _, l := range r.Analysis.Lines() {
		fmt.Fprintln(w, "  "+l)
	}
	fmt.Fprintf(w, "What would help: %s.\n", r.Help)
}

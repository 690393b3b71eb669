package negotiate

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// procs returns the jobs that are asked about.
func (x *explained) procs() []pool.Procs {
	if x.whole {
		return []pool.Procs{{Cluster: x.id.Cluster, First: 0, Last: math.MaxInt}}
	}
	return []pool.Procs{pool.Only(x.id)}
}

// listed reports whether the queue of a view has one of the jobs.
func (x *explained) listed(v *spool.View) bool {
	if !x.whole {
		_, ok := v.Run(x.id)
		return ok
	}
	_, ok := v.Cluster(x.id.Cluster)
	_, late := v.Factory(x.id.Cluster)
	return ok || late
}

// chosen returns the analyses of jobs that would be matched, by autocluster; refused
// are the autoclusters of the jobs that would not.
func chosen(plan *negotiator.Plan, matched []pool.Procs, refused map[int]bool) []Chosen {
	byJob := slices.SortedFunc(slices.Values(plan.Explained), func(a, b negotiator.Explained) int { return a.Jobs.Compare(b.Jobs) })
	of := map[int]*Chosen{}
	for _, m := range matched {
		i, found := slices.BinarySearchFunc(byJob, m, func(x negotiator.Explained, m pool.Procs) int { return x.Jobs.Compare(m) })
		if !found {
			i--
		}
		if i < 0 {
			continue
		}
		k := byJob[i].Autocluster
		if of[k] == nil {
			of[k] = &Chosen{Analysis: &plan.Autoclusters[k], refused: refused[k]}
		}
		of[k].Jobs = append(of[k].Jobs, m)
	}
	list := []Chosen{}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		of[k].Jobs = pool.JoinProcs(of[k].Jobs)
		list = append(list, *of[k])
	}
	return list
}

// explain prints which slots would do, and who has such.
func (x Chosen) explain(w io.Writer) {
	if x.refused {
		return
	}
	fmt.Fprintf(w, "The slots as %s would leave them:\n", procsText(x.Jobs))
	a := *x.Analysis
	a.Nearest = nil // is none: they have a slot
	for _, l := range a.Lines() {
		fmt.Fprintln(w, "  "+l)
	}
}

// refusal returns why some of the jobs of a rejection are not matched.
func refusal(jobs []pool.Procs, r negotiator.Rejection, plan *negotiator.Plan) Refusal {
	a := plan.Autoclusters[r.Autocluster]
	x := (&negotiator.Plan{Policy: plan.Policy, Rejections: []negotiator.Rejection{r}}).Report(0, epoch).Rejections[0]
	return Refusal{Jobs: jobs, Submitter: r.Submitter, Cause: r.Cause, Also: r.Also, Reason: r.Reason, Groups: r.Groups,
		Place: x.Place, Priority: x.Priority, Help: x.Help(a), Analysis: &a, standing: x.Standing()}
}

// explain prints how far the slots of the pool are from taking a job, and what would
// help.
func (r Refusal) explain(w io.Writer) {
	if r.standing != "" {
		fmt.Fprintln(w, "  "+r.standing)
	}
	for _, l := range r.Analysis.Lines() {
		fmt.Fprintln(w, "  "+l)
	}
	fmt.Fprintf(w, "What would help: %s.\n", r.Help)
}

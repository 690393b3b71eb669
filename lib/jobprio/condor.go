// Package jobprio answers: in what order do waiting jobs go, and why?
//
// There are two kinds of answers. Compare orders the jobs of one submitter, whose turn comes by its
// share, as HTCondor does. A Queue puts the jobs of all submitters into one order, in the place of
// shares, and may have limits of its own on what runs; it says what the places come from, so that
// a listing can explain the order with the numbers that made it.
//
// Job is the typed view of a job ad that Compare works on, made in one place by JobOf.
// NiceValues, which are for jobs that run, are Grid Engine's. The package is pure: it knows no
// clock, file or account, and it does not print.
package jobprio

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Job is what the place of a job among its submitter's own comes from. Priorities are whole numbers,
// higher is better; what a job ad does not define, or not as an integer,
// counts as 0.
type Job struct {
	ID pool.JobID
	// JobPrio is the priority that a user gives the job (prio).
	JobPrio int64
	// PreJobPrio1 and 2 outweigh JobPrio, PostJobPrio1 and 2 decide between
	// jobs of equal JobPrio.
	PreJobPrio1, PreJobPrio2, PostJobPrio1, PostJobPrio2 int64
	// QDate is when the job was submitted, in Unix seconds.
	QDate int64
}

// JobOf returns the view of the job ad called id. Attributes are evaluated
// in the ad alone.
func JobOf(c *classad.Context, id pool.JobID, ad *classad.Ad) Job {
	whole := func(name string) int64 {
		if n, ok := ad.EvalInt(c, name); ok {
			return n
		}
		return 0
	}
	return Job{
		ID:           id,
		JobPrio:      whole(pool.AttrJobPrio),
		PreJobPrio1:  whole(pool.AttrPreJobPrio1),
		PreJobPrio2:  whole(pool.AttrPreJobPrio2),
		PostJobPrio1: whole(pool.AttrPostJobPrio1),
		PostJobPrio2: whole(pool.AttrPostJobPrio2),
		QDate:        whole(pool.AttrQDate),
	}
}

// Compare returns a negative number when job a of a submitter goes before its job b, a positive one
// when it goes behind, and 0 for the same job: by PreJobPrio1, PreJobPrio2, JobPrio, PostJobPrio1
// and PostJobPrio2, each higher first, then the older job (QDate, ClusterId, ProcId; HTCondor's
// manual, "Negotiation": in job priority order, and older jobs first when priorities are the same).
func Compare(a, b Job) int {
	return cmp.Or(
		cmp.Compare(b.PreJobPrio1, a.PreJobPrio1),
		cmp.Compare(b.PreJobPrio2, a.PreJobPrio2),
		cmp.Compare(b.JobPrio, a.JobPrio),
		cmp.Compare(b.PostJobPrio1, a.PostJobPrio1),
		cmp.Compare(b.PostJobPrio2, a.PostJobPrio2),
		cmp.Compare(a.QDate, b.QDate),
		a.ID.Compare(b.ID),
	)
}

// InOrder returns the indices of jobs in the order of Compare.
func InOrder(jobs []Job) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return Compare(jobs[i], jobs[j]) })
	return order
}

package jobprio

import (
	"cmp"
	"slices"
	"time"
)

// Condor is HTCondor's order of one submitter's jobs: PreJobPrio1,
// PreJobPrio2, JobPrio, PostJobPrio1 and PostJobPrio2, each higher first, then
// the older job (QDate, ClusterId, ProcId; manual, "Negotiation": in job
// priority order, and older jobs first when priorities are the same). The
// Total of a score is JobPrio. Time does not enter.
type Condor struct{}

// Compare returns a negative number when a goes before b, a positive one
// when it goes behind, and 0 for the same job.
func (Condor) Compare(a, b Job) int {
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

// Rank orders jobs by Compare.
func (p Condor) Rank(jobs []Job, _ time.Time) []Score {
	scores := make([]Score, len(jobs))
	factors := make([]Factor, 0, 6*len(jobs))
	for i, j := range jobs {
		from := len(factors)
		factors = append(factors,
			Factor{"PreJobPrio1", float64(j.PreJobPrio1)},
			Factor{"PreJobPrio2", float64(j.PreJobPrio2)},
			Factor{"JobPrio", float64(j.JobPrio)},
			Factor{"PostJobPrio1", float64(j.PostJobPrio1)},
			Factor{"PostJobPrio2", float64(j.PostJobPrio2)},
			Factor{"QDate", float64(j.QDate)})
		scores[i] = Score{Job: j, Index: i, Total: float64(j.JobPrio), Factors: factors[from:len(factors):len(factors)]}
	}
	slices.SortFunc(scores, func(a, b Score) int { return p.Compare(a.Job, b.Job) })
	return scores
}

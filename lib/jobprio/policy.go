package jobprio

import (
	"fmt"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Job is what a policy needs to know of a job. Priorities are whole numbers,
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

// Factor is one number that a job's place comes from, under the name that
// the policy's manual gives it.
type Factor struct {
	Name  string
	Value float64
}

// Score is a job's place in the order.
type Score struct {
	Job Job
	// Index is the job's place in the list that was ranked.
	Index int
	// Total is the one number that the policy shows for the job, higher is
	// better. A policy that compares several numbers shows the one users set.
	Total float64
	// Factors are what the order was made from, most important first.
	Factors []Factor
}

// Policy is a rule for the order of jobs.
type Policy interface {
	// Rank returns a score for each of the jobs, the one to go first in
	// front. The order of jobs does not matter to it, and now is policy time.
	Rank(jobs []Job, now time.Time) []Score
}

// Named returns the policy with this name, as in JOB_PRIORITY_POLICY. Names of queues are
// an error.
func Named(name string) (Policy, error) {
	if name == "condor" {
		return Condor{}, nil
	}
	return nil, fmt.Errorf("job priority policy %q: does not rank the jobs of one submitter; want \"condor\"", name)
}

// Package jobprio orders waiting jobs, and explains the order.
//
// There are two kinds of order. Compare orders the jobs of one submitter, which gets its turn by
// its share, as HTCondor does. A Queue puts the jobs of all submitters into one order, in place of
// shares, and may have limits of its own on running jobs; it returns the inputs of the places, so
// that a listing can explain the order with the numbers that made it.
//
// Job is the typed view of a job ad for Compare, made in one place by Views. NiceValues, for
// running jobs, are Grid Engine's. The package is pure: it knows no clock, file or account, and it
// does not print.
package jobprio

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Job is the input of a job's place among its submitter's own. Priorities are whole numbers, higher
// is better; an attribute that a job ad does not define as an integer counts as 0.
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

// Views makes views of many jobs. Jobs that share an ad mostly share priorities. It is for one
// goroutine.
type Views struct {
	origin *classad.Origin // of the priorities
	known  map[*classad.Ad]Job
}

var (
	jobPrio   = classad.NewName(pool.AttrJobPrio)
	prePrio1  = classad.NewName(pool.AttrPreJobPrio1)
	prePrio2  = classad.NewName(pool.AttrPreJobPrio2)
	postPrio1 = classad.NewName(pool.AttrPostJobPrio1)
	postPrio2 = classad.NewName(pool.AttrPostJobPrio2)
	qDate     = classad.NewName(pool.AttrQDate)
)

// NewViews returns Views that have seen no job yet.
func NewViews() *Views {
	return &Views{classad.NewOrigin(jobPrio, prePrio1, prePrio2, postPrio1, postPrio2), map[*classad.Ad]Job{}}
}

// Of returns the view of the job ad called id. Attributes are evaluated in the ad alone.
func (v *Views) Of(c *classad.Context, id pool.JobID, ad *classad.Ad) Job {
	from := v.origin.Of(ad)
	j, known := v.known[from]
	if !known {
		constant := true
		whole := func(name *classad.Name) int64 {
			n, is := wholeNumber(c, ad, name)
			constant = constant && is
			return n
		}
		j = Job{
			JobPrio: whole(jobPrio), PreJobPrio1: whole(prePrio1), PreJobPrio2: whole(prePrio2),
			PostJobPrio1: whole(postPrio1), PostJobPrio2: whole(postPrio2),
		}
		if constant {
			v.known[from] = j
		}
	}
	j.ID = id
	j.QDate, _ = wholeNumber(c, ad, qDate)
	return j
}

// Known returns the view of a job ad whose like was met before, if nothing is to be evaluated for it.
func (v *Views) Known(id pool.JobID, ad *classad.Ad) (j Job, known bool) {
	if j, known = v.known[v.origin.Of(ad)]; known {
		j.ID = id
		j.QDate, known = wholeNumber(nil, ad, qDate)
	}
	return j, known
}

// wholeNumber returns the integer that an attribute is, else 0, and whether it is a constant. Without a context no other is evaluated.
func wholeNumber(c *classad.Context, ad *classad.Ad, name *classad.Name) (whole int64, constant bool) {
	v, e, _ := ad.Get(name)
	if e == nil {
		n, is := v.Int()
		if !is {
			n = 0
		}
		return n, true
	}
	if c == nil {
		return 0, false
	}
	n, ok := ad.EvalInt(c, name.String())
	if !ok {
		n = 0
	}
	return n, false
}

// Compare returns a negative number when job a of a submitter goes before its job b, a positive one
// when it goes behind, and 0 for the same job: by PreJobPrio1, PreJobPrio2, JobPrio, PostJobPrio1
// and PostJobPrio2, each higher first, then the older job (QDate, ClusterId, ProcId; HTCondor's
// manual, "Negotiation": in job priority order, and older jobs first when priorities are the same).
func Compare(a, b Job) int { return a.compare(&b) }

func (a *Job) compare(b *Job) int {
	if n := a.comparePrio(b); n != 0 {
		return n
	}
	return cmp.Or(cmp.Compare(a.QDate, b.QDate), a.ID.Compare(b.ID))
}

// AreInOrder reports whether runs are in the order of Compare, as far as their Likenesses say it: each has to be Viewed.
func AreInOrder(runs []Run) bool {
	for i := range runs {
		b := &runs[i]
		if b.Likeness == nil || !b.Likeness.Viewed {
			return false
		}
		if i == 0 {
			continue
		}
		a, n := &runs[i-1], 0
		if a.Likeness != b.Likeness {
			n = a.Likeness.Job.comparePrio(&b.Likeness.Job)
		}
		if n == 0 {
			n = cmp.Or(cmp.Compare(a.QDate, b.QDate), a.FirstJob().Compare(b.FirstJob()))
		}
		if n > 0 {
			return false
		}
	}
	return true
}

// comparePrio compares two jobs without their ages.
func (a *Job) comparePrio(b *Job) int {
	switch {
	case a.PreJobPrio1 != b.PreJobPrio1:
		return cmp.Compare(b.PreJobPrio1, a.PreJobPrio1)
	case a.PreJobPrio2 != b.PreJobPrio2:
		return cmp.Compare(b.PreJobPrio2, a.PreJobPrio2)
	case a.JobPrio != b.JobPrio:
		return cmp.Compare(b.JobPrio, a.JobPrio)
	case a.PostJobPrio1 != b.PostJobPrio1:
		return cmp.Compare(b.PostJobPrio1, a.PostJobPrio1)
	case a.PostJobPrio2 != b.PostJobPrio2:
		return cmp.Compare(b.PostJobPrio2, a.PostJobPrio2)
	}
	return 0
}

// InOrder returns the indices of jobs in the order of Compare.
func InOrder(jobs []Job) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return jobs[i].compare(&jobs[j]) })
	return order
}

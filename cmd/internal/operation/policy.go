package operation

import (
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Measure is what is to be done with jobs because they, or what they wait for,
// want it.
type Measure int

// The measures.
const (
	HoldThem    Measure = iota + 1
	ReleaseThem         // they are held no more
	RemoveThem
	VacateThem // they leave their slots, to run again
	LetThemGo  // they have ended, and LeaveJobInQueue keeps them no longer
	LetThemRun // what they waited for has come about
	PlanThem   // their time in the manner of cron(8) is over, and the next one is to be set
)

// measures says which one follows from what a job's own expressions want.
var measures = map[jobpolicy.Action]Measure{
	jobpolicy.Hold: HoldThem, jobpolicy.Release: ReleaseThem, jobpolicy.Remove: RemoveThem, jobpolicy.Vacate: VacateThem,
}

// Due is jobs with which something is to be done, and why.
type Due struct {
	Span
	What Measure
	Why  Reason // without a Text for LetThemGo, LetThemRun and PlanThem
}

// Outlook is what jobs want that nobody asks for by a command.
type Outlook struct {
	// Due are the jobs with which something is to be done, ascending.
	Due []Due
	// Unknown are the clusters of whose jobs the history has to be asked, see Recollect,
	// and Unneeded the watched ones whose endings nobody needs any more; both ascending.
	Unknown, Unneeded []int
}

// Policies looks at all jobs of the queue, as of the time now: their periodic
// expressions, those that LeaveJobInQueue keeps though they have ended, and those that
// wait for others to end. Jobs still to come are not looked at.
//
// What the expressions of equal procs look up that all of them have in common is
// evaluated for one of them. Of a job that runs, RemoteWallClockTime has the present
// run with it, as HTCondor's shadow has it.
func Policies(v *spool.View, now time.Time) Outlook {
	j := newJudge(v, now)
	for _, c := range v.Clusters() {
		j.cluster(c)
	}
	unknown, unneeded := j.watched()
	return Outlook{j.due, unknown, unneeded}
}

// judge finds out what is due.
type judge struct {
	v       *spool.View
	c       *classad.Context
	past    map[int]ending // what is known of clusters that others wait for
	waiters map[int]bool   // clusters that some job waits for
	due     []Due
}

func newJudge(v *spool.View, now time.Time) *judge {
	return &judge{v: v, c: &classad.Context{Now: now}, past: map[int]ending{}, waiters: map[int]bool{}}
}

func (j *judge) cluster(c *spool.Cluster) {
	for _, r := range c.Runs {
		n, _ := r.Ad.EvalInt(j.c, pool.AttrJobStatus)
		status := pool.Status(n)
		over := status == pool.Removed || status == pool.Completed
		waits := jobpolicy.Waits(r.Ad)
		if waits && !over {
			j.note(c.ID, r.Ad)
		}
		switch {
		case !over && !waits && jobpolicy.Never(r.Ad) && !jobpolicy.IsCron(r.Ad):
		case r.First == r.Last || alike(r):
			j.jobs(Span{c.ID, r.First, r.Last}, r.Proc(r.First), status)
		default:
			for p := r.First; p <= r.Last; p++ {
				j.jobs(Span{c.ID, p, p}, r.Proc(p), status)
			}
		}
	}
}

// note notes which clusters a job waits for. That only those can end that were
// submitted before is what keeps jobs from waiting for one another.
func (j *judge) note(cluster int, ad *classad.Ad) {
	ok, any := jobpolicy.After(ad)
	for _, of := range slices.Concat(ok, any) {
		if of < cluster {
			j.waiters[of] = true
		}
	}
}

// expressions are what a measure may depend on, with its reason.
var expressions = append(jobpolicy.PeriodicAttributes(),
	pool.AttrLeaveJobInQueue, jobpolicy.AttrAfterOk, jobpolicy.AttrAfterAny, jobpolicy.AttrDependenciesMet)

// alike tells whether the procs of a run cannot be told apart by what a measure
// depends on.
func alike(r spool.Run) bool {
	for _, name := range expressions {
		if e, ok := r.Ad.Lookup(name); ok && r.TellsApart(e) {
			return false
		}
	}
	return true
}

// jobs judges jobs by the ad of the first, a copy.
func (j *judge) jobs(s Span, ad *classad.Ad, status pool.Status) {
	switch status {
	case pool.Removed:
		j.ended(s, ad)
		return
	case pool.Running, pool.Suspended:
		inRun(ad, j.c.Now)
	case pool.Held:
		if x := (job{ad: ad}); x.int(pool.AttrHoldReasonCode) == jobpolicy.DependencyFailed {
			ad.SetBool("PeriodicRelease", false) // only a person can say that it is to run all the same
		}
	}
	v := jobpolicy.Periodic(j.c, ad)
	what := measures[v.Action]
	switch {
	case what == VacateThem:
		j.only(s, Due{s, what, Reason{v.Reason, v.Code, v.Subcode}}, func(c pool.Claim, ok bool) bool { return ok && c.State == pool.RunningClaim })
	case what != 0:
		j.add(Due{s, what, Reason{v.Reason, v.Code, v.Subcode}})
	case status == pool.Completed:
		j.ended(s, ad)
	case status == pool.Idle && jobpolicy.Waits(ad):
		j.dependent(s, ad)
	case status == pool.Idle && jobpolicy.Overdue(j.c, ad):
		j.plan(s, ad)
	}
}

// plan judges idle jobs whose time in the manner of cron(8) is over.
func (j *judge) plan(s Span, ad *classad.Ad) {
	if _, err := jobpolicy.Next(j.c, ad); err != nil {
		j.add(Due{s, HoldThem, Reason{Text: err.Error(), Code: jobpolicy.CronSettings}})
		return
	}
	j.only(s, Due{s, PlanThem, Reason{}}, func(_ pool.Claim, ok bool) bool { return !ok })
}

// inRun adds the present run, of which a part was reported already, to what a job used.
func inRun(ad *classad.Ad, now time.Time) {
	x := job{ad: ad}
	if began := x.int(pool.AttrCurrentStartDate); began > 0 && began < now.Unix() {
		before := x.real(pool.AttrWallClock) - x.real(pool.AttrWallClockCkpt)
		ad.SetReal(pool.AttrWallClock, before+float64(now.Unix()-began))
	}
}

// ended judges jobs that LeaveJobInQueue keeps in the queue.
func (j *judge) ended(s Span, ad *classad.Ad) {
	if !jobpolicy.Stays(j.c, ad) {
		j.only(s, Due{s, LetThemGo, Reason{}}, func(_ pool.Claim, ok bool) bool { return !ok })
	}
}

// only adds a measure for those of the jobs whose claim, if there is one, will do.
func (j *judge) only(s Span, d Due, will func(c pool.Claim, ok bool) bool) {
	for p := s.First; p <= s.Last; p++ {
		if will(j.v.Claim(pool.JobID{Cluster: s.Cluster, Proc: p})) {
			d.Span = Span{s.Cluster, p, p}
			j.add(d)
		}
	}
}

// add adds a measure, to the last one where that is the same for the procs before
// in the same run.
func (j *judge) add(d Due) {
	if k := len(j.due) - 1; k >= 0 {
		last := &j.due[k]
		if last.Cluster == d.Cluster && last.Last == d.First-1 && last.What == d.What && last.Why == d.Why && j.oneRun(last.First, d) {
			last.Last = d.Last
			return
		}
	}
	j.due = append(j.due, d)
}

func (j *judge) oneRun(first int, d Due) bool {
	r, ok := j.v.Run(pool.JobID{Cluster: d.Cluster, Proc: first})
	return ok && d.Last <= r.Last
}

// Followed is a measure that was taken.
type Followed struct {
	Due
	Outcome Outcome     // of HoldThem, ReleaseThem and RemoveThem
	Ad      *classad.Ad // of the first of the jobs, for what no measure changes
}

// Follow takes the measures that are due at the time now with the jobs of the
// clusters that are named in due. What is due is found out anew, as somebody may
// have changed the jobs since. The ads it returns may be read until the
// transaction ends. The caller names the transaction.
func Follow(tx *spool.Tx, due []Due, now time.Time, p accountant.Params) (all []Followed, err error) {
	j := newJudge(&tx.View, now)
	for i, d := range due {
		c, ok := tx.Cluster(d.Cluster)
		if !ok || i > 0 && due[i-1].Cluster == d.Cluster {
			continue
		}
		j.due = nil
		j.cluster(c)
		for _, d := range j.due {
			done, err := follow(tx, d, now, p)
			if err != nil {
				return nil, err
			}
			all = append(all, done...)
		}
	}
	return all, nil
}

func follow(tx *spool.Tx, d Due, now time.Time, p accountant.Params) (all []Followed, err error) {
	ad, _ := tx.Job(pool.JobID{Cluster: d.Cluster, Proc: d.First})
	done := []Done{{Span: d.Span}}
	switch d.What {
	case HoldThem:
		done, err = Hold(tx, d.Span, d.Why, now, p)
	case ReleaseThem:
		done, err = Release(tx, d.Span, d.Why.Text, now)
	case RemoveThem:
		done, err = RemoveAll(tx, d.Span, d.Why.Text, now, p)
	case VacateThem:
		for proc := d.First; proc <= d.Last; proc++ {
			Vacate(tx, pool.JobID{Cluster: d.Cluster, Proc: proc}, Reason{Text: d.Why.Text, Code: VacatedByJobPolicy}, now, p)
		}
	case LetThemGo:
		tx.LeaveRange(d.Cluster, d.First, d.Last, now)
	case PlanThem:
		steered{tx: tx, Span: d.Span, ad: ad}.nextTime(now)
	case LetThemRun:
		tx.SetRange(d.Cluster, d.First, d.Last, jobpolicy.AttrDependenciesMet, classad.Literal(classad.Bool(true)))
	}
	for _, x := range done {
		all = append(all, Followed{Due{x.Span, d.What, d.Why}, x.Outcome, ad})
	}
	return all, err
}

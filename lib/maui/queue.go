package maui

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
)

// Queue is Maui's policy as a negotiation cycle asks for it.
type Queue struct {
	config   *Config
	world    World
	reckoner *Reckoner
}

var _ jobprio.Queue = (*Queue)(nil)

// NewQueue returns the queue by a configuration, which must not change while it is used.
func NewQueue(c *Config, w World) *Queue { return &Queue{c, w, NewReckoner(c, w)} }

// Queued are equal jobs in the queue.
type Queued struct {
	jobprio.Procs // of Waiting.Idle
	// Job is what Start comes from: the facts of the first of their run, with the clock as
	// it counts from now on, and, if that has a weight, whether a soft limit is in their way.
	Job   *Job
	Start int64   // Of(Job).Start
	QOS   string  // that they go by
	PE    float64 // processor equivalents of one of them
	Why   string  // why they are not considered, such as "negative priority"; empty: they are

	submitter string
	common    *profile
	stored    clock
}

// Name is what JOB_PRIORITY_POLICY calls the policy.
func (q *Queue) Name() string { return "maui" }

// Attributes are the names of the attributes of jobs that the order is made from.
func (q *Queue) Attributes() []string { return Attributes() }

// LooksAtHeld says whether Order asks for Waiting.Held: with JOBPRIOACCRUALPOLICY
// FULLPOLICY the clocks of jobs that are held or wait for others stand.
func (q *Queue) LooksAtHeld() bool { return q.config.accrual() == FullPolicy }

// Order puts jobs in order.
//
// Considered are all jobs but those that asked for a QOS to which they have no access, those
// that would go beyond a fair share quota (FSTARGET with ^ or %), those of negative priority
// with REJECTNEGPRIOJOBS, and those for which a limit on what waits (MAXIJOB and the like) has
// no room left. These limits are given out in the order of the queue, to as many as fit.
// Only their hard values count, as in Maui; soft ones say nothing that this queue could use.
//
// A place's priority is the start priority; jobs whose clock stops with this very order
// have that of no queue time.
func (q *Queue) Order(w jobprio.Waiting) jobprio.Order {
	limits := q.newLimits(w.Running)
	places, blocked := q.line(w.Idle, limits)
	o := jobprio.Order{
		Places:      make([]jobprio.Place, len(places)),
		Clocks:      q.clocks(places, blocked, w.Held),
		CountPassed: q.config.countsService(Bypass),
	}
	for i, s := range places {
		o.Places[i] = jobprio.Place{Procs: s.Procs, Priority: float64(s.Start), QOS: s.QOS, PE: s.PE}
	}
	for _, s := range blocked {
		o.Blocked = append(o.Blocked, jobprio.Blocked{Procs: s.Procs, Priority: float64(s.Start), Why: s.Why})
	}
	if limits != nil {
		o.Limits = limits
	}
	return o
}

// Listing is Order for people: the jobs that are considered, the first to be served first,
// and those that are not, by priority and ID, each with all that its priority comes from.
func (q *Queue) Listing(w jobprio.Waiting) (places, blocked []*Queued) {
	return q.line(w.Idle, q.newLimits(w.Running))
}

func (q *Queue) line(idle []jobprio.Run, limits *limits) (places, blocked []*Queued) {
	all := q.look(idle)
	quotas := quotas{queue: q}
	for _, s := range all {
		s.Why = q.refusal(s, &quotas)
		q.setClock(s, q.limited(s, limits))
	}
	q.reckoner.starts(all)
	for _, s := range all {
		if s.Why == "" && s.Start < 0 && q.config.RejectNegative {
			q.block(s, "negative priority", FullPolicy)
		}
	}
	places, blocked = q.admit(inOrder(all))
	return places, inOrder(blocked)
}

// limited says whether a hard limit on what runs is in the way of jobs now, if that counts
// for anything, and notes whether a soft one is.
func (q *Queue) limited(s *Queued, limits *limits) bool {
	soft, hard := q.config.countsService(SPViolation) && !q.config.Compatible, q.config.accrual() == FullPolicy
	if limits == nil || !soft && !hard {
		return false
	}
	breaksSoft, breaksHard := limits.breaks(s)
	s.Job.SoftViolation = soft && breaksSoft
	return hard && breaksHard
}

// countsService says whether a subcomponent of SERVICE makes a difference.
func (c *Config) countsService(s Sub) bool {
	return c.Subs[s].Weight != 0 && c.Components[Service].Weight != 0
}

// look finds the facts of jobs.
func (q *Queue) look(runs []jobprio.Run) []*Queued {
	all, queued, jobs := make([]*Queued, len(runs)), make([]Queued, len(runs)), make([]Job, len(runs))
	parallel.Parts(parallel.Bounds(len(runs), manyRuns), func(_, from, to int) {
		c := &classad.Context{Now: q.world.Now}
		for i := from; i < to; i++ {
			jobs[i] = JobOf(c, runs[i])
			queued[i] = Queued{Procs: jobprio.Procs{Run: i, Count: runs[i].Count()}, Job: &jobs[i],
				PE: q.reckoner.PE(&jobs[i]), submitter: runs[i].Submitter, stored: jobs[i].clock()}
			all[i] = &queued[i]
		}
	})
	q.reckoner.profiles(all)
	return all
}

// credentials returns the names that limits and quotas of jobs go by.
func (s *Queued) credentials() [Kinds]string {
	return [Kinds]string{s.Job.User, s.Job.Group, s.Job.Account, s.QOS, s.Job.Class}
}

// wclimit returns the seconds for which one of the jobs may run.
func (s *Queued) wclimit() float64 { return s.common.limit(s.Job) }

package sge

// Course is what a job's numbers come from: everything that is put into the formulas of
// Seed, in full precision. What a formula makes of it is in Numbers, which is no part of the
// JSON.
type Course struct {
	Numbers `json:"-"`
	Running bool // the job runs
	// WeightPriority and the like are what the three parts of Prio are multiplied with.
	WeightPriority, WeightUrgency, WeightTicket float64
	POSIX                                       int64 // -1023 to 1024: NPPrior is (POSIX + 1024) / 2048
	// NoNPPrior says that nobody's was computed, as it decides nothing and is not shown: NPPrior
	// is 0.5.
	NoNPPrior bool
	Urgency   UrgencyCourse
	// MaxTickets is the most that any job has: NTckts is Tckts / MaxTickets, or 0.5 if that is
	// as good as none.
	MaxTickets float64
	NoTickets  bool // nobody has tickets: NTckts is 0.5
	Counted    CountedCourse
	Override   OverrideCourse
	Functional FunctionalCourse
	ShareTree  TreeCourse
}

// CountedCourse is what bounds how many waiting procs of a cluster count in the ticket
// policies: the lower of MaxPending and FreeSlots + 1, but one at least.
type CountedCourse struct {
	Procs      int
	MaxPending int   // max_pending_tasks_per_job
	FreeSlots  int64 // of the pool
}

// Course returns what the numbers of a proc that waits come from. Job is its index in the list
// that was given to Rank, and task its place in the stretch, from 0; if there is no such,
// all is zero. The first call repeats the run to look at it, and costs about as much as Rank.
func (r *Ranking) Course(job, task int) *Course {
	if job < 0 || job >= len(r.pending) || task < 0 || task >= r.pending[job].Count {
		return &Course{}
	}
	c := r.course(&r.pending[job], r.Pending(job, task))
	if !c.Uncounted {
		r.noted().pendingTickets(c, len(r.running)+int(r.from[job])+task)
	}
	return c
}

// RunningCourse is Course for a job that runs, by its index in that list.
func (r *Ranking) RunningCourse(job int) *Course {
	if job < 0 || job >= len(r.running) {
		return &Course{}
	}
	c := r.course(&r.running[job], r.Running(job))
	c.Running = true
	r.noted().runningTickets(c, int(r.runs[job]))
	return c
}

// course has all but the tickets.
func (r *Ranking) course(j *Job, n Numbers) *Course {
	c, most := r.config, r.tickets.most
	return &Course{
		Numbers:        n,
		WeightPriority: c.WeightPriority, WeightUrgency: c.WeightUrgency, WeightTicket: c.WeightTicket,
		POSIX:      min(max(j.POSIX, LeastPOSIX), MostPOSIX),
		NoNPPrior:  c.WeightPriority == 0 && !c.ReportPending,
		Urgency:    r.urgencyCourse(j),
		MaxTickets: most,
		NoTickets:  most < negligible,
		Counted:    CountedCourse{c.countable(r.world.FreeSlots), c.MaxPendingTasks, r.world.FreeSlots},
	}
}

package sge

import (
	"time"

	"fairspool/lib/pool"
)

// Job is what the policy needs to know of some equal procs of a cluster that follow each
// other: Count of them, from ID on. A cluster is what Grid Engine calls a job, its procs are
// the tasks.
type Job struct {
	ID                        pool.JobID
	Count                     int // 1 of a job that runs
	User, Project, Department string
	Submitted                 int64 // Unix seconds
	Deadline                  int64 // Unix seconds; 0: none
	POSIX                     int64 // -1023 to 1024
	JobShare, OverrideTickets float64
	// Slots is the assumed slot allocation, and LeastSlots the least of the range that was
	// asked for; 1 for a job that runs on one.
	Slots, LeastSlots int64
	// CPUs is how many the job asks for in each slot: what it counts for SlotsComplex.
	CPUs     float64
	Requests []Request // for complexes with an urgency; not SlotsComplex
}

// Request is a hard request of a job for one of Config.Complexes.
type Request struct {
	Complex int     // its index there
	Amount  float64 // a slot's; of a type without amounts 1
	Text    string  // as it was asked for
}

// World is what priorities are reckoned with besides the jobs.
type World struct {
	Now time.Time
	// FreeSlots is how many slots of the pool are free: as many procs of a cluster, and one
	// more, get tickets, at most Config.MaxPendingTasks.
	FreeSlots int64
	Used      Used
}

// Used is the decayed usage of each, as one number by the weights of usage_weight_list.
type Used struct {
	Own     map[string]float64    // of users, by their jobs without a project
	Project map[string]float64    // of projects
	Within  map[[2]string]float64 // of users in projects: by user and project
}

// Numbers is everything that qstat shows of a job's priority. All is in full precision.
type Numbers struct {
	Prio                           float64 // the weighted sum: higher goes first
	NPPrior, NUrg, NTckts          float64 // normalised
	Urg, RRContr, WTContr, DLContr float64
	Tckts, OTckt, FTckt, STckt     float64
	Share                          float64 // part of the tickets of all that wait, or run, 0 to 1
	// Uncounted says that so many procs of the cluster come before that it gets no tickets
	// in this run.
	Uncounted bool
}

// Place is some procs of a job of the queue that follow each other and stand at one priority.
type Place struct {
	Job, From, Count int // the job's index among those that wait; procs from the From-th on
	// Prio is Numbers.Prio of the procs or, if that is less, of an equal proc of the cluster
	// before them.
	Prio float64
}

package maui

import (
	"time"

	"fairspool/lib/pool"
)

// Job is what the hierarchy needs to know of a job.
type Job struct {
	ID                                   pool.JobID
	User, Group, Account, QOS, Class     string  // as the job says; empty: none
	Submitted                            int64   // Unix seconds
	Since                                int64   // when it became eligible, Unix seconds: what queue time counts from
	Stopped                              bool    // it is not eligible: no time counts
	WCLimit                              int64   // seconds that it may run; 0 or less: it says nothing, see Config.WCLimit
	Tasks, ProcsPerTask                  int64   // what it asks for: tasks, and for each of them
	MemPerTask, SwapPerTask, DiskPerTask float64 // MB
	Nodes                                int64   // 0: it asks for tasks only
	Bypassed                             int64   // how often a job behind it was started first
	SoftViolation                        bool    // it is beyond a soft limit of what may run
	System                               int64   // system priority: 0, N, or 2e9 + N for one relative to the job's own
	JobPrio                              int64   // decides among jobs of one submitter and equal priority
}

// Procs returns the processors that the job asks for, 0 and more, at most what an int64
// holds.
func (j *Job) Procs() int64 { return whole(float64(max(j.Tasks, 0)) * float64(max(j.ProcsPerTask, 0))) }

// World is what priorities are reckoned with besides the jobs.
type World struct {
	Now    time.Time
	Totals Totals
	Used   Used
}

// Totals is the size of the pool: processors, and MB.
type Totals struct{ Procs, Mem, Swap, Disk float64 }

// Used is what was used of late, each window's usage times FSDECAY as often as it is
// windows old, in the units of FSPOLICY.
type Used struct {
	Total float64
	Of    [Kinds]map[string]float64
}

// Priority is a job's priority, and all that it comes from.
type Priority struct {
	// Start is the priority by which the job stands in the queue: the whole part of Value.
	Start int64
	Value float64 // Raw within bounds, with the system priority
	Raw   float64 // the weighted sum
	// QOS is the job's, once lists of access and defaults were asked. Refused says that it
	// is not the one the job asked for, to which it has no access.
	QOS     string
	Refused bool
	Waited  float64 // seconds that count as queue time
	Parts   [Components]Part
	Subs    [Subs]Part
}

// Part is a term of a sum, with the job's own numbers.
type Part struct {
	Weight int64   // with what the job's QOS adds
	Full   float64 // the number as it is
	Factor float64 // the number with its cap: Weight times Factor is what the term adds
	Cap    int64   // 0: none
}

// Adds returns what the term adds to its sum.
func (p Part) Adds() float64 { return float64(p.Weight) * p.Factor }

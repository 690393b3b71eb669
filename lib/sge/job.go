package sge

import (
	"math"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Job is the policy's view of some equal, consecutive procs of a cluster: Count of them,
// from ID on. Grid Engine calls a cluster a job, and its procs the tasks.
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
	// CPUs is how many the job asks for in each slot: its amount of SlotsComplex.
	CPUs     float64
	Requests []Request // for complexes with an urgency; not SlotsComplex
}

// Request is a hard request of a job for one of Config.Complexes.
type Request struct {
	Complex int     // its index there
	Amount  float64 // a slot's; of a type without amounts 1
	Text    string  // as it was asked for
}

// World is what priorities are computed from besides the jobs.
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

// Fact is something that priorities are reckoned from, and where a job's ad has it.
type Fact struct {
	Name      string
	Attribute string
	Unit      string // of the attribute's values
	Default   string // for a missing or invalid value; empty: nothing
	set       func(s *sketch, v classad.Value)
	// fixed says that only a constant counts: the value of an expression could change at
	// any time, without a check that its owner may set it.
	fixed bool
}

// Facts is all inputs of priorities except requests: RequestNAME is the request for the
// complex with this name or shortcut, in the complex's unit.
var Facts = []Fact{
	{"user", pool.AttrOwner, "name", "", text(func(s *sketch) *string { return &s.User }), false},
	{"Unix group", pool.AttrUnixGroup, "name", "", text(func(s *sketch) *string { return &s.group }), false},
	{"project", pool.AttrProject, "name", "default_project of the user", text(func(s *sketch) *string { return &s.Project }), false},
	{"department", AttrDepartment, "name", "the first by name that lists the user or the Unix group; " + DefaultDepartment, text(func(s *sketch) *string { return &s.Department }), false},
	{"submission", pool.AttrQDate, "Unix seconds", "now", seconds(func(s *sketch) *int64 { return &s.Submitted }), false},
	{"deadline", AttrDeadline, "Unix seconds", "none", seconds(func(s *sketch) *int64 { return &s.Deadline }), true},
	{"POSIX priority", pool.AttrJobPrio, "number, cut to -1023 to 1024", "0", setPOSIX, true},
	{"job share", AttrJobShare, "number", "0", shares(func(s *sketch) *float64 { return &s.JobShare }), true},
	{"override tickets", AttrOverrideTickets, "number", "0", shares(func(s *sketch) *float64 { return &s.OverrideTickets }), true},
	{"parallel environment", AttrParallelEnvironment, "name, or a pattern", DefaultPE, text(func(s *sketch) *string { return &s.pe }), false},
	{"slots", AttrParallelSlots, "number, or ranges such as \"2-8\"", "1", setSlots, false},
	{"processors of a slot", pool.AttrRequestCpus, "number", "1", setCPUs, false},
}

// Attributes of jobs that are Grid Engine's.
const (
	AttrDepartment          = "Department"
	AttrDeadline            = "Deadline"
	AttrJobShare            = "JobShare"
	AttrOverrideTickets     = "OverrideTickets"
	AttrParallelEnvironment = "ParallelEnvironment"
	AttrParallelSlots       = "ParallelSlots"
)

// Bounds of priorities and shares.
const (
	LeastPOSIX, MostPOSIX = -1023, 1024
	MostShares            = math.MaxUint32 // as much as Grid Engine's own numbers hold
)

const latest = 1 << 53 // Unix seconds; no time is later

// sketch is an incomplete job.
type sketch struct {
	Job
	group, pe, slots string
}

// Attributes are the names of all attributes that priorities are computed from: those of
// Facts, the requests for complexes with an urgency, and those that delay a job's start.
func (c *Config) Attributes() (names []string) {
	for _, f := range Facts {
		names = append(names, f.Attribute)
	}
	for _, r := range newReader(c).requests {
		for _, a := range r.attributes {
			if !isFact(a.String()) {
				names = append(names, a.String())
			}
		}
	}
	for _, n := range [...]*classad.Name{deferralTime, deferralPrepTime, scheddInterval} {
		names = append(names, n.String())
	}
	return names
}

func text(of func(*sketch) *string) func(*sketch, classad.Value) {
	return func(s *sketch, v classad.Value) {
		if t, ok := v.Text(); ok && t != "" {
			*of(s) = t
		}
	}
}

// seconds sets a time after 1970.
func seconds(of func(*sketch) *int64) func(*sketch, classad.Value) {
	return func(s *sketch, v classad.Value) { setSeconds(of(s), v) }
}

// setSeconds sets a time to a value, unless that is none.
func setSeconds(to *int64, v classad.Value) {
	if n, ok := whole(v); ok && n > 0 {
		*to = min(n, latest)
	}
}

func shares(of func(*sketch) *float64) func(*sketch, classad.Value) {
	return func(s *sketch, v classad.Value) {
		if n, ok := whole(v); ok && n > 0 {
			*of(s) = float64(min(n, MostShares))
		}
	}
}

func setPOSIX(s *sketch, v classad.Value) {
	if n, ok := whole(v); ok {
		s.POSIX = min(max(n, LeastPOSIX), MostPOSIX)
	}
}

func setSlots(s *sketch, v classad.Value) {
	if t, ok := v.Text(); ok {
		s.slots = t
	} else if n, ok := whole(v); ok {
		s.slots = strconv.FormatInt(n, 10)
	}
}

func setCPUs(s *sketch, v classad.Value) {
	if n, ok := whole(v); ok && n > 0 {
		s.CPUs = float64(n)
	}
}

// whole returns an integer, or a real without its fraction.
func whole(v classad.Value) (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	x, ok := v.Number()
	switch {
	case !ok || math.IsNaN(x):
		return 0, false
	case x >= math.MaxInt64:
		return math.MaxInt64, true
	case x <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(x), true
}

// UsedOf returns the usage that the share tree compares, from the tallies of Grid Engine's
// kinds, decayed as of now and as one number by the weights of d.
func UsedOf(tallies []accountant.Tally, d accountant.DecayParams, now time.Time) Used {
	u := Used{Own: map[string]float64{}, Project: map[string]float64{}, Within: map[[2]string]float64{}}
	p := accountant.Params{Decay: d}
	for _, y := range tallies {
		if y.Windowed() {
			continue
		}
		used := y.AsOf(now, p).Decayed.Combined(d)
		switch user, project := y.UserProject(); y.Kind {
		case accountant.KindOwn:
			u.Own[user] = used
		case accountant.KindProject:
			u.Project[project] = used
		case accountant.KindWithin:
			u.Within[[2]string{user, project}] = used
		}
	}
	return u
}

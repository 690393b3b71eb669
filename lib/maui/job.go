package maui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Job is the hierarchy's view of a job.
type Job struct {
	ID                                   pool.JobID
	User, Group, Account, QOS, Class     string  // as the job says; empty: none
	Submitted                            int64   // Unix seconds
	Since                                int64   // when it became eligible, Unix seconds: what queue time counts from
	Stopped                              bool    // it is not eligible: no time counts
	WCLimit                              int64   // seconds that it may run; 0 or less: it says nothing, see Config.WCLimit
	Tasks, ProcsPerTask                  int64   // its request: tasks, and processors for each
	MemPerTask, SwapPerTask, DiskPerTask float64 // MB
	Nodes                                int64   // 0: it asks for tasks only
	Bypassed                             int64   // how often a job behind it was started first
	SoftViolation                        bool    // it is beyond a soft limit on running jobs
	System                               int64   // system priority: 0, N, or 2e9 + N for one relative to the job's own
	JobPrio                              int64   // decides among jobs of one submitter and equal priority
}

// Procs returns the processors that the job asks for, 0 and more, at most what an int64
// holds.
func (j *Job) Procs() int64 { return whole(float64(max(j.Tasks, 0)) * float64(max(j.ProcsPerTask, 0))) }

// World is what priorities are computed from besides the jobs.
type World struct {
	Now    time.Time
	Totals Totals
	Used   Used
}

// Totals is the size of the pool: processors, and MB.
type Totals struct{ Procs, Mem, Swap, Disk float64 }

// Used is recent usage: each window's usage times FSDECAY as often as it is windows old,
// in the units of FSPOLICY.
type Used struct {
	Total float64
	Of    [Kinds]map[string]float64
}

// Priority is a job's priority, and all that it comes from.
type Priority struct {
	// Start is the job's priority in the queue: the whole part of Value.
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
	Weight int64   // with the QOS's addition
	Full   float64 // the number as it is
	Factor float64 // the number with its cap: Weight times Factor is the term's contribution
	Cap    int64   // 0: none
}

// Adds returns the term's contribution to its sum.
func (p Part) Adds() float64 { return float64(p.Weight) * p.Factor }

// Fact is something that priorities are reckoned from, and where a job's ad has it.
type Fact struct {
	Name       string
	Attributes []string // the first that is defined, and makes sense, counts
	Unit       string   // of the attributes' values
	Default    string   // for a missing value; empty: nothing
	set        func(j *Job, attribute string, v classad.Value) bool
	// fixed says that an expression counts only if it is worth the same at all times: short
	// jobs go first, and one that is short as long as it waits would gain by that.
	fixed bool
}

// Facts is all that priorities are reckoned from.
var Facts = []Fact{
	{"user", []string{pool.AttrOwner}, "name", "", text(func(j *Job) *string { return &j.User }), false},
	{"group", []string{pool.AttrUnixGroup}, "name", "", text(func(j *Job) *string { return &j.Group }), false},
	{"account", []string{pool.AttrAcctGroup}, "name", "", text(func(j *Job) *string { return &j.Account }), false},
	{"QOS asked for", []string{pool.AttrQOS}, "name", "the first QDEF of its user, group, account and class; DEFAULT", text(func(j *Job) *string { return &j.QOS }), false},
	{"class", []string{pool.AttrClass}, "name", "", text(func(j *Job) *string { return &j.Class }), false},
	{"submission", []string{pool.AttrQDate}, "Unix seconds", "now", number(func(j *Job) *int64 { return &j.Submitted }), false},
	{"beginning of queue time", []string{pool.AttrEligibleSince, pool.AttrQDate}, "Unix seconds; EligibleSince 0: the job is not eligible and its clock stands", "now", setSince, false},
	{"wall-clock limit", []string{"WallTimeLimit", "AllowedExecuteDuration"}, "seconds, the same whatever happens", "DEFAULT.WCLIMIT of its class; 8640000", positive(func(j *Job) *int64 { return &j.WCLimit }), true},
	{"tasks", []string{"ParallelSlots"}, "number, or the first one of \"2-4\"", "1", setTasks, false},
	{"processors of a task", []string{pool.AttrRequestCpus}, "number", "1", positive(func(j *Job) *int64 { return &j.ProcsPerTask }), false},
	{"memory of a task", []string{pool.AttrRequestMemory}, "MB", "0", megabytes(1, func(j *Job) *float64 { return &j.MemPerTask }), false},
	{"swap space of a task", []string{"RequestSwap"}, "MB", "0", megabytes(1, func(j *Job) *float64 { return &j.SwapPerTask }), false},
	{"disk space of a task", []string{pool.AttrRequestDisk}, "KB", "0", megabytes(1024, func(j *Job) *float64 { return &j.DiskPerTask }), false},
	{"nodes", []string{"RequestNodes", pool.AttrMinHosts}, "number; MinHosts 1 is as if it asked for none", "0: it asks for tasks only", setNodes, false},
	{"bypass count", []string{pool.AttrBypassCount}, "number", "0", positive(func(j *Job) *int64 { return &j.Bypassed }), false},
	{"system priority", []string{pool.AttrSystemPriority}, "1 to 1000; 2000000000 and what is added", "0: none", positive(func(j *Job) *int64 { return &j.System }), false},
	{"order among the submitter's own", []string{pool.AttrJobPrio}, "number", "0", number(func(j *Job) *int64 { return &j.JobPrio }), false},
}

// Attributes are the names of all attributes of Facts, once each, in their order.
func Attributes() (names []string) {
	seen := map[string]bool{}
	for _, f := range Facts {
		for _, a := range f.Attributes {
			if !seen[a] {
				seen[a], names = true, append(names, a)
			}
		}
	}
	return names
}

// JobOf returns the facts of a run of procs. Attributes are evaluated in its ad alone, which
// is its first proc's: an expression that needs ProcId counts for all as for this one.
// Values of the wrong kind, and sizes and counts below 0, count as missing, and so does a
// limit that may change; fractions of whole numbers are cut off.
func JobOf(c *classad.Context, r jobprio.Run) Job { return newReader().job(c, r) }

// reader makes jobs of ads, of which those that share an ad mostly share facts. It is for one goroutine: names remember
// where they were found.
type reader struct {
	names  [][]*classad.Name // of Facts
	moves  []bool            // by fact: it comes from moving attributes
	origin *classad.Origin   // of all but moving
	known  map[*classad.Ad]Job
	last   *jobprio.Likeness // the one that was asked about last
	like   *likeJob
	clock  *classad.Name // EligibleSince
}

// likeJob is the facts of a Likeness, of one of its jobs. Others differ from it in what comes from their QDate, if all comes from constants.
type likeJob struct {
	Job
	constant bool
	clocked  bool // Since is not from QDate
}

// moving are the attributes that mostly differ from job to job.
var moving = []string{pool.AttrQDate, pool.AttrEligibleSince, pool.AttrBypassCount}

func newReader() *reader {
	x := &reader{known: map[*classad.Ad]Job{}, clock: classad.NewName(pool.AttrEligibleSince)}
	var lasting []*classad.Name
	for _, f := range Facts {
		of := make([]*classad.Name, len(f.Attributes))
		for i, a := range f.Attributes {
			of[i] = classad.NewName(a)
			if !slices.Contains(moving, a) {
				lasting = append(lasting, of[i])
			}
		}
		x.names, x.moves = append(x.names, of), append(x.moves, slices.Contains(moving, f.Attributes[0]))
	}
	x.origin = classad.NewOrigin(lasting...)
	return x
}

func (x *reader) job(c *classad.Context, r jobprio.Run) Job {
	like := r.Likeness
	if like == nil || r.QDate == 0 {
		j, _ := x.byAd(c, r)
		return j
	}
	if like != x.last {
		is, known := like.Facts().(*likeJob)
		if !known {
			is = &likeJob{}
			is.Job, is.constant = x.byAd(c, r)
			v, _, _ := r.Ad.Get(x.clock)
			_, is.clocked = wholeOf(v)
			like.KeepFacts(is)
		}
		x.last, x.like = like, is
	}
	if !x.like.constant {
		j, _ := x.byAd(c, r)
		return j
	}
	j := x.like.Job
	if j.ID, j.Submitted = r.FirstJob(), r.QDate; !x.like.clocked {
		j.Since = r.QDate
	}
	return j
}

// byAd returns the facts that the ad of a run says, and reports whether all come from constants.
func (x *reader) byAd(c *classad.Context, r jobprio.Run) (j Job, constant bool) {
	from := x.origin.Of(r.Ad)
	j, constant = x.known[from]
	if !constant {
		j = Job{Tasks: 1, ProcsPerTask: 1}
		if constant = x.read(&j, c, r.Ad, false); constant {
			x.known[from] = j
		}
	}
	j.ID, j.Submitted, j.Since = r.FirstJob(), c.Now.Unix(), c.Now.Unix()
	return j, x.read(&j, c, r.Ad, true) && constant
}

// read sets the facts that come from moving attributes, or the others, and reports whether all of them are constants.
func (x *reader) read(j *Job, c *classad.Context, ad *classad.Ad, moves bool) (constant bool) {
	constant = true
	for i := range Facts {
		f := &Facts[i]
		if x.moves[i] != moves {
			continue
		}
		for n, a := range f.Attributes {
			v, e, ok := ad.Get(x.names[i][n])
			constant = constant && e == nil
			switch {
			case !ok, e != nil && f.fixed && !lasting(ad, a):
				continue
			case e != nil:
				v = ad.Eval(c, a, nil)
			}
			if f.set(j, a, v) {
				break
			}
		}
	}
	return constant
}

// lasting reports whether an attribute has the same value in any ad, at any time.
func lasting(ad *classad.Ad, name string) bool {
	e, _ := ad.Lookup(name)
	if _, constant := e.Constant(); constant {
		return true
	}
	own, others := classad.References(e, nil)
	clock, chance := classad.Varies(e, nil, nil)
	return len(own)+len(others) == 0 && !clock && !chance
}

type setter = func(j *Job, attribute string, v classad.Value) bool

func text(of func(*Job) *string) setter {
	return func(j *Job, _ string, v classad.Value) bool {
		s, ok := v.Text()
		if ok = ok && s != ""; ok {
			*of(j) = s
		}
		return ok
	}
}

func number(of func(*Job) *int64) setter {
	return func(j *Job, _ string, v classad.Value) bool {
		n, ok := wholeOf(v)
		if ok {
			*of(j) = n
		}
		return ok
	}
}

func positive(of func(*Job) *int64) setter {
	return func(j *Job, _ string, v classad.Value) bool {
		n, ok := wholeOf(v)
		if ok = ok && n > 0; ok {
			*of(j) = n
		}
		return ok
	}
}

func megabytes(unit float64, of func(*Job) *float64) setter {
	return func(j *Job, _ string, v classad.Value) bool {
		x, ok := v.Number()
		if ok = ok && x >= 0; ok {
			*of(j) = bounded(x / unit)
		}
		return ok
	}
}

func setSince(j *Job, attribute string, v classad.Value) bool {
	n, ok := wholeOf(v)
	if ok {
		j.Since, j.Stopped = n, n == 0 && attribute == pool.AttrEligibleSince
	}
	return ok
}

func setTasks(j *Job, _ string, v classad.Value) bool {
	n, ok := wholeOf(v)
	if s, isText := v.Text(); isText {
		least := s
		if i := strings.IndexAny(s, "-,"); i >= 0 {
			least = s[:i]
		}
		var err error
		n, err = strconv.ParseInt(strings.TrimSpace(least), 10, 64)
		ok = err == nil
	}
	if ok = ok && n > 0; ok {
		j.Tasks = n
	}
	return ok
}

func setNodes(j *Job, attribute string, v classad.Value) bool {
	n, ok := wholeOf(v)
	if ok = ok && n > 0 && (n > 1 || attribute != pool.AttrMinHosts); ok {
		j.Nodes = n
	}
	return ok
}

// wholeOf returns an integer, or a real without its fraction.
func wholeOf(v classad.Value) (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	x, ok := v.Number()
	return whole(x), ok
}

package sge

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// Queue is Grid Engine's policy for a negotiation cycle.
type Queue struct {
	config  *Config
	world   World
	reader  *reader
	tickets bool
	spare   bool
}

var _ jobprio.Queue = (*Queue)(nil)

// NewQueue returns the queue by a configuration, which must not change while it is used.
func NewQueue(c *Config, w World) *Queue { return &Queue{config: c, world: w, reader: newReader(c)} }

// KeepTickets reports whether Order is to tell the tickets of jobs, which their run-time priority
// follows where reprioritize_interval is not 0. Without this it does not.
func (q *Queue) KeepTickets(keep bool) { q.tickets = keep }

// SpareRunning sets whether running jobs keep their tickets, so that Order reports only those of
// waiting jobs. Otherwise it reports all.
func (q *Queue) SpareRunning(spare bool) { q.spare = spare }

// Name is what JOB_PRIORITY_POLICY calls the policy.
func (q *Queue) Name() string { return "sge" }

// Attributes are the names of the attributes of jobs that the order is made from.
func (q *Queue) Attributes() []string { return q.config.Attributes() }

// Order puts jobs in order. No job is left out; maxujobs is the only limit. Suspended
// jobs take no part in the ranking, and keep their tickets; jobs with a later start take
// no part either, and follow all others.
func (q *Queue) Order(w jobprio.Waiting) (o jobprio.Order) {
	l := q.Listing(w)
	o.Places = l.Places()
	if q.tickets {
		o.Places = l.withTickets(o.Places)
		o.Tickets = l.tickets(len(w.Running), q.spare)
	}
	if q.config.MaxUserJobs > 0 {
		o.Limits = newUserLimit(q.config.MaxUserJobs, w.Running)
	}
	return o
}

// Listing is an order for people: the ranking, and which jobs of it are which.
type Listing struct {
	ranking *Ranking
	running []int // by index of Waiting.Running: the job's among those that run; -1: it takes no part
	jobs    []Job // that wait, and
	claimed []Job // that run
	idle    []jobprio.Run
	behind  []jobprio.Place
}

// Listing ranks jobs. A waiting job's index is that of its run in Waiting.Idle.
func (q *Queue) Listing(w jobprio.Waiting) *Listing {
	l := &Listing{jobs: q.look(w.Idle), idle: w.Idle, running: make([]int, len(w.Running))}
	q.leaveOut(l.jobs, w.Idle)
	l.behind = l.later()
	runs := make([]jobprio.Run, 0, len(w.Running))
	c := &classad.Context{Now: q.world.Now}
	for i, r := range w.Running {
		f := likeJobOf(r.Likeness, q.config)
		suspended := f != nil && f.suspended
		if f == nil || f.unknown {
			suspended = isSuspended(c, r.Ad)
		}
		if l.running[i] = -1; !suspended {
			l.running[i] = len(runs)
			runs = append(runs, r.Run)
		}
	}
	l.claimed = q.look(runs)
	l.ranking = Rank(q.config, q.world, l.jobs, l.claimed)
	return l
}

func isSuspended(c *classad.Context, ad *classad.Ad) bool {
	status, ok := ad.EvalInt(c, pool.AttrJobStatus)
	return ok && pool.Status(status) == pool.Suspended
}

// Ranking is the run that the listing is of.
func (l *Listing) Ranking() *Ranking { return l.ranking }

// Job returns the facts of the jobs of Waiting.Idle[i]. Those that are to start later take no
// part: of them Count is 0.
func (l *Listing) Job(i int) *Job { return &l.jobs[i] }

// Running returns the index in the ranking of the job of Waiting.Running[i], and its facts;
// false for one that is suspended, which takes no part.
func (l *Listing) Running(i int) (index int, job *Job, ok bool) {
	if index = l.running[i]; index < 0 {
		return 0, nil, false
	}
	return index, &l.claimed[index], true
}

// Places are the places of all jobs that wait, the first to be served first.
func (l *Listing) Places() []jobprio.Place {
	list := l.ranking.Places()
	places := make([]jobprio.Place, len(list))
	for i, p := range list {
		places[i] = jobprio.Place{Part: l.part(p.Job, p.From, p.From+p.Count), Priority: p.Prio}
	}
	return append(places, l.behind...)
}

// withTickets notes the tickets of each place's jobs, and splits places with different ones.
// Jobs behind an uncounted job are not counted either.
func (l *Listing) withTickets(places []jobprio.Place) []jobprio.Place {
	list := make([]jobprio.Place, 0, len(places))
	for _, p := range places {
		from := p.First - l.idle[p.Run].First
		end, counted := from+p.Count(), true
		for task := from; task < end && counted; task++ {
			n := l.ranking.Pending(p.Run, task)
			counted = !n.Uncounted
			if tickets := math.Trunc(n.Tckts); task == from || tickets != p.Tickets {
				if task > from {
					list = append(list, l.of(p, from, task))
				}
				from, p.Tickets = task, tickets
			}
		}
		list = append(list, l.of(p, from, end))
	}
	return list
}

// of returns the place of some of a place's procs, from one of their run, from 0, to before another.
func (l *Listing) of(p jobprio.Place, from, to int) jobprio.Place {
	p.Part = l.part(p.Run, from, to)
	return p
}

// part returns the procs of a run from one, from 0, to before another.
func (l *Listing) part(run, from, to int) jobprio.Part {
	p := l.idle[run].Procs
	p.First, p.Last = p.First+from, p.First+to-1
	return jobprio.Part{Run: run, Procs: p}
}

// tickets returns the tickets of the jobs that run, by index of Waiting.Running; below 0 where
// they are to be spared.
func (l *Listing) tickets(n int, spare bool) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = -1
		if index, _, ok := l.Running(i); ok && !spare {
			list[i] = math.Trunc(l.ranking.Running(index).Tckts)
		}
	}
	return list
}

// look finds the facts of jobs.
func (q *Queue) look(runs []jobprio.Run) []Job {
	jobs := make([]Job, len(runs))
	parallel.Parts(parallel.Bounds(len(runs), manyRuns), func(_, from, to int) {
		c, own := &classad.Context{Now: q.world.Now}, q.reader.own()
		for i := from; i < to; i++ {
			jobs[i] = own.job(c, runs[i])
		}
	})
	return jobs
}

// leaveOut takes the procs out of jobs that take no part yet.
func (q *Queue) leaveOut(jobs []Job, runs []jobprio.Run) {
	parallel.Parts(parallel.Bounds(len(runs), manyRuns), func(_, from, to int) {
		c, name := &classad.Context{Now: q.world.Now}, classad.NewName(deferralTime.String())
		for i := from; i < to; i++ {
			r := &runs[i]
			if f := likeJobOf(r.Likeness, q.config); f != nil && !f.timed {
				continue
			}
			if _, _, timed := r.Ad.Get(name); timed && isLater(c, r.Ad) {
				jobs[i].Count = 0
			}
		}
	})
}

// manyRuns are worth another processor.
const manyRuns = 1000

// Job returns the facts of a run of procs by the queue's configuration, also of jobs that
// neither wait nor run, which no Listing has. Attributes are evaluated in the run's ad alone,
// which is its first proc's: an expression that needs ProcId counts for all as for this one.
// Values of the wrong kind count as missing, and so do deadlines, priorities, shares and
// tickets that are not constants. Many goroutines may call it.
//
// A job counts as one with a single slot if Slots does not understand its request, or if its
// parallel environment does not exist any more.
func (q *Queue) Job(ctx *classad.Context, r jobprio.Run) Job { return q.reader.job(ctx, r) }

// SlotsContribution returns the contribution of a job's slots to its urgency (Seed, hrr):
// one slot's contribution times the assumed slots and the processors of each.
func (c *Config) SlotsContribution(j *Job) float64 { return slotsAdd(j, c.slotUrgency()) }

// userLimit is maxujobs: how many jobs of each user may have claims. Those that are suspended
// count, too. Jobs that say no user are not limited. There are no soft limits.
type userLimit struct {
	most   int
	users  []string       // by kind
	kindOf map[string]int // of users
	used   []int          // by kind
	eval   *classad.Context
}

var _ jobprio.Limits = (*userLimit)(nil)

// newUserLimit returns maxujobs with what runs already.
func newUserLimit(most int, running []jobprio.Running) *userLimit {
	l := &userLimit{most: most, kindOf: map[string]int{}, eval: &classad.Context{}}
	for _, r := range running {
		l.Take(l.Kind(r.Run))
	}
	return l
}

// Attributes are the names of the attributes that distinguish users.
func (l *userLimit) Attributes() []string { return []string{pool.AttrOwner} }

// Kind returns the number of a job's user.
func (l *userLimit) Kind(r jobprio.Run) int {
	user, _ := r.Ad.EvalString(l.eval, pool.AttrOwner)
	kind, known := l.kindOf[user]
	if !known {
		kind = len(l.users)
		l.kindOf[user] = kind
		l.users, l.used = append(l.users, user), append(l.used, 0)
	}
	return kind
}

// Refuses says that a user has the maximum number of jobs, such as "maxujobs 5 of user
// alice: 5 in use"; empty: it has fewer.
func (l *userLimit) Refuses(kind int, _ bool) string {
	if l.admits(kind, 0) {
		return ""
	}
	return "maxujobs " + strconv.Itoa(l.most) + " of user " + l.users[kind] + ": " + strconv.Itoa(l.used[kind]) + " in use"
}

// Admits reports whether a user may have one more job when some have ended; ended are their users.
func (l *userLimit) Admits(kind int, ended []int, _ bool) bool {
	own := len(ended) - len(slices.DeleteFunc(slices.Clone(ended), func(k int) bool { return k == kind }))
	return l.admits(kind, own)
}

func (l *userLimit) admits(kind, ended int) bool {
	return l.users[kind] == "" || l.used[kind]-ended < l.most
}

// Take counts one more job of a user.
func (l *userLimit) Take(kind int) { l.used[kind]++ }

// Lasting says that a user's job may follow another of its own without asking.
func (l *userLimit) Lasting(int) bool { return true }

// The attributes that say from when on a slot may be looked for: DeferralPrepTime before
// DeferralTime, and the seconds from one look to the next before that.
var (
	deferralTime     = classad.NewName("DeferralTime")
	deferralPrepTime = classad.NewName("DeferralPrepTime")
	scheddInterval   = classad.NewName("ScheddInterval")
)

// isLater reports whether jobs are to start at a time for which no slot is searched yet. Grid
// Engine leaves jobs with a start time (qsub -a) out of all computations until then.
func isLater(c *classad.Context, ad *classad.Ad) bool {
	at, ok := secondsIn(c, ad, deferralTime)
	if !ok {
		return false
	}
	early, _ := secondsIn(c, ad, deferralPrepTime)
	interval, _ := secondsIn(c, ad, scheddInterval)
	return c.Now.Unix()+interval < at-early
}

// secondsIn returns a number of seconds in an ad, 0 to latest; false without one.
func secondsIn(c *classad.Context, ad *classad.Ad, name *classad.Name) (int64, bool) {
	v, ok := valueOf(c, ad, name, false)
	if !ok {
		return 0, false
	}
	n, ok := whole(v)
	return min(max(n, 0), latest), ok
}

// later are the places of jobs that take no part since they are to start later, behind all
// others, in the order of their submission.
func (l *Listing) later() (places []jobprio.Place) {
	for i := range l.jobs {
		if l.jobs[i].Count == 0 && l.idle[i].Count() > 0 {
			places = append(places, jobprio.Place{Part: jobprio.Part{Run: i, Procs: l.idle[i].Procs}})
		}
	}
	slices.SortFunc(places, func(a, b jobprio.Place) int {
		return cmp.Or(cmp.Compare(l.jobs[a.Run].Submitted, l.jobs[b.Run].Submitted), l.jobs[a.Run].ID.Compare(l.jobs[b.Run].ID))
	})
	return places
}

package sge

import (
	"math"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// Queue is Grid Engine's policy as a negotiation cycle asks for it.
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

// KeepTickets says whether Order is to tell the tickets of jobs, which their run-time priority
// follows where reprioritize_interval is not 0. Without this it does not.
func (q *Queue) KeepTickets(keep bool) { q.tickets = keep }

// SpareRunning says whether jobs that run are to keep the tickets that they have, so that Order
// tells only those of jobs that wait. Without this it tells all.
func (q *Queue) SpareRunning(spare bool) { q.spare = spare }

// Name is what JOB_PRIORITY_POLICY calls the policy.
func (q *Queue) Name() string { return "sge" }

// Attributes are the names of the attributes of jobs that the order is made from.
func (q *Queue) Attributes() []string { return q.config.Attributes() }

// Order puts jobs in order. Nobody is left out; maxujobs is the only limit. Jobs that are
// suspended take no part in the ranking, and keep the tickets that they have; those that are
// to start later take none either, and stand behind all others.
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
	behind  []jobprio.Place
}

// Listing ranks jobs. The index of a job that waits is that of its run in Waiting.Idle.
func (q *Queue) Listing(w jobprio.Waiting) *Listing {
	l := &Listing{jobs: q.look(w.Idle), running: make([]int, len(w.Running))}
	q.leaveOut(l.jobs, w.Idle)
	l.behind = l.later(w.Idle)
	runs := make([]jobprio.Run, 0, len(w.Running))
	c := &classad.Context{Now: q.world.Now}
	for i, r := range w.Running {
		if l.running[i] = -1; !isSuspended(c, r.Ad) {
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
		places[i] = jobprio.Place{Procs: jobprio.Procs{Run: p.Job, From: p.From, Count: p.Count}, Priority: p.Prio}
	}
	return append(places, l.behind...)
}

// withTickets notes the tickets of each place's jobs, and parts places of which they differ.
// Those that come behind a job that is not counted are not either.
func (l *Listing) withTickets(places []jobprio.Place) []jobprio.Place {
	list := make([]jobprio.Place, 0, len(places))
	for _, p := range places {
		from, end, counted := p.From, p.From+p.Count, true
		for task := from; task < end && counted; task++ {
			n := l.ranking.Pending(p.Run, task)
			counted = !n.Uncounted
			if tickets := math.Trunc(n.Tckts); task == from || tickets != p.Tickets {
				if task > from {
					list = append(list, part(p, from, task))
				}
				from, p.Tickets = task, tickets
			}
		}
		list = append(list, part(p, from, end))
	}
	return list
}

// part returns the procs of a place from one to before another.
func part(p jobprio.Place, from, to int) jobprio.Place {
	p.From, p.Count = from, to-from
	return p
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
		c := &classad.Context{Now: q.world.Now}
		for i := from; i < to; i++ {
			if isLater(c, runs[i].Ad) {
				jobs[i].Count = 0
			}
		}
	})
}

// manyRuns are worth another processor.
const manyRuns = 1000

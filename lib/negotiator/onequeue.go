package negotiator

import (
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// oneQueue is the order of all submitters' jobs under a policy that has one (Config.Queue).
type oneQueue struct {
	jobprio.Order
	waiting  jobprio.Waiting
	ofIdle   []*autocluster // by run of waiting.Idle
	niceFrom int            // the first place of a nice user: these are behind all others
	hard     bool           // soft limits of the policy do not count any more
	matched  []int          // the places of the jobs that were matched
	kindsOf  []int          // what limits make of these
	listed   int            // prospects of all queues in this turn
}

// newOneQueue returns what the policy reckons with besides the jobs that want a slot; nil
// without such a policy. Matches that are given up run nothing.
func (c *cycle) newOneQueue(p Pool) *oneQueue {
	if c.cfg.Queue == nil {
		return nil
	}
	o := &oneQueue{waiting: jobprio.Waiting{Held: p.Held}}
	for _, r := range p.Running {
		_, over := slices.BinarySearchFunc(c.plan.GiveUp, r.FirstJob(), func(cl pool.Claim, id pool.JobID) int { return cl.Job.Compare(id) })
		if !over {
			o.waiting.Running = append(o.waiting.Running, r)
		}
	}
	return o
}

// queueInOrder asks the policy for the order of all jobs, and makes each submitter's queues
// of their places. Jobs that NEGOTIATOR_JOB_CONSTRAINT bars have none: they come last.
func (c *cycle) queueInOrder(waiting map[string][]jobprio.Run, a *autoclusters, kinOf func(jobprio.Run) int) {
	o := c.one
	var idle []jobprio.Run
	for _, s := range c.submitters {
		idle = append(idle, waiting[s.name]...)
	}
	held := o.waiting.Held
	order := newSignificance(a.lex, nil, slices.Concat(idle, held))
	byProc := order.of(nil, lower(slices.Clone(c.cfg.Queue.Attributes()))).job.has(procID)
	if byProc {
		o.waiting.Held = procs(held)
	}
	if byProc || a.names.has(procID) {
		idle = procs(idle)
	}
	var barred []jobprio.Run
	var ofBarred []*autocluster
	for _, j := range idle {
		if k := a.of(j); k.barred {
			barred, ofBarred = append(barred, j), append(ofBarred, k)
		} else {
			o.waiting.Idle, o.ofIdle = append(o.waiting.Idle, j), append(o.ofIdle, k)
		}
	}
	o.Order = c.cfg.Queue.Order(o.waiting)
	f := filing{c: c, kinOf: kinOf, kindOf: func(jobprio.Run) int { return 0 }, queues: map[queueKey]*queue{}}
	if o.Limits != nil {
		telling := order.of(nil, lower(slices.Clone(o.Limits.Attributes()))).job
		c.telling = with(c.telling, telling.texts())
		f.kindOf = o.kinds(a.lex, telling)
		if f.single = telling.has(procID); f.single {
			o.Places = singly(o.Places, func(p *jobprio.Place) *jobprio.Procs { return &p.Procs })
			o.Blocked = singly(o.Blocked, func(b *jobprio.Blocked) *jobprio.Procs { return &b.Procs })
		}
	}
	c.niceBehind()
	for i, p := range o.Places {
		f.add(o.jobs(p.Procs), i, queueKey{cluster: o.ofIdle[p.Run]})
	}
	behind := len(o.Places)
	for i, b := range o.Blocked {
		f.add(o.jobs(b.Procs), behind+i, queueKey{cluster: o.ofIdle[b.Run], kept: cmp.Or(b.Why, "the policy leaves it out")})
	}
	behind += len(o.Blocked)
	for i, j := range barred {
		f.add([]jobprio.Run{j}, behind+i, queueKey{cluster: ofBarred[i]})
	}
	for _, s := range c.submitters {
		s.lineUp()
	}
}

// niceBehind puts the places of nice users behind those of all others: they are served last.
func (c *cycle) niceBehind() {
	c.one.niceFrom = len(c.one.Places)
	if !slices.ContainsFunc(c.submitters, func(s *submitter) bool { return s.nice }) {
		return
	}
	all := c.one.Places
	places := make([]jobprio.Place, 0, len(all))
	for _, nice := range [...]bool{false, true} {
		if nice {
			c.one.niceFrom = len(places)
		}
		for _, p := range all {
			if c.called[c.one.waiting.Idle[p.Run].Submitter].nice == nice {
				places = append(places, p)
			}
		}
	}
	c.one.Places = places
}

// filing puts jobs into the queues of their submitters.
type filing struct {
	c      *cycle
	kinOf  func(jobprio.Run) int
	kindOf func(jobprio.Run) int // what the policy's limits make of it
	single bool                  // procs of a run are not the same to limits
	queues map[queueKey]*queue
}

// queueKey is what the queues of all submitters are told apart by.
type queueKey struct {
	submitter *submitter
	cluster   *autocluster
	kind      int
	kept      string
}

// add puts runs, by their place among all, behind those that were added before.
func (f *filing) add(runs []jobprio.Run, place int, key queueKey) {
	if f.single {
		runs = procs(runs)
	}
	for _, j := range runs {
		key.submitter, key.kind = f.c.called[j.Submitter], f.kindOf(j)
		q := f.queues[key]
		if q == nil {
			q = &queue{cluster: key.cluster, kind: key.kind, kept: key.kept}
			f.queues[key] = q
			key.submitter.queues = append(key.submitter.queues, q)
		}
		q.runs = append(q.runs, run{Procs: j.Procs, order: place, kin: f.kinOf(j), payer: f.c.payerOf(j)})
		q.left += j.Count()
		if q.kept == "" {
			q.cluster.idle += j.Count()
		}
	}
}

// jobs returns some procs of an idle run; none if there are none.
func (o *oneQueue) jobs(p jobprio.Procs) []jobprio.Run {
	j := o.waiting.Idle[p.Run]
	from := j.First + p.From
	return appendRun(nil, j, from, from+p.Count)
}

// singly splits what is said of several procs.
func singly[T any](list []T, of func(*T) *jobprio.Procs) (one []T) {
	for _, x := range list {
		p := *of(&x)
		for i := range p.Count {
			*of(&x) = jobprio.Procs{Run: p.Run, From: p.From + i, Count: 1}
			one = append(one, x)
		}
	}
	return one
}

// kinds returns a function that tells what the policy's limits make of a job. Jobs are asked
// about once for all that are equal in what limits look at.
func (o *oneQueue) kinds(lex *lexicon, telling names) func(jobprio.Run) int {
	known := map[string]int{}
	var key []byte
	return func(j jobprio.Run) int {
		key = lex.signature(key[:0], j.Ad, telling)
		key = append(key, j.Submitter...)
		n, ok := known[string(key)]
		if !ok {
			n = o.Limits.Kind(j)
			known[string(key)] = n
		}
		return n
	}
}

// place returns a run's place in the queue; ok is false for one that the policy does not
// consider.
func (o *oneQueue) place(r run) (p jobprio.Place, ok bool) {
	if r.order >= len(o.Places) {
		return p, false
	}
	return o.Places[r.order], true
}

// refuses reports whether a limit of the policy that counts now keeps the jobs of a queue from
// running.
func (o *oneQueue) refuses(q *queue) bool {
	return o.full(q) || o.Limits != nil && !o.hard && o.Limits.Refuses(q.kind, false) != ""
}

// full reports whether a hard limit of the policy is reached for the jobs of a queue: for good,
// since nothing that limits count ends in a cycle.
func (o *oneQueue) full(q *queue) bool {
	q.full = q.full || o.Limits != nil && o.Limits.Refuses(q.kind, true) != ""
	return q.full
}

func (n names) texts() []string {
	list := make([]string, len(n))
	for i, name := range n {
		list[i] = strings.ToLower(name.String())
	}
	return list
}

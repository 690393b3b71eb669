package negotiator

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// submitter is one who wants slots, or uses some.
type submitter struct {
	name          string
	nice          bool // of the nice-user group: gets what the others leave
	priority, eup float64
	before, usage accountant.Weight // before the cycle, and now
	idle, matched int               // jobs
	demand        float64           // the weight that idle jobs ask for
	ceiling       accountant.Limit
	floor         int64
	queues        []*queue // by their first job in job-priority order
	slice, limit  float64  // target at first, and what it adds to the usage before
	target        float64  // what the submitter may use by the shares, as they are now
}

// queue is a submitter's idle jobs of one autocluster.
type queue struct {
	cluster *autocluster
	runs    []run // in job-priority order, those that are left
	left    int   // jobs in runs
	limited bool  // a slot was there that the share did not allow
	waits   bool  // nothing for it in this turn
}

// run is procs of one cluster that follow each other in job-priority order.
type run struct {
	first pool.JobID
	count int
	order int // the run's place among all of the submitter
}

// gather makes submitters and their queues, nice users last, sorted by EUP,
// then name.
func (c *cycle) gather(records []accountant.Record, jobs []Job, claims []pool.Claim) {
	known := map[string]*submitter{}
	of := func(name string) *submitter {
		s := known[name]
		if s == nil {
			s = &submitter{name: name}
			known[name] = s
			c.submitters = append(c.submitters, s)
		}
		return s
	}
	for _, cl := range claims {
		if charged(cl.State) {
			of(cl.Submitter).before += cl.Weight
		}
	}
	for name, h := range c.plan.Outside {
		of(name).before += h.Weight
	}
	byName := make(map[string]accountant.Record, len(records))
	for _, r := range records {
		byName[r.Name] = r
	}
	waiting := map[string][]Job{}
	for _, j := range jobs {
		of(j.Submitter).idle += j.Count
		of(j.Submitter).demand += float64(j.Count) * c.asks(j.Ad)
		waiting[j.Submitter] = append(waiting[j.Submitter], j)
	}
	for _, s := range c.submitters {
		r := byName[s.name]
		r.Name = s.name
		r = r.AsOf(c.now, c.cfg.Params)
		s.usage = s.before
		s.nice = c.cfg.Params.Nice(s.name)
		s.priority = r.Priority
		s.eup = r.Effective(c.now, c.cfg.Params)
		s.ceiling, s.floor = r.Ceiling, r.Floor
	}
	slices.SortFunc(c.submitters, func(a, b *submitter) int {
		return cmp.Or(niceLast(a, b), cmp.Compare(a.eup, b.eup), strings.Compare(a.name, b.name))
	})
	c.shape(jobs, waiting)
}

// asks returns the weight that a job asks for: its RequestCpus where slots have
// weights.
func (c *cycle) asks(job *classad.Ad) float64 {
	if !c.cfg.UseSlotWeights {
		return 1
	}
	cpus, ok := job.EvalNumber(c.eval, pool.AttrRequestCpus)
	if !ok || !(cpus >= 1) || math.IsInf(cpus, 0) {
		return 1
	}
	return cpus
}

func niceLast(a, b *submitter) int {
	switch {
	case a.nice == b.nice:
		return 0
	case b.nice:
		return -1
	}
	return 1
}

// tiers returns the submitters in groups that are served one after the other:
// all but the nice users, then these. None is empty.
func (c *cycle) tiers() [][]*submitter {
	first := slices.IndexFunc(c.submitters, func(s *submitter) bool { return s.nice })
	switch {
	case len(c.submitters) == 0:
		return nil
	case first <= 0:
		return [][]*submitter{c.submitters}
	}
	return [][]*submitter{c.submitters[:first], c.submitters[first:]}
}

// shape divides slots into classes and jobs into autoclusters, and matches
// the ones with the others.
func (c *cycle) shape(jobs []Job, waiting map[string][]Job) {
	lex := newLexicon()
	sig := newSignificance(lex, c.slots, jobs)
	needs := []string{requirements}
	all := sig.of(needs, []string{requirements, jobRank}, c.cfg.PreJobRank, c.cfg.PostJobRank)
	groups := c.classify(lex, all, sig.of(needs, needs))
	m := &matchmaker{c: c, lex: lex, columns: map[string][]preferred{}, users: make([][]byte, groups)}
	m.ranks = sig.of(nil, nil, c.cfg.PreJobRank, c.cfg.PostJobRank).job

	single := all.job.has(procID)
	known := map[string]*autocluster{}
	var key []byte
	clusterOf := func(j Job) *autocluster {
		key = lex.signature(key[:0], j.Ad, all.job)
		k := known[string(key)]
		if k == nil {
			k = &autocluster{number: len(c.clusters), ad: j.Ad}
			known[string(key)] = k
			c.clusters = append(c.clusters, k)
			m.match(k)
		}
		return k
	}
	for _, s := range c.submitters {
		runs := waiting[s.name]
		if single {
			runs = procs(runs)
		}
		s.queue(c.inOrder(runs), clusterOf)
	}
	c.bundleUp(m.users)
}

// procs splits runs into single procs, each with an ad of its own.
func procs(runs []Job) []Job {
	var one []Job
	for _, r := range runs {
		for i := range r.Count {
			one = appendRun(one, Job{r.First, i + 1, r.Submitter, r.Ad}, r.First.Proc+i, r.First.Proc+i+1)
		}
	}
	return one
}

// inOrder returns one submitter's runs in job-priority order.
func (c *cycle) inOrder(runs []Job) []Job {
	views := make([]jobprio.Job, len(runs))
	for i, r := range runs {
		views[i] = jobprio.JobOf(c.eval, r.First, r.Ad)
	}
	ordered := make([]Job, len(runs))
	for i, score := range c.cfg.JobOrder.Rank(views, c.now) {
		ordered[i] = runs[score.Index]
	}
	return ordered
}

// queue fills the submitter's queues with runs in job-priority order.
func (s *submitter) queue(runs []Job, clusterOf func(Job) *autocluster) {
	at := map[*autocluster]*queue{}
	for i, r := range runs {
		k := clusterOf(r)
		q := at[k]
		if q == nil {
			q = &queue{cluster: k}
			at[k] = q
			s.queues = append(s.queues, q)
		}
		q.runs = append(q.runs, run{r.First, r.Count, i})
		q.left += r.Count
	}
}

// next returns the queue whose first job is the first that may still get a
// slot in this turn.
func (s *submitter) next() *queue {
	var first *queue
	for _, q := range s.queues {
		if q.left > 0 && !q.waits && (first == nil || q.runs[0].order < first.runs[0].order) {
			first = q
		}
	}
	return first
}

// hungry says whether a slot is left that one of the submitter's jobs can use
// and that its ceiling allows.
func (s *submitter) hungry() bool {
	for _, q := range s.queues {
		if q.left > 0 && q.cluster.leftWithin(s.room()) {
			return true
		}
	}
	return false
}

// pop takes the first job off the queue.
func (q *queue) pop() pool.JobID {
	r := &q.runs[0]
	id := r.first
	r.first.Proc++
	r.count--
	q.left--
	if r.count == 0 {
		q.runs = q.runs[1:]
	}
	return id
}

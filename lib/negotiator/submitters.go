package negotiator

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/shapes"
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
	group         int                      // its accounting group, in the order of the tree
	place         int                      // among the submitters when the cycle began
	spent         bool                     // spins: nothing is left of the share
	queues        []*queue                 // by their first job in job-priority order
	line          heap.Heap[place, *place] // those with jobs left that may get a slot in this turn
	asked         []place                  // those that may not
	barren        []place                  // those for which nothing was left
	since         int                      // how many of the cycle's events there were when barren began
	bound         bool                     // groups kept it from something since it was let look again
	awaits        bool                     // it left a running slot for a better free one since then
	kins          map[int]int              // clusters that are passed over, and behind which run

	estates  []*estate                    // what runs its jobs, as far as they may be preempted
	runs     map[*group]accountant.Weight // the weight of the slots in estates, by group
	desire   float64                      // what it uses, and could use of the whole pool if there was nobody else
	entitled float64                      // its share of the whole pool, whoever has that now

	target       float64 // what the submitter may use by the shares, as they are now
	slice, limit float64 // target or entitled at first, the greater, and what it adds to the usage before
}

// common is what all phases have: the settings, and how expressions are evaluated at the
// expense of owners.
type common struct {
	*shapes.Payers
	cfg  Config
	now  time.Time
	plan *Plan
}

// roster is who wants or uses something.
type roster struct {
	inventory
	submitters []*submitter          // in the order of negotiation
	called     map[string]*submitter // the same by name
	one        *oneQueue             // of all jobs; nil: each submitter has its own
	inGroups   []Group               // once asked for
}

// queue is a submitter's idle jobs of one autocluster.
type queue struct {
	cluster   *autocluster
	runs      []run        // in job-priority order, those that are left
	left      int          // jobs in runs
	passed    []run        // passed over with the rest of their clusters
	skips     bool         // the rest of the clusters of its jobs is passed over
	limited   bool         // a slot was there that the share did not allow
	blocked   string       // the concurrency limit that was reached
	prospects prospects    // whom its first job may preempt
	regrouped *autocluster // what its jobs are like where groups regroup; nil: not otherwise
	said      string       // in the last spin: why nothing was found, in HTCondor's words
	kind      int          // with a Config.Queue: what its limits make of the jobs
	kept      string       // why the policy leaves the jobs out; empty: it does not
	full      bool         // a hard limit of the policy is reached, once that was seen
	refused   string       // that limit, when all is dealt out
}

// offered reports whether the jobs may be matched at all.
func (q *queue) offered() bool { return !q.cluster.barred && q.kept == "" }

// run is procs of one cluster that follow each other in job-priority order.
type run struct {
	pool.Procs
	order int // the run's place among all of the submitter, or with a Config.Queue of everybody
	kin   int // the number of what it is passed over with; 0: nothing
	prio  int // JobPrio, with USE_GLOBAL_JOB_PRIOS
	payer *shapes.Payer
}

// procsOf returns the procs of runs, ascending, neighbours in one piece.
func procsOf(runs []run) []pool.Procs {
	list := make([]pool.Procs, len(runs))
	for i, r := range runs {
		list[i] = r.Procs
	}
	return pool.JoinProcs(list)
}

// gather makes submitters, nice users last, sorted by EUP, then name, and returns
// the jobs of each.
func (c *roster) gather(records []accountant.Record, jobs []jobprio.Run, claims []pool.Claim) map[string][]jobprio.Run {
	c.called = map[string]*submitter{}
	of := func(name string) *submitter {
		s := c.called[name]
		if s == nil {
			s = &submitter{name: name}
			c.called[name] = s
			c.submitters = append(c.submitters, s)
		}
		return s
	}
	for _, cl := range claims {
		if cl.State.Charged() {
			of(cl.Submitter).before += cl.Weight
		}
	}
	for name, h := range c.plan.Outside {
		of(name).before += h.Weight
	}
	for i := range c.slots {
		if name := c.pendingFor(&c.slots[i]); name != "" {
			of(name)
		}
	}
	waiting := map[string][]jobprio.Run{}
	for _, j := range jobs {
		of(j.Submitter).idle += j.Count()
		of(j.Submitter).demand += c.asksOf(j)
		waiting[j.Submitter] = append(waiting[j.Submitter], j)
	}
	c.lookUp(records)
	slices.SortFunc(c.submitters, func(a, b *submitter) int {
		return cmp.Or(niceLast(a, b), cmp.Compare(a.eup, b.eup), strings.Compare(a.name, b.name))
	})
	for i, s := range c.submitters {
		s.place = i
	}
	return waiting
}

// lookUp notes what the accountant's records say of the submitters, and what these use when
// the cycle begins.
func (c *roster) lookUp(records []accountant.Record) {
	byName := make(map[string]accountant.Record, len(records))
	for _, r := range records {
		byName[r.Name] = r
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
		if c.one != nil {
			s.floor = 0 // which is below a share, and there is none
		}
	}
}

// asks returns the weight that a job asks for: its RequestCpus where slots have
// weights.
func (c *common) asks(job *classad.Ad) float64 {
	if !c.cfg.UseSlotWeights {
		return 1
	}
	cpus, ok := job.EvalNumber(&c.Bill, pool.AttrRequestCpus)
	if !ok || !(cpus >= 1) || math.IsInf(cpus, 0) {
		return 1
	}
	return cpus
}

// asksOf returns the weight that the jobs of a run ask for.
func (c *common) asksOf(j jobprio.Run) (sum float64) {
	c.BilledFor(j)
	if !c.cfg.UseSlotWeights || j.Count() == 1 || !asksByProc(j.Ad) {
		return float64(j.Count()) * c.asks(j.Ad)
	}
	for i := range j.Count() {
		sum += c.asks(procAd(j.Ad, j.First+i))
	}
	return sum
}

// asksByProc reports whether RequestCpus is not the same for all procs of a run.
func asksByProc(ad *classad.Ad) bool {
	e, ok := ad.Lookup(pool.AttrRequestCpus)
	if !ok {
		return false
	}
	if _, constant := e.Constant(); constant {
		return false
	}
	own, _ := classad.References(e, ad)
	return own == nil || caseless.Contains(own, pool.AttrProcID)
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
func (c *roster) tiers() [][]*submitter {
	first := slices.IndexFunc(c.submitters, func(s *submitter) bool { return s.nice })
	switch {
	case len(c.submitters) == 0:
		return nil
	case first <= 0:
		return [][]*submitter{c.submitters}
	}
	return [][]*submitter{c.submitters[:first], c.submitters[first:]}
}

// inOrder returns one submitter's runs in job-priority order.
func (c *common) inOrder(runs []jobprio.Run) []jobprio.Run {
	views := make([]jobprio.Job, len(runs))
	for i, r := range runs {
		views[i] = jobprio.JobOf(c.BilledFor(r), r.FirstJob(), r.Ad)
	}
	ordered := make([]jobprio.Run, len(runs))
	for i, at := range jobprio.InOrder(views) {
		ordered[i] = runs[at]
	}
	return ordered
}

// queue fills the submitter's queues with runs in job-priority order.
func (s *submitter) queue(runs []jobprio.Run, clusterOf func(jobprio.Run) *autocluster, payerOf func(jobprio.Run) *shapes.Payer, kinOf, prioOf func(jobprio.Run) int) {
	at := map[*autocluster]*queue{}
	for i, r := range runs {
		k := clusterOf(r)
		q := at[k]
		if q == nil {
			q = &queue{cluster: k}
			at[k] = q
			s.queues = append(s.queues, q)
		}
		q.runs = append(q.runs, run{r.Procs, i, kinOf(r), prioOf(r), payerOf(r)})
		q.left += r.Count()
		k.idle += r.Count()
	}
}

// place is a queue in the line of a submitter's queues, of which the first is the
// one whose first job is.
type place struct{ *queue }

func (a *place) Before(b *place) bool { return a.runs[0].order < b.runs[0].order }

// next returns the queue whose first job is the first that may still get a
// slot in this turn; nil when there is none.
func (s *submitter) next() *queue {
	for len(s.line) > 0 {
		q := s.line[0].queue
		before := q.left
		for q.left > 0 && s.passes(q.runs[0]) {
			q.passed = append(q.passed, q.runs[0])
			q.left -= q.runs[0].Count()
			q.runs = q.runs[1:]
		}
		switch {
		case q.left == 0:
			s.line.Pop()
		case q.left != before:
			s.line.Fix()
		default:
			return q
		}
	}
	return nil
}

// pop takes the first job off the queue, which is the one that next returned.
func (s *submitter) pop(q *queue) pool.JobID {
	r := &q.runs[0]
	id := r.FirstJob()
	r.First++
	q.left--
	if r.Count() > 0 {
		return id
	}
	if q.runs = q.runs[1:]; q.left > 0 {
		s.line.Fix()
	} else {
		s.line.Pop()
	}
	return id
}

// wait leaves the queue that next returned alone for the rest of the turn.
func (s *submitter) wait(q *queue) {
	s.line.Pop()
	s.asked = append(s.asked, place{q})
}

// giveUpOn leaves the queue that next returned alone until a slot has come back, since
// nothing is left for it.
func (s *submitter) giveUpOn(q *queue, events int) {
	s.line.Pop()
	if len(s.barren) == 0 {
		s.since = events
	}
	s.barren = append(s.barren, place{q})
}

// comeBack begins a turn: what was left alone is asked again if slots have come back.
func (s *submitter) comeBack(events int) {
	if s.since == events {
		return
	}
	for _, p := range s.barren {
		s.line.Push(p)
	}
	s.barren = s.barren[:0]
}

// skip passes over what is of the same clusters as the jobs of a queue: nothing was found for
// the first, and so for all of them.
func (s *submitter) skip(q *queue) {
	if q.skips || q.runs[0].kin == 0 {
		return
	}
	if s.kins == nil {
		s.kins = map[int]int{}
	}
	for _, r := range q.runs {
		if at, known := s.kins[r.kin]; !known || r.order < at {
			s.kins[r.kin] = r.order
		}
	}
	q.skips = true
}

// passes reports whether a run is behind one of the same cluster for which nothing was
// found.
func (s *submitter) passes(r run) bool {
	after, skip := s.kins[r.kin]
	return skip && r.order > after
}

// lookAgain ends the passing over of clusters.
func (s *submitter) lookAgain() {
	if len(s.kins) == 0 {
		return
	}
	clear(s.kins)
	for _, q := range s.queues {
		q.skips = false
		if len(q.passed) == 0 {
			continue
		}
		gone := q.left == 0
		w := waiterOf(q)
		q.runs, q.left, q.passed = w.runs, w.jobs, nil
		if gone {
			s.line = append(s.line, place{q})
		}
	}
	s.line.Heapify()
}

// ready ends a turn: what waited may be asked again in the next.
func (s *submitter) ready() {
	for _, p := range s.asked {
		p.cluster.restore()
		s.line.Push(p)
	}
	s.asked = s.asked[:0]
}

// submitterAttributes are what a cycle adds to a job's ad where an expression asks
// for it (manual, "Negotiation"), as it is when the cycle begins.
var submitterAttributes = []struct {
	name   string
	groups bool // only where there are accounting groups
	value  func(*common, *submitter, Group) classad.Value
}{
	{"SubmitterUserPrio", false, func(_ *common, s *submitter, _ Group) classad.Value { return classad.Real(s.eup) }},
	{"SubmittorPrio", false, func(_ *common, s *submitter, _ Group) classad.Value { return classad.Real(s.eup) }},
	{"SubmitterUserResourcesInUse", false, func(_ *common, s *submitter, _ Group) classad.Value { return classad.Real(s.before.Float()) }},
	{"SubmitterGroup", true, func(_ *common, _ *submitter, g Group) classad.Value { return classad.String(g.Name) }},
	{"SubmitterGroupResourcesInUse", true, func(_ *common, _ *submitter, g Group) classad.Value { return classad.Real(g.Usage) }},
	{"SubmitterGroupQuota", true, func(_ *common, _ *submitter, g Group) classad.Value { return classad.Real(g.EffectiveQuota) }},
	{negotiatingGroup, false, func(c *common, s *submitter, _ Group) classad.Value {
		return classad.String(c.cfg.Params.Groups.NameOf(s.name))
	}},
	// Nobody's group is where groups regroup (regroup).
	{autoregrouped, false, func(c *common, s *submitter, _ Group) classad.Value {
		tree := c.cfg.Params.Groups
		return classad.Bool(tree.Regroups() && tree.Of(s.name) == 0)
	}},
}

// The attributes that change in the turn in which a submitter negotiates with nobody's group.
const (
	negotiatingGroup = "SubmitterNegotiatingGroup"
	autoregrouped    = "SubmitterAutoregroup"
)

// regroup prepares the queues of who negotiates with nobody's group, too, for that turn: its
// jobs are of other autoclusters then, where expressions look at who negotiates. Only spins
// tell of that turn.
func (c *arrangement) regroup(s *submitter, a *autoclusters) {
	tree := c.cfg.Params.Groups
	if c.cfg.Pie != Spins || !tree.Regroups() || !tree.List[tree.Of(s.name)].Autoregroup {
		return
	}
	group, turn := c.InJobs.Has(strings.ToLower(negotiatingGroup)), c.InJobs.Has(strings.ToLower(autoregrouped))
	if !group && !turn {
		return
	}
	for _, q := range s.queues {
		ad := q.cluster.Ad.Clone()
		if group {
			ad.SetString(negotiatingGroup, accountant.RootGroup)
		}
		if turn {
			ad.SetBool(autoregrouped, true)
		}
		q.regrouped = a.of(jobprio.Run{Ad: ad})
		q.regrouped.barred = q.cluster.barred
		q.regrouped.idle += q.left
	}
}

// change makes the jobs what they are where their submitter regroups, and the second time
// what they were.
func (s *submitter) change() {
	for _, q := range s.queues {
		if q.regrouped != nil {
			q.cluster, q.regrouped = q.regrouped, q.cluster
		}
	}
}

// introduce adds to the ads of waiting jobs what expressions ask about their
// submitters. asked are the names that any expression looks up in jobs.
func (c *roster) introduce(waiting map[string][]jobprio.Run, asked shapes.Names) {
	var wanted []int
	for i, a := range submitterAttributes {
		if asked.Has(strings.ToLower(a.name)) {
			wanted = append(wanted, i)
		}
	}
	if wanted == nil {
		return
	}
	groups := c.accounts()
	for _, s := range c.submitters {
		var g Group
		if groups != nil {
			g = groups[c.cfg.Params.Groups.Of(s.name)]
		}
		known := map[*classad.Ad]*classad.Ad{}
		for i := range waiting[s.name] {
			j := &waiting[s.name][i]
			ad := known[j.Ad]
			if ad == nil {
				ad = j.Ad.Clone()
				for _, w := range wanted {
					if a := submitterAttributes[w]; !a.groups || groups != nil {
						ad.Set(a.name, classad.Literal(a.value(&c.common, s, g)))
					}
				}
				known[j.Ad] = ad
			}
			j.Ad = ad
		}
	}
}

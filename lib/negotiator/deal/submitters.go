package deal

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
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// Submitter is a submitter that wants or uses slots.
type Submitter struct {
	Name          string
	Nice          bool // of the nice-user group: gets the rest of all others
	priority, EUP float64
	before, Usage accountant.Weight // before the cycle, and now
	flocked       bool              // it has claims of other pools' slots, which are no usage here
	idle, matched int               // jobs
	demand        float64           // the weight that idle jobs ask for
	Ceiling       accountant.Limit
	Floor         int64
	Group         int                      // its accounting group, in the order of the tree
	place         int                      // among the submitters when the cycle began
	Spent         bool                     // spins: nothing is left of the share
	jobs          []jobprio.Run            // that wait, by job, until they are in queues
	Queues        []*Queue                 // by their first job in job-priority order
	line          heap.Heap[place, *place] // those with jobs left that may get a slot in this turn
	asked         []place                  // those that may not
	barren        []place                  // those for which no slot was left
	since         int                      // how many of the cycle's events there were when barren began
	bound         bool                     // groups kept it from something since it was let look again
	awaits        bool                     // it left a running slot for a better free one since then
	kins          map[int]int              // clusters that are passed over, and behind which run

	estates  []*estate                    // what runs its jobs, as far as they may be preempted
	runs     map[*Group]accountant.Weight // the weight of the slots in estates, by group
	desire   float64                      // its usage, and the weight of the whole pool that it could use without other submitters
	entitled float64                      // its share of the whole pool, free or claimed

	target       float64 // the submitter's limit by the present shares
	Slice, limit float64 // the greater of target or entitled at first, and the difference to the earlier usage
}

// Holds reports whether the submitter has slots, of this pool or of others.
func (s *Submitter) Holds() bool { return s.Usage > 0 || s.flocked }

// common is what all phases have: the settings, and how expressions are evaluated at the
// expense of owners.
type common struct {
	*shapes.Payers
	Config negotiator.Config
	Now    time.Time
	Plan   *negotiator.Plan

	learned *negotiator.Learned
	views   *jobprio.Views
	asked   map[*classad.Ad]float64
	asking  *classad.Origin // of what asked depends on
}

// roster is the submitters that want or use something.
type roster struct {
	inventory
	Submitters []*Submitter          // in the order of negotiation
	called     map[string]*Submitter // the same by name
	OneQueue   *OneQueue             // of all jobs; nil: each submitter has its own
	inGroups   []negotiator.Group    // once asked for
}

// Queue is a submitter's idle jobs of one autocluster.
type Queue struct {
	Cluster   *Autocluster
	Runs      []Run        // in job-priority order, those that are left
	left      int          // jobs in runs
	passed    []Run        // passed over with the rest of their clusters
	skips     bool         // the rest of the clusters of its jobs is passed over
	Limited   bool         // a slot was there that the share did not allow
	blocked   string       // the concurrency limit that was reached
	prospects prospects    // whom its first job may preempt
	regrouped *Autocluster // what its jobs are like where groups regroup; nil: not otherwise
	Said      string       // in the last spin: why nothing was found, in HTCondor's words
	Kind      int          // with a Config.Queue: what its limits make of the jobs
	Kept      string       // why the policy leaves the jobs out; empty: it does not
	full      bool         // a hard limit of the policy is reached, once that was seen
	Refused   string       // the hard limit that is reached when all is dealt out
	soft      bool         // else a soft one is
}

// Offered reports whether the jobs may be matched at all.
func (q *Queue) Offered() bool { return !q.Cluster.Barred && q.Kept == "" }

// Run is procs of one cluster that follow each other in job-priority order.
type Run struct {
	pool.Procs
	Order int // the run's place among all of the submitter, or with a Config.Queue of all submitters
	Kin   int // the number of the set with which it is skipped; 0: none
	Prio  int // JobPrio, with USE_GLOBAL_JOB_PRIOS
	Payer *shapes.Payer
}

// ProcsOf returns the procs of runs, ascending, neighbours in one piece.
func ProcsOf(runs []Run) []pool.Procs {
	list := make([]pool.Procs, len(runs))
	for i, r := range runs {
		list[i] = r.Procs
	}
	return pool.JoinProcs(list)
}

// gather makes submitters, nice users last, sorted by EUP, then name, each with its jobs, which come by submitter.
func (c *roster) gather(records []accountant.Record, jobs []jobprio.Run, claims []pool.Claim) {
	c.called = map[string]*Submitter{}
	of := func(name string) *Submitter {
		s := c.called[name]
		if s == nil {
			s = &Submitter{Name: name}
			c.called[name] = s
			c.Submitters = append(c.Submitters, s)
		}
		return s
	}
	for i := range claims {
		if cl := &claims[i]; cl.State.Charged() {
			s := of(cl.Submitter)
			s.before += cl.Usage()
			s.flocked = s.flocked || cl.Flocked != ""
		}
	}
	for name, h := range c.Plan.Outside {
		of(name).before += h.Weight
	}
	for i := range c.Slots {
		if name := c.pendingFor(&c.Slots[i]); name != "" {
			of(name)
		}
	}
	for len(jobs) > 0 {
		s, n := of(jobs[0].Submitter), 0
		for ; n < len(jobs) && jobs[n].Submitter == s.Name; n++ {
			c.count(s, &jobs[n])
		}
		s.jobs, jobs = jobs[:n:n], jobs[n:]
	}
	c.lookUp(records)
	slices.SortFunc(c.Submitters, func(a, b *Submitter) int {
		return cmp.Or(NiceLast(a, b), cmp.Compare(a.EUP, b.EUP), strings.Compare(a.Name, b.Name))
	})
	for i, s := range c.Submitters {
		s.place = i
	}
}

// lookUp copies the submitters' accounting records, and their usage when the cycle begins.
func (c *roster) lookUp(records []accountant.Record) {
	byName := make(map[string]int, len(records))
	for i := range records {
		byName[records[i].Name] = i
	}
	for _, s := range c.Submitters {
		var r accountant.Record
		if at, there := byName[s.Name]; there {
			r = records[at]
		}
		r.Name = s.Name
		r = r.AsOf(c.Now, c.Config.Params)
		s.Usage = s.before
		s.Nice = c.Config.Params.Nice(s.Name)
		s.priority = r.Priority
		s.EUP = r.Effective(c.Now, c.Config.Params)
		s.Ceiling, s.Floor = r.Ceiling, r.Floor
		if c.OneQueue != nil {
			s.Floor = 0 // floors are below shares, which do not exist
		}
	}
}

// asks returns the weight that a job asks for: its RequestCpus where slots have
// weights.
func (c *common) asks(job *classad.Ad) float64 {
	if !c.Config.UseSlotWeights {
		return 1
	}
	return amountOf(job.Eval(&c.Bill, pool.AttrRequestCpus, nil))
}

var requestCpusName = classad.NewName(pool.AttrRequestCpus)

// amountOf returns the weight that a RequestCpus asks for.
func amountOf(v classad.Value) float64 {
	cpus, ok := v.Number()
	if !ok || !(cpus >= 1) || math.IsInf(cpus, 0) {
		return 1
	}
	return cpus
}

// count adds a run to what a submitter wants.
func (c *common) count(s *Submitter, j *jobprio.Run) {
	s.idle += j.Count()
	if each := c.asksOf(j); each > 0 {
		s.demand += float64(j.Count()) * each
		return
	}
	c.BilledFor(*j)
	if j.Count() == 1 || !asksByProc(j.Ad) {
		s.demand += float64(j.Count()) * c.asks(j.Ad)
		return
	}
	sum := 0.0
	for proc := j.First; proc <= j.Last; proc++ {
		sum += c.asks(j.Part(proc, proc).Ad)
	}
	s.demand += sum
}

// asksOf returns the weight that each job of a run and its likes asks for, 0 if that has to be evaluated.
func (c *common) asksOf(j *jobprio.Run) float64 {
	if !c.Config.UseSlotWeights {
		return 1
	}
	if j.Likeness != nil && j.Likeness.Asks > 0 {
		return j.Likeness.Asks
	}
	from := c.asking.Of(j.Ad)
	each, known := c.asked[from]
	if !known {
		v, e, _ := j.Ad.Get(requestCpusName)
		if e != nil {
			return 0
		}
		each = amountOf(v)
		c.asked[from] = each
	}
	if j.Likeness != nil {
		j.Likeness.Asks = each
	}
	return each
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

func NiceLast(a, b *Submitter) int {
	switch {
	case a.Nice == b.Nice:
		return 0
	case b.Nice:
		return -1
	}
	return 1
}

// tiers returns the submitters in groups that are served one after the other:
// all but the nice users, then these. None is empty.
func (c *roster) tiers() [][]*Submitter {
	first := slices.IndexFunc(c.Submitters, func(s *Submitter) bool { return s.Nice })
	switch {
	case len(c.Submitters) == 0:
		return nil
	case first <= 0:
		return [][]*Submitter{c.Submitters}
	}
	return [][]*Submitter{c.Submitters[:first], c.Submitters[first:]}
}

// inOrder returns one submitter's runs in job-priority order.
func (c *common) inOrder(runs []jobprio.Run) []jobprio.Run {
	if jobprio.AreInOrder(runs) { // as they mostly are, by their numbers
		return runs
	}
	for i := range runs {
		if like := runs[i].Likeness; like != nil && !like.Viewed {
			c.jobOf(runs[i])
		}
	}
	if jobprio.AreInOrder(runs) {
		return runs
	}
	room := c.room()
	room.jobs = slices.Grow(room.jobs[:0], len(runs))[:len(runs)]
	jobs, inOrder := room.jobs, true
	for i, r := range runs {
		jobs[i] = c.jobOf(r)
		inOrder = inOrder && (i == 0 || jobprio.Compare(jobs[i-1], jobs[i]) <= 0)
	}
	if inOrder {
		return runs
	}
	ordered := make([]jobprio.Run, len(runs))
	for i, at := range jobprio.InOrder(jobs) {
		ordered[i] = runs[at]
	}
	return ordered
}

// jobOf returns the first job of a run as jobs are put in order.
func (c *common) jobOf(r jobprio.Run) jobprio.Job {
	if r.Likeness != nil && r.Likeness.Viewed {
		j := r.Likeness.Job
		j.ID, j.QDate = r.FirstJob(), r.QDate
		return j
	}
	if j, known := c.views.Known(r.FirstJob(), r.Ad); known {
		if r.Likeness != nil {
			r.Likeness.Job, r.Likeness.Viewed = j, true
		}
		return j
	}
	return c.views.Of(c.BilledFor(r), r.FirstJob(), r.Ad)
}

// sorting says which queue a run belongs to, and with what.
type sorting struct {
	alike     bool // runs of one Likeness are of one autocluster
	clusterOf func(jobprio.Run) *Autocluster
	payerOf   func(jobprio.Run) *shapes.Payer
	// Of the run's Kin and Prio; nil: 0 for all.
	kinOf, prioOf func(jobprio.Run) int
	room          []Run // for the queues' runs
	known         jobprio.Memo[sorted]
}

// sorted is where runs of a Likeness go.
type sorted struct {
	queue *Queue
	payer *shapes.Payer
	first pool.JobID // of those that have been asked about: the payment begins with it
}

// queue fills the submitter's queues with runs in job-priority order. Where one run says it for all of its Likeness, the first is asked
// about, and each that has a lower number.
func (s *Submitter) queue(runs []jobprio.Run, by *sorting) {
	at := map[*Autocluster]*Queue{}
	by.known.Forget()
	quick := by.alike && by.kinOf == nil && by.prioOf == nil
	for i := range runs {
		r := &runs[i]
		var alone sorted
		to := &alone
		if quick && r.Likeness != nil {
			to = by.known.Of(r.Likeness, func() sorted { return sorted{} })
		}
		if to.queue == nil || to.queue.Cluster.unread || r.FirstJob().Compare(to.first) < 0 {
			k := by.clusterOf(*r)
			q := at[k]
			if q == nil {
				q = by.addQueue(s, k, len(runs))
				at[k] = q
			}
			*to = sorted{q, by.payerOf(*r), r.FirstJob()}
		}
		next := Run{Procs: r.Procs, Order: i, Payer: to.payer}
		if by.kinOf != nil {
			next.Kin = by.kinOf(*r)
		}
		if by.prioOf != nil {
			next.Prio = by.prioOf(*r)
		}
		to.queue.Runs = append(to.queue.Runs, next)
		to.queue.left += r.Count()
		to.queue.Cluster.idle += r.Count()
	}
}

// addQueue adds an empty queue for some of so many runs of a submitter.
func (by *sorting) addQueue(s *Submitter, k *Autocluster, runs int) *Queue {
	q := &Queue{Cluster: k}
	if s.Queues == nil && runs <= len(by.room) { // mostly the only one
		q.Runs, by.room = by.room[:0:runs], by.room[runs:]
	}
	s.Queues = append(s.Queues, q)
	return q
}

// place is a queue in a submitter's line. The queue with the first job comes first.
type place struct{ *Queue }

func (a *place) Before(b *place) bool { return a.Runs[0].Order < b.Runs[0].Order }

// next returns the queue with the first job that may still get a slot in this turn; nil
// if there is none.
func (s *Submitter) next() *Queue {
	for len(s.line) > 0 {
		q := s.line[0].Queue
		before := q.left
		for q.left > 0 && s.passes(q.Runs[0]) {
			q.passed = append(q.passed, q.Runs[0])
			q.left -= q.Runs[0].Count()
			q.Runs = q.Runs[1:]
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
func (s *Submitter) pop(q *Queue) pool.JobID {
	r := &q.Runs[0]
	id := r.FirstJob()
	r.First++
	q.left--
	if r.Count() > 0 {
		return id
	}
	if q.Runs = q.Runs[1:]; q.left > 0 {
		s.line.Fix()
	} else {
		s.line.Pop()
	}
	return id
}

// wait leaves the queue that next returned alone for the rest of the turn.
func (s *Submitter) wait(q *Queue) {
	s.line.Pop()
	s.asked = append(s.asked, place{q})
}

// giveUpOn leaves the queue that next returned alone until a slot has come back, since no
// slot is left for it.
func (s *Submitter) giveUpOn(q *Queue, events int) {
	s.line.Pop()
	if len(s.barren) == 0 {
		s.since = events
	}
	s.barren = append(s.barren, place{q})
}

// comeBack begins a turn: queues that were left alone are tried again if slots have come
// back.
func (s *Submitter) comeBack(events int) {
	if s.since == events {
		return
	}
	for _, p := range s.barren {
		s.line.Push(p)
	}
	s.barren = s.barren[:0]
}

// skip skips all jobs of the same clusters as the jobs of a queue: no slot was found for the
// first, and so none for the others.
func (s *Submitter) skip(q *Queue) {
	if q.skips || q.Runs[0].Kin == 0 {
		return
	}
	if s.kins == nil {
		s.kins = map[int]int{}
	}
	for _, r := range q.Runs {
		if at, known := s.kins[r.Kin]; !known || r.Order < at {
			s.kins[r.Kin] = r.Order
		}
	}
	q.skips = true
}

// passes reports whether a run is behind a job of the same cluster for which no slot was
// found.
func (s *Submitter) passes(r Run) bool {
	after, skip := s.kins[r.Kin]
	return skip && r.Order > after
}

// lookAgain ends the passing over of clusters.
func (s *Submitter) lookAgain() {
	if len(s.kins) == 0 {
		return
	}
	clear(s.kins)
	for _, q := range s.Queues {
		q.skips = false
		if len(q.passed) == 0 {
			continue
		}
		gone := q.left == 0
		w := WaiterOf(q)
		q.Runs, q.left, q.passed = w.Runs, w.Jobs, nil
		if gone {
			s.line = append(s.line, place{q})
		}
	}
	s.line.Heapify()
}

// ready ends a turn: what waited may be asked again in the next.
func (s *Submitter) ready() {
	for _, p := range s.asked {
		p.Cluster.restore()
		s.line.Push(p)
	}
	s.asked = s.asked[:0]
}

// submitterAttributes are the attributes that a cycle adds to a job's ad if an expression
// uses them (manual, "Negotiation"), as of the beginning of the cycle.
var submitterAttributes = []struct {
	name   string
	groups bool // only where there are accounting groups
	value  func(*common, *Submitter, negotiator.Group) classad.Value
}{
	{"SubmitterUserPrio", false, func(_ *common, s *Submitter, _ negotiator.Group) classad.Value { return classad.Real(s.EUP) }},
	{"SubmittorPrio", false, func(_ *common, s *Submitter, _ negotiator.Group) classad.Value { return classad.Real(s.EUP) }},
	{"SubmitterUserResourcesInUse", false, func(_ *common, s *Submitter, _ negotiator.Group) classad.Value { return classad.Real(s.before.Float()) }},
	{"SubmitterGroup", true, func(_ *common, _ *Submitter, g negotiator.Group) classad.Value { return classad.String(g.Name) }},
	{"SubmitterGroupResourcesInUse", true, func(_ *common, _ *Submitter, g negotiator.Group) classad.Value { return classad.Real(g.Usage) }},
	{"SubmitterGroupQuota", true, func(_ *common, _ *Submitter, g negotiator.Group) classad.Value { return classad.Real(g.EffectiveQuota) }},
	{negotiatingGroup, false, func(c *common, s *Submitter, _ negotiator.Group) classad.Value {
		return classad.String(c.Config.Params.Groups.NameOf(s.Name))
	}},
	// It is the root group where groups regroup (regroup).
	{autoregrouped, false, func(c *common, s *Submitter, _ negotiator.Group) classad.Value {
		tree := c.Config.Params.Groups
		return classad.Bool(tree.Regroups() && tree.Of(s.Name) == 0)
	}},
}

// The attributes that change in a submitter's turn with the root group.
const (
	negotiatingGroup = "SubmitterNegotiatingGroup"
	autoregrouped    = "SubmitterAutoregroup"
)

// regroup prepares the queues of submitters that also negotiate with the root group, for
// that turn: their jobs are of other autoclusters then, if expressions look at the
// negotiating group. Only spins tell of that turn.
func (c *arrangement) regroup(s *Submitter, a *autoclusters) {
	tree := c.Config.Params.Groups
	if c.Config.Pie != negotiator.Spins || !tree.Regroups() || !tree.List[tree.Of(s.Name)].Autoregroup {
		return
	}
	group, turn := c.InJobs.Has(strings.ToLower(negotiatingGroup)), c.InJobs.Has(strings.ToLower(autoregrouped))
	if !group && !turn {
		return
	}
	for _, q := range s.Queues {
		ad := q.Cluster.Ad.Clone()
		if group {
			ad.SetString(negotiatingGroup, accountant.RootGroup)
		}
		if turn {
			ad.SetBool(autoregrouped, true)
		}
		q.regrouped = a.of(jobprio.Run{Ad: ad})
		q.regrouped.Barred = q.Cluster.Barred
		q.regrouped.idle += q.left
	}
}

// change switches the jobs to their autoclusters with the root group, if their submitter
// regroups, and the second time back.
func (s *Submitter) change() {
	for _, q := range s.Queues {
		if q.regrouped != nil {
			q.Cluster, q.regrouped = q.regrouped, q.Cluster
		}
	}
}

// introduce adds to the ads of waiting jobs what expressions ask about their
// submitters, and reports whether there is anything. asked are the names that any expression looks up in jobs.
func (c *roster) introduce(asked shapes.Names) bool {
	var wanted []int
	for i, a := range submitterAttributes {
		if asked.Has(strings.ToLower(a.name)) {
			wanted = append(wanted, i)
		}
	}
	if wanted == nil {
		return false
	}
	groups := c.accounts()
	for _, s := range c.Submitters {
		var g negotiator.Group
		if groups != nil {
			g = groups[c.Config.Params.Groups.Of(s.Name)]
		}
		known := map[*classad.Ad]*classad.Ad{}
		s.jobs = slices.Clone(s.jobs)
		for i := range s.jobs {
			j := &s.jobs[i]
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
	return true
}

// Waiter is the rest of a submitter's queue.
type Waiter struct {
	*Queue
	Runs []Run // also those passed over, in job-priority order
	Jobs int
}

// WaiterOf returns the rest of a queue.
func WaiterOf(q *Queue) Waiter {
	w := Waiter{Queue: q, Runs: q.Runs}
	if len(q.passed) > 0 {
		w.Runs = slices.Concat(q.passed, q.Runs)
		slices.SortFunc(w.Runs, func(a, b Run) int { return cmp.Compare(a.Order, b.Order) })
	}
	for _, r := range w.Runs {
		w.Jobs += r.Count()
	}
	return w
}

// WasPassed reports whether the first job was passed over in this cycle.
func (w *Waiter) WasPassed() bool { return len(w.passed) > 0 && w.passed[0] == w.Runs[0] }

// jobPrioOf returns the JobPrio of a job.
func (c *common) jobPrioOf(j jobprio.Run) int {
	n, _ := j.Ad.EvalInt(c.BilledFor(j), pool.AttrJobPrio)
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}

package deal

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// OneQueue is the order of all submitters' jobs under a policy that has one (Config.Queue).
type OneQueue struct {
	jobprio.Order
	waiting  jobprio.Waiting
	ofIdle   []*Autocluster // by run of waiting.Idle
	NiceFrom int            // the first place of a nice user: these are behind all others
	hard     bool           // soft limits of the policy do not count any more
	matched  []int          // the places of the jobs that were matched
	kindsOf  []int          // what limits make of these
	listed   int            // prospects of all queues in this turn
}

// newOneQueue returns the policy's input besides the jobs that want a slot; nil without
// such a policy. Matches that are given up run nothing.
func (c *roster) newOneQueue(p negotiator.Pool) *OneQueue {
	if c.Config.Queue == nil {
		return nil
	}
	o := &OneQueue{waiting: jobprio.Waiting{Held: p.Held}}
	if len(c.Plan.GiveUp) == 0 {
		o.waiting.Running = p.Running
		return o
	}
	for _, r := range p.Running {
		_, over := slices.BinarySearchFunc(c.Plan.GiveUp, r.FirstJob(), func(cl pool.Claim, id pool.JobID) int { return cl.Job.Compare(id) })
		if !over {
			o.waiting.Running = append(o.waiting.Running, r)
		}
	}
	return o
}

// queueInOrder asks the policy for the order of all jobs, and makes each submitter's queues
// of their places. Jobs that NEGOTIATOR_JOB_CONSTRAINT bars have none: they come last.
func (c *arrangement) queueInOrder(a *autoclusters, kinOf func(jobprio.Run) int) {
	o := c.OneQueue
	runs := 0
	for _, s := range c.Submitters {
		runs += len(s.jobs)
	}
	idle := make([]jobprio.Run, 0, runs)
	for _, s := range c.Submitters {
		idle = append(idle, s.jobs...)
	}
	held := o.waiting.Held
	all := idle
	if len(held) > 0 {
		all = slices.Concat(idle, held)
	}
	order := c.Among(all)
	byProc := order.InJobs(c.Config.Queue.Attributes()).Has(procID)
	if byProc {
		o.waiting.Held = jobprio.Singly(held)
	}
	if byProc || c.telling.Has(procID) {
		idle = jobprio.Singly(idle)
	}
	var barred []jobprio.Run
	var ofBarred []*Autocluster
	o.waiting.Idle, o.ofIdle = make([]jobprio.Run, 0, len(idle)), make([]*Autocluster, 0, len(idle))
	for _, j := range idle {
		if k := a.of(j); k.Barred {
			barred, ofBarred = append(barred, j), append(ofBarred, k)
		} else {
			o.waiting.Idle, o.ofIdle = append(o.waiting.Idle, j), append(o.ofIdle, k)
		}
	}
	o.Order = c.Config.Queue.Order(o.waiting)
	f := filing{c: &c.roster, kinOf: kinOf, kindOf: func(jobprio.Run) int { return 0 }, queues: map[queueKey]*Queue{}}
	if o.Limits != nil {
		telling := order.InJobs(o.Limits.Attributes())
		c.telling, c.Limiting = shapes.With(c.telling, telling.Texts()), shapes.With(c.Limiting, telling.Texts())
		f.kindOf = o.kinds(c.Shapes, telling)
		if f.single = telling.Has(procID); f.single {
			o.Places = singly(o.Places, func(p *jobprio.Place) *pool.Procs { return &p.Procs })
			o.Blocked = singly(o.Blocked, func(b *jobprio.Blocked) *pool.Procs { return &b.Procs })
		}
	}
	c.niceBehind()
	for i, p := range o.Places {
		f.add(o.jobs(p.Part), i, queueKey{cluster: o.ofIdle[p.Run]})
	}
	behind := len(o.Places)
	for i, b := range o.Blocked {
		f.add(o.jobs(b.Part), behind+i, queueKey{cluster: o.ofIdle[b.Run], kept: cmp.Or(b.Why, "the policy leaves it out")})
	}
	behind += len(o.Blocked)
	for i, j := range barred {
		f.add([]jobprio.Run{j}, behind+i, queueKey{cluster: ofBarred[i]})
	}
}

// niceBehind puts the places of nice users behind those of all others: they are served last.
func (c *roster) niceBehind() {
	c.OneQueue.NiceFrom = len(c.OneQueue.Places)
	if !slices.ContainsFunc(c.Submitters, func(s *Submitter) bool { return s.Nice }) {
		return
	}
	all := c.OneQueue.Places
	places := make([]jobprio.Place, 0, len(all))
	for _, nice := range [...]bool{false, true} {
		if nice {
			c.OneQueue.NiceFrom = len(places)
		}
		for _, p := range all {
			if c.called[c.OneQueue.waiting.Idle[p.Run].Submitter].Nice == nice {
				places = append(places, p)
			}
		}
	}
	c.OneQueue.Places = places
}

// filing puts jobs into the queues of their submitters.
type filing struct {
	c      *roster
	kinOf  func(jobprio.Run) int // nil: 0 for all
	kindOf func(jobprio.Run) int // numbers jobs as the policy's limits distinguish them
	single bool                  // procs of a run are not the same to limits
	queues map[queueKey]*Queue
	last   queueKey // what queues was last asked for
	queue  *Queue
}

// queueKey identifies a queue among those of all submitters.
type queueKey struct {
	submitter *Submitter
	cluster   *Autocluster
	kind      int
	kept      string
}

// add puts runs, by their place among all, behind those that were added before.
func (f *filing) add(runs []jobprio.Run, place int, key queueKey) {
	if f.single {
		runs = jobprio.Singly(runs)
	}
	for _, j := range runs {
		key.submitter, key.kind = f.c.called[j.Submitter], f.kindOf(j)
		q := f.queue
		if q == nil || key != f.last {
			q = f.queues[key]
		}
		if q == nil {
			q = &Queue{Cluster: key.cluster, Kind: key.kind, Kept: key.kept}
			f.queues[key] = q
			key.submitter.Queues = append(key.submitter.Queues, q)
		}
		f.last, f.queue = key, q
		r := Run{Procs: j.Procs, Order: place, Payer: f.c.PayerOf(j)}
		if f.kinOf != nil {
			r.Kin = f.kinOf(j)
		}
		q.Runs = append(q.Runs, r)
		q.left += j.Count()
		if q.Kept == "" {
			q.Cluster.idle += j.Count()
		}
	}
}

// jobs returns some procs of an idle run, empty if there are none.
func (o *OneQueue) jobs(p jobprio.Part) []jobprio.Run {
	if p.Procs == o.waiting.Idle[p.Run].Procs {
		return o.waiting.Idle[p.Run : p.Run+1]
	}
	return appendRun(nil, &o.waiting.Idle[p.Run], p.First, p.Last+1)
}

// singly splits entries for several procs into one each.
func singly[T any](list []T, of func(*T) *pool.Procs) (one []T) {
	for _, x := range list {
		for id := range of(&x).Jobs() {
			*of(&x) = pool.Only(id)
			one = append(one, x)
		}
	}
	return one
}

// kinds returns a function that numbers jobs as the policy's limits distinguish them. It
// asks once for all jobs that are equal in the attributes that limits look at.
func (o *OneQueue) kinds(x *shapes.Shapes, telling shapes.Names) func(jobprio.Run) int {
	known := map[string]int{}
	var key []byte
	kind := func(j jobprio.Run) int {
		key = x.Signature(key[:0], j.Ad, telling)
		key = append(key, j.Submitter...)
		n, ok := known[string(key)]
		if !ok {
			n = o.Limits.Kind(j)
			known[string(key)] = n
		}
		return n
	}
	if shapes.TellsApart(telling) {
		return kind
	}
	alike := jobprio.NewMemo[int](jobprio.OfKind)
	return func(j jobprio.Run) int {
		if j.Likeness == nil {
			return kind(j)
		}
		return *alike.Of(j.Likeness, func() int { return kind(j) })
	}
}

// Place returns a run's place in the queue; ok is false for one that the policy does not
// consider.
func (o *OneQueue) Place(r Run) (p jobprio.Place, ok bool) {
	if r.Order >= len(o.Places) {
		return p, false
	}
	return o.Places[r.Order], true
}

// refuses reports whether a limit of the policy that counts now keeps the jobs of a queue from
// running.
func (o *OneQueue) refuses(q *Queue) bool {
	return o.full(q) || o.Limits != nil && !o.hard && o.Limits.Refuses(q.Kind, false) != ""
}

// full reports whether a hard limit of the policy is reached for the jobs of a queue. That is
// final, since no usage of limits ends in a cycle.
func (o *OneQueue) full(q *Queue) bool {
	q.full = q.full || o.Limits != nil && o.Limits.Refuses(q.Kind, true) != ""
	return q.full
}

// queueDealer deals by one queue of all jobs.
type queueDealer struct{ *dealer }

// fill matches jobs and slots by the one queue of all: the first job that may still get a
// slot always gets its best one, and jobs for which none is found are skipped. Soft
// limits of the policy count until no job gets a slot; then hard ones do. Nice users come
// behind all others.
func (c *queueDealer) fill() {
	c.serveInOrder()
	for c.release() {
		c.lookAgain()
		c.serveInOrder()
	}
	if c.last = len(c.tenants) > 0; c.last {
		for c.serveAgain() || c.release() {
		}
	}
	c.reserve()
	c.settleQueue()
	c.settleGroupUse()
}

// serveAgain asks for all jobs that are left once more, also those that were passed over, and
// reports whether any of them got a slot.
func (c *queueDealer) serveAgain() bool {
	before := c.moves
	c.lookAgain()
	for _, s := range c.Submitters {
		s.since = -1
	}
	c.serveInOrder()
	return c.moves != before
}

// serveInOrder gives all their slots, tier by tier.
func (c *queueDealer) serveInOrder() {
	for _, tier := range c.tiers() {
		c.contend(tier)
		for c.OneQueue.hard = c.OneQueue.Limits == nil; ; c.OneQueue.hard = true {
			if c.groupUse != nil && !tier[0].Nice {
				c.dealGroupsInOrder(tier)
			} else {
				c.dealInOrder(everybody(tier))
			}
			if c.OneQueue.hard {
				break
			}
		}
	}
}

// dealInOrder serves parties until no job gets a slot.
func (c *queueDealer) dealInOrder(parties ...*sharers) {
	for c.pass(parties) {
	}
}

// dealGroupsInOrder gives a tier its slots, each group its allocation by quotas, surplus
// and wishes. That is divided again, as dealGroups does, until no job gets a slot. If
// groups regroup, their submitters are served with the root group, behind all groups: it
// is unbounded, and would leave the groups none of their quotas.
func (c *queueDealer) dealGroupsInOrder(tier []*Submitter) {
	u, stuck := c.groupUse, map[int]bool{}
	for {
		parties := c.parties(tier, stuck)
		var groups, rest []*sharers
		for _, p := range parties {
			if p.group == 0 && u.tree.Regroups() {
				rest = append(rest, p)
			} else {
				groups = append(groups, p)
			}
		}
		before := c.moves
		c.dealInOrder(groups...)
		c.dealInOrder(rest...)
		if c.moves == before && !c.passBeyond(groups, 0) && !c.noteStuck(parties, stuck) && !c.passBeyond(groups, math.Inf(-1)) {
			return
		}
	}
}

// passBeyond lets each group that accepts surplus and is more than least below its
// allocation have one slot that no longer fits into it; false: none could use one.
func (c *queueDealer) passBeyond(groups []*sharers, least float64) bool {
	var some []*sharers
	for _, p := range groups {
		if c.groupUse.below(p) > least && c.groupUse.tree.List[p.group].AcceptSurplus {
			p.extra = true
			some = append(some, p)
		}
	}
	any := c.pass(some)
	for _, p := range some {
		p.extra = false
	}
	return any
}

// ahead is a submitter in the line of all, as a member of a party, by the place of its next
// job.
type ahead struct {
	*Submitter
	party *sharers
	place int
}

func (a *ahead) Before(b *ahead) bool { return a.place < b.place }

// pass goes once through the queue, for the members of parties, each of whom is in one of
// them. It reports whether a submitter got a slot. It ends early when a slot comes back, or
// when a submitter whose job was preempted may use more again: earlier jobs in the queue have
// to be tried first.
func (c *queueDealer) pass(parties []*sharers) bool {
	before := c.moves
	c.newTurn()
	var line heap.Heap[ahead, *ahead]
	for _, p := range parties {
		for _, s := range p.members {
			s.comeBack(len(c.events))
			if q := s.next(); q != nil {
				line = append(line, ahead{s, p, q.Runs[0].Order})
			}
		}
	}
	line.Heapify()
	for again := false; len(line) > 0 && !again; {
		first := &line[0]
		switch q := first.next(); {
		case q == nil:
			line.Pop()
		case q.Runs[0].Order != first.place:
			first.place = q.Runs[0].Order
			line.Fix()
		default:
			again = c.serveNext(first.party, first.Submitter, q)
			if c.OneQueue.listed > mostListed && len(c.looked) > 1 {
				c.newTurn()
			}
		}
	}
	for _, p := range parties {
		for _, s := range p.members {
			s.ready()
		}
	}
	return c.moves != before
}

// mostListed is how many prospects queues may have listed together: some ten megabytes each
// hundred thousand. What one queue alone has may be more.
const mostListed = 1_000_000

// newTurn forgets whom the first jobs of queues might preempt.
func (c *queueDealer) newTurn() {
	c.turns++
	c.OneQueue.listed = 0
}

// serveNext gives the next job of a submitter, which is the first of q, the best slot that it
// can have, and reports whether the queue has to be asked again from its beginning.
func (c *queueDealer) serveNext(p *sharers, s *Submitter, q *Queue) (again bool) {
	c.dealing = p
	got, kept, ok := c.attempt(p, s, q, math.Inf(1))
	if ok {
		c.match(s, q, got)
		p.extra = false
	}
	q.Cluster.restore()
	if kept {
		c.lookAgain()
	}
	if got.preempts != nil {
		return c.openUp(got.preempts.holder)
	}
	return kept
}

// openUp makes submitters try again that may use more after a holder has lost a slot, and
// reports whether there are any: the holder if its ceiling bound it, and submitters bound
// by the usage of the holder's groups. A submitter that left a running slot for a free
// one that groups did not allow tries again, too.
func (c *queueDealer) openUp(holder *Submitter) (any bool) {
	if holder.Ceiling.Set {
		holder.since, any = -1, true
	}
	for _, s := range c.Submitters {
		if c.groupUse != nil && (s.awaits || s.bound && c.groupUse.bindTogether(s.Group, holder.Group)) {
			s.since, s.bound, s.awaits, any = -1, false, false, true
		}
	}
	return any
}

// noteMatch copies the place of a match's job, the first of q, to the match, and counts
// it.
func (o *OneQueue) noteMatch(m *negotiator.Match, q *Queue) {
	at := q.Runs[0].Order
	place := o.Places[at]
	m.QOS, m.PE, m.Priority = place.QOS, place.PE, place.Priority
	o.matched, o.kindsOf = append(o.matched, at), append(o.kindsOf, q.Kind)
	if o.Limits != nil {
		o.Limits.Take(q.Kind)
	}
}

// settleQueue notes, after the deal, which limits of the policy are reached, and the facts
// that it keeps until the next cycle.
func (c *queueDealer) settleQueue() {
	o := c.OneQueue
	if c.Plan.Limited = o.Limits != nil; c.Plan.Limited {
		for _, s := range c.Submitters {
			for _, q := range s.Queues {
				if q.left+len(q.passed) > 0 {
					q.Refused = o.Limits.Refuses(q.Kind, true)
					q.soft = q.Refused == "" && o.Limits.Refuses(q.Kind, false) != ""
				}
			}
		}
	}
	for _, k := range o.Clocks {
		if k.Count() > 0 {
			c.Plan.Clocks = append(c.Plan.Clocks, negotiator.Clock{Procs: k.Procs, Since: k.Since})
		}
	}
	c.Plan.Clocks = joinEqual(c.Plan.Clocks, func(k *negotiator.Clock) *pool.Procs { return &k.Procs }, func(a, b *negotiator.Clock) bool { return a.Since == b.Since })
	if o.CountPassed {
		c.countPassed()
	}
	if o.Tickets != nil {
		c.noteTickets()
	}
}

// noteTickets lists the tickets of jobs that have claims from now on. Those that are below 0
// stay as they are.
func (c *queueDealer) noteTickets() {
	o := c.OneQueue
	c.Plan.Tickets = []negotiator.Tickets{} // not nil, though no job may have any
	for i, place := range o.matched {
		c.Plan.Tickets = append(c.Plan.Tickets, negotiator.Tickets{Job: c.Plan.Matches[i].Job, Tickets: o.Places[place].Tickets})
	}
	for i, tickets := range o.Tickets {
		if tickets >= 0 {
			c.Plan.Tickets = append(c.Plan.Tickets, negotiator.Tickets{Job: o.waiting.Running[i].FirstJob(), Tickets: tickets})
		}
	}
	slices.SortFunc(c.Plan.Tickets, func(a, b negotiator.Tickets) int { return a.Job.Compare(b.Job) })
}

// countPassed lists the procs that got nothing while jobs behind them did.
func (c *queueDealer) countPassed() {
	matched := slices.Sorted(slices.Values(c.OneQueue.matched))
	c.Plan.Passing = c.matchedInOrder()
	for _, s := range c.Submitters {
		for _, q := range s.Queues {
			if !q.Offered() {
				continue
			}
			for _, r := range WaiterOf(q).Runs {
				behind := len(matched) - sort.SearchInts(matched, r.Order+1)
				if behind == 0 {
					break
				}
				c.Plan.Passed = append(c.Plan.Passed, negotiator.Passed{Procs: r.Procs, Times: behind})
			}
		}
	}
	c.Plan.Passed = joinEqual(c.Plan.Passed, func(x *negotiator.Passed) *pool.Procs { return &x.Procs }, func(a, b *negotiator.Passed) bool { return a.Times == b.Times })
}

// matchedInOrder returns the jobs that were matched in the order of the queue.
func (c *queueDealer) matchedInOrder() []pool.JobID {
	line := make([]int, len(c.Plan.Matches))
	for i := range line {
		line[i] = i
	}
	slices.SortStableFunc(line, func(a, b int) int { return cmp.Compare(c.OneQueue.matched[a], c.OneQueue.matched[b]) })
	jobs := make([]pool.JobID, len(line))
	for i, m := range line {
		jobs[i] = c.Plan.Matches[m].Job
	}
	return jobs
}

// joinEqual sorts entries for procs, and joins equal ones for neighbouring procs.
func joinEqual[T any](list []T, of func(*T) *pool.Procs, same func(a, b *T) bool) []T {
	slices.SortFunc(list, func(a, b T) int { return of(&a).Compare(*of(&b)) })
	n := 0
	for i := range list {
		if n > 0 && same(&list[n-1], &list[i]) && of(&list[n-1]).Extend(*of(&list[i])) {
			continue
		}
		list[n] = list[i]
		n++
	}
	return list[:n]
}

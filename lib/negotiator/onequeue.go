package negotiator

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/shapes"
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
func (c *roster) newOneQueue(p Pool) *oneQueue {
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
func (c *arrangement) queueInOrder(waiting map[string][]jobprio.Run, a *autoclusters, kinOf func(jobprio.Run) int) {
	o := c.one
	var idle []jobprio.Run
	for _, s := range c.submitters {
		idle = append(idle, waiting[s.name]...)
	}
	held := o.waiting.Held
	order := c.Among(slices.Concat(idle, held))
	byProc := order.InJobs(c.cfg.Queue.Attributes()).Has(procID)
	if byProc {
		o.waiting.Held = procs(held)
	}
	if byProc || c.telling.Has(procID) {
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
	f := filing{c: &c.roster, kinOf: kinOf, kindOf: func(jobprio.Run) int { return 0 }, queues: map[queueKey]*queue{}}
	if o.Limits != nil {
		telling := order.InJobs(o.Limits.Attributes())
		c.telling = shapes.With(c.telling, telling.Texts())
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
	c      *roster
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
		q.runs = append(q.runs, run{Procs: j.Procs, order: place, kin: f.kinOf(j), payer: f.c.PayerOf(j)})
		q.left += j.Count()
		if q.kept == "" {
			q.cluster.idle += j.Count()
		}
	}
}

// jobs returns some procs of an idle run; none if there are none.
func (o *oneQueue) jobs(p jobprio.Part) []jobprio.Run {
	return appendRun(nil, o.waiting.Idle[p.Run], p.First, p.Last+1)
}

// singly splits what is said of several procs.
func singly[T any](list []T, of func(*T) *pool.Procs) (one []T) {
	for _, x := range list {
		for id := range of(&x).Jobs() {
			*of(&x) = pool.Only(id)
			one = append(one, x)
		}
	}
	return one
}

// kinds returns a function that tells what the policy's limits make of a job. Jobs are asked
// about once for all that are equal in what limits look at.
func (o *oneQueue) kinds(x *shapes.Shapes, telling shapes.Names) func(jobprio.Run) int {
	known := map[string]int{}
	var key []byte
	return func(j jobprio.Run) int {
		key = x.Signature(key[:0], j.Ad, telling)
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

// queueDealer deals by one queue of all jobs.
type queueDealer struct{ *dealer }

// fill matches jobs and slots by the one queue of all: always the first job that may
// still get something has the best slot for it, and those for which nothing is found are
// passed over. Soft limits of the policy count until nobody gets anything more; then hard
// ones do. Nice users come behind all others.
func (c *queueDealer) fill() {
	c.serveInOrder()
	for c.release() {
		c.lookAgain()
		c.serveInOrder()
	}
	if c.last = len(c.tenants) > 0; c.last {
		for c.serveAgain() {
		}
	}
	c.reserve()
}

// serveAgain asks for all jobs that are left once more, also those that were passed over, and
// says whether any of them got a slot.
func (c *queueDealer) serveAgain() bool {
	before := c.moves
	c.lookAgain()
	for _, s := range c.submitters {
		s.since = -1
	}
	c.serveInOrder()
	return c.moves != before
}

// serveInOrder gives all their slots, tier by tier.
func (c *queueDealer) serveInOrder() {
	for _, tier := range c.tiers() {
		c.contend(tier)
		for c.one.hard = c.one.Limits == nil; ; c.one.hard = true {
			if c.groupUse != nil && !tier[0].nice {
				c.dealGroupsInOrder(tier)
			} else {
				c.dealInOrder(everybody(tier))
			}
			if c.one.hard {
				break
			}
		}
	}
}

// dealInOrder serves parties until nobody gets anything more.
func (c *queueDealer) dealInOrder(parties ...*sharers) {
	for c.pass(parties) {
	}
}

// dealGroupsInOrder gives a tier its slots, each group what quotas and surplus allocate it
// by what it wants. That is divided again, as dealGroups does, until nobody gets anything
// more. Where groups regroup, those that do come with nobody's group, and behind all groups:
// it is bounded by nothing, and would leave them none of their quotas.
func (c *queueDealer) dealGroupsInOrder(tier []*submitter) {
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

// passBeyond lets each of the groups that accept surplus and are more than least below what
// they are allocated have one slot that no longer fits into that; false: none could use one.
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
	*submitter
	party *sharers
	place int
}

func (a *ahead) Before(b *ahead) bool { return a.place < b.place }

// pass goes once through the queue, as far as it is the members' of parties, each of whom is
// in one of them. It says whether anybody got a slot. It ends early when one is there that
// was not, or when somebody whose job was preempted may use more again: those before in the
// queue have to be asked first.
func (c *queueDealer) pass(parties []*sharers) bool {
	before := c.moves
	c.newTurn()
	var line heap.Heap[ahead, *ahead]
	for _, p := range parties {
		for _, s := range p.members {
			s.comeBack(len(c.events))
			if q := s.next(); q != nil {
				line = append(line, ahead{s, p, q.runs[0].order})
			}
		}
	}
	line.Heapify()
	for again := false; len(line) > 0 && !again; {
		first := &line[0]
		switch q := first.next(); {
		case q == nil:
			line.Pop()
		case q.runs[0].order != first.place:
			first.place = q.runs[0].order
			line.Fix()
		default:
			again = c.serveNext(first.party, first.submitter, q)
			if c.one.listed > mostListed && len(c.looked) > 1 {
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
	c.one.listed = 0
}

// serveNext gives the next job of a submitter, which is the first of q, the best slot that it
// can have, and says whether the queue has to be asked again from its beginning.
func (c *queueDealer) serveNext(p *sharers, s *submitter, q *queue) (again bool) {
	c.dealing = p
	got, kept, ok := c.attempt(p, s, q, math.Inf(1))
	if ok {
		c.match(s, q, got)
		p.extra = false
	}
	q.cluster.restore()
	if kept {
		c.lookAgain()
	}
	if got.preempts != nil {
		return c.openUp(got.preempts.holder)
	}
	return kept
}

// openUp lets those look again who may use more when a holder has lost a slot, and says
// whether there are any: its own ceiling bound it, or what its groups use bounds others. Who
// left a running slot for a free one that groups did not allow looks again, too.
func (c *queueDealer) openUp(holder *submitter) (any bool) {
	if holder.ceiling.Set {
		holder.since, any = -1, true
	}
	for _, s := range c.submitters {
		if c.groupUse != nil && (s.awaits || s.bound && c.groupUse.bindTogether(s.group, holder.group)) {
			s.since, s.bound, s.awaits, any = -1, false, false, true
		}
	}
	return any
}

// noteMatch notes what a match has of the place of its job, which is the first of q, and
// counts it.
func (o *oneQueue) noteMatch(m *Match, q *queue) {
	at := q.runs[0].order
	place := o.Places[at]
	m.QOS, m.PE, m.Priority = place.QOS, place.PE, place.Priority
	o.matched, o.kindsOf = append(o.matched, at), append(o.kindsOf, q.kind)
	if o.Limits != nil {
		o.Limits.Take(q.kind)
	}
}

// settleQueue notes, when all is dealt out, which limits of the policy are reached, and what
// it wants to be kept until the next cycle.
func (c *cycle) settleQueue() {
	o := c.one
	if o == nil {
		return
	}
	if c.plan.Limited = o.Limits != nil; c.plan.Limited {
		for _, s := range c.submitters {
			for _, q := range s.queues {
				if q.offered() && c.one.full(q) {
					q.refused = o.Limits.Refuses(q.kind, true)
				}
			}
		}
	}
	for _, k := range o.Clocks {
		if k.Count() > 0 {
			c.plan.Clocks = append(c.plan.Clocks, Clock{k.Procs, k.Since})
		}
	}
	c.plan.Clocks = joinEqual(c.plan.Clocks, func(k *Clock) *pool.Procs { return &k.Procs }, func(a, b *Clock) bool { return a.Since == b.Since })
	if o.CountPassed {
		c.countPassed()
	}
	if o.Tickets != nil {
		c.noteTickets()
	}
}

// noteTickets lists the tickets of jobs that have claims from now on. Those that are below 0
// stay as they are.
func (c *cycle) noteTickets() {
	o := c.one
	c.plan.Tickets = []Tickets{} // not nil, though nobody may have any
	for i, place := range o.matched {
		c.plan.Tickets = append(c.plan.Tickets, Tickets{c.plan.Matches[i].Job, o.Places[place].Tickets})
	}
	for i, tickets := range o.Tickets {
		if tickets >= 0 {
			c.plan.Tickets = append(c.plan.Tickets, Tickets{o.waiting.Running[i].FirstJob(), tickets})
		}
	}
	slices.SortFunc(c.plan.Tickets, func(a, b Tickets) int { return a.Job.Compare(b.Job) })
}

// countPassed lists the procs that got nothing while jobs behind them did.
func (c *cycle) countPassed() {
	matched := slices.Sorted(slices.Values(c.one.matched))
	c.plan.Passing = c.matchedInOrder()
	for _, s := range c.submitters {
		for _, q := range s.queues {
			if !q.offered() {
				continue
			}
			for _, r := range waiterOf(q).runs {
				behind := len(matched) - sort.SearchInts(matched, r.order+1)
				if behind == 0 {
					break
				}
				c.plan.Passed = append(c.plan.Passed, Passed{r.Procs, behind})
			}
		}
	}
	c.plan.Passed = joinEqual(c.plan.Passed, func(x *Passed) *pool.Procs { return &x.Procs }, func(a, b *Passed) bool { return a.Times == b.Times })
}

// matchedInOrder returns the jobs that were matched in the order of the queue.
func (c *cycle) matchedInOrder() []pool.JobID {
	line := make([]int, len(c.plan.Matches))
	for i := range line {
		line[i] = i
	}
	slices.SortStableFunc(line, func(a, b int) int { return cmp.Compare(c.one.matched[a], c.one.matched[b]) })
	jobs := make([]pool.JobID, len(line))
	for i, m := range line {
		jobs[i] = c.plan.Matches[m].Job
	}
	return jobs
}

// joinEqual puts what is said of procs into ascending order, neighbours of whom the same is said
// in one piece.
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

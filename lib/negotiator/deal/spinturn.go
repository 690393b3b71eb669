package deal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// turn is an entry's turn in a spin. It takes the matched weight off the pie.
func (sp *spinning) turn(p *spinParty, e *entry, spin *negotiator.Spin, d *division) negotiator.SpinTurn {
	t := negotiator.SpinTurn{Name: e.Name, EffectivePriority: e.EUP, Usage: sp.used(e), Ceiling: Headroom(e.Ceiling, sp.used(e))}
	if e.ranged {
		t.JobPrios = []int{e.low, e.high}
	}
	var unclaimed float64
	t.Share, t.Limit, unclaimed = sp.entitled(p, e, d)
	if spin.Floor {
		t.Limit = min(t.Limit, float64(e.Floor))
	} else if spin.Number == 1 && !sp.sliced[e.Submitter] {
		sp.sliced[e.Submitter] = true
		e.Slice, e.limit = max(0, float64(t.Share*p.weight)), max(0, min(t.Limit, p.weight))
	}
	if t.Limit > d.pie {
		t.Starved, t.Limit = t.Limit-d.pie, d.pie
	}
	t.Outcome = negotiator.SpinServed
	switch {
	case e.idle == 0:
		t.Skipped = "skipped because no idle jobs"
	case spin.Number > 1 && (t.Limit < sp.Lightest || d.pie < sp.Lightest):
		t.Skipped, t.Outcome = "skipped as pieLeft < minSlotWeight", negotiator.SpinLimited
	case t.Ceiling == 0 || float64(t.Ceiling) < sp.Lightest:
		t.Skipped = fmt.Sprintf("skipped because submitterCeiling remaining is %d", t.Ceiling)
	default:
		n := &spinNegotiation{spinning: sp, entry: e, turn: &t, unclaimed: unclaimed, pie: &d.pie,
			ranks: spin.Number == 1 && sp.Config.Preemption.Consider}
		if n.run() {
			t.Outcome = negotiator.SpinLimited
		}
	}
	return t
}

// spinNegotiation is one turn's way through the submitter's jobs.
type spinNegotiation struct {
	*spinning
	entry     *entry
	turn      *negotiator.SpinTurn
	unclaimed float64 // the limit for slots without a holder: not cut to the pie
	used      float64 // of the limit, by this turn
	free      float64 // of that, by slots without a holder
	pie       *float64
	ranks     bool // beyond the limit there are slots that prefer the job
	limited   bool
	refused   []string // concurrency limits reached by the requests before, one after the other
	asked     spinRequest
	list      spinList
}

// run asks for job after job, and reports whether the submitter was limited.
func (n *spinNegotiation) run() bool {
	s := n.entry.Submitter
	restore := s.restrict(n.entry)
	defer restore()
	for {
		over := n.used >= n.turn.Limit
		if over && !n.ranks {
			return true
		}
		n.turn.RankOnly = n.turn.RankOnly || over
		if n.used >= float64(n.turn.Ceiling) {
			return true
		}
		q := s.next()
		if q == nil {
			return over || n.limited
		}
		n.ask(q)
		reason := n.offer(q, over)
		if reason == "" {
			continue
		}
		n.turn.Rejections = append(n.turn.Rejections, negotiator.SpinRejection{Job: n.asked.first.String(), Reason: reason})
		q.Said = reason
		s.wait(q)
		s.skip(q)
		if n.limited && !n.Config.Preemption.Consider && !n.Config.UseSlotWeights {
			return true
		}
	}
}

// spinRequest is jobs of one autocluster that follow each other without others in
// between: HTCondor's negotiator is asked for all of them by the name of the first.
type spinRequest struct {
	queue *Queue
	first pool.JobID
	last  int // the place of the run that was asked for last
}

// ask notes that the first job of q is asked for, by the request that it is in.
func (n *spinNegotiation) ask(q *Queue) {
	order := q.Runs[0].Order
	if n.asked.queue != q || n.isBetween(n.asked.last, order) {
		n.asked = spinRequest{queue: q, first: q.Runs[0].FirstJob()}
	}
	n.asked.last = order
}

// isBetween reports whether jobs that were rejected in this turn stand between two places.
func (n *spinNegotiation) isBetween(after, before int) bool {
	if before <= after+1 {
		return false
	}
	return slices.ContainsFunc(n.entry.asked, func(p place) bool {
		at, is := slices.BinarySearchFunc(p.Runs, after, func(r Run, order int) int { return cmp.Compare(r.Order, order) })
		if is {
			at++
		}
		return at < len(p.Runs) && p.Runs[at].Order < before
	})
}

// offer matches the first job of a queue with the best slot that the limit allows,
// or returns why not.
func (n *spinNegotiation) offer(q *Queue, over bool) string {
	name, blocked := n.blockedBy(q.Cluster)
	q.blocked = name
	if blocked {
		// HTCondor names all limits that it met since it last let a job pass.
		n.refused = append(n.refused, name)
		slices.Sort(n.refused)
		n.refused = slices.Compact(n.refused)
		return "concurrency limit " + strings.Join(n.refused, ", ") + " reached"
	}
	n.refused = nil
	p, how := n.best(q, over)
	if how == found {
		n.matched(q, p)
		return ""
	}
	how = max(how, n.list.how)
	q.Limited = over || how == tooHeavy
	n.limited = n.limited || how == tooHeavy
	switch {
	case q.prospects.refused:
		return "PREEMPTION_REQUIREMENTS == False"
	case how == tooHeavy:
		return "submitter limit exceeded"
	}
	return "no match found"
}

// blockedBy returns the first concurrency limit, as the job names them, that does
// not admit one more such job.
func (n *spinNegotiation) blockedBy(k *Autocluster) (string, bool) {
	if _, blocked := n.InUse.Blocked(k.Limits); !blocked {
		return "", false
	}
	text, _ := k.Ad.EvalString(n.Billed(k.Autocluster), pool.AttrConcurrencyLimits)
	for _, one := range strings.FieldsFunc(text, concurrency.IsBetween) {
		for _, d := range concurrency.Demands(one) {
			i := slices.IndexFunc(k.Limits, func(o concurrency.Demand) bool { return o.Name == d.Name })
			if i >= 0 && n.InUse.Left(k.Limits[i]) == 0 {
				return d.Name, true
			}
		}
	}
	return n.InUse.Blocked(k.Limits)
}

// room returns the heaviest slot that may be taken now: up to the limit, but a submitter
// that has taken nothing in this spin may exceed it by one slot.
func (n *spinNegotiation) room() float64 {
	if n.free <= 0 && n.unclaimed > 0 {
		return math.Inf(1)
	}
	w := accountant.Weight((n.unclaimed - n.free) * float64(accountant.One))
	if n.unclaimed-n.free >= accountant.MaxWeight.Float() {
		return math.Inf(1)
	}
	// The sum is what HTCondor compares; the difference may be off by a digit.
	for w++; w >= 0 && n.free+w.Float() > n.unclaimed; w-- {
	}
	return w.Float()
}

// matched charges a slot and gives it to the first job of q.
func (n *spinNegotiation) matched(q *Queue, p pick) {
	cost := n.cost(q.Cluster, p.group)
	whole := p.group.Left == nil || n.once(p.group)
	if whole {
		n.slots--
	}
	n.match(n.entry.Submitter, q, p)
	if whole && p.group.Left != nil && n.Config.DepthFirst {
		n.entry.leave(q, n.roomFor(q.Cluster, p.group)-1)
	}
	n.used += cost.Float()
	if p.preempts == nil {
		n.free += cost.Float()
	}
	*n.pie -= cost.Float()
	n.charge(n.entry.Submitter, cost)
	n.turn.Matches++
}

// roomFor returns how many jobs like those of k fit into a partitionable slot, by cores
// and memory. With NEGOTIATOR_DEPTH_FIRST the others wait for the rest of the slot after
// the first.
func (n *spinNegotiation) roomFor(k *Autocluster, g *Group) int {
	room := func(held, request string) int64 {
		has, ok := g.Ad.EvalInt(n.Eval, held)
		if !ok {
			has = 1
		}
		asks, ok := k.Ad.EvalInt(n.Billed(k.Autocluster), request)
		if !ok {
			asks = 1
		}
		return has / max(1, asks)
	}
	return int(min(room(pool.AttrCpus, pool.AttrRequestCpus), room(pool.AttrMemory, pool.AttrRequestMemory), math.MaxInt32))
}

// jobPrios returns the JobPrios of the submitter's jobs, ascending, each once.
func (s *Submitter) jobPrios() []int {
	var all []int
	for _, q := range s.Queues {
		for _, r := range q.Runs {
			all = append(all, r.Prio)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// restrict leaves in the queues only what an entry has to offer. The function that
// it returns ends the turn: nothing waits or is passed over any more, and the rest
// is back.
func (s *Submitter) restrict(e *entry) func() {
	others := map[*Queue][]Run{}
	if e.ranged {
		for _, q := range s.Queues {
			q.Runs, others[q] = e.part(q.Runs)
			q.count()
		}
		s.lineUp()
	}
	return func() {
		for _, q := range s.Queues {
			q.Cluster.restore() // others have jobs of that autocluster, too
			q.skips = false
		}
		s.ready()
		if !e.ranged && !slices.ContainsFunc(s.Queues, func(q *Queue) bool { return len(q.passed) > 0 }) {
			s.kins = nil
			return
		}
		s.kins = nil
		for _, q := range s.Queues {
			q.Runs = slices.Concat(q.passed, q.Runs, others[q])
			slices.SortStableFunc(q.Runs, func(a, b Run) int { return cmp.Compare(a.Order, b.Order) })
			q.passed = nil
			q.count()
		}
		s.lineUp()
	}
}

// part divides runs into those in the entry's range and the others.
func (e *entry) part(runs []Run) (its, others []Run) {
	for _, r := range runs {
		if e.low <= r.Prio && r.Prio <= e.high {
			its = append(its, r)
		} else {
			others = append(others, r)
		}
	}
	return its, others
}

// leave passes over the next n jobs of a queue in this turn, as far as no other's
// come before them.
func (s *Submitter) leave(q *Queue, n int) {
	for n > 0 && s.next() == q {
		r := &q.Runs[0]
		m := min(n, r.Count())
		left := *r
		left.Last = r.First + m - 1
		q.passed = append(q.passed, left)
		r.First += m
		q.left -= m
		n -= m
		if r.Count() > 0 {
			continue
		}
		if q.Runs = q.Runs[1:]; q.left > 0 {
			s.line.Fix()
		} else {
			s.line.Pop()
		}
	}
}

// count counts the jobs left in a queue.
func (q *Queue) count() {
	q.left = 0
	for _, r := range q.Runs {
		q.left += r.Count()
	}
}

// lineUp makes the line of queues with jobs left anew.
func (s *Submitter) lineUp() {
	s.line = s.line[:0]
	for _, q := range s.Queues {
		if q.left > 0 && q.Offered() {
			s.line = append(s.line, place{q})
		}
	}
	s.line.Heapify()
}

// spinList is HTCondor's list of candidates for a request: made once, and used up
// without looking again (NEGOTIATOR_MATCHLIST_CACHING).
type spinList struct {
	of    *Queue  // nil: there is none
	over  bool    // only slots whose Rank prefers the job
	used  float64 // of the limit, when the list was made
	room  float64 // for slots without a holder, at that time
	fresh bool    // it was made for the job at hand
	how   outcome // tooHeavy if the limit kept a claimed slot out of it, or took one off
}

// best finds the best slot for the first job of a queue: a free one, or one with a job
// that has to leave; over the limit only a slot whose Rank prefers the job.
func (n *spinNegotiation) best(q *Queue, over bool) (pick, outcome) {
	n.makeList(q, over)
	for {
		p := n.first(q, n.room())
		switch {
		case p != nil && n.mayPreempt(p):
			return n.preempt(p), found
		case p != nil:
			n.list.how = tooHeavy
			q.prospects.drop()
		case over:
			return pick{}, nothing
		default:
			return n.take(q.Cluster, n.room())
		}
	}
}

// first returns the first slot on the list if it runs a job; nil if it is a free slot of
// a weight up to room, or there is none.
func (n *spinNegotiation) first(q *Queue, room float64) *prospect {
	p := n.prospect(n.entry.Submitter, q, !n.list.over, n.isListed)
	if p == nil || n.list.over {
		return p
	}
	if _, key, how := n.choose(q.Cluster, room); how == found && !p.beats(&key) {
		return nil
	}
	return p
}

// makeList begins a new list, unless the one that was made last still serves.
func (n *spinNegotiation) makeList(q *Queue, over bool) {
	l := &n.list
	if n.Config.Preemption.Cached && l.of == q && l.over == over && n.lasts(q) {
		l.fresh = false
		return
	}
	n.turns++
	*l = spinList{of: q, over: over, used: n.used, room: n.room(), fresh: true}
}

// lasts reports whether the list still holds, as far as expressions are not stable: the next
// on it is asked again, but no other.
func (n *spinNegotiation) lasts(q *Queue) bool {
	stable := n.Config.Preemption
	if stable.RequirementsStable && stable.RankStable {
		return true
	}
	p := n.first(q, n.list.room)
	switch {
	case p == nil && !stable.RequirementsStable && !n.list.over:
		_, _, how := n.choose(q.Cluster, n.list.room)
		return how == found
	case p == nil:
		return stable.RequirementsStable
	case !stable.RequirementsStable && n.fickle && !p.byRank && !n.permits(n.entry.Submitter, q.Cluster, p.tenants):
		return false
	}
	return stable.RankStable || !n.fickleRank || n.presentRank(n.entry.Submitter, q.Cluster, p.tenants) == p.preemption
}

// isListed reports whether a slot is on the list: for priority only within the limit, as it
// was when the list was made.
func (n *spinNegotiation) isListed(p *prospect) bool {
	if p.byRank || spinPermits(n.list.used, p.weight.Float(), n.turn.Limit) {
		return true
	}
	n.list.how = tooHeavy
	return false
}

// mayPreempt reports whether the first slot on the list may be taken. HTCondor takes the
// first of a new list without a check; the others, of either reason, have to be within the
// limit, or else within the limit for slots without a holder.
func (n *spinNegotiation) mayPreempt(p *prospect) bool {
	cost := p.weight.Float()
	return n.list.fresh || spinPermits(n.used, cost, n.turn.Limit) || spinPermits(n.free, cost, n.unclaimed)
}

// spinPermits reports whether a limit lets a submitter have one more slot: a submitter
// that has taken nothing yet may exceed it by that slot.
func spinPermits(used, cost, limit float64) bool {
	return used+cost <= limit || used <= 0 && limit > 0
}

// Attributes of slots that only spins look at.
const (
	consumptionPolicy = "consumptionpolicy"
	consumptionOf     = "consumption" // and the name of a resource
	machineResources  = "machineresources"
)

// spinCosts remembers what spins found out about groups of partitionable slots.
type spinCosts struct {
	several map[*Group]bool // by group when the cycle began
	costs   map[spinCost]accountant.Weight
}

// spinCost identifies the cost of a request in a group.
type spinCost struct {
	group   *Group
	request int
}

// cost returns the weight of a match with a slot of the group that counts against limits:
// the charge. In spins a partitionable slot counts as a whole, unless it serves several
// jobs in a cycle; then the loss of its weight counts.
func (c *arrangement) cost(k *Autocluster, g *Group) accountant.Weight {
	if g.Left == nil || c.Config.Pie != negotiator.Spins {
		return c.Weight(k, g)
	}
	key := spinCost{g, -1}
	if c.consumes(g) {
		key.request = k.Request.Number
	}
	w, known := c.costs.costs[key]
	if !known {
		w = c.weighPart(g.Ad)
		if key.request >= 0 {
			rest := c.weighPart(pool.Left(c.Eval, g.Ad, []pool.Resources{c.takes(k, g)}))
			w = max(0, w-rest)
		}
		if c.costs.costs == nil {
			c.costs.costs = map[spinCost]accountant.Weight{}
		}
		c.costs.costs[key] = w
	}
	return w
}

// consumes reports whether partitionable slots of the group serve several jobs in one
// cycle of spins: those with a consumption policy. Their ads say so, or have as
// HTCondor's a Consumption attribute for each of their MachineResources.
func (c *arrangement) consumes(g *Group) bool {
	yes, known := c.costs.several[g.root]
	if !known {
		yes = g.root.Ad.Eval(c.Eval, consumptionPolicy, nil).True() || c.hasPolicy(g.root.Ad)
		if c.costs.several == nil {
			c.costs.several = map[*Group]bool{}
		}
		c.costs.several[g.root] = yes
	}
	return yes
}

func (c *arrangement) hasPolicy(ad *classad.Ad) bool {
	text, ok := ad.EvalString(c.Eval, machineResources)
	if !ok {
		return false
	}
	for _, name := range strings.FieldsFunc(text, concurrency.IsBetween) {
		if !strings.EqualFold(name, "swap") && !ad.Has(consumptionOf+name) {
			return false
		}
	}
	return true
}

// consumptionNames are the slots' attributes that spins tell partitionable slots
// apart by.
func (c *arrangement) consumptionNames(resources []shapes.Resource) []string {
	if c.Config.Pie != negotiator.Spins {
		return nil
	}
	names := []string{consumptionPolicy, machineResources}
	for _, r := range resources {
		names = append(names, consumptionOf+strings.ToLower(r.Name))
	}
	return names
}

// Once reports whether a match takes a partitionable slot of the group out of the cycle.
func (c *arrangement) once(g *Group) bool { return c.Config.Pie == negotiator.Spins && !c.consumes(g) }

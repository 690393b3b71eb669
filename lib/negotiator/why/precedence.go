package why

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/pool"
)

// precedence is who goes before whom among the jobs that are left, with a Config.Queue. A
// job's turn is its place in the queue; those of nice users, and of who may only go beyond a
// soft limit, come in rounds of their own behind all others.
type precedence struct {
	*deal.OneQueue
	left     []int                 // by place: how many of the jobs before it are left
	limits   map[*deal.Queue]limit // of the policy that keep jobs from running, once asked for
	entrants map[string][]entrant  // by name of the slot
	contests map[contest]map[*deal.Queue]int
	running  []jobprio.Running // by job
}

// limit is one of the policy's that a queue has reached, and what it is called without the
// numbers in use: the same for all whose jobs it bounds.
type limit struct {
	text, name string
	soft       bool // it does not keep the jobs from what nobody else can use
}

// precede finds out who goes before whom of what is left of some queues; nil without a
// Config.Queue.
func precede(o *deal.OneQueue, some iter.Seq[deal.Waiter]) *precedence {
	if o == nil {
		return nil
	}
	p := &precedence{OneQueue: o, left: make([]int, len(o.Places)+1), limits: map[*deal.Queue]limit{}, entrants: map[string][]entrant{},
		contests: map[contest]map[*deal.Queue]int{}}
	for w := range some {
		for _, r := range w.Runs {
			if _, placed := o.Place(r); placed {
				p.left[r.Order+1] += r.Count()
			}
		}
	}
	for i := range o.Places {
		p.left[i+1] += p.left[i]
	}
	return p
}

// standing returns the place of a run among the jobs that are left, from 1, and its priority:
// no place for one that is left out, no number for one that the policy was not asked about.
func (p *precedence) standing(r deal.Run) (at int, priority float64) {
	if place, ok := p.Place(r); ok {
		return p.left[r.Order] + 1, place.Priority
	}
	if n := r.Order - len(p.Places); n < len(p.Blocked) {
		return 0, p.Blocked[n].Priority
	}
	return 0, math.NaN()
}

// limitOf returns which limit of the policy a queue has reached when all is dealt out;
// nothing for none.
func (p *precedence) limitOf(q *deal.Queue) limit {
	if p.Limits == nil {
		return limit{}
	}
	l, known := p.limits[q]
	if !known {
		l.text = p.Limits.Refuses(q.Kind, true)
		if l.text == "" {
			l.text = p.Limits.Refuses(q.Kind, false)
			l.soft = l.text != ""
		}
		l.name = limitName(l.text)
		p.limits[q] = l
	}
	return l
}

// limitName returns what a limit is called, without what is in use of it.
func limitName(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

// throttled reports whether a limit of the policy keeps the jobs of a queue from running.
func (p *precedence) throttled(q *deal.Queue) bool {
	l := p.limitOf(q)
	return l.text != "" && !l.soft
}

// round returns the first turn of a round of so many turns: nice users come behind all others,
// then who goes beyond a soft limit, then who shares what is nobody's group's.
func round(turns int, rest, soft, nice bool) (first int) {
	for i, later := range []bool{rest, soft, nice} {
		if later {
			first += (turns + 1) << i
		}
	}
	return first
}

// turn returns where the first job of w goes once nothing is in its way: one that is left
// out behind all with its priority or a higher one, and one that is not known behind all.
// Priorities only fall among the places of nice users, and among those of all others.
func (p *precedence) turn(s *deal.Submitter, w *deal.Waiter) int {
	at, priority := p.standing(w.Runs[0])
	switch {
	case at > 0:
		return w.Runs[0].Order
	case math.IsNaN(priority):
		return len(p.Places)
	}
	first, places := 0, p.Places[:p.NiceFrom]
	if s.Nice {
		first, places = p.NiceFrom, p.Places[p.NiceFrom:]
	}
	return first + sort.Search(len(places), func(i int) bool { return places[i].Priority < priority })
}

// entrant is a queue that waits for a slot.
type entrant struct {
	*deal.Waiter
	who   *deal.Submitter
	round int                    // the first turn of its round
	limit string                 // the name of the policy's that keeps it from the slot all the same
	full  []negotiator.FullGroup // that do
}

// endedAt returns the kinds of the jobs that have to end before a slot takes others, as limits
// of the policy have them.
func (d *findings) endedAt(n *nearest) []int {
	if !n.awaitsEnds() {
		return nil
	}
	return d.freed(n).kinds
}

// awaitsEnds reports whether jobs on a slot have to end before it takes others: not on one that
// is drained, say, and has room beside them.
func (n *nearest) awaitsEnds() bool {
	return n.small || slices.Contains(n.doing, negotiator.CauseTaken) || slices.Contains(n.doing, negotiator.CauseClaimed)
}

// caseOf tells slots apart, and one that has room from itself when it has not.
func (d *findings) caseOf(n *nearest) string {
	if d.precedence != nil && !n.awaitsEnds() {
		return n.name + " as it is"
	}
	return n.name
}

// roundAt returns the round of a queue once the jobs on a slot have ended, which may count for
// the same limits of the policy.
func (d *rivalry) roundAt(n *nearest, s *deal.Submitter, q *deal.Queue, worst bool) int {
	p, soft := d.precedence, false
	if l := p.limitOf(q); l.soft || l.text != "" && p.Limits.Admits(q.Kind, d.endedAt(n), true) {
		soft = !p.Limits.Admits(q.Kind, d.endedAt(n), false)
	}
	return round(len(p.Places), d.c.SharesRest(s, worst), soft, s.Nice)
}

// staysThrottled reports whether a limit of the policy keeps the jobs of a queue from running even
// when those on a slot have ended.
func (d *rivalry) staysThrottled(q *deal.Queue, ended []int) bool {
	p := d.precedence
	return p != nil && p.throttled(q) && !p.Limits.Admits(q.Kind, ended, true)
}

// enter returns a queue as one that waits for a slot once the jobs there have ended; ok is false
// for one that the policy leaves out.
func (d *rivalry) enter(s *deal.Submitter, w *deal.Waiter, n *nearest) (e entrant, ok bool) {
	if w.Kept != "" {
		return e, false
	}
	p := d.precedence
	e = entrant{Waiter: w, who: s, round: d.roundAt(n, s, w.Queue, false)}
	if d.staysThrottled(w.Queue, d.endedAt(n)) {
		e.limit = p.limitOf(w.Queue).name
	}
	return e, true
}

// compete notes that a queue waits for a slot of this weight, and how early; false: it does
// not, as the policy leaves it out or limits it.
func (d *rivalry) compete(one *waiting, w *deal.Waiter, n *nearest, weight accountant.Weight) bool {
	p, s := d.precedence, d.people[one.who]
	e, ok := d.enter(s, w, n)
	if !ok {
		return false
	}
	e.full = d.full(s, weight, n, true, true)
	p.entrants[d.caseOf(n)] = append(p.entrants[d.caseOf(n)], e)
	if e.limit != "" {
		return false
	}
	if turn := e.round + w.Runs[0].Order; turn < one.first {
		one.first = turn
		one.place, _ = p.standing(w.Runs[0])
	}
	return true
}

// contest asks how many jobs of others go before those of a queue that wait for the same slot,
// which limit of the policy is raised for these, and which groups' quotas are.
type contest struct{ slot, limit, groups string }

// othersBefore counts the jobs of others that go before those of w and wait for the slot that
// is the nearest to these; raise are the groups whose quotas keep w from it.
func (d *rivalry) othersBefore(s *deal.Submitter, w deal.Waiter, n *nearest, raise []negotiator.FullGroup) int {
	p := d.precedence
	key := contest{slot: d.caseOf(n), groups: negotiator.GroupNames(raise)}
	if p.throttled(w.Queue) {
		key.limit = p.limitOf(w.Queue).name
	}
	answers, known := p.contests[key]
	if !known {
		answers = d.settle(key, n, raise)
		p.contests[key] = answers
	}
	return answers[w.Queue]
}

// otherGroupsWait reports whether jobs of others wait for a slot in a group that is not the
// submitter's, but for groups whose quota leaves none: which group may have a slot that is not
// wholly one's goes by quotas, and only then by the queue.
func (d *rivalry) otherGroupsWait(s *deal.Submitter, n *nearest, raise []negotiator.FullGroup) bool {
	if d.c.GroupUse == nil {
		return false
	}
	d.waiting(n)
	return slices.ContainsFunc(append(d.raisedToo(n, raise), d.precedence.entrants[d.caseOf(n)]...), func(e entrant) bool {
		return e.who.Group != s.Group && e.limit == "" && (len(e.full) == 0 || d.raised(e.full, raise))
	})
}

// raisedToo returns the queues that do not want a slot, but could use another that is there when
// the quotas of some groups are raised: what they take then counts for the limits of all.
func (d *rivalry) raisedToo(n *nearest, raise []negotiator.FullGroup) (list []entrant) {
	if len(raise) == 0 || d.precedence.Limits == nil {
		return nil
	}
	for s, queues := range d.queues {
		for i := range queues {
			w := &queues[i]
			if w.Cluster.Barred || d.blockedBut(w.Cluster, d.freed(n).units) || d.accepts(w.Cluster, n) || !d.anyLeft(*w) {
				continue
			}
			if e, ok := d.enter(s, w, n); ok {
				own := d.nearest(w.Cluster)
				e.full = d.full(s, own.weight, own, false, true)
				list = append(list, e)
			}
		}
	}
	return list
}

// settle answers a contest for all queues that have the slot as their nearest.
func (d *rivalry) settle(key contest, n *nearest, raise []negotiator.FullGroup) map[*deal.Queue]int {
	d.waiting(n)
	var entrants []entrant
	own := map[*deal.Submitter][]entrant{}
	for _, e := range append(d.raisedToo(n, raise), d.precedence.entrants[d.caseOf(n)]...) {
		if (e.limit == "" || e.limit == key.limit) && (len(e.full) == 0 || d.raised(e.full, raise)) {
			entrants = append(entrants, e)
			own[e.who] = append(own[e.who], e)
		}
	}
	var asking []asker
	for _, s := range d.c.Submitters {
		asking = append(asking, d.inTurns(s, n)...)
	}
	slices.SortFunc(asking, asker.compare)
	before := countBefore(asking, entrants)
	for s, list := range own {
		for q, jobs := range countBefore(d.inTurns(s, n), list) {
			before[q] -= jobs
		}
	}
	return before
}

// asker is a queue that asks how many jobs go before its first, and the turn of that.
type asker struct {
	*deal.Waiter
	turn int
}

func (a asker) compare(b asker) int { return cmp.Compare(a.turn, b.turn) }

// inTurns returns a submitter's queues that have a slot as their nearest, by their turns.
func (d *rivalry) inTurns(s *deal.Submitter, n *nearest) (list []asker) {
	p := d.precedence
	for _, w := range d.nearestTo(s)[n.name] {
		first := d.roundAt(n, s, w.Queue, true)
		list = append(list, asker{w, first + p.turn(s, w)})
	}
	slices.SortFunc(list, asker.compare)
	return list
}

// countBefore returns how many jobs of some queues go before the first of each that asks, by
// queue; these are in the order of their turns.
func countBefore(asking []asker, some []entrant) map[*deal.Queue]int {
	l := line{starts: make([]int, len(asking)), sums: make([]int, len(asking))}
	for i, a := range asking {
		l.starts[i] = a.turn
	}
	for _, e := range some {
		l.add(e.Waiter, e.round)
	}
	before := make(map[*deal.Queue]int, len(asking))
	for i, a := range asking {
		before[a.Queue] = l.before(i)
	}
	return before
}

// kindsAt returns the kinds of the jobs on a slot, as limits of the policy have them.
func (d *findings) kindsAt(n *nearest) (kinds []int) {
	p := d.precedence
	if p == nil || p.Limits == nil {
		return nil
	}
	for _, cl := range d.c.Claims[n.name] {
		if r, ok := p.runningAt(cl.Job); ok {
			kinds = append(kinds, p.Limits.Kind(r))
		}
	}
	for i := d.took[n.name]; i > 0; i = d.before[i-1] {
		kinds = append(kinds, p.KindsOf[i-1])
	}
	return kinds
}

// runningAt returns the run of a job that has a claim.
func (p *precedence) runningAt(id pool.JobID) (r jobprio.Run, ok bool) {
	if p.running == nil {
		p.running = slices.SortedFunc(slices.Values(p.Waiting.Running), func(a, b jobprio.Running) int { return a.Compare(b.Procs) })
	}
	at, found := slices.BinarySearchFunc(p.running, id, func(r jobprio.Running, id pool.JobID) int { return r.FirstJob().Compare(id) })
	if !found {
		at--
	}
	if at < 0 {
		return r, false
	}
	r = p.running[at].Run
	return r, r.Cluster == id.Cluster && id.Proc <= r.Last
}

// standings returns where all jobs stand that are left.
func (d *rivalry) standings() (list []negotiator.Standing) {
	for _, s := range d.c.Submitters {
		for _, w := range d.queues[s] {
			for _, r := range w.Runs {
				at, priority := d.precedence.standing(r)
				list = append(list, negotiator.Standing{Procs: r.Procs, Submitter: s.Name, Place: at, Priority: priority})
			}
		}
	}
	behind := func(x *negotiator.Standing) int { return cmp.Or(x.Place, math.MaxInt) }
	slices.SortFunc(list, func(a, b negotiator.Standing) int {
		return cmp.Or(cmp.Compare(behind(&a), behind(&b)), a.Compare(b.Procs))
	})
	return list
}

// lineKey is what answers of ownAhead have in common: whose jobs, for which slot, and
// whether those count, too, that could use any slot that is there.
type lineKey struct {
	who   *deal.Submitter
	slot  string
	wider bool
	limit string // of the policy that keeps them back
}

// ownAhead counts the submitter's waiting jobs that could use the slot, or any that
// is there and counts for the same ceiling or quota, and go before those of w: by their order, or
// since they are lighter and so fit into a share that is too small for these. The slot
// is the one that is the nearest to w. With a Config.Queue only the order counts, and jobs do
// that the same limit of the policy keeps back.
func (d *rivalry) ownAhead(s *deal.Submitter, w deal.Waiter, n *nearest, bounded bool) (jobs int) {
	key := lineKey{who: s, slot: d.caseOf(n), wider: bounded || s.Ceiling.Set}
	if p := d.precedence; p != nil && p.throttled(w.Queue) {
		key.limit = p.limitOf(w.Queue).name
	}
	ahead, known := d.lines[key]
	if !known {
		if d.precedence == nil {
			ahead = d.lineUp(key, n)
		} else {
			ahead = countBefore(d.inTurns(s, n), d.ownEntrants(key, n))
		}
		d.lines[key] = ahead
	}
	return ahead[w.Queue]
}

// ownEntrants returns a submitter's rivals as they go with a Config.Queue.
func (d *rivalry) ownEntrants(key lineKey, n *nearest) (list []entrant) {
	for _, r := range d.rivalsOf(key, n) {
		if e, ok := d.enter(key.who, r.Waiter, n); ok && (e.limit == "" || e.limit == key.limit) {
			list = append(list, e)
		}
	}
	return list
}

// rival is a queue whose jobs may go before others of the same submitter, and the least
// weight that one of them may have: at a slot, or at their own nearest.
type rival struct {
	*deal.Waiter
	least accountant.Weight
}

// lineUp returns, for each of a submitter's queues that have the slot as their nearest,
// what ownAhead counts. To look at all pairs of queues would take for ever where thousands
// of shapes wait, so each rival is put into the line once: all of its jobs count while it is
// lighter than who asks, and else those before the asking one.
func (d *rivalry) lineUp(key lineKey, n *nearest) map[*deal.Queue]int {
	asking := d.nearestTo(key.who)[n.name]
	rivals, lighter := d.rivalsOf(key, n), 0
	for _, r := range rivals {
		lighter += r.Jobs
	}
	slices.SortFunc(rivals, func(a, b rival) int { return cmp.Compare(b.least, a.least) })
	places := make([]int, len(asking)) // in line, of those first that weigh most
	l := line{starts: make([]int, len(asking)), sums: make([]int, len(asking))}
	for i, w := range asking {
		places[i], l.starts[i] = i, w.Runs[0].Order
	}
	weight := func(place int) accountant.Weight { return d.nearest(asking[place].Cluster).weight }
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	ahead := make(map[*deal.Queue]int, len(asking))
	for _, at := range places {
		for ; len(rivals) > 0 && rivals[0].least >= weight(at); rivals = rivals[1:] {
			l.add(rivals[0].Waiter, 0)
			lighter -= rivals[0].Jobs
		}
		ahead[asking[at].Queue] = lighter + l.before(at)
	}
	return ahead
}

// rivalsOf returns a submitter's queues that could use the slot or, with wider, any
// that is there.
func (d *rivalry) rivalsOf(key lineKey, n *nearest) (list []rival) {
	freed := d.freed(n).units
	for i := range d.queues[key.who] {
		o := &d.queues[key.who][i]
		k := o.Cluster
		if k.Barred || d.blockedBut(k, freed) {
			continue
		}
		takes := d.accepts(k, n)
		if !takes && !(key.wider && d.anyLeft(*o)) {
			continue
		}
		least := n.weight
		own := d.nearest(k)
		if own != nil {
			least = own.weight
		}
		if takes && n.stand != nil {
			if here := d.weigh(k, n); own == nil || here < least {
				least = here
			}
		}
		list = append(list, rival{o, least})
	}
	return list
}

// nearestTo returns a submitter's queues by their nearest slot, each list in the order of
// first jobs.
func (d *rivalry) nearestTo(s *deal.Submitter) map[string][]*deal.Waiter {
	if bySlot, known := d.askers[s]; known {
		return bySlot
	}
	bySlot := map[string][]*deal.Waiter{}
	for i := range d.queues[s] {
		w := &d.queues[s][i]
		if n := d.nearest(w.Cluster); n != nil {
			bySlot[n.name] = append(bySlot[n.name], w)
		}
	}
	for _, list := range bySlot {
		slices.SortFunc(list, func(a, b *deal.Waiter) int { return cmp.Compare(a.Runs[0].Order, b.Runs[0].Order) })
	}
	d.askers[s] = bySlot
	return bySlot
}

// line counts jobs by where they stand among some that ask: a Fenwick tree, in
// which a place and a sum up to a place cost the logarithm of their number.
type line struct {
	starts []int // the orders of those that ask, ascending
	sums   []int // of the places from i&(i+1) to i, by i
}

// add counts the jobs of a queue, whose orders are to be taken as so much later.
func (l *line) add(w *deal.Waiter, later int) {
	if len(w.Runs) > len(l.starts) {
		before := 0
		for at, start := range l.starts {
			n := w.Before(start - later)
			l.put(at, n-before)
			before = n
		}
		return
	}
	for _, r := range w.Runs {
		l.put(sort.SearchInts(l.starts, later+r.Order+1), r.Count())
	}
}

// put counts jobs that go before the one in this place and those behind it.
func (l *line) put(at, jobs int) {
	for ; at < len(l.sums); at |= at + 1 {
		l.sums[at] += jobs
	}
}

// before returns how many jobs go before the one in this place.
func (l *line) before(at int) (jobs int) {
	for at++; at > 0; at &= at - 1 {
		jobs += l.sums[at-1]
	}
	return jobs
}

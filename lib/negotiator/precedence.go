package negotiator

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// precedence is who goes before whom among the jobs that are left, with a Config.Queue. A
// job's turn is its place in the queue; those of nice users, and of who may only go beyond a
// soft limit, come in rounds of their own behind all others.
type precedence struct {
	*oneQueue
	left     []int                // by place: how many of the jobs before it are left
	limits   map[*queue]limit     // of the policy that keep jobs from running, once asked for
	entrants map[string][]entrant // by name of the slot
	contests map[contest]map[*queue]int
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
func (o *oneQueue) precede(some iter.Seq[waiter]) *precedence {
	if o == nil {
		return nil
	}
	p := &precedence{oneQueue: o, left: make([]int, len(o.Places)+1), limits: map[*queue]limit{}, entrants: map[string][]entrant{},
		contests: map[contest]map[*queue]int{}}
	for w := range some {
		for _, r := range w.runs {
			if _, placed := o.place(r); placed {
				p.left[r.order+1] += r.Count()
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
func (p *precedence) standing(r run) (at int, priority float64) {
	if place, ok := p.place(r); ok {
		return p.left[r.order] + 1, place.Priority
	}
	if n := r.order - len(p.Places); n < len(p.Blocked) {
		return 0, p.Blocked[n].Priority
	}
	return 0, math.NaN()
}

// limitOf returns which limit of the policy a queue has reached when all is dealt out;
// nothing for none.
func (p *precedence) limitOf(q *queue) limit {
	if p.Limits == nil {
		return limit{}
	}
	l, known := p.limits[q]
	if !known {
		l.text = p.Limits.Refuses(q.kind, true)
		if l.text == "" {
			l.text = p.Limits.Refuses(q.kind, false)
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
func (p *precedence) throttled(q *queue) bool {
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
func (p *precedence) turn(s *submitter, w *waiter) int {
	at, priority := p.standing(w.runs[0])
	switch {
	case at > 0:
		return w.runs[0].order
	case math.IsNaN(priority):
		return len(p.Places)
	}
	first, places := 0, p.Places[:p.niceFrom]
	if s.nice {
		first, places = p.niceFrom, p.Places[p.niceFrom:]
	}
	return first + sort.Search(len(places), func(i int) bool { return places[i].Priority < priority })
}

// sharesRest reports whether a submitter is served behind all groups: since it is nobody's group's
// where groups regroup or, at worst, as its own group regroups.
func (c *shares) sharesRest(s *submitter, worst bool) bool {
	switch {
	case c.groupUse == nil:
		return false
	case s.group == 0:
		return c.groupUse.tree.Regroups()
	}
	return worst && c.groupUse.tree.List[s.group].Autoregroup
}

// entrant is a queue that waits for a slot.
type entrant struct {
	*waiter
	who   *submitter
	round int         // the first turn of its round
	limit string      // the name of the policy's that keeps it from the slot all the same
	full  []FullGroup // that do
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
	return n.small || slices.Contains(n.doing, CauseTaken) || slices.Contains(n.doing, CauseClaimed)
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
func (d *rivalry) roundAt(n *nearest, s *submitter, q *queue, worst bool) int {
	p, soft := d.precedence, false
	if l := p.limitOf(q); l.soft || l.text != "" && p.Limits.Admits(q.kind, d.endedAt(n), true) {
		soft = !p.Limits.Admits(q.kind, d.endedAt(n), false)
	}
	return round(len(p.Places), d.c.sharesRest(s, worst), soft, s.nice)
}

// staysThrottled reports whether a limit of the policy keeps the jobs of a queue from running even
// when those on a slot have ended.
func (d *rivalry) staysThrottled(q *queue, ended []int) bool {
	p := d.precedence
	return p != nil && p.throttled(q) && !p.Limits.Admits(q.kind, ended, true)
}

// enter returns a queue as one that waits for a slot once the jobs there have ended; ok is false
// for one that the policy leaves out.
func (d *rivalry) enter(s *submitter, w *waiter, n *nearest) (e entrant, ok bool) {
	if w.kept != "" {
		return e, false
	}
	p := d.precedence
	e = entrant{waiter: w, who: s, round: d.roundAt(n, s, w.queue, false)}
	if d.staysThrottled(w.queue, d.endedAt(n)) {
		e.limit = p.limitOf(w.queue).name
	}
	return e, true
}

// compete notes that a queue waits for a slot of this weight, and how early; false: it does
// not, as the policy leaves it out or limits it.
func (d *rivalry) compete(one *waiting, w *waiter, n *nearest, weight accountant.Weight) bool {
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
	if turn := e.round + w.runs[0].order; turn < one.first {
		one.first = turn
		one.place, _ = p.standing(w.runs[0])
	}
	return true
}

// contest asks how many jobs of others go before those of a queue that wait for the same slot,
// which limit of the policy is raised for these, and which groups' quotas are.
type contest struct{ slot, limit, groups string }

// othersBefore counts the jobs of others that go before those of w and wait for the slot that
// is the nearest to these; raise are the groups whose quotas keep w from it.
func (d *rivalry) othersBefore(s *submitter, w waiter, n *nearest, raise []FullGroup) int {
	p := d.precedence
	key := contest{slot: d.caseOf(n), groups: namesOf(raise)}
	if p.throttled(w.queue) {
		key.limit = p.limitOf(w.queue).name
	}
	answers, known := p.contests[key]
	if !known {
		answers = d.settle(key, n, raise)
		p.contests[key] = answers
	}
	return answers[w.queue]
}

// otherGroupsWait reports whether jobs of others wait for a slot in a group that is not the
// submitter's, but for groups whose quota leaves none: which group may have a slot that is not
// wholly one's goes by quotas, and only then by the queue.
func (d *rivalry) otherGroupsWait(s *submitter, n *nearest, raise []FullGroup) bool {
	if d.c.groupUse == nil {
		return false
	}
	d.waiting(n)
	return slices.ContainsFunc(append(d.raisedToo(n, raise), d.precedence.entrants[d.caseOf(n)]...), func(e entrant) bool {
		return e.who.group != s.group && e.limit == "" && (len(e.full) == 0 || d.raised(e.full, raise))
	})
}

// raisedToo returns the queues that do not want a slot, but could use another that is there when
// the quotas of some groups are raised: what they take then counts for the limits of all.
func (d *rivalry) raisedToo(n *nearest, raise []FullGroup) (list []entrant) {
	if len(raise) == 0 || d.precedence.Limits == nil {
		return nil
	}
	for s, queues := range d.queues {
		for i := range queues {
			w := &queues[i]
			if w.cluster.barred || d.blockedBut(w.cluster, d.freed(n).units) || d.accepts(w.cluster, n) || !d.anyLeft(*w) {
				continue
			}
			if e, ok := d.enter(s, w, n); ok {
				own := d.nearest(w.cluster)
				e.full = d.full(s, own.weight, own, false, true)
				list = append(list, e)
			}
		}
	}
	return list
}

// settle answers a contest for all queues that have the slot as their nearest.
func (d *rivalry) settle(key contest, n *nearest, raise []FullGroup) map[*queue]int {
	d.waiting(n)
	var entrants []entrant
	own := map[*submitter][]entrant{}
	for _, e := range append(d.raisedToo(n, raise), d.precedence.entrants[d.caseOf(n)]...) {
		if (e.limit == "" || e.limit == key.limit) && (len(e.full) == 0 || d.raised(e.full, raise)) {
			entrants = append(entrants, e)
			own[e.who] = append(own[e.who], e)
		}
	}
	var asking []asker
	for _, s := range d.c.submitters {
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
	*waiter
	turn int
}

func (a asker) compare(b asker) int { return cmp.Compare(a.turn, b.turn) }

// inTurns returns a submitter's queues that have a slot as their nearest, by their turns.
func (d *rivalry) inTurns(s *submitter, n *nearest) (list []asker) {
	p := d.precedence
	for _, w := range d.nearestTo(s)[n.name] {
		first := d.roundAt(n, s, w.queue, true)
		list = append(list, asker{w, first + p.turn(s, w)})
	}
	slices.SortFunc(list, asker.compare)
	return list
}

// countBefore returns how many jobs of some queues go before the first of each that asks, by
// queue; these are in the order of their turns.
func countBefore(asking []asker, some []entrant) map[*queue]int {
	l := line{starts: make([]int, len(asking)), sums: make([]int, len(asking))}
	for i, a := range asking {
		l.starts[i] = a.turn
	}
	for _, e := range some {
		l.add(e.waiter, e.round)
	}
	before := make(map[*queue]int, len(asking))
	for i, a := range asking {
		before[a.queue] = l.before(i)
	}
	return before
}

// kindsAt returns the kinds of the jobs on a slot, as limits of the policy have them.
func (d *findings) kindsAt(n *nearest) (kinds []int) {
	p := d.precedence
	if p == nil || p.Limits == nil {
		return nil
	}
	for _, cl := range d.c.ours[n.name] {
		if r, ok := p.runningAt(cl.Job); ok {
			kinds = append(kinds, p.Limits.Kind(r))
		}
	}
	for i := d.took[n.name]; i > 0; i = d.before[i-1] {
		kinds = append(kinds, p.kindsOf[i-1])
	}
	return kinds
}

// runningAt returns the run of a job that has a claim.
func (p *precedence) runningAt(id pool.JobID) (r jobprio.Run, ok bool) {
	if p.running == nil {
		p.running = slices.SortedFunc(slices.Values(p.waiting.Running), func(a, b jobprio.Running) int { return a.Compare(b.Procs) })
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

// Standing is where consecutive procs stand in Config.Queue among the jobs that the cycle
// left: Place is that of the first, and each of the others comes right behind the one before.
// Place and Priority, which is the same for all of them, are as in a Rejection; without a
// place none of them has one.
type Standing struct {
	pool.Procs
	Submitter string
	Place     int
	Priority  float64
}

// standings returns where all jobs stand that are left.
func (d *rivalry) standings() (list []Standing) {
	for _, s := range d.c.submitters {
		for _, w := range d.queues[s] {
			for _, r := range w.runs {
				at, priority := d.precedence.standing(r)
				list = append(list, Standing{r.Procs, s.name, at, priority})
			}
		}
	}
	behind := func(x *Standing) int { return cmp.Or(x.Place, math.MaxInt) }
	slices.SortFunc(list, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(behind(&a), behind(&b)), a.Compare(b.Procs))
	})
	return list
}

// lineKey is what answers of ownAhead have in common: whose jobs, for which slot, and
// whether those count, too, that could use any slot that is there.
type lineKey struct {
	who   *submitter
	slot  string
	wider bool
	limit string // of the policy that keeps them back
}

// ownAhead counts the submitter's waiting jobs that could use the slot, or any that
// is there and counts for the same ceiling or quota, and go before those of w: by their order, or
// since they are lighter and so fit into a share that is too small for these. The slot
// is the one that is the nearest to w. With a Config.Queue only the order counts, and jobs do
// that the same limit of the policy keeps back.
func (d *rivalry) ownAhead(s *submitter, w waiter, n *nearest, bounded bool) (jobs int) {
	key := lineKey{who: s, slot: d.caseOf(n), wider: bounded || s.ceiling.Set}
	if p := d.precedence; p != nil && p.throttled(w.queue) {
		key.limit = p.limitOf(w.queue).name
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
	return ahead[w.queue]
}

// ownEntrants returns a submitter's rivals as they go with a Config.Queue.
func (d *rivalry) ownEntrants(key lineKey, n *nearest) (list []entrant) {
	for _, r := range d.rivalsOf(key, n) {
		if e, ok := d.enter(key.who, r.waiter, n); ok && (e.limit == "" || e.limit == key.limit) {
			list = append(list, e)
		}
	}
	return list
}

// rival is a queue whose jobs may go before others of the same submitter, and the least
// weight that one of them may have: at a slot, or at their own nearest.
type rival struct {
	*waiter
	least accountant.Weight
}

// lineUp returns, for each of a submitter's queues that have the slot as their nearest,
// what ownAhead counts. To look at all pairs of queues would take for ever where thousands
// of shapes wait, so each rival is put into the line once: all of its jobs count while it is
// lighter than who asks, and else those before the asking one.
func (d *rivalry) lineUp(key lineKey, n *nearest) map[*queue]int {
	asking := d.nearestTo(key.who)[n.name]
	rivals, lighter := d.rivalsOf(key, n), 0
	for _, r := range rivals {
		lighter += r.jobs
	}
	slices.SortFunc(rivals, func(a, b rival) int { return cmp.Compare(b.least, a.least) })
	places := make([]int, len(asking)) // in line, of those first that weigh most
	l := line{starts: make([]int, len(asking)), sums: make([]int, len(asking))}
	for i, w := range asking {
		places[i], l.starts[i] = i, w.runs[0].order
	}
	weight := func(place int) accountant.Weight { return d.nearest(asking[place].cluster).weight }
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	ahead := make(map[*queue]int, len(asking))
	for _, at := range places {
		for ; len(rivals) > 0 && rivals[0].least >= weight(at); rivals = rivals[1:] {
			l.add(rivals[0].waiter, 0)
			lighter -= rivals[0].jobs
		}
		ahead[asking[at].queue] = lighter + l.before(at)
	}
	return ahead
}

// rivalsOf returns a submitter's queues that could use the slot or, with wider, any
// that is there.
func (d *rivalry) rivalsOf(key lineKey, n *nearest) (list []rival) {
	freed := d.freed(n).units
	for i := range d.queues[key.who] {
		o := &d.queues[key.who][i]
		k := o.cluster
		if k.barred || d.blockedBut(k, freed) {
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
func (d *rivalry) nearestTo(s *submitter) map[string][]*waiter {
	if bySlot, known := d.askers[s]; known {
		return bySlot
	}
	bySlot := map[string][]*waiter{}
	for i := range d.queues[s] {
		w := &d.queues[s][i]
		if n := d.nearest(w.cluster); n != nil {
			bySlot[n.name] = append(bySlot[n.name], w)
		}
	}
	for _, list := range bySlot {
		slices.SortFunc(list, func(a, b *waiter) int { return cmp.Compare(a.runs[0].order, b.runs[0].order) })
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
func (l *line) add(w *waiter, later int) {
	if len(w.runs) > len(l.starts) {
		before := 0
		for at, start := range l.starts {
			n := w.before(start - later)
			l.put(at, n-before)
			before = n
		}
		return
	}
	for _, r := range w.runs {
		l.put(sort.SearchInts(l.starts, later+r.order+1), r.Count())
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

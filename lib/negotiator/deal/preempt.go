package deal

import (
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
)

// preemption finds the jobs that may have to leave for others.
type preemption struct {
	offers
	turns    int         // of submitters
	looked   []*Queue    // that have prospects in this turn
	spare    []prospects // reused in later turns
	yielding []*estate   // room for those that yield to the jobs of a queue
	leveled  int         // columns that have levels
	fleeting answers     // for answers that depend on usage
	present  present     // the present usage, for expressions about it
}

// prospect is running slots in the order of preemption, one of which may have to go for the
// first job of a queue: the slots of some tenants, or a level.
type prospect struct {
	slots    []*running
	*tenants // of the first
	preemptKey
}

func (p *prospect) reason() string {
	if p.byRank {
		return negotiator.RankPreemption
	}
	return negotiator.PriorityPreemption
}

// preemptKey is the place of a running slot in a queue's order of preference (manual,
// "Negotiation": by NEGOTIATOR_PRE_JOB_RANK, the job's Rank, NEGOTIATOR_POST_JOB_RANK,
// the reason, PREEMPTION_RANK), then by the slot's name.
type preemptKey struct {
	pre, rank, post float64
	byRank          bool
	preemption      float64
	slot            int
}

func (a *prospect) Before(b *prospect) bool {
	switch {
	case a.pre != b.pre:
		return a.pre > b.pre
	case a.rank != b.rank:
		return a.rank > b.rank
	case a.post != b.post:
		return a.post > b.post
	case a.byRank != b.byRank:
		return a.byRank
	case a.preemption != b.preemption:
		return a.preemption > b.preemption
	}
	return a.slot < b.slot
}

// beats reports whether the running slot is better for the job than a free one, which has
// the better reason.
func (a *preemptKey) beats(free *rankKey) bool {
	switch {
	case free.begun:
		return false
	case a.pre != free.pre:
		return a.pre > free.pre
	case a.rank != free.rank:
		return a.rank > free.rank
	}
	return a.post > free.post
}

// prospects are a queue's in one turn of its submitter.
type prospects struct {
	turn int
	used accountant.Weight // by the submitter, when they were listed
	heap heap.Heap[prospect, *prospect]
	open []bool // by estate: those that may be preempted for priority
	// refused says that PREEMPTION_REQUIREMENTS kept some slot from the jobs.
	refused bool
}

// advance reports whether any slot of a prospect is left, and has that as its first.
func (l *prospects) advance(p *prospect) bool {
	for i, r := range p.slots {
		if !r.taken && (p.byRank || l.open[r.tenants.number]) {
			p.slots, p.tenants = p.slots[i:], r.tenants
			return true
		}
	}
	return false
}

// drop takes the best prospect off the list; for priority, the estate of its first slot.
func (l *prospects) drop() {
	if p := &l.heap[0]; !p.byRank {
		l.open[p.number] = false
	} else {
		l.heap.Pop()
	}
}

// prospect brings the running slot to the front that is the best to preempt for the first
// job of a queue, of those for which may returns true, for priority only if that is set;
// nil if there is none.
func (c *preemption) prospect(s *Submitter, q *Queue, priority bool, may func(*prospect) bool) *prospect {
	if len(c.tenants) == 0 {
		return nil
	}
	c.Billed(q.Cluster.Autocluster)
	if q.prospects.turn != c.turns || s.Usage < q.prospects.used { // a submitter that preempts its own job may then use less
		q.prospects = c.emptied(q)
		q.prospects.turn, q.prospects.used = c.turns, s.Usage
		c.findProspects(s, q, priority)
		if c.OneQueue != nil {
			c.OneQueue.listed += len(q.prospects.heap)
		}
	}
	l := &q.prospects
	for len(l.heap) > 0 {
		p := &l.heap[0]
		switch {
		case !l.advance(p):
			l.heap.Pop()
		case !may(p):
			l.drop()
		case p.refresh():
			l.heap.Fix()
		default:
			return p
		}
	}
	return nil
}

// emptied returns room for a queue's prospects. It reuses the room of earlier turns,
// which may be large, as there may be many queues.
func (c *preemption) emptied(q *Queue) (empty prospects) {
	if len(c.looked) > 0 && c.looked[0].prospects.turn != c.turns {
		for _, o := range c.looked {
			c.spare = append(c.spare, prospects{heap: o.prospects.heap[:0], open: o.prospects.open})
			o.prospects.heap, o.prospects.open = nil, nil
		}
		c.looked = c.looked[:0]
	}
	c.looked = append(c.looked, q)
	if last := len(c.spare) - 1; last >= 0 {
		empty, c.spare = c.spare[last], c.spare[:last]
	}
	return empty
}

// refresh reports whether the first slot is another by now.
func (p *prospect) refresh() bool {
	before := p.preemptKey
	if p.slot = p.slots[0].slot; !p.varies {
		p.preemption = p.slots[0].rank
	}
	return p.preemptKey != before
}

// findProspects lists whom the jobs of a queue may preempt at all.
func (c *preemption) findProspects(s *Submitter, q *Queue, priority bool) {
	k, l := q.Cluster, &q.prospects
	for _, kind := range c.choosy {
		if len(kind) == 0 || !c.prefers(k, kind[0]) {
			continue
		}
		for _, t := range kind {
			if c.suits(k, t) {
				l.heap = append(l.heap, c.newProspect(s, k, c.ranked(t), true))
			}
		}
	}
	if priority {
		tenants, slots := c.findYielding(s, q)
		if tenants*slots > len(c.Groups)*c.running && c.hasLevels(k.order.ranks, tenants) {
			c.listLevels(s, q)
		} else {
			c.listTenants(s, q)
		}
	}
	l.heap.Heapify()
}

// findYielding opens the estates that the jobs of a queue may preempt for priority, as far as they
// match, and returns how many tenants and slots these are.
func (c *preemption) findYielding(s *Submitter, q *Queue) (among, slots int) {
	k, l := q.Cluster, &q.prospects
	if l.open == nil {
		l.open = make([]bool, c.estates)
	}
	clear(l.open)
	c.yielding = c.yielding[:0]
	for _, holder := range c.Submitters {
		if holder == s || len(holder.estates) == 0 || !c.overdrawn(s, holder) {
			continue
		}
		known := c.answersOf(holder, k)
		for _, e := range holder.estates {
			if e.running == 0 || c.Config.Pie != negotiator.Spins && !(c.withinShares(s, e.lot) && c.underQuota(s, e.lot, negotiator.PriorityPreemption)) {
				continue
			}
			switch c.answerOf(known, s, k, e.tenants[0]) {
			case yes:
				l.open[e.number] = true
				c.yielding, among, slots = append(c.yielding, e), among+len(e.tenants), slots+e.running
			case refused:
				l.refused = l.refused || slices.ContainsFunc(e.tenants, func(t *tenants) bool { return c.suits(k, t) })
			}
		}
	}
	return among, slots
}

// listTenants lists those that yield to the jobs of a queue one by one.
func (c *preemption) listTenants(s *Submitter, q *Queue) {
	for _, e := range c.yielding {
		for _, t := range e.tenants {
			if c.suits(q.Cluster, t) {
				q.prospects.heap = append(q.prospects.heap, c.newProspect(s, q.Cluster, c.ranked(t), false))
			}
		}
	}
}

// listLevels lists the levels in which the jobs of a queue may preempt for priority. Slots
// of a level that do not yield are skipped when they come to the front.
func (c *preemption) listLevels(s *Submitter, q *Queue) {
	k, l := q.Cluster, &q.prospects
	for _, g := range c.Groups {
		if len(g.tenants) == 0 || c.Verdict(k.Autocluster, g.Group) != shapes.Accepts {
			continue
		}
		for _, slots := range c.levelsOf(k.order.ranks, g) {
			if p := (prospect{slots: slots}); l.advance(&p) {
				l.heap = append(l.heap, c.newProspect(s, k, p.slots, false))
			}
		}
	}
}

// mostLeveled is how many columns have levels: eight megabytes each for a million slots.
const mostLeveled = 10

// hasLevels reports whether running slots are listed by the levels of a column, rather than so
// many tenants one by one: as soon as that would have cost as much as making the levels.
func (c *preemption) hasLevels(col *column, tenants int) bool {
	if col.listed += tenants; col.levels == nil && !c.apart && col.listed > 2*c.running && c.leveled < mostLeveled {
		c.leveled++
		col.levels = map[*Group][][]*running{}
	}
	return col.levels != nil
}

// levelsOf returns the levels of a group's slots, without those at the front that are taken.
func (c *preemption) levelsOf(col *column, g *Group) [][]*running {
	levels, known := col.levels[g]
	if !known {
		levels = c.newLevels(col, g)
		if c.Cut() {
			return nil
		}
		col.levels[g] = levels
	}
	for i := range levels {
		for len(levels[i]) > 0 && levels[i][0].taken {
			levels[i] = levels[i][1:]
		}
	}
	return levels
}

// newLevels divides a group's running slots by what jobs of a column may rank differently.
func (c *preemption) newLevels(col *column, g *Group) (levels [][]*running) {
	type level struct {
		likes int
		preferred
	}
	known := map[level]int{}
	for _, t := range g.tenants {
		key := level{t.class.Likes, c.ranksOf(col, t.class)}
		if _, is := known[key]; !is {
			known[key] = len(levels)
			levels = append(levels, nil)
		}
		levels[known[key]] = append(levels[known[key]], c.ranked(t)...)
	}
	for _, l := range levels {
		slices.SortFunc(l, (*running).compare)
	}
	return levels
}

// overdrawn reports whether a holder may lose slots to a submitter for priority: its EUP is
// worse (manual, "Negotiation"), and it has more than its share. With Pie Spins
// PREEMPTION_REQUIREMENTS alone reports whether it may, as in HTCondor.
func (c *preemption) overdrawn(s, holder *Submitter) bool {
	return c.Config.Pie == negotiator.Spins || s.EUP < holder.EUP && holder.Usage.Float() > holder.entitled+Slack
}

// suits reports whether the jobs of k match running slots.
func (c *preemption) suits(k *Autocluster, t *tenants) bool {
	return len(t.slots) > 0 && c.Verdict(k.Autocluster, t.class.group.Group) == shapes.Accepts && (t.left == nil || k.Request.Fits(t.left))
}

// newProspect returns slots as they are to the jobs of k, by their Rank or for priority.
func (c *preemption) newProspect(s *Submitter, k *Autocluster, slots []*running, byRank bool) prospect {
	first, t := slots[0], slots[0].tenants
	ranks := c.ranksOf(k.order.ranks, t.class)
	p := prospect{slots, t, preemptKey{ranks.pre, c.rankBy(k.order, t.class), ranks.post, byRank, first.rank, first.slot}}
	if t.varies {
		p.preemption = c.presentRank(s, k, t)
	}
	return p
}

// mayPreempt reports whether shares, ceilings and quotas let a submitter have the best of
// a prospect: for priority it may not come above its share by that, nor the holder below
// its own.
func (c *preemption) mayPreempt(s *Submitter, q *Queue) func(*prospect) bool {
	return func(p *prospect) bool {
		switch c.bounds(s, p.lot, p.reason()) {
		case negotiator.Unprotected:
			return p.byRank || c.withinShares(s, p.lot) && (!c.fickle || c.permits(s, q.Cluster, p.tenants))
		case negotiator.GroupShare:
			s.bound = true
		}
		return false
	}
}

// preempt takes the best of a prospect away from its holder.
func (c *preemption) preempt(p *prospect) pick {
	r := p.slots[0]
	r.taken = true
	p.tenants.slots = p.tenants.slots[1:]
	p.estate.running--
	p.class.group.running -= p.weight
	p.holder.runs[p.class.group] -= p.weight
	return pick{slot: r.slot, group: p.class.group, weight: p.weight, preempts: r, reason: p.reason()}
}

// offer finds the best slot for the first job of a queue: a free one that weighs no more
// than room, or one that runs a job which may be preempted.
func (c *preemption) offer(s *Submitter, q *Queue, room float64) (pick, outcome) {
	p := c.prospect(s, q, s.Usage.Float() < s.entitled, c.mayPreempt(s, q))
	if p == nil {
		return c.take(q.Cluster, room)
	}
	_, key, how := c.choose(q.Cluster, room)
	if how == found && !p.beats(&key) {
		return c.take(q.Cluster, room)
	}
	if how == tooHeavy && !c.last {
		// A better free slot may be the submitter's when remainders are made whole, or when
		// it negotiates once more.
		q.Cluster.restore()
		if _, key, how = c.choose(q.Cluster, s.room()); how == found && !p.beats(&key) {
			s.awaits = true
			return pick{}, tooHeavy
		}
	}
	return c.preempt(p), found
}

// prefers reports whether the Rank of running slots prefers the jobs of k to the present one.
func (c *preemption) prefers(k *Autocluster, t *tenants) bool {
	if k.preferred == nil {
		k.preferred = make(answers, c.kinds)
	}
	a := &k.preferred[t.alike]
	if *a == unknown {
		better := c.rankOf(t, k.Ad) > t.current
		if c.Cut() {
			return false
		}
		*a = no
		if better {
			*a = yes
		}
	}
	return *a == yes
}

// yields reports whether PREEMPTION_REQUIREMENTS is true and the slot's Rank of the job
// neither worse nor, which is another reason, better than of the present one.
func (c *preemption) yields(s *Submitter, k *Autocluster, t *tenants) answer {
	if c.fickle {
		return c.ask(s, k, t)
	}
	return c.answerOf(c.answersOf(t.holder, k), s, k, t)
}

// answersOf returns the known answers of a holder's running slots to the jobs of k. Answers
// that depend on usage are unknown at first, and hold for one submitter, now.
func (c *preemption) answersOf(holder *Submitter, k *Autocluster) answers {
	known := &k.yields
	if c.fickle {
		known = &c.fleeting
	}
	if *known == nil {
		*known = make(answers, c.kinds)
	}
	if c.fickle {
		for _, e := range holder.estates {
			(*known)[e.alike] = unknown
		}
	}
	return *known
}

// answers are the answers of tenants, by tenants.alike.
type answers []answer

func (c *preemption) answerOf(a answers, s *Submitter, k *Autocluster, t *tenants) answer {
	if a[t.alike] == unknown {
		is := c.ask(s, k, t)
		if c.Cut() {
			return refused // another owner of jobs of k may have steps left
		}
		a[t.alike] = is
	}
	return a[t.alike]
}

// answer is whether a running slot would yield to a job, or prefers it, once that is known.
type answer uint8

const (
	unknown answer = iota
	no             // the slot's Rank says otherwise
	refused        // PREEMPTION_REQUIREMENTS is not true
	yes
)

// ask finds out what yields tells, with the numbers of this moment.
func (c *preemption) ask(s *Submitter, k *Autocluster, t *tenants) answer {
	switch rank := c.rankOf(t, k.Ad); {
	case rank > t.current:
		return no
	case c.Config.Preemption.Requirements == nil || !c.permits(s, k, t):
		return refused
	case !(rank >= t.current): // NaN is neither better nor as good
		return no
	}
	return yes
}

// presentRank returns what PREEMPTION_RANK makes of a running slot now.
func (c *preemption) presentRank(s *Submitter, k *Autocluster, t *tenants) float64 {
	slot, job := t.ad, k.Ad
	if c.fickleRank {
		slot, job = c.atPresent(s, k, t)
	}
	return rankOr(&c.Bill, c.Config.Preemption.Rank, slot, job)
}

// permits reports whether PREEMPTION_REQUIREMENTS is true. What submitters and groups use
// changes in the course of a cycle.
func (c *preemption) permits(s *Submitter, k *Autocluster, t *tenants) bool {
	if !c.fickle {
		return c.Config.Preemption.Requirements.Eval(&c.Bill, t.ad, k.Ad).True()
	}
	slot, job := c.atPresent(s, k, t)
	return c.Config.Preemption.Requirements.Eval(&c.Bill, slot, job).True()
}

// present is the usage of a holder and a submitter at a time, as ads that are chained to
// those of a slot and a job.
type present struct {
	moves             int
	holder, submitter *Submitter
	slot, job         *classad.Ad
}

// atPresent returns the ads of a running slot and a job with the present usage. They hold
// until the next call.
func (c *preemption) atPresent(s *Submitter, k *Autocluster, t *tenants) (slot, job *classad.Ad) {
	p := &c.present
	if p.slot == nil || p.moves != c.moves {
		*p = present{moves: c.moves, slot: classad.New(), job: classad.New()}
	}
	if p.submitter != s {
		p.submitter = s
		p.job.SetReal("SubmitterUserResourcesInUse", c.Counted(s))
		c.inUseOf(s, func(weight float64) { p.job.SetReal("SubmitterGroupResourcesInUse", weight) })
	}
	if p.holder != t.holder {
		p.holder = t.holder
		p.slot.SetReal("RemoteUserResourcesInUse", c.Counted(t.holder))
		c.inUseOf(t.holder, func(weight float64) { p.slot.SetReal("RemoteGroupResourcesInUse", weight) })
	}
	return p.slot.Chain(t.ad), p.job.Chain(k.Ad)
}

// fickleNames are attributes that change in the course of a cycle, in lower case.
var fickleNames = []string{"remoteuserresourcesinuse", "submitteruserresourcesinuse", "remotegroupresourcesinuse", "submittergroupresourcesinuse"}

func isFickle(inSlots, inJobs shapes.Names) bool {
	return slices.ContainsFunc(fickleNames, func(name string) bool { return inSlots.Has(name) || inJobs.Has(name) })
}

// inUseOf calls tell with the usage of the submitter's group, if there are groups.
func (c *preemption) inUseOf(s *Submitter, tell func(weight float64)) {
	if c.groupUse != nil {
		tell(c.groupUse.own[s.Group].Float())
	}
}

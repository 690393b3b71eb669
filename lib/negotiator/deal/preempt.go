package deal

import (
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
)

// preemption is whose jobs may have to go for others.
type preemption struct {
	offers
	turns    int                              // of submitters
	looked   []*Queue                         // that have prospects in this turn
	spare    []heap.Heap[prospect, *prospect] // room for those of the turns to come
	fleeting answers                          // where answers depend on what is in use
	present  present                          // what is in use, for expressions that ask
}

// prospect is tenants of whom one may have to go for the first job of a queue.
type prospect struct {
	*tenants
	reason string // RankPreemption or PriorityPreemption
	preemptKey
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

// prospects are those of a queue in one turn of its submitter.
type prospects struct {
	turn int
	used accountant.Weight // by the submitter, when they were listed
	heap heap.Heap[prospect, *prospect]
	// refused says that PREEMPTION_REQUIREMENTS kept some slot from the jobs.
	refused bool
}

// prospect brings the running slot to the front that is the best to preempt for the
// first job of a queue, of those that may allows, for priority only if that is asked for;
// nil if there is none.
func (c *preemption) prospect(s *Submitter, q *Queue, priority bool, may func(*prospect) bool) *prospect {
	if len(c.tenants) == 0 {
		return nil
	}
	c.Billed(q.Cluster.Autocluster)
	if q.prospects.turn != c.turns || s.Usage < q.prospects.used { // who preempts its own may use less then
		q.prospects = prospects{turn: c.turns, used: s.Usage, heap: c.emptyHeap(q)}
		c.findProspects(s, q, priority)
		if c.OneQueue != nil {
			c.OneQueue.listed += len(q.prospects.heap)
		}
	}
	h := &q.prospects.heap
	for len(*h) > 0 {
		p := &(*h)[0]
		switch {
		case len(p.slots) == 0 || !may(p):
			h.Pop()
		case c.refresh(p, q.Cluster):
			h.Fix()
		default:
			return p
		}
	}
	return nil
}

// emptyHeap returns one for a queue's prospects. Those of earlier turns are used again:
// they may be large, and queues many.
func (c *preemption) emptyHeap(q *Queue) (empty heap.Heap[prospect, *prospect]) {
	if len(c.looked) > 0 && c.looked[0].prospects.turn != c.turns {
		for _, o := range c.looked {
			c.spare = append(c.spare, o.prospects.heap[:0])
			o.prospects.heap = nil
		}
		c.looked = c.looked[:0]
	}
	c.looked = append(c.looked, q)
	if last := len(c.spare) - 1; last >= 0 {
		empty, c.spare = c.spare[last], c.spare[:last]
	}
	return empty
}

// refresh reports whether the best of the tenants is another by now.
func (c *preemption) refresh(p *prospect, k *Autocluster) bool {
	r := p.slots[0]
	key := p.preemptKey
	key.slot = r.slot
	if !p.varies {
		key.preemption = r.rank
	}
	if key == p.preemptKey {
		return false
	}
	p.preemptKey = key
	return true
}

// findProspects lists whom the jobs of a queue may preempt at all.
func (c *preemption) findProspects(s *Submitter, q *Queue, priority bool) {
	k, list := q.Cluster, &q.prospects.heap
	for _, kind := range c.choosy {
		if len(kind) == 0 || !c.prefers(k, kind[0]) {
			continue
		}
		for _, t := range kind {
			if c.suits(k, t) {
				*list = append(*list, c.newProspect(s, k, t, negotiator.RankPreemption))
			}
		}
	}
	for _, holder := range c.Submitters {
		if !priority || holder == s || len(holder.estates) == 0 || !c.overdrawn(s, holder) {
			continue
		}
		known := c.answersOf(holder, k)
		for _, e := range holder.estates {
			if c.Config.Pie == negotiator.Spins || c.withinShares(s, e.lot) && c.underQuota(s, e.lot, negotiator.PriorityPreemption) {
				c.findIn(e, s, q, known)
			}
		}
	}
	list.Heapify()
}

// findIn lists which tenants of an estate the jobs of a queue may preempt for priority.
func (c *preemption) findIn(e *estate, s *Submitter, q *Queue, known answers) {
	k, list := q.Cluster, &q.prospects.heap
	for _, t := range e.tenants {
		if !c.suits(k, t) {
			continue
		}
		switch c.answerOf(known, s, k, t) {
		case yes:
			*list = append(*list, c.newProspect(s, k, t, negotiator.PriorityPreemption))
		case refused:
			q.prospects.refused = true
		}
	}
}

// overdrawn reports whether a holder may lose slots to a submitter for priority: its EUP is
// worse (manual, "Negotiation"), and it has more than its share. With Pie Spins
// PREEMPTION_REQUIREMENTS alone says whether it may, as in HTCondor.
func (c *preemption) overdrawn(s, holder *Submitter) bool {
	return c.Config.Pie == negotiator.Spins || s.EUP < holder.EUP && holder.Usage.Float() > holder.entitled+Slack
}

// suits reports whether the jobs of k match running slots.
func (c *preemption) suits(k *Autocluster, t *tenants) bool {
	return len(t.slots) > 0 && c.Verdict(k.Autocluster, t.class.group.Group) == shapes.Accepts && (t.left == nil || k.Request.Fits(t.left))
}

func (c *preemption) newProspect(s *Submitter, k *Autocluster, t *tenants, reason string) prospect {
	ranks := c.ranksOf(k.order.ranks, t.class)
	p := prospect{t, reason, preemptKey{ranks.pre, c.rankBy(k.order, t.class), ranks.post, reason == negotiator.RankPreemption, t.slots[0].rank, t.slots[0].slot}}
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
		l := p.lot()
		switch c.bounds(s, l, p.reason) {
		case negotiator.Unprotected:
			return p.reason == negotiator.RankPreemption || c.withinShares(s, l) && (!c.fickle || c.permits(s, q.Cluster, p.tenants))
		case negotiator.GroupShare:
			s.bound = true
		}
		return false
	}
}

// lot returns what a holder loses with one of its tenants' slots.
func (t *tenants) lot() lot { return lot{t.holder, t.weight, t.slots[0].claim.Weight} }

// preempt takes the best of a prospect away from its holder.
func (c *preemption) preempt(p *prospect) pick {
	r := p.slots[0]
	p.slots = p.slots[1:]
	p.class.group.running -= p.weight
	p.holder.runs[p.class.group] -= p.weight
	return pick{slot: r.slot, group: p.class.group, weight: p.weight, preempts: r, reason: p.reason}
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
		if _, key, how = c.choose(q.Cluster, s.Room()); how == found && !p.beats(&key) {
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

// answersOf returns what is known of how a holder's running slots yield to the jobs of k.
// Where that depends on what is in use, it is nothing yet, and holds for one submitter, now.
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
			for _, t := range e.tenants {
				(*known)[t.alike] = unknown
			}
		}
	}
	return *known
}

// answers are those of tenants, by what is alike of them.
type answers []answer

func (c *preemption) answerOf(a answers, s *Submitter, k *Autocluster, t *tenants) answer {
	if a[t.alike] == unknown {
		is := c.ask(s, k, t)
		if c.Cut() {
			return refused // others of whose jobs k is may have steps left
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

// present is what a holder and a submitter use at a time, as ads that are chained to those
// of a slot and a job.
type present struct {
	moves             int
	holder, submitter *Submitter
	slot, job         *classad.Ad
}

// atPresent returns the ads of a running slot and a job with what is in use now. They hold
// until it is called again.
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

// inUseOf tells what the submitter's group uses, if there are groups.
func (c *preemption) inUseOf(s *Submitter, tell func(weight float64)) {
	if c.groupUse != nil {
		tell(c.groupUse.own[s.Group].Float())
	}
}

package negotiator

import (
	"slices"
	"strings"
	"sync"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// autocluster is jobs that are alike in every attribute that a match or rank
// refers to. They may be many submitters'.
type autocluster struct {
	number  int
	ad      *classad.Ad
	endless bool // its Requirements go beyond all bounds: no slot is asked any more
	barred  bool // NEGOTIATOR_JOB_CONSTRAINT is not true, or it is put off
	putOff  bool // its owners have too few steps for its Requirements
	short   bool // the same, or they had too few to choose slots, when all is dealt out
	unread  bool // what it asks for, for want of steps
	payers  []payment
	paying  int      // which of them pays
	explain bool     // Config.Explain has jobs of it
	request *request // of a partitionable slot; nil: there is none
	limits  []demand // concurrency limits
	// verdicts are what came of the match with each group, by its number.
	verdicts  []verdict
	yields    answers   // how running slots yield to the jobs; nil: nobody asked
	preferred answers   // and which of them prefer these
	idle      int       // jobs, of all submitters
	bundles   []*bundle // that can be used, by place
	supplied  int       // the count of matches for which worth was computed
	worth     supply
	heldAt    int        // the count of matches for which held was computed
	held      []occupied // running slots that the jobs match
	order     *order

	// lanes is a heap of the lanes of the groups that can be used, each where it
	// was when it was last looked at.
	lanes  heap.Heap[laneEntry, *laneEntry]
	loaded bool // the groups that were there at first are in lanes
	seen   int  // how many of the cycle's events are
	sorted int  // the cycle's round of contention that lanes are in order of
	// aside are lanes of slots too heavy for the submitter whose turn it is.
	aside []laneEntry
}

// verdict is what comes of matching an autocluster with a group: accepts, or where
// the slots fall.
type verdict int16

// Verdicts from 0 on are the number of the clause of the job's Requirements that
// is the first not to be true; those from slotClause on that of the slots'.
const (
	accepts    verdict = -1
	unasked    verdict = -2
	tooSmall   verdict = -3 // a partitionable slot with less left than the job requests
	slotClause verdict = 1 << 14
)

// judge matches an autocluster with a group.
func (k *autocluster) judge(asks *classad.Matcher, g *group) verdict {
	if k.endless {
		return 0
	}
	if n := asks.Falls(g.ad); n >= 0 {
		k.endless = asks.Ended()
		return verdict(min(n, int(slotClause)-1))
	}
	if n := asks.FallsBy(g.ad); n >= 0 {
		return slotClause + verdict(min(n, int(slotClause)-1))
	}
	if g.left != nil && !k.request.fits(g.left) {
		return tooSmall
	}
	return accepts
}

// verdict returns what comes of matching with a group, also one that appeared
// during the cycle.
func (k *autocluster) verdict(c *cycle, g *group) verdict {
	for len(k.verdicts) <= g.number {
		k.verdicts = append(k.verdicts, unasked)
	}
	v := &k.verdicts[g.number]
	switch {
	case *v != unasked:
	case g.left != nil && !k.request.fits(g.left): // which clause it falls at nobody asks of a remainder
		*v = tooSmall
	default:
		if c.asking != k {
			c.asking, c.matcher = k, classad.NewMatcher(c.eval, k.ad)
		}
		for was := -1; was != k.paying; {
			was = k.paying
			c.matcher.Charge(c.billed(k).Budget)
			if now := k.judge(c.matcher, g); !c.cut() {
				*v = now
				return now
			}
			k.endless = false
		}
		return 0 // without steps it takes no slot
	}
	return *v
}

// slack is how much more than its limit a submitter may use, so that
// rounding in the last digit costs nobody a slot.
const slack = 1e-9

func fits(w accountant.Weight, room float64) bool { return w.Float() <= room+slack }

// weight returns what a match with a slot of the group would be charged.
func (k *autocluster) weight(c *cycle, g *group) accountant.Weight {
	if g.left == nil {
		return g.weight
	}
	return c.pieceWeight(g.root, k.takes(c, g))
}

// shape divides slots into classes and jobs into autoclusters, and matches
// the ones with the others.
func (c *cycle) shape(jobs []jobprio.Run, waiting map[string][]jobprio.Run) {
	lex := newLexicon()
	c.findResources(jobs)
	sig := newSignificance(lex, c.slots, jobs)
	lex.shadowed = shadowed(c.slots, jobs)
	slotNeeds, jobNeeds := []string{requirements}, []string{requirements, concurrencyLimits}
	var amounts []string
	for _, r := range c.resources {
		amounts = append(amounts, strings.ToLower(r.name))
		jobNeeds = append(jobNeeds, strings.ToLower(r.request.String()))
	}
	ranks := given(c.cfg.PreJobRank, c.cfg.PostJobRank)
	sig.constraint = c.cfg.JobConstraint
	match := sig.of(slotNeeds, jobNeeds)
	exprs := ranks
	if c.anyClaims() {
		who, whom := given(c.cfg.Preemption.Requirements), given(c.cfg.Preemption.Rank)
		exprs = slices.Concat(ranks, who, whom)
		c.fickle, c.fickleRank = isFickle(sig.of(nil, nil, who...)), isFickle(sig.of(nil, nil, whom...))
	}
	all := sig.of(append(slotNeeds, jobRank), append(jobNeeds, jobRank), exprs...)
	asked, more := with(sig.asked(match.job), amounts), names(nil)
	for _, name := range sig.asked(all.job) {
		if !asked.has(name.String()) {
			more = append(more, name)
		}
	}
	c.shapes = shapes{means: newMeanings(c.eval, lex, sync.OnceValue(sig.everySlotName)), ranks: ranks,
		match: lookedOf(append(names{requirementsName}, asked...)), more: lookedOf(more),
		classes: map[string]*class{}, groups: map[string]*group{}, likes: map[string]int{}}
	if c.resources != nil {
		c.shapes.raw = sig.of(append(c.consumptionNames(), slotWeight), nil, given(c.cfg.SlotWeight)...).slot
	}
	c.shapes.slotRank = lookedUp{name: slotRankName}
	c.classify()
	c.settleRunning(c.findRunning(append(append(all.slot[:len(all.slot):len(all.slot)], asked...), more...)))
	c.introduce(waiting, all.job)
	c.queueUp(waiting, lex, sig, all.job)
	c.matchAll()
	c.bundleUp()
}

// queueUp divides the waiting jobs of each submitter into queues, one for each autocluster.
// asked are the names that any expression looks up in jobs.
func (c *cycle) queueUp(waiting map[string][]jobprio.Run, lex *lexicon, sig *significance, asked names) {
	ranks := c.shapes.ranks
	a := &autoclusters{c: c, lex: lex, names: with(asked, c.cfg.AddSignificant), known: map[string]*autocluster{},
		ranks: sig.of(nil, []string{jobRank}, ranks...).job, orders: map[string]*order{},
		columnNames: sig.of(nil, nil, ranks...).job, columns: map[string]*column{}}
	c.telling = a.names
	kinOf := c.kinship(lex, a.names)
	if c.one != nil {
		c.queueInOrder(waiting, a, kinOf)
		return
	}
	single := a.names.has(procID)
	for _, s := range c.submitters {
		runs := waiting[s.name]
		if single {
			runs = procs(runs)
		}
		s.queue(c.inOrder(runs), a.of, c.payerOf, kinOf, c.jobPrioOf)
		c.regroup(s, a, asked)
	}
}

// given returns the expressions that there are.
func given(exprs ...*classad.Expr) []*classad.Expr {
	return slices.DeleteFunc(exprs, func(e *classad.Expr) bool { return e == nil })
}

// shadowed reports whether any ad has attributes that are called like scopes.
func shadowed(slots []slot, jobs []jobprio.Run) bool {
	return slices.ContainsFunc(slots, func(s slot) bool { return s.ad.ShadowsScopes() }) ||
		slices.ContainsFunc(jobs, func(j jobprio.Run) bool { return j.Ad.ShadowsScopes() })
}

// with returns names and more of them.
func with(some names, more []string) names {
	for _, m := range more {
		if !some.has(strings.ToLower(m)) {
			some = append(some[:len(some):len(some)], classad.NewName(strings.ToLower(m)))
		}
	}
	return some
}

// procs splits runs into single procs, each with an ad of its own.
func procs(runs []jobprio.Run) []jobprio.Run {
	var one []jobprio.Run
	for _, r := range runs {
		for id := range r.Jobs() {
			one = append(one, r.Part(id.Proc, id.Proc))
		}
	}
	return one
}

// autoclusters tells jobs apart.
type autoclusters struct {
	c           *cycle
	lex         *lexicon
	names       names // what tells autoclusters apart
	known       map[string]*autocluster
	ranks       names // what tells orders apart
	orders      map[string]*order
	columnNames names // what tells columns apart
	columns     map[string]*column
	key         []byte
}

// of returns the autocluster of a run.
func (a *autoclusters) of(j jobprio.Run) *autocluster {
	a.key = a.lex.signature(a.key[:0], j.Ad, a.names)
	k := a.known[string(a.key)]
	if k == nil {
		c, key := a.c, string(a.key)
		k = &autocluster{number: len(c.clusters), ad: j.Ad, order: a.order(j.Ad), supplied: -1, heldAt: -1}
		c.note(k, j)
		k.order.users++
		a.known[key] = k
		c.clusters = append(c.clusters, k)
	}
	a.c.payerOf(j).paysFor(k, j.FirstJob())
	if k.unread {
		a.c.note(k, j)
	}
	a.c.explain(j, k)
	return k
}

// note notes what jobs of k ask for, and whether they are to be had at all, as a job of them
// says. Where its owner's steps are spent, another job is to say it again.
func (c *cycle) note(k *autocluster, j jobprio.Run) {
	eval := c.billedFor(j)
	k.barred = c.cfg.JobConstraint != nil && !c.cfg.JobConstraint.Eval(eval, j.Ad, nil).True()
	k.limits, k.request = nil, nil
	if text, ok := j.Ad.EvalString(eval, pool.AttrConcurrencyLimits); ok {
		k.limits = demandsOf(text)
	}
	if c.resources != nil {
		k.request = c.requestOf(j.Ad)
	}
	k.unread = c.cut()
}

// order returns how jobs with such an ad prefer the slots.
func (a *autoclusters) order(ad *classad.Ad) *order {
	a.key = a.lex.signature(a.key[:0], ad, a.ranks)
	o := a.orders[string(a.key)]
	if o == nil {
		o = &order{asks: classad.NewMatcher(a.c.eval, ad), lanes: map[*group]*lane{}}
		a.orders[string(a.key)] = o
		a.key = a.lex.signature(a.key[:0], ad, a.columnNames)
		if o.ranks = a.columns[string(a.key)]; o.ranks == nil {
			o.ranks = &column{job: ad}
			a.columns[string(a.key)] = o.ranks
		}
	}
	return o
}

// kinship returns a function that numbers what is passed over together after a
// job for which nothing was found: the procs of a cluster, or what
// SIGNIFICANT_ATTRIBUTES makes one (manual, "Negotiation"); 0 for nothing.
func (c *cycle) kinship(lex *lexicon, computed names) func(jobprio.Run) int {
	var by names
	switch {
	case c.cfg.SkipClusters && len(c.cfg.Significant) > 0:
		by = with(nil, c.cfg.Significant)
	case c.cfg.SkipClusters:
		by = names{classad.NewName(pool.AttrClusterID)}
	case len(c.cfg.RemoveSignificant) > 0:
		for _, n := range computed {
			if !caseless.Contains(c.cfg.RemoveSignificant, n.String()) {
				by = append(by, n)
			}
		}
	default:
		return func(jobprio.Run) int { return 0 }
	}
	known := map[string]int{}
	var key []byte
	return func(j jobprio.Run) int {
		key = lex.signature(key[:0], j.Ad, by)
		return numbered(known, key) + 1
	}
}

package negotiator

import (
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// autocluster is jobs that are alike, and what becomes of them.
type autocluster struct {
	*shapes.Autocluster
	barred    bool      // NEGOTIATOR_JOB_CONSTRAINT is not true, or it is put off
	short     bool      // it is put off, or its owners had too few to choose slots, when all is dealt out
	unread    bool      // what it asks for, for want of steps
	explain   bool      // Config.Explain has jobs of it
	limits    []demand  // concurrency limits
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

// slack is how much more than its limit a submitter may use, so that
// rounding in the last digit costs nobody a slot.
const slack = 1e-9

func fits(w accountant.Weight, room float64) bool { return w.Float() <= room+slack }

// weight returns what a match with a slot of the group would be charged.
func (c *arrangement) weight(k *autocluster, g *group) accountant.Weight {
	if g.Left == nil {
		return g.Weight
	}
	return c.pieceWeight(g.root, c.takes(k, g))
}

// arrangement is jobs in queues, and running slots as tenants.
type arrangement struct {
	roster
	*shapes.Shapes
	groups    []*group // what becomes of those of baseShapes, in the same order
	classes   []*class
	clusters  []*autocluster
	telling   shapes.Names   // the attributes that tell jobs apart, also by limits of a policy
	explained []explainedRun // jobs of Config.Explain
	pieces    map[piece]accountant.Weight
	costs     spinCosts // with Pie Spins

	tenants    []*tenants   // what runs jobs that may be preempted
	kinds      int          // of tenants that jobs can tell apart (tenants.alike)
	choosy     [][]*tenants // those whose slots may prefer other jobs, by tenants.alike
	fickle     bool         // PREEMPTION_REQUIREMENTS looks at numbers that change during the cycle
	fickleRank bool         // PREEMPTION_RANK does
}

// shape divides slots into classes and jobs into autoclusters, and matches
// the ones with the others.
func (c *arrangement) shape(jobs []jobprio.Run, waiting map[string][]jobprio.Run) {
	slots := make([]*shapes.Slot, len(c.slots))
	for i := range c.slots {
		slots[i] = &c.slots[i].Slot
	}
	rules := shapes.Rules{JobConstraint: c.cfg.JobConstraint, Ranks: []*classad.Expr{c.cfg.PreJobRank, c.cfg.PostJobRank},
		SlotWeight: c.cfg.SlotWeight, Consumption: c.consumptionNames, AddSignificant: c.cfg.AddSignificant}
	claims := c.anyClaims()
	if claims {
		rules.Preemption = []*classad.Expr{c.cfg.Preemption.Requirements, c.cfg.Preemption.Rank}
	}
	c.Shapes = shapes.New(c.Payers, slots, jobs, rules)
	c.telling = c.Shapes.Telling
	if claims {
		c.fickle, c.fickleRank = isFickle(c.Deciding(c.cfg.Preemption.Requirements)), isFickle(c.Deciding(c.cfg.Preemption.Rank))
	}
	c.Classify(slots, func(i int, class, wholly *shapes.Class) {
		c.settle(i, c.classBy(class))
		if s := &c.slots[i]; wholly != nil {
			s.wholly = c.classBy(wholly).group
			s.wholly.whole++
		}
	})
	c.settleRunning(c.findRunning(c.InSlots))
	c.introduce(waiting, c.InJobs)
	c.queueUp(waiting)
	c.MatchAll()
	for _, k := range c.clusters {
		k.barred = k.barred || k.PutOff
	}
	for _, s := range c.submitters {
		s.lineUp()
	}
}

// queueUp divides the waiting jobs of each submitter into queues, one for each autocluster.
func (c *arrangement) queueUp(waiting map[string][]jobprio.Run) {
	a := &autoclusters{c: c, orders: map[string]*order{}, columns: map[string]*column{}}
	kinOf := c.kinship()
	if c.one != nil {
		c.queueInOrder(waiting, a, kinOf)
		return
	}
	single := c.telling.Has(procID)
	for _, s := range c.submitters {
		runs := waiting[s.name]
		if single {
			runs = procs(runs)
		}
		s.queue(c.inOrder(runs), a.of, c.PayerOf, kinOf, c.jobPrioOf)
		c.regroup(s, a)
	}
}

// procID is the attribute that tells the procs of a run apart, in lower case.
var procID = strings.ToLower(pool.AttrProcID)

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

// autoclusters finds the autoclusters of jobs, and their orders.
type autoclusters struct {
	c       *arrangement
	orders  map[string]*order
	columns map[string]*column
	key     []byte
}

// of returns the autocluster of a run.
func (a *autoclusters) of(j jobprio.Run) *autocluster {
	c, base := a.c, a.c.Shapes.Of(j)
	if base.Number == len(c.clusters) {
		k := &autocluster{Autocluster: base, order: a.order(j.Ad), supplied: -1, heldAt: -1}
		k.order.users++
		c.clusters = append(c.clusters, k)
		c.note(k, j)
	}
	k := c.clusters[base.Number]
	if k.unread {
		c.note(k, j)
	}
	c.explain(j, k)
	return k
}

// note notes what jobs of k ask for, and whether they are to be had at all, as a job of them
// says. Where its owner's steps are spent, another job is to say it again.
func (c *arrangement) note(k *autocluster, j jobprio.Run) {
	eval := c.BilledFor(j)
	k.barred = c.cfg.JobConstraint != nil && !c.cfg.JobConstraint.Eval(eval, j.Ad, nil).True()
	k.limits, k.Request = nil, nil
	if text, ok := j.Ad.EvalString(eval, pool.AttrConcurrencyLimits); ok {
		k.limits = demandsOf(text)
	}
	if c.Resources != nil {
		k.Request = c.RequestOf(j.Ad)
	}
	k.unread = c.Cut()
}

// order returns how jobs with such an ad prefer the slots.
func (a *autoclusters) order(ad *classad.Ad) *order {
	a.key = a.c.Signature(a.key[:0], ad, a.c.Ranking)
	o := a.orders[string(a.key)]
	if o == nil {
		o = &order{asks: classad.NewMatcher(a.c.Eval, ad), lanes: map[*group]*lane{}}
		a.orders[string(a.key)] = o
		a.key = a.c.Signature(a.key[:0], ad, a.c.Macros)
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
func (c *arrangement) kinship() func(jobprio.Run) int {
	var by shapes.Names
	switch {
	case c.cfg.SkipClusters && len(c.cfg.Significant) > 0:
		by = shapes.With(nil, c.cfg.Significant)
	case c.cfg.SkipClusters:
		by = shapes.Names{classad.NewName(pool.AttrClusterID)}
	case len(c.cfg.RemoveSignificant) > 0:
		for _, n := range c.telling {
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
		key = c.Signature(key[:0], j.Ad, by)
		return numbered(known, key) + 1
	}
}

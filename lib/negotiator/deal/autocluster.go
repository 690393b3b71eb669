package deal

import (
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// Autocluster is jobs that are alike, and what becomes of them.
type Autocluster struct {
	*shapes.Autocluster
	Barred    bool                 // NEGOTIATOR_JOB_CONSTRAINT is not true, or it is put off
	Short     bool                 // it is put off, or its owners had too few to choose slots, when all is dealt out
	unread    bool                 // for want of steps its requests are unknown
	Explain   bool                 // Config.Explain has jobs of it
	Limits    []concurrency.Demand // concurrency limits
	yields    answers              // how running slots yield to the jobs; nil: not yet computed
	preferred answers              // and which of them prefer these
	idle      int                  // jobs, of all submitters
	bundles   []*bundle            // that can be used, by place
	supplied  int                  // the count of matches when worth was computed
	worth     supply
	heldAt    int        // the count of matches when held was computed
	held      []occupied // running slots that the jobs match
	order     *order

	// lanes is a heap of the lanes of the groups that can be used, each where it
	// was when it was last looked at.
	lanes  heap.Heap[laneEntry, *laneEntry]
	loaded bool // the groups that were there at first are in lanes
	seen   int  // how many of the cycle's events are
	sorted int  // the cycle's round of contention that lanes are in order of
	// aside are lanes of slots too heavy for the submitter in turn.
	aside []laneEntry
}

// Slack is how much more than its limit a submitter may use, so that rounding in the last
// digit costs no slot.
const Slack = 1e-9

func Fits(w accountant.Weight, room float64) bool { return w.Float() <= room+Slack }

// Weight returns the charge for a match with a slot of the group.
func (c *arrangement) Weight(k *Autocluster, g *Group) accountant.Weight {
	if g.Left == nil {
		return g.Weight
	}
	return c.pieceWeight(g.root, c.takes(k, g))
}

// arrangement is jobs in queues, and running slots as tenants.
type arrangement struct {
	roster
	*shapes.Shapes
	Groups    []*Group // of shapes, in the same order
	classes   []*class
	Clusters  []*Autocluster
	telling   shapes.Names   // the attributes that tell jobs apart, also by limits of a policy
	Limiting  shapes.Names   // those of telling that limits look at
	Explained []explainedRun // jobs of Config.Explain
	pieces    map[piece]accountant.Weight
	costs     spinCosts // with Pie Spins

	tenants    []*tenants   // what runs jobs that may be preempted
	kinds      int          // of tenants that jobs can tell apart (tenants.alike)
	choosy     [][]*tenants // tenants on slots that may prefer other jobs, by tenants.alike
	estates    int          // of all submitters
	running    int          // slots of tenants when the cycle began
	apart      bool         // there are tenants that no level can have
	fickle     bool         // PREEMPTION_REQUIREMENTS looks at numbers that change during the cycle
	fickleRank bool         // PREEMPTION_RANK does
}

// shape divides slots into classes and jobs into autoclusters, and matches
// the ones with the others.
func (c *arrangement) shape(jobs []jobprio.Run) {
	r := c.room()
	r.shapes, r.some = r.shapes[:0], jobprio.AppendRepresentatives(r.some[:0], jobs)
	for i := range c.Slots {
		r.shapes = append(r.shapes, &c.Slots[i].Slot)
	}
	slots := r.shapes
	rules := shapes.Rules{JobConstraint: c.Config.JobConstraint, Ranks: []*classad.Expr{c.Config.PreJobRank, c.Config.PostJobRank},
		SlotWeight: c.Config.SlotWeight, Consumption: c.consumptionNames, AddSignificant: c.Config.AddSignificant}
	claims := c.anyClaims()
	if claims {
		rules.Preemption = []*classad.Expr{c.Config.Preemption.Requirements, c.Config.Preemption.Rank}
	}
	if c.learned != nil {
		rules.Numbering = c.learned.Expressions(len(jobs))
		if c.allPlain {
			rules.SomeSlots = c.learned.SomeSlots()
		}
	}
	c.Shapes = shapes.New(c.Payers, slots, r.some, rules)
	c.telling, c.Limiting = c.Shapes.Telling, c.Shapes.Limiting
	if claims {
		c.fickle, c.fickleRank = isFickle(c.Deciding(c.Config.Preemption.Requirements)), isFickle(c.Deciding(c.Config.Preemption.Rank))
	}
	if c.learned != nil {
		r.ads = r.ads[:0]
		for _, s := range slots {
			r.ads = append(r.ads, s.Ad)
		}
		for i, n := range c.learned.Kinds(c.Looked(), r.ads) {
			slots[i].Kind = n
		}
	}
	c.Classify(slots, func(i int, class, wholly *shapes.Class) {
		c.settle(i, c.classBy(class))
		if s := &c.Slots[i]; wholly != nil {
			s.Wholly = c.classBy(wholly).group
			s.Wholly.whole++
		}
	})
	c.settleRunning(c.findRunning(c.InSlots))
	if introduced := c.introduce(c.InJobs); c.learned != nil && !introduced {
		c.Remember(c.learned.JobSignatures(c.telling.Texts()))
	}
	c.queueUp(len(jobs))
	c.MatchAll()
	for _, k := range c.Clusters {
		k.Barred = k.Barred || k.PutOff
	}
	for _, s := range c.Submitters {
		s.lineUp()
	}
}

// queueUp divides the waiting jobs, in so many runs, of each submitter into queues, one for each autocluster.
func (c *arrangement) queueUp(jobs int) {
	a := &autoclusters{c: c, orders: map[string]*order{}, columns: map[string]*column{}}
	kinOf := c.kinship()
	if c.OneQueue != nil {
		c.queueInOrder(a, kinOf)
		return
	}
	r := c.room()
	r.runs = slices.Grow(r.runs[:0], jobs)[:jobs]
	by := sorting{room: r.runs, alike: !c.Apart() && len(c.Config.Explain) == 0, clusterOf: a.of, payerOf: c.PayerOf, kinOf: kinOf, known: jobprio.NewMemo[sorted](jobprio.OfQueue)}
	if c.Config.Pie == negotiator.Spins && c.Config.GlobalJobPrios {
		by.prioOf = c.jobPrioOf
	}
	single := c.telling.Has(procID)
	for _, s := range c.Submitters {
		runs := s.jobs
		if single {
			runs = jobprio.Singly(runs)
		}
		s.queue(c.inOrder(runs), &by)
		c.regroup(s, a)
	}
}

// procID is the attribute that tells the procs of a run apart, in lower case.
var procID = strings.ToLower(pool.AttrProcID)

// autoclusters finds the autoclusters of jobs, and their orders.
type autoclusters struct {
	c       *arrangement
	orders  map[string]*order
	columns map[string]*column
	key     []byte
}

// of returns the autocluster of a run.
func (a *autoclusters) of(j jobprio.Run) *Autocluster {
	c, base := a.c, a.c.Shapes.Of(j)
	if base.Number == len(c.Clusters) {
		k := &Autocluster{Autocluster: base, order: a.order(j.Ad), supplied: -1, heldAt: -1}
		k.order.users++
		c.Clusters = append(c.Clusters, k)
		c.note(k, j)
	}
	k := c.Clusters[base.Number]
	if k.unread {
		c.note(k, j)
	}
	c.explain(j, k)
	return k
}

// note notes what jobs of k ask for, and whether they are to be had at all, as a job of them
// says. Where its owner's steps are spent, another job is to say it again.
func (c *arrangement) note(k *Autocluster, j jobprio.Run) {
	eval := c.BilledFor(j)
	k.Barred = c.Config.JobConstraint != nil && !c.Config.JobConstraint.Eval(eval, j.Ad, nil).True()
	k.Limits, k.Request = nil, nil
	if text, ok := j.Ad.EvalString(eval, pool.AttrConcurrencyLimits); ok {
		k.Limits = concurrency.Demands(text)
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
		o = &order{asks: classad.NewMatcher(a.c.Eval, ad)}
		a.orders[string(a.key)] = o
		a.key = a.c.Signature(a.key[:0], ad, a.c.Macros)
		if o.ranks = a.columns[string(a.key)]; o.ranks == nil {
			o.ranks = &column{job: ad}
			a.columns[string(a.key)] = o.ranks
		}
	}
	return o
}

// kinship returns a function that numbers the sets of procs that are skipped together
// after no slot was found for one: a cluster, or jobs equal in SIGNIFICANT_ATTRIBUTES
// (manual, "Negotiation"); nil for none.
func (c *arrangement) kinship() func(jobprio.Run) int {
	var by shapes.Names
	switch {
	case c.Config.SkipClusters && len(c.Config.Significant) > 0:
		by = shapes.With(nil, c.Config.Significant)
	case c.Config.SkipClusters:
		by = shapes.Names{classad.NewName(pool.AttrClusterID)}
	case len(c.Config.RemoveSignificant) > 0:
		for _, n := range c.telling {
			if !caseless.Contains(c.Config.RemoveSignificant, n.String()) {
				by = append(by, n)
			}
		}
	default:
		return nil
	}
	known := map[string]int{}
	var key []byte
	return func(j jobprio.Run) int {
		key = c.Signature(key[:0], j.Ad, by)
		return numbered(known, key) + 1
	}
}

// explainedRun is what Explained is made from.
type explainedRun struct {
	Jobs    pool.Procs
	Cluster *Autocluster
}

// explain notes which jobs of a run Config.Explain asks about.
func (c *arrangement) explain(j jobprio.Run, k *Autocluster) {
	for _, p := range c.Config.Explain {
		if both, ok := j.Intersect(p); ok {
			k.Explain = true
			c.Explained = append(c.Explained, explainedRun{both, k})
		}
	}
}

// Weights returns the least and the largest weight of the slots that were free
// for k's jobs.
func (c *arrangement) Weights(k *Autocluster) (lightest, heaviest accountant.Weight) {
	any := false
	for _, b := range k.bundles {
		for _, g := range b.groups {
			if g.root != g || c.Verdict(k.Autocluster, g.Group) != shapes.Accepts {
				continue
			}
			w := c.cost(k, g)
			if !any || w < lightest {
				lightest = w
			}
			heaviest, any = max(heaviest, w), true
		}
	}
	return lightest, heaviest
}

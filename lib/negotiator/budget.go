package negotiator

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// PutOff is an owner whose jobs' expressions took more steps than there were (Config.Steps):
// its jobs that were left out for that, the first of them by number from where the cycle
// began, and the next one begins.
type PutOff struct {
	Owner string
	First pool.JobID
	Jobs  int
}

// payer is an owner whose budget pays for what the expressions of its jobs take, and those of
// slots that ask about them.
type payer struct {
	owner  string
	budget *classad.Budget // nil: there is no bound
	from   pool.JobID      // with which job its turn begins
	left   int             // of what it may use to match its jobs with slots
	whole  bool            // nothing of that was used
	mine   []*autocluster  // that it is to pay for
}

// payment is a payer of an autocluster, and its first job there.
type payment struct {
	*payer
	first pool.JobID
}

var ownerName = classad.NewName(pool.AttrOwner)

// payerOf returns who pays for the expressions of a job: its owner.
func (c *cycle) payerOf(j jobprio.Run) *payer {
	owner := j.Submitter
	if v, e, ok := j.Ad.Get(ownerName); ok && e == nil {
		if text, isText := v.Text(); isText {
			owner = text
		}
	}
	p := c.payers[owner]
	if p == nil {
		p = &payer{owner: owner, from: c.begins[owner]}
		if c.cfg.Steps > 0 {
			p.budget = classad.NewBudget(c.cfg.Steps - c.taken[owner])
		}
		c.payers[owner] = p
	}
	return p
}

// paysFor notes that an owner has jobs of an autocluster.
func (p *payer) paysFor(k *autocluster, first pool.JobID) {
	for i := range k.payers {
		if x := &k.payers[i]; x.payer == p {
			if first.Compare(x.first) < 0 {
				x.first = first
			}
			return
		}
	}
	k.payers = append(k.payers, payment{p, first})
}

// billed returns the context for expressions that jobs of k are asked about: the first owner
// pays that has something left.
func (c *cycle) billed(k *autocluster) *classad.Context {
	c.bill.MaxSteps = c.eval.MaxSteps
	for k.paying+1 < len(k.payers) && k.payers[k.paying].budget.Spent() {
		k.paying++
	}
	c.bill.Budget = k.payers[k.paying].budget
	return &c.bill
}

// mostAsked is how far what a job asks for may go, such as RequestCpus: all jobs are asked
// before any is matched.
const mostAsked = 5_000

// billedFor returns the context for what a job asks for.
func (c *cycle) billedFor(j jobprio.Run) *classad.Context {
	c.bill.MaxSteps = mostAsked
	c.bill.Budget = c.payerOf(j).budget
	return &c.bill
}

// cut reports whether the answers to what was asked last are for want of steps.
func (c *cycle) cut() bool { return c.bill.Budget.Spent() }

// poor reports whether none of those who have jobs of k has any steps left.
func (k *autocluster) poor() bool {
	return !slices.ContainsFunc(k.payers, func(p payment) bool { return !p.budget.Spent() })
}

// atATime is how many autoclusters of one owner are matched at the same time. Each may take
// that part of what its owner has left; one that needs more is matched once more, by itself.
// So the owners' steps are counted in the same order however many processors there are.
const atATime = 32

// matchAll matches every autocluster with every group, on all processors: each
// pair is one evaluation, and none looks at another's outcome. An owner may use half of its
// steps for that: the rest is for ranks. The autoclusters for which that is too little are
// put off.
func (c *cycle) matchAll() {
	var all []*payer
	for _, k := range c.clusters {
		k.verdicts = make([]verdict, len(c.groups))
		c.billed(k)
		if k.putOff = k.poor(); !k.putOff {
			p := k.payers[k.paying].payer
			p.mine = append(p.mine, k)
		}
	}
	for _, p := range c.payers {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *payer) int { return cmp.Compare(a.owner, b.owner) })
	for _, p := range all {
		if p.budget != nil {
			p.left, p.whole = p.budget.Left()/2, true
		}
		p.inTurn()
	}
	for c.matchSome(all) {
	}
	c.leaveOut()
}

// inTurn puts the autoclusters of an owner in order: by its first jobs, from where its turn
// begins.
func (p *payer) inTurn() {
	if p.budget == nil {
		return
	}
	behind := func(k *autocluster) int {
		if k.payers[k.paying].first.Compare(p.from) < 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(p.mine, func(a, b *autocluster) int {
		return cmp.Or(cmp.Compare(behind(a), behind(b)), a.payers[a.paying].first.Compare(b.payers[b.paying].first))
	})
}

// trial is an autocluster that is matched, and what it may take.
type trial struct {
	*autocluster
	payer  *payer
	budget *classad.Budget
	most   int
}

// matchSome matches the next autoclusters of all owners, and says whether there were any.
func (c *cycle) matchSome(all []*payer) bool {
	var list []trial
	for _, p := range all {
		n := len(p.mine)
		if p.budget != nil {
			n = min(n, atATime)
		}
		for _, k := range p.mine[:n] {
			t := trial{autocluster: k, payer: p}
			if p.budget != nil {
				t.most = max(p.left/atATime, 0)
				t.budget = classad.NewBudget(t.most)
			}
			list = append(list, t)
		}
		p.mine = p.mine[n:]
	}
	parallel.Each(len(list), func(_, i int) { c.judgeAll(list[i]) })
	for _, t := range list {
		c.settleTrial(t)
	}
	return len(list) > 0
}

// judgeAll matches an autocluster with all groups, as far as the budget goes.
func (c *cycle) judgeAll(t trial) {
	k, eval := t.autocluster, *c.eval
	eval.Budget = t.budget
	k.endless = false
	asks := classad.NewMatcher(&eval, k.ad)
	for _, g := range c.groups {
		if k.verdicts[g.number] = k.judge(asks, g); t.budget.Spent() {
			return
		}
	}
}

// settleTrial charges for an autocluster that was matched. One that took more than its part is
// matched again, with all that is left; one for which that is too little is put off, or
// another of its owners pays. The first of a cycle has its answer in any case: an error.
func (c *cycle) settleTrial(t trial) {
	p, k := t.payer, t.autocluster
	if p.budget == nil {
		return
	}
	p.pay(t)
	if !t.budget.Spent() {
		p.whole = false
		return
	}
	whole := p.whole
	if p.whole = false; p.left > 0 {
		t.most = p.left
		t.budget = classad.NewBudget(t.most)
		c.judgeAll(t)
		if p.pay(t); !t.budget.Spent() {
			return
		}
	}
	if whole {
		k.endless = true
		for i := range k.verdicts {
			k.verdicts[i] = 0
		}
		return
	}
	for k.paying++; k.paying < len(k.payers); k.paying++ {
		if next := k.payers[k.paying].payer; next.left > 0 {
			next.mine = append(next.mine, k)
			return
		}
	}
	k.paying, k.putOff = 0, true
}

// pay takes what a trial took from the owner's budget.
func (p *payer) pay(t trial) {
	took := t.most - t.budget.Left()
	if t.budget.Spent() {
		took = t.most
	}
	p.left -= took
	p.budget.Take(took)
}

// leaveOut takes what was put off out of the submitters' lines.
func (c *cycle) leaveOut() {
	any := false
	for _, k := range c.clusters {
		if k.putOff {
			any, k.barred, k.endless = true, true, false
			for i := range k.verdicts {
				k.verdicts[i] = 0
			}
		}
	}
	if !any {
		return
	}
	for _, s := range c.submitters {
		s.line = slices.DeleteFunc(s.line, func(p place) bool { return !p.offered() })
		s.line.Heapify()
	}
}

// putOffs lists the owners whose jobs were put off, or found nothing for want of steps. What
// is said of jobs takes steps, too, but is no reason to put any off.
func (c *cycle) putOffs() (list []PutOff) {
	for _, k := range c.clusters {
		k.short = k.putOff || k.poor()
	}
	of := map[*payer]*PutOff{}
	for _, s := range c.submitters {
		for _, q := range s.queues {
			w := waiterOf(q)
			if !q.cluster.short || w.jobs == 0 {
				continue
			}
			for _, r := range w.runs {
				x := of[r.payer]
				if x == nil {
					x = &PutOff{Owner: r.payer.owner, First: r.FirstJob()}
					of[r.payer] = x
				}
				x.Jobs += r.Count()
				if r.payer.before(r.FirstJob(), x.First) {
					x.First = r.FirstJob()
				}
			}
		}
	}
	for _, x := range of {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b PutOff) int { return cmp.Compare(a.Owner, b.Owner) })
	return list
}

// before reports whether a job comes before another in the owner's turn.
func (p *payer) before(a, b pool.JobID) bool {
	if x, y := a.Compare(p.from) < 0, b.Compare(p.from) < 0; x != y {
		return y
	}
	return a.Compare(b) < 0
}

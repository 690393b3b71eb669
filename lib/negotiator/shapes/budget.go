package shapes

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// Payer is an owner whose budget pays for the expressions of its jobs, and for expressions of
// slots about these.
type Payer struct {
	Owner  string
	budget *classad.Budget // nil: there is no bound
	from   pool.JobID      // with which job its turn begins
	left   int             // for matching its jobs with slots
	whole  bool            // nothing of that was used
	mine   []*Autocluster  // that it is to pay for
}

// payment is a payer of an autocluster, and its first job there.
type payment struct {
	*Payer
	first pool.JobID
}

// Payers are the owners, with contexts that charge their budgets.
type Payers struct {
	Eval *classad.Context // at no owner's expense
	Bill classad.Context  // the same for expressions about jobs, see BilledFor

	steps   int                   // that each owner's jobs may take; 0: any number
	byOwner map[string]*Payer     // so far
	taken   map[string]int        // before the cycle, by owner
	begins  map[string]pool.JobID // with which job owners' turns begin
	origin  *classad.Origin       // of owners
	known   map[*classad.Ad]*Payer
	alike   jobprio.Memo[*Payer]

	lastFrom *classad.Ad // what known was last asked for
	last     *Payer
}

// NewPayers returns payers with unused budgets: each may pay for steps steps, less those
// in taken.
func NewPayers(eval *classad.Context, steps int, taken map[string]int, begins map[string]pool.JobID) *Payers {
	return &Payers{Eval: eval, Bill: *eval, steps: steps, byOwner: map[string]*Payer{}, taken: taken, begins: begins,
		alike: jobprio.NewMemo[*Payer](jobprio.OfPayer), origin: classad.NewOrigin(ownerName), known: map[*classad.Ad]*Payer{}}
}

var ownerName = classad.NewName(pool.AttrOwner)

// PayerOf returns the owner of a job, who pays for its expressions.
func (p *Payers) PayerOf(j jobprio.Run) *Payer {
	if j.Likeness != nil {
		return *p.alike.Of(j.Likeness, func() *Payer {
			if j.Likeness.Owner == "" {
				j.Likeness.Owner = p.payerBy(j).Owner
			}
			return p.payer(j.Likeness.Owner)
		})
	}
	return p.payerBy(j)
}

// payerBy finds the owner by the job's ad.
func (p *Payers) payerBy(j jobprio.Run) *Payer {
	from := p.origin.Of(j.Ad)
	if from == p.lastFrom {
		return p.last
	}
	if x := p.known[from]; x != nil {
		p.lastFrom, p.last = from, x
		return x
	}
	owner, told := j.Submitter, false
	if v, e, ok := j.Ad.Get(ownerName); ok && e == nil {
		if text, isText := v.Text(); isText {
			owner, told = text, true
		}
	}
	x := p.payer(owner)
	if told {
		p.known[from] = x
	}
	return x
}

func (p *Payers) payer(owner string) *Payer {
	x := p.byOwner[owner]
	if x == nil {
		x = &Payer{Owner: owner, from: p.begins[owner]}
		if p.steps > 0 {
			x.budget = classad.NewBudget(p.steps - p.taken[owner])
		}
		p.byOwner[owner] = x
	}
	return x
}

// paysFor notes that an owner has jobs of an autocluster.
func (p *Payer) paysFor(k *Autocluster, first pool.JobID) {
	if i := k.lastPayer; i < len(k.payers) && k.payers[i].Payer == p && k.payers[i].first.Compare(first) <= 0 {
		return
	}
	for i := range k.payers {
		if x := &k.payers[i]; x.Payer == p {
			if first.Compare(x.first) < 0 {
				x.first = first
			}
			k.lastPayer = i
			return
		}
	}
	k.payers = append(k.payers, payment{p, first})
}

// Billed returns the context for expressions that jobs of k are asked about: the first owner
// pays that has something left.
func (p *Payers) Billed(k *Autocluster) *classad.Context {
	p.Bill.MaxSteps = p.Eval.MaxSteps
	for k.paying+1 < len(k.payers) && k.payers[k.paying].budget.Spent() {
		k.paying++
	}
	p.Bill.Budget = k.payers[k.paying].budget
	return &p.Bill
}

// mostAsked bounds the steps of one of a job's requests, such as RequestCpus: all requests
// are evaluated before any job is matched.
const mostAsked = 5_000

// BilledFor returns the context for a job's requests.
func (p *Payers) BilledFor(j jobprio.Run) *classad.Context {
	p.Bill.MaxSteps = mostAsked
	p.Bill.Budget = p.PayerOf(j).budget
	return &p.Bill
}

// Cut reports whether the last answers lacked steps.
func (p *Payers) Cut() bool { return p.Bill.Budget.Spent() }

// Poor reports whether no owner of jobs of k has steps left.
func (k *Autocluster) Poor() bool {
	return !slices.ContainsFunc(k.payers, func(p payment) bool { return !p.budget.Spent() })
}

// atATime is how many autoclusters of one owner are matched at the same time. Each may take
// that part of the owner's remaining steps; one that needs more is matched once more, by
// itself. So the owners' steps are counted in the same order however many processors there
// are.
const atATime = 32

// MatchAll matches every autocluster with every group, on all processors: each pair is one
// evaluation, independent of the others. An owner may use half of its steps for that: the
// rest is for ranks. Autoclusters for which that is too little are put off.
func (x *Shapes) MatchAll() {
	var all []*Payer
	for _, k := range x.clusters {
		k.Verdicts = make([]Verdict, len(x.groups))
		x.by.Billed(k)
		if k.PutOff = k.Poor(); !k.PutOff {
			p := k.payers[k.paying].Payer
			p.mine = append(p.mine, k)
		}
	}
	for _, p := range x.by.byOwner {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Payer) int { return cmp.Compare(a.Owner, b.Owner) })
	for _, p := range all {
		if p.budget != nil {
			p.left, p.whole = p.budget.Left()/2, true
		}
		p.inTurn()
	}
	for x.matchSome(all) {
	}
	x.leaveOut()
}

// inTurn puts the autoclusters of an owner in order: by its first jobs, from where its turn
// begins.
func (p *Payer) inTurn() {
	if p.budget == nil {
		return
	}
	behind := func(k *Autocluster) int {
		if k.payers[k.paying].first.Compare(p.from) < 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(p.mine, func(a, b *Autocluster) int {
		return cmp.Or(cmp.Compare(behind(a), behind(b)), a.payers[a.paying].first.Compare(b.payers[b.paying].first))
	})
}

// trial is an autocluster that is being matched, with its budget.
type trial struct {
	*Autocluster
	payer  *Payer
	budget *classad.Budget
	most   int
}

// matchSome matches the next autoclusters of all owners, and reports whether there were any.
func (x *Shapes) matchSome(all []*Payer) bool {
	var list []trial
	for _, p := range all {
		n := len(p.mine)
		if p.budget != nil {
			n = min(n, atATime)
		}
		for _, k := range p.mine[:n] {
			t := trial{Autocluster: k, payer: p}
			if p.budget != nil {
				t.most = max(p.left/atATime, 0)
				t.budget = classad.NewBudget(t.most)
			}
			list = append(list, t)
		}
		p.mine = p.mine[n:]
	}
	asks := make([]classad.Matcher, parallel.Workers(len(list)))
	parallel.Each(len(list), func(worker, i int) { x.judgeAll(&asks[worker], list[i]) })
	for _, t := range list {
		x.settleTrial(t)
	}
	return len(list) > 0
}

// judgeAll matches an autocluster with all groups, as far as the budget goes. Matchers that
// worked for others have compiled patterns that many jobs share.
func (x *Shapes) judgeAll(asks *classad.Matcher, t trial) {
	k, eval := t.Autocluster, *x.by.Eval
	eval.Budget = t.budget
	k.Endless = false
	asks.Reset(&eval, k.Ad)
	for _, g := range x.groups {
		if k.Verdicts[g.Number] = k.judge(asks, g); t.budget.Spent() {
			return
		}
	}
}

// settleTrial charges for an autocluster that was matched. If it took more than its part, it
// is matched again, with all remaining steps; if these are too few, it is put off, or another
// of its owners pays. The first autocluster of a cycle has its answer in any case: an error.
func (x *Shapes) settleTrial(t trial) {
	p, k := t.payer, t.Autocluster
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
		x.judgeAll(new(classad.Matcher), t)
		if p.pay(t); !t.budget.Spent() {
			return
		}
	}
	if whole {
		k.Endless = true
		for i := range k.Verdicts {
			k.Verdicts[i] = 0
		}
		return
	}
	for k.paying++; k.paying < len(k.payers); k.paying++ {
		if next := k.payers[k.paying].Payer; next.left > 0 {
			next.mine = append(next.mine, k)
			return
		}
	}
	k.paying, k.PutOff = 0, true
}

// pay subtracts a trial's steps from the owner's budget.
func (p *Payer) pay(t trial) {
	took := t.most - t.budget.Left()
	if t.budget.Spent() {
		took = t.most
	}
	p.left -= took
	p.budget.Take(took)
}

// leaveOut removes put-off autoclusters from the cycle.
func (x *Shapes) leaveOut() {
	for _, k := range x.clusters {
		if k.PutOff {
			k.Endless = false
			for i := range k.Verdicts {
				k.Verdicts[i] = 0
			}
		}
	}
}

// Before reports whether a job comes before another in the owner's turn.
func (p *Payer) Before(a, b pool.JobID) bool {
	if x, y := a.Compare(p.from) < 0, b.Compare(p.from) < 0; x != y {
		return y
	}
	return a.Compare(b) < 0
}

// Over returns how many steps more than there are the owner's jobs took.
func (p *Payer) Over() int { return p.budget.Over() }

package sge

import (
	"math"
	"slices"
)

// tickets is the tickets of the members in one run.
type tickets struct {
	*pass
	// now is the share tree's tickets for running members in their own pass, the second one;
	// nil if it gives none.
	now []float64
	// most is the largest sum of any member; pendingSum and runningSum are the sums of all that wait
	// and of all that run.
	most, pendingSum, runningSum float64
}

// amounts are the tickets of one member.
type amounts [TicketPolicies]float64

// sum returns the tickets of all policies (Seed, tckts), added in Grid Engine's order.
func (a amounts) sum() float64 { return a[ShareTree] + a[Functional] + a[Override] }

// ticketsOf computes the tickets of the policies: of all members together, and then of the
// running ones alone. In the second pass only the share tree gives other amounts than in
// the first. Its amounts of the first pass still affect the maximum, although no job has
// them any more.
func ticketsOf(c *Config, used *Used, members []member, running int) *tickets {
	t := &tickets{pass: newPass(c, used, members, running)}
	if t.forest != nil && running > 0 {
		t.now = t.forest.onlyRunning(c).runningTickets(c.pool(ShareTree))
	}
	for m := range running {
		first, second := t.of(&t.ran, m), t.runs(m).sum()
		t.most = max(t.most, first.sum(), second)
		t.runningSum += second
	}
	for m := range len(members) - running {
		x := t.waiting(m).sum()
		t.most = max(t.most, x)
		t.pendingSum += x
	}
	return t
}

// of returns the tickets of one of those for whom they are listed.
func (t *tickets) of(lists *[TicketPolicies][]float64, m int) (a amounts) {
	for policy, list := range lists {
		if list != nil {
			a[policy] = list[m]
		}
	}
	return a
}

// waiting returns the tickets of the m-th of those that wait.
func (t *tickets) waiting(m int) amounts { return t.of(&t.waits, m) }

// runs returns the tickets of the m-th of those that run.
func (t *tickets) runs(m int) amounts {
	a := t.of(&t.ran, m)
	if t.now != nil {
		a[ShareTree] = t.now[m]
	}
	return a
}

// normal returns a sum of tickets as a part of the most that any job has.
func (t *tickets) normal(sum float64) float64 {
	if t.most < negligible {
		return half
	}
	return sum / t.most
}

// ofJob is the functional policy's category after those of the objects: a job's own share.
const (
	ofJob = kinds
	terms = kinds + 1
)

// functional is the functional policy in a pass (sched_conf(5), weight_tickets_functional and
// below): each category has a part of the pool, which its shares divide.
type functional struct {
	pool    float64
	shared  bool
	weights [terms]float64 // of the categories; their sum is 1
	objects []object
	active  []int32        // how many jobs of each object run, or are taken as if they did
	sums    [terms]float64 // the shares of the active jobs
}

// functional gives the members tickets of the pool by their functional shares.
func (p *pass) functional(pool float64, before []float64) {
	f := &functional{pool: pool, shared: p.config.ShareFunctional, objects: p.crowd.objects, active: p.crowd.active(p.running)}
	weights := p.config.categoryWeights()
	f.weights = fractions(weights)
	for _, number := range p.crowd.of[:p.running] {
		f.add(&p.crowd.parties[number])
	}
	p.ran[Functional] = p.functionalRunning(*f, weights)
	p.functionalPending(f, before)
}

// categoryWeights returns weight_user, weight_department, weight_project and weight_job.
func (c *Config) categoryWeights() (w [terms]float64) {
	for i, x := range [terms]float64{ofUser: c.WeightUser, ofDepartment: c.WeightDepartment, ofProject: c.WeightProject, ofJob: c.WeightJob} {
		w[i] = max(cut(x), 0)
	}
	return w
}

// fractions returns weights divided by their sum; all 0 if that is 0.
func fractions(weights [terms]float64) (of [terms]float64) {
	sum := weights[ofUser] + weights[ofDepartment] + weights[ofProject] + weights[ofJob]
	if sum <= 0 {
		return of
	}
	for i, w := range weights {
		of[i] = w / sum
	}
	return of
}

// functionalRunning returns the tickets of running jobs. Categories without shares leave
// their part of the pool to the others.
func (p *pass) functionalRunning(f functional, weights [terms]float64) []float64 {
	for i, sum := range f.sums {
		if sum <= 0 {
			weights[i] = 0
		}
	}
	f.weights = fractions(weights)
	p.trace.ranWith(&f)
	ran := make([]float64, p.running)
	for m := range ran {
		ran[m] = f.amount(f.shares(&p.crowd.parties[p.crowd.of[m]], 0), f.sums)
	}
	return ran
}

// functionalPending gives waiting jobs the tickets that they would have if they were started
// one after the other, at most MaxFunctional of them. The others keep the tickets that they
// would have got last.
func (p *pass) functionalPending(f *functional, before []float64) {
	categories, n := p.crowd.categories(f.category)
	if n == 0 || len(p.members) == p.running {
		return
	}
	waits := make([]float64, len(p.members)-p.running)
	p.waits[Functional] = waits
	if p.config.MaxFunctional <= 0 {
		return
	}
	stakes, m := p.stakes(f, categories, n, before)
	c := contest{members: p.members, before: before, adds: true, submission: true, trial: f.trial}
	c.begin(p.contenders(stakes, m))
	for round := 1; round <= p.config.MaxFunctional; round++ {
		top := c.next()
		if top == nil {
			return
		}
		if round == p.config.MaxFunctional {
			p.trace.lastTurn(f)
			for i := range c.heap {
				c.reckon(&c.heap[i])
			}
		}
		member := top.members[0]
		party := &p.crowd.parties[p.crowd.of[member]]
		waits[int(member)-p.running] = f.start(party)
		p.trace.started(int(member)-p.running, party, f)
		c.goes()
	}
	p.leave(&c, categories, n)
}

// leave gives the jobs whose turn did not come the tickets that they would have got. The
// first of each category was only on trial: policies after this one do not see it.
func (p *pass) leave(c *contest, categories []int32, n int) {
	first := make([]int32, n) // of each category, or none
	for i := range first {
		first[i] = none
	}
	for _, one := range c.heap {
		for _, m := range one.members {
			p.waits[Functional][int(m)-p.running] = one.trial
			if f := &first[categories[p.crowd.of[m]]]; *f == none || c.precedence(m, *f) < 0 {
				*f = m
			}
		}
	}
	p.unasked = slices.DeleteFunc(first, func(m int32) bool { return m == none })
}

// category returns the key of the category of a party's jobs: its objects with shares, and
// the job share. A party without any of these gets nothing.
func (f *functional) category(w *party) (s stake, some bool) {
	s.own, some = w.jobShare, w.jobShare > 0
	for kind, o := range w.objects {
		if f.objects[o].fshare > 0 {
			s.by[kind], some = uint64(o), true
		}
	}
	return s, some
}

// stakes joins categories that always compete with the same values, so that their number
// does not matter: they differ only in objects without weight, or, if shares are not
// divided, in the owners of the shares. All members of such categories have the same before.
func (p *pass) stakes(f *functional, categories []int32, n int, before []float64) ([]int32, int) {
	same, of := make([]bool, n), make([]float64, n)
	if before != nil {
		same, of = p.uniform(categories, n, before)
	}
	number := 0 // of the party
	return p.crowd.categories(func(w *party) (stake, bool) {
		category := categories[number]
		number++
		if category < 0 {
			return stake{}, false
		}
		s := f.stake(w)
		if before == nil || same[category] {
			s.before = of[category]
		} else {
			s.alone = 1 + category
		}
		return s, true
	})
}

// stake returns the values with which a party's jobs compete.
func (f *functional) stake(w *party) (s stake) {
	for kind, o := range w.objects {
		switch share := f.objects[o].fshare; {
		case share <= 0 || f.weights[kind] <= 0:
		case f.shared:
			s.by[kind] = uint64(o)
		default:
			s.by[kind] = math.Float64bits(share)
		}
	}
	if f.weights[ofJob] > 0 {
		s.own = w.jobShare
	}
	return s
}

// uniform reports for each category whether all members have the same before, and its
// value.
func (p *pass) uniform(categories []int32, n int, before []float64) (same []bool, of []float64) {
	same, of = make([]bool, n), make([]float64, n)
	met := make([]bool, n)
	for m := p.running; m < len(p.members); m++ {
		category := categories[p.crowd.of[m]]
		switch {
		case category < 0:
		case !met[category]:
			met[category], same[category], of[category] = true, true, before[m]
		case of[category] != before[m]:
			same[category] = false
		}
	}
	return same, of
}

// shares returns the shares of a job of a party when so many more jobs of its objects are
// active.
func (f *functional) shares(w *party, more int32) (s [terms]float64) {
	for kind, o := range w.objects {
		s[kind] = f.objects[o].fshare
		if s[kind] > 0 && f.shared {
			s[kind] /= float64(f.active[o] + more)
		}
	}
	s[ofJob] = w.jobShare
	return s
}

// add adds the shares of a job that runs to the sums.
func (f *functional) add(w *party) {
	for i, s := range f.shares(w, 0) {
		f.sums[i] += s
	}
}

// trial returns the tickets of the next job of a party.
func (f *functional) trial(w *party) float64 {
	shares := f.shares(w, 1)
	return f.amount(shares, f.trialSums(shares))
}

// trialSums returns the sums that count for a job with these shares on trial.
func (f *functional) trialSums(shares [terms]float64) [terms]float64 {
	sums := f.sums
	for i := range sums {
		sums[i] += 0.001 // Grid Engine's own guard against empty categories
		if !f.shared || i == ofJob {
			sums[i] += shares[i]
		}
	}
	return sums
}

// start counts a job of a party as running, and returns its tickets. Divided shares of an
// object are in the sums once.
func (f *functional) start(w *party) float64 {
	for kind, o := range w.objects {
		f.active[o]++
		if !f.shared || f.active[o] == 1 {
			f.sums[kind] += f.objects[o].fshare
		}
	}
	f.sums[ofJob] += w.jobShare
	return f.amount(f.shares(w, 0), f.sums)
}

// amount returns the part of the pool that shares have of the sums. It is reckoned in Grid
// Engine's order, so that amounts that are equal there are equal here.
func (f *functional) amount(shares, sums [terms]float64) (tickets float64) {
	for i, share := range shares {
		if sums[i] > 0 {
			tickets += f.weights[i] * (share * f.pool / sums[i])
		}
	}
	return tickets
}

// overriding is the override policy in a pass (Seed; sched_conf(5), share_override_tickets):
// objects have tickets of their own, and share them among their active jobs.
type overriding struct {
	objects []object
	shared  bool
	active  []int32 // how many jobs of each object run, or are taken as if they did
}

// override gives the members what their objects and they themselves have of override tickets.
func (p *pass) override(before []float64) {
	of, n := p.crowd.categories(func(w *party) (stake, bool) {
		s := stake{own: w.extra}
		some := w.extra > 0
		for kind, o := range w.objects {
			if p.crowd.objects[o].oticket > 0 {
				s.by[kind], some = uint64(o), true
			}
		}
		return s, some
	})
	if n == 0 {
		return
	}
	o := &overriding{p.crowd.objects, p.config.ShareOverride, p.crowd.active(p.running)}
	p.ran[Override] = make([]float64, p.running)
	for m := range p.ran[Override] {
		p.ran[Override][m] = o.amount(&p.crowd.parties[p.crowd.of[m]], 0)
	}
	waits := make([]float64, len(p.members)-p.running)
	p.waits[Override] = waits
	if !o.shared {
		for i := range waits {
			waits[i] = o.amount(&p.crowd.parties[p.crowd.of[p.running+i]], 0)
		}
		return
	}
	c := contest{members: p.members, before: before, trial: func(w *party) float64 { return o.amount(w, 1) }}
	c.begin(p.contenders(of, n))
	for top := c.next(); top != nil; top = c.next() {
		waiting := int(top.members[0]) - p.running
		waits[waiting] = top.trial
		p.trace.overridden(waiting, p.party(p.running+waiting), o)
		for _, object := range top.party.objects {
			o.active[object]++
		}
		c.goes()
	}
}

// amount returns the tickets of a job of a party when more further jobs of its objects are
// active.
func (o *overriding) amount(w *party, more int32) float64 {
	return o.part(w.objects[ofUser], more) + o.part(w.objects[ofProject], more) + o.part(w.objects[ofDepartment], more) + w.extra
}

func (o *overriding) part(object, more int32) float64 {
	x := o.objects[object].oticket
	if x > 0 && o.shared {
		x /= float64(o.active[object] + more)
	}
	return x
}

// active counts the jobs of each object that run: the first ones of the members.
func (w *crowd) active(running int) []int32 {
	n := make([]int32, len(w.objects))
	for _, number := range w.of[:running] {
		for _, object := range w.parties[number].objects {
			n[object]++
		}
	}
	return n
}

// stake is the values with which a member competes for tickets.
type stake struct {
	by  [kinds]uint64 // objects, or their entitlements
	own float64       // of the job itself
	// before is its tickets of other policies, and alone its category if its members differ in
	// that.
	before float64
	alone  int32
}

// categories numbers the different stakes of the parties, from 0 on, and returns how many there
// are; -1 is the number of parties that have none.
func (w *crowd) categories(stakeOf func(*party) (s stake, some bool)) (of []int32, n int) {
	known := map[stake]int32{}
	of = make([]int32, len(w.parties))
	for i := range w.parties {
		s, some := stakeOf(&w.parties[i])
		if !some {
			of[i] = -1
			continue
		}
		number, met := known[s]
		if !met {
			number = int32(len(known))
			known[s] = number
		}
		of[i] = number
	}
	return of, len(known)
}

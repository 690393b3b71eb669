package negotiator

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// findings are what a cycle left: the state of all slots, who waits, and how far the nearest
// slot is from each autocluster.
type findings struct {
	c      *cycle
	stands []stand
	held   [][]holding // by number of the group
	queues map[*submitter][]waiter
	known  map[*autocluster]*nearest
	asked  []*autocluster // that are analysed
	index  map[*autocluster]int
	asker  []*submitter // by place in asked: who is the first to wait, or is asked about
	texts  clauseTexts
	took   map[string]int        // the number of the last match with a slot, from 1
	before []int                 // by match: that of the one before with the same slot; 0: none
	gone   map[string]freed      // by name of the slot
	none   map[*autocluster]bool // that no slot would take, whatever it is doing
	pairs  int                   // how many slots may be looked at in detail for one autocluster
	names  map[string]int        // places in people
	people []*submitter          // those of the cycle in its order, then whose claims are not charged any more

	precedence *precedence // nil without a Config.Queue
}

// rivalry is who waits for which slot, and who of them goes first.
type rivalry struct {
	findings
	wanted map[string][]waiting // by name of the slot
	fulls  map[fullness][]FullGroup
	wants  []bool // groups whose members wait
	lines  map[lineKey]map[*queue]int
	askers map[*submitter]map[string][]*waiter // by their nearest slot
	vain   map[askedFor]map[int]int            // by kin
	rivals map[string][]keptBack               // by name of the slot
}

// diagnosis finds out, at the end of a cycle, why jobs got no slot. What is the same for
// many shapes is found out once.
type diagnosis struct {
	rivalry
	weighed map[*autocluster][2]accountant.Weight
	turns   map[string][]lastTurn // by name, in the order of spins
	sheet   []contender           // scratch, by place in people
	claimed []claimedSlots
	visits  int // of these, to find what protects them
	ahead   map[*autocluster]*field
	fields  map[string]*field // by slot and groups
	users   map[FullGroup]string
}

// stand is slots that stand alike.
type stand struct {
	group    *group // of a partitionable slot: were nothing taken
	now      *group
	standing standing
	taken    bool // in this cycle
	first    int
	slots    int
}

// holding is what a submitter holds of the slots of a group.
type holding struct {
	who         int // place in people
	before, got int
	byRank      int // those it got for their rank
}

// waiter is what is left of a submitter's queue.
type waiter struct {
	*queue
	runs []run // also those passed over, in job-priority order
	sums []int // jobs before each run
	jobs int
}

// waiting is a submitter's number of jobs that wait for a slot.
type waiting struct {
	who   int // place in people
	jobs  int
	least accountant.Weight // of any of them, there
	first int               // the turn of the first of them, with a Config.Queue
	place int               // and its place
}

// mostPairs is how many pairs of jobs and slots one cycle looks at clause by
// clause: some thousandths of a second for a thousand.
const mostPairs = 20_000

// diagnose looks at the state of all slots, and at who waits.
func (c *cycle) diagnose() *diagnosis {
	d := &diagnosis{weighed: map[*autocluster][2]accountant.Weight{}, ahead: map[*autocluster]*field{}, fields: map[string]*field{}, users: map[FullGroup]string{}}
	d.wanted, d.lines, d.askers = map[string][]waiting{}, map[lineKey]map[*queue]int{}, map[*submitter]map[string][]*waiter{}
	d.vain, d.rivals = map[askedFor]map[int]int{}, map[string][]keptBack{}
	d.c, d.queues, d.known, d.index = c, map[*submitter][]waiter{}, map[*autocluster]*nearest{}, map[*autocluster]int{}
	d.gone, d.names, d.none = map[string]freed{}, map[string]int{}, map[*autocluster]bool{}
	for i, s := range c.submitters {
		d.names[s.name] = i
		d.people = append(d.people, s)
		for _, q := range s.queues {
			if w := waiterOf(q); w.jobs > 0 {
				d.queues[s] = append(d.queues[s], w)
				d.ask(q.cluster, s)
				if q.cluster.explain && c.asksAbout(w.runs) {
					d.asker[d.index[q.cluster]] = s
				}
			}
		}
	}
	for _, s := range c.submitters {
		for _, q := range s.queues {
			if q.cluster.explain {
				d.ask(q.cluster, s)
			}
		}
	}
	d.precedence = c.one.precede(func(yield func(waiter) bool) {
		for _, list := range d.queues {
			for _, w := range list {
				if !yield(w) {
					return
				}
			}
		}
	})
	if len(d.asked) > 0 {
		d.pairs = min(max(mostPairs/len(d.asked), 2), 200)
		d.takeStock()
		d.findHolders()
		d.findClaimed()
	}
	return d
}

func (d *findings) ask(k *autocluster, s *submitter) {
	if _, known := d.index[k]; !known {
		d.index[k] = len(d.asked)
		d.asked = append(d.asked, k)
		d.asker = append(d.asker, s)
	}
}

// waiterOf returns what is left of a queue.
func waiterOf(q *queue) waiter {
	w := waiter{queue: q, runs: q.runs}
	if len(q.passed) > 0 {
		w.runs = slices.Concat(q.passed, q.runs)
		slices.SortFunc(w.runs, func(a, b run) int { return cmp.Compare(a.order, b.order) })
	}
	w.sums = make([]int, len(w.runs))
	for i, r := range w.runs {
		w.sums[i] = w.jobs
		w.jobs += r.Count()
	}
	return w
}

// wasPassed reports whether the first job was passed over in this cycle.
func (w *waiter) wasPassed() bool { return len(w.passed) > 0 && w.passed[0] == w.runs[0] }

// before returns how many of the jobs go before the one in this place.
func (w *waiter) before(order int) int {
	at := sort.Search(len(w.runs), func(i int) bool { return w.runs[i].order >= order })
	if at == len(w.runs) {
		return w.jobs
	}
	return w.sums[at]
}

// takeStock counts the slots that stand alike.
func (d *findings) takeStock() {
	c := d.c
	left := make([]bool, len(c.slots))
	for _, k := range c.classes {
		for _, i := range k.free {
			left[i] = true
		}
	}
	at := map[stand]int{}
	for i := range c.slots {
		s := &c.slots[i]
		key := stand{group: s.group, now: s.now, standing: s.standing}
		if s.Whole != nil {
			key.group = s.wholly
		}
		key.taken = s.standing == free && !left[i] && (s.Whole == nil || c.once(s.group))
		n, known := at[key]
		if !known {
			n = len(d.stands)
			at[key] = n
			key.first = i
			d.stands = append(d.stands, key)
		}
		d.stands[n].slots++
	}
}

// findHolders counts who holds how many slots of each group.
func (d *findings) findHolders() {
	c := d.c
	d.held = make([][]holding, len(c.groups))
	ranked := make([]bool, len(c.groups))
	places := map[[2]int]int{}
	of := func(s *slot, name string) *holding {
		g := s.group
		if s.Whole != nil {
			g = s.wholly
		}
		list := &d.held[g.Number]
		key := [2]int{g.Number, d.person(name)}
		at, known := places[key]
		if !known {
			at = len(*list)
			places[key] = at
			*list = append(*list, holding{who: key[1]})
		}
		return &(*list)[at]
	}
	at := make(map[string]int, len(c.slots))
	for i := range c.slots {
		s := &c.slots[i]
		at[s.name] = i
		for _, name := range c.holders(s) {
			of(s, name).before++
		}
	}
	for _, m := range c.plan.Matches {
		of(&c.slots[at[cmp.Or(m.Piece.Of, m.Slot)]], m.Submitter).got++
	}
	for i := range d.stands {
		st := &d.stands[i]
		s := &c.slots[st.first]
		if ranked[s.group.Number] {
			continue
		}
		ranked[s.group.Number] = true
		for who, t := range s.group.takers {
			if t.byRank > 0 {
				of(s, who.name).byRank += t.byRank
			}
		}
	}
}

// person returns the place of a submitter in people.
func (d *findings) person(name string) int {
	at, known := d.names[name]
	if !known {
		at = len(d.people)
		d.names[name] = at
		d.people = append(d.people, &submitter{name: name})
	}
	return at
}

// holders returns who held a slot or parts of it when the cycle began, once for
// each claim.
func (c *inventory) holders(s *slot) (names []string) {
	for _, cl := range c.ours[s.name] {
		names = append(names, cl.Submitter)
	}
	if len(names) > 0 || s.standing != claimed {
		return names
	}
	state, _ := s.Ad.EvalString(c.Eval, pool.AttrState)
	if who := holder(c.Eval, s.Ad, state); who != "" {
		names = append(names, c.cfg.Params.Groups.Spelled(who))
	}
	return names
}

// waiting returns who waits for a slot, in the order of negotiation: also those whom
// what its holders use of ceilings and limits keeps from it.
func (d *rivalry) waiting(n *nearest) []waiting {
	list, known := d.wanted[d.caseOf(n)]
	if known {
		return list
	}
	freed := d.freed(n)
	takes := make([]bool, len(d.c.clusters))
	for _, k := range d.asked {
		takes[k.Number] = !k.barred && !d.blockedBut(k, freed.units) && d.accepts(k, n)
	}
	for i, s := range d.c.submitters {
		one := waiting{who: i, first: math.MaxInt}
		for at := range d.queues[s] {
			w := &d.queues[s][at]
			if !takes[w.cluster.Number] {
				continue
			}
			if weight := d.weigh(w.cluster, n); freed.holds[s.name] || d.c.underCeiling(s, weight) {
				if d.precedence != nil && !d.compete(&one, w, n, weight) {
					continue
				}
				if one.jobs == 0 || weight < one.least {
					one.least = weight
				}
				one.jobs += w.jobs
			}
		}
		if one.jobs > 0 {
			list = append(list, one)
		}
	}
	d.wanted[d.caseOf(n)] = list
	return list
}

// freed is what the holders of a slot use of concurrency limits for it, and who they are.
type freed struct {
	units map[string]units
	holds map[string]bool
	names []string // of holds, sorted
	kinds []int    // of the jobs there, as the limits of Config.Queue have them
}

// freed returns what the holders of a slot use of concurrency limits for it, and
// who they are.
func (d *findings) freed(n *nearest) freed {
	f, known := d.gone[n.name]
	if !known {
		f = d.findFreed(n)
		d.gone[n.name] = f
	}
	return f
}

func (d *findings) findFreed(n *nearest) freed {
	u := newUnitsInUse(d.c.cfg.Limits)
	holds := map[string]bool{}
	for _, cl := range d.c.ours[n.name] {
		u.add(cl.Limits)
		holds[cl.Submitter] = true
	}
	for m := range d.takers(n.name) {
		u.add(m.Limits)
		holds[m.Submitter] = true
	}
	if state := d.c.textOf(n.ad, stateName); len(d.c.ours[n.name]) > 0 && holder(d.c.Eval, n.ad, state) != "" {
		text, _ := n.ad.EvalString(d.c.Eval, pool.AttrConcurrencyLimits) // of the one who has not gone yet
		u.add(text)
	}
	if len(holds) == 0 {
		for _, name := range d.c.holders(&slot{name: n.name, Slot: shapes.Slot{Ad: n.ad}, standing: claimed}) {
			holds[name] = true
			text, _ := n.ad.EvalString(d.c.Eval, pool.AttrConcurrencyLimits)
			u.add(text)
		}
	}
	return freed{u.used, holds, slices.Sorted(maps.Keys(holds)), d.kindsAt(n)}
}

// blockedBut reports whether a concurrency limit keeps the jobs of k from running,
// even with some units freed.
func (d *findings) blockedBut(k *autocluster, freed map[string]units) bool {
	for _, l := range k.limits {
		most, limited := d.c.inUse.limits.of(l.name)
		if limited && most-(d.c.inUse.used[l.name]-freed[l.name]) < l.units {
			return true
		}
	}
	return false
}

// takers are the matches of this cycle with pieces of a slot, or with the whole.
func (d *findings) takers(slot string) iter.Seq[*Match] {
	matches := d.c.plan.Matches
	if d.took == nil {
		d.took, d.before = make(map[string]int, len(matches)), make([]int, len(matches))
		for i := range matches {
			name := cmp.Or(matches[i].Piece.Of, matches[i].Slot)
			d.before[i] = d.took[name]
			d.took[name] = i + 1
		}
	}
	return func(yield func(*Match) bool) {
		for i := d.took[slot]; i > 0 && yield(&matches[i-1]); i = d.before[i-1] {
		}
	}
}

// accepts reports whether a slot and the jobs of k want each other, whatever the slot
// is doing.
func (d *findings) accepts(k *autocluster, n *nearest) bool {
	if n.stand == nil {
		return classad.Match(d.c.Billed(k.Autocluster), k.Ad, n.ad)
	}
	return d.c.Verdict(k.Autocluster, n.stand.group.Group) == shapes.Accepts
}

// weigh returns what a match of a slot would be charged.
func (d *findings) weigh(k *autocluster, n *nearest) accountant.Weight {
	if n.stand == nil {
		return 0
	}
	return d.c.weight(k, n.stand.group)
}

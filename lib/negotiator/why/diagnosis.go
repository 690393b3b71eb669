// Package why tells why jobs got no slot in a negotiation cycle. It reads the outcome of the
// deal, and changes nothing in it but the plan's reasons.
//
//   - diagnosis.go: all of it (Explain)
//   - diagnosis.go, nearest.go: what is left, and the nearest slot (findings)
//   - precedence.go, cause.go: who else has or wants what matches, and who goes first (rivalry)
//   - analysis.go, reasons.go, protected.go: puts it into words (diagnosis)
//   - succession.go: what claims may go on with until the next cycle
package why

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// findings are what a cycle left: the state of all slots, who waits, and how far the nearest
// slot is from each autocluster.
type findings struct {
	c      *deal.Outcome
	stands []stand
	held   [][]holding // by number of the group
	queues map[*deal.Submitter][]deal.Waiter
	known  map[*deal.Autocluster]*nearest
	asked  []*deal.Autocluster // that are analysed
	index  map[*deal.Autocluster]int
	asker  []*deal.Submitter // by place in asked: who is the first to wait, or is asked about
	texts  clauseTexts
	took   map[string]int             // the number of the last match with a slot, from 1
	before []int                      // by match: that of the one before with the same slot; 0: none
	gone   map[string]freed           // by name of the slot
	none   map[*deal.Autocluster]bool // that no slot would take, whatever it is doing
	pairs  int                        // how many slots may be looked at in detail for one autocluster
	names  map[string]int             // places in people
	people []*deal.Submitter          // those of the cycle in its order, then whose claims are not charged any more

	precedence *precedence // nil without a Config.Queue
}

// rivalry is who waits for which slot, and who of them goes first.
type rivalry struct {
	findings
	wanted map[string][]waiting // by name of the slot
	fulls  map[deal.Fullness][]negotiator.FullGroup
	wants  []bool // groups whose members wait
	lines  map[lineKey]map[*deal.Queue]int
	askers map[*deal.Submitter]map[string][]*deal.Waiter // by their nearest slot
	vain   map[askedFor]map[int]int                      // by kin
	rivals map[string][]keptBack                         // by name of the slot
}

// diagnosis finds out, at the end of a cycle, why jobs got no slot. What is the same for
// many shapes is found out once.
type diagnosis struct {
	rivalry
	weighed map[*deal.Autocluster][2]accountant.Weight
	turns   map[string][]lastTurn // by name, in the order of spins
	sheet   []contender           // scratch, by place in people
	claimed []claimedSlots
	visits  int // of these, to find what protects them
	ahead   map[*deal.Autocluster]*field
	fields  map[string]*field // by slot and groups
	users   map[negotiator.FullGroup]string
}

// stand is slots that stand alike.
type stand struct {
	group    *deal.Group // of a partitionable slot: were nothing taken
	now      *deal.Group
	standing deal.Standing
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
func diagnose(c *deal.Outcome) *diagnosis {
	d := &diagnosis{weighed: map[*deal.Autocluster][2]accountant.Weight{}, ahead: map[*deal.Autocluster]*field{}, fields: map[string]*field{}, users: map[negotiator.FullGroup]string{}}
	d.wanted, d.lines, d.askers = map[string][]waiting{}, map[lineKey]map[*deal.Queue]int{}, map[*deal.Submitter]map[string][]*deal.Waiter{}
	d.vain, d.rivals = map[askedFor]map[int]int{}, map[string][]keptBack{}
	d.c, d.queues, d.known, d.index = c, map[*deal.Submitter][]deal.Waiter{}, map[*deal.Autocluster]*nearest{}, map[*deal.Autocluster]int{}
	d.gone, d.names, d.none = map[string]freed{}, map[string]int{}, map[*deal.Autocluster]bool{}
	for i, s := range c.Submitters {
		d.names[s.Name] = i
		d.people = append(d.people, s)
		for _, q := range s.Queues {
			if w := deal.WaiterOf(q); w.Jobs > 0 {
				d.queues[s] = append(d.queues[s], w)
				d.ask(q.Cluster, s)
				if q.Cluster.Explain && d.asksAbout(w.Runs) {
					d.asker[d.index[q.Cluster]] = s
				}
			}
		}
	}
	for _, s := range c.Submitters {
		for _, q := range s.Queues {
			if q.Cluster.Explain {
				d.ask(q.Cluster, s)
			}
		}
	}
	d.precedence = precede(c.OneQueue, func(yield func(deal.Waiter) bool) {
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

func (d *findings) ask(k *deal.Autocluster, s *deal.Submitter) {
	if _, known := d.index[k]; !known {
		d.index[k] = len(d.asked)
		d.asked = append(d.asked, k)
		d.asker = append(d.asker, s)
	}
}

// takeStock counts the slots that stand alike.
func (d *findings) takeStock() {
	c := d.c
	left := make([]bool, len(c.Slots))
	for _, k := range c.Classes {
		for _, i := range k.Free {
			left[i] = true
		}
	}
	at := map[stand]int{}
	for i := range c.Slots {
		s := &c.Slots[i]
		key := stand{group: s.Group, now: s.Now, standing: s.Standing}
		if s.Whole != nil {
			key.group = s.Wholly
		}
		key.taken = s.Standing == deal.Free && !left[i] && (s.Whole == nil || c.Once(s.Group))
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
	d.held = make([][]holding, len(c.Groups))
	ranked := make([]bool, len(c.Groups))
	places := map[[2]int]int{}
	of := func(s *deal.Slot, name string) *holding {
		g := s.Group
		if s.Whole != nil {
			g = s.Wholly
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
	at := make(map[string]int, len(c.Slots))
	for i := range c.Slots {
		s := &c.Slots[i]
		at[s.Name] = i
		for _, name := range c.Holders(s) {
			of(s, name).before++
		}
	}
	for _, m := range c.Plan.Matches {
		of(&c.Slots[at[cmp.Or(m.Piece.Of, m.Slot)]], m.Submitter).got++
	}
	for i := range d.stands {
		st := &d.stands[i]
		s := &c.Slots[st.first]
		if ranked[s.Group.Number] {
			continue
		}
		ranked[s.Group.Number] = true
		for who, t := range s.Group.Takers {
			if t.ByRank > 0 {
				of(s, who.Name).byRank += t.ByRank
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
		d.people = append(d.people, &deal.Submitter{Name: name})
	}
	return at
}

// waiting returns who waits for a slot, in the order of negotiation: also those whom
// what its holders use of ceilings and limits keeps from it.
func (d *rivalry) waiting(n *nearest) []waiting {
	list, known := d.wanted[d.caseOf(n)]
	if known {
		return list
	}
	freed := d.freed(n)
	takes := make([]bool, len(d.c.Clusters))
	for _, k := range d.asked {
		takes[k.Number] = !k.Barred && !d.blockedBut(k, freed.units) && d.accepts(k, n)
	}
	for i, s := range d.c.Submitters {
		one := waiting{who: i, first: math.MaxInt}
		for at := range d.queues[s] {
			w := &d.queues[s][at]
			if !takes[w.Cluster.Number] {
				continue
			}
			if weight := d.weigh(w.Cluster, n); freed.holds[s.Name] || d.c.UnderCeiling(s, weight) {
				if d.precedence != nil && !d.compete(&one, w, n, weight) {
					continue
				}
				if one.jobs == 0 || weight < one.least {
					one.least = weight
				}
				one.jobs += w.Jobs
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
	units map[string]concurrency.Units
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
	u := concurrency.NewInUse(d.c.Config.Limits)
	holds := map[string]bool{}
	for _, cl := range d.c.Claims[n.name] {
		u.Add(cl.Limits)
		holds[cl.Submitter] = true
	}
	for m := range d.takers(n.name) {
		u.Add(m.Limits)
		holds[m.Submitter] = true
	}
	if state, _ := n.ad.EvalString(d.c.Eval, pool.AttrState); len(d.c.Claims[n.name]) > 0 && negotiator.HolderIn(d.c.Eval, n.ad, state) != "" {
		text, _ := n.ad.EvalString(d.c.Eval, pool.AttrConcurrencyLimits) // of the one who has not gone yet
		u.Add(text)
	}
	if len(holds) == 0 {
		for _, name := range d.c.Holders(&deal.Slot{Name: n.name, Slot: shapes.Slot{Ad: n.ad}, Standing: deal.Claimed}) {
			holds[name] = true
			text, _ := n.ad.EvalString(d.c.Eval, pool.AttrConcurrencyLimits)
			u.Add(text)
		}
	}
	return freed{u.Used, holds, slices.Sorted(maps.Keys(holds)), d.kindsAt(n)}
}

// blockedBut reports whether a concurrency limit keeps the jobs of k from running,
// even with some units freed.
func (d *findings) blockedBut(k *deal.Autocluster, freed map[string]concurrency.Units) bool {
	for _, l := range k.Limits {
		most, limited := d.c.InUse.Limits.Of(l.Name)
		if limited && most-(d.c.InUse.Used[l.Name]-freed[l.Name]) < l.Units {
			return true
		}
	}
	return false
}

// takers are the matches of this cycle with pieces of a slot, or with the whole.
func (d *findings) takers(slot string) iter.Seq[*negotiator.Match] {
	matches := d.c.Plan.Matches
	if d.took == nil {
		d.took, d.before = make(map[string]int, len(matches)), make([]int, len(matches))
		for i := range matches {
			name := cmp.Or(matches[i].Piece.Of, matches[i].Slot)
			d.before[i] = d.took[name]
			d.took[name] = i + 1
		}
	}
	return func(yield func(*negotiator.Match) bool) {
		for i := d.took[slot]; i > 0 && yield(&matches[i-1]); i = d.before[i-1] {
		}
	}
}

// accepts reports whether a slot and the jobs of k want each other, whatever the slot
// is doing.
func (d *findings) accepts(k *deal.Autocluster, n *nearest) bool {
	if n.stand == nil {
		return classad.Match(d.c.Billed(k.Autocluster), k.Ad, n.ad)
	}
	return d.c.Verdict(k.Autocluster, n.stand.group.Group) == shapes.Accepts
}

// weigh returns what a match of a slot would be charged.
func (d *findings) weigh(k *deal.Autocluster, n *nearest) accountant.Weight {
	if n.stand == nil {
		return 0
	}
	return d.c.Weight(k, n.stand.group)
}

// Explain fills the plan's shares, rejections, autoclusters and succession.
func Explain(c *deal.Outcome) {
	c.Plan.Groups = c.Accounts()
	d := diagnose(c)
	for _, k := range d.asked {
		c.Plan.Autoclusters = append(c.Plan.Autoclusters, d.analyse(k))
	}
	for _, x := range c.Explained {
		c.Plan.Explained = append(c.Plan.Explained, negotiator.Explained{Jobs: x.Jobs, Autocluster: d.index[x.Cluster]})
	}
	for _, s := range c.Submitters {
		c.Plan.Submitters = append(c.Plan.Submitters, negotiator.Share{
			Name: s.Name, EffectivePriority: s.EUP, Priority: s.Priority, Usage: s.Before.Float(),
			PieSlice: s.Slice, Limit: s.Limit, Idle: s.Idle, Matched: s.Matched, Demand: s.Demand,
		})
		for _, w := range d.queues[s] {
			c.Plan.Rejections = append(c.Plan.Rejections, d.reject(s, w))
		}
	}
	if d.precedence != nil {
		inQueueOrder(c.Plan)
		if c.Config.Standings {
			c.Plan.Standings = d.standings()
		}
		c.Plan.Policy = c.Config.Queue.Name()
	}
	c.Plan.Succession = succession(c)
}

// inQueueOrder puts rejections into the order of the queue, those that have no place in it
// last.
func inQueueOrder(p *negotiator.Plan) {
	behind := func(r *negotiator.Rejection) int { return cmp.Or(r.Place, math.MaxInt) }
	slices.SortStableFunc(p.Rejections, func(a, b negotiator.Rejection) int { return cmp.Compare(behind(&a), behind(&b)) })
}

// reject returns why what is left of a queue got no slot.
func (d *diagnosis) reject(s *deal.Submitter, w deal.Waiter) negotiator.Rejection {
	r := negotiator.Rejection{Job: w.Runs[0].FirstJob(), Count: w.Jobs, Jobs: deal.ProcsOf(w.Runs), Submitter: s.Name, Autocluster: d.index[w.Cluster]}
	if d.precedence == nil {
		r.Ahead = d.aheadOf(s, w.Cluster)
	} else {
		r.Place, r.Priority = d.precedence.standing(w.Runs[0])
	}
	others, limited := d.share(s, w)
	causes := d.causesOf(s, &r, w, limited)
	if len(causes) == 0 { // a slot is there, and the queue was not asked again
		causes = []negotiator.Cause{negotiator.CauseOthers}
	}
	r.Cause = causes[0]
	if len(causes) > 1 {
		r.Also = causes[1:]
	}
	r.Reason = d.reason(s, w, &r, others)
	return r
}

// Package why tells why jobs got no slot in a negotiation cycle. It reads the outcome of the
// deal, and changes nothing in it but the plan's reasons.
//
//   - diagnosis.go: all of it (Explain)
//   - diagnosis.go, nearest.go: what is left, and the nearest slot (findings)
//   - precedence.go: who goes before whom with one queue (precedence)
//   - trial.go: who gets a slot once what is named is out of the way (trials)
//   - cause.go: what is in the way
//   - analysis.go, reasons.go: puts it into words (diagnosis)
//   - succession.go: what claims may go on with until the next cycle
package why

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
)

// findings are what a cycle left: the state of all slots, the waiting jobs, and how far
// the nearest slot is from each autocluster.
type findings struct {
	c      *deal.Outcome
	stands []stand
	kept   []*deal.Group // of slots that are kept for wide jobs, as they are divided
	held   [][]holding   // by number of the group
	queues map[*deal.Submitter][]deal.Waiter
	known  map[*deal.Autocluster]*nearest
	asked  []*deal.Autocluster // that are analysed
	index  map[*deal.Autocluster]int
	asker  []*deal.Submitter // by place in asked: the first queue that waits, or is asked about
	texts  clauseTexts
	none   map[*deal.Autocluster]bool // that no slot would take, whatever it is doing
	pairs  int                        // how many slots may be looked at in detail for one autocluster
	names  map[string]int             // places in people
	people []*deal.Submitter          // those of the cycle in its order, then whose claims are not charged any more

	precedence *precedence // nil without a Config.Queue
}

// diagnosis finds out, at the end of a cycle, why jobs got no slot. What is the same for
// many shapes is found out once.
type diagnosis struct {
	trials
	weighed map[*deal.Autocluster][2]accountant.Weight
	turns   map[string][]lastTurn // by name, in the order of spins
	sheet   []contender           // scratch, by place in people
	ahead   map[*deal.Autocluster]*field
	fields  map[string]*field // by slot and groups
	key     []byte            // scratch, of fields
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

// mostPairs is how many pairs of jobs and slots one cycle looks at clause by
// clause: some thousandths of a second for a thousand.
const mostPairs = 20_000

// diagnose looks at the state of all slots, and at the waiting jobs.
func diagnose(c *deal.Outcome) *diagnosis {
	d := &diagnosis{ahead: map[*deal.Autocluster]*field{}}
	d.c, d.asIs, d.queues, d.known, d.index = c, c.Fork(), map[*deal.Submitter][]deal.Waiter{}, map[*deal.Autocluster]*nearest{}, map[*deal.Autocluster]int{}
	d.names, d.none = map[string]int{}, map[*deal.Autocluster]bool{}
	if c.OneQueue != nil {
		d.precedence = &precedence{c.OneQueue, make(leftBefore, len(c.OneQueue.Places)+1)}
	}
	for i, s := range c.Submitters {
		d.names[s.Name] = i
		d.people = append(d.people, s)
		for _, q := range s.Queues {
			if w := deal.WaiterOf(q); w.Jobs > 0 {
				d.queues[s] = append(d.queues[s], w)
				if d.precedence != nil {
					d.precedence.left.add(w)
				}
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
	if d.precedence != nil {
		d.precedence.left.sum()
	}
	if len(d.asked) > 0 {
		d.pairs = min(max(mostPairs/len(d.asked), 2), 200)
		d.takeStock()
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
	taken, at := c.Taken(), map[stand]int{}
	for i := range c.Slots {
		s := &c.Slots[i]
		key := stand{group: s.Group, now: s.Now, standing: s.Standing, taken: taken[i]}
		if s.Whole != nil {
			key.group = s.Wholly
		}
		n, known := at[key]
		if !known {
			n = len(d.stands)
			at[key] = n
			key.first = i
			d.stands = append(d.stands, key)
			if s.Standing == deal.Reserved {
				d.kept = append(d.kept, s.Now)
			}
		}
		d.stands[n].slots++
	}
}

// findHolders counts how many slots of each group each submitter holds.
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

// Explain fills the plan's rejections, autoclusters and succession.
func Explain(c *deal.Outcome) {
	d := diagnose(c)
	if !c.Config.NoReasons {
		c.Plan.Autoclusters = slices.Grow(c.Plan.Autoclusters, len(d.asked))
		for _, k := range d.asked {
			c.Plan.Autoclusters = append(c.Plan.Autoclusters, d.analyse(k))
		}
	}
	for _, x := range c.Explained {
		c.Plan.Explained = append(c.Plan.Explained, negotiator.Explained{Jobs: x.Jobs, Autocluster: d.index[x.Cluster]})
	}
	rejected := 0
	for _, list := range d.queues {
		rejected += len(list)
	}
	c.Plan.Rejections = slices.Grow(c.Plan.Rejections, rejected)
	for _, s := range c.Submitters {
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
	r := negotiator.Rejection{Job: w.Runs[0].FirstJob(), Count: w.Jobs, Submitter: s.Name, Autocluster: d.index[w.Cluster]}
	if d.precedence == nil {
		if f := d.ahead[w.Cluster]; f != nil {
			r.Ahead = f.before(s)
		}
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
	if d.c.Config.NoReasons {
		r.Ahead = 0
		return r
	}
	r.Jobs, r.Reason = deal.ProcsOf(w.Runs), d.reason(s, w, &r, others)
	return r
}

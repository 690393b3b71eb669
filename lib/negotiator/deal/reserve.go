package deal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// reservations are the slots kept for wide jobs.
type reservations struct {
	preemption
	spent map[pool.JobID]bool    // jobs with a reservation that lasted too long
	ideal map[*Submitter]float64 // shares, once asked for
}

// reservation is one that the last cycle left, while it is in force.
type reservation struct {
	pool.Reservation
	slot int
	over bool // the job has a slot, or may not wait for this one any longer
}

// recall takes up the reservations of the last cycle: their slots are candidates only for
// the jobs that they are kept for. Reservations without their job or slot end here, and
// so does one that lasted too long, which is not made again for as long as it lasted. One
// that was made later than now, by a wrong clock, counts as made now.
func (c *reservations) recall(left []pool.Reservation, jobs []jobprio.Run) {
	c.reserved = map[pool.JobID]*reservation{}
	if c.Config.Reserve.Fraction <= 0 || c.Config.Pie == negotiator.Spins {
		return
	}
	left = slices.Clone(left)
	slices.SortFunc(left, pool.Reservation.Compare)
	bySlot := map[string]int{}
	for i := range c.Slots {
		if len(left) > 0 {
			bySlot[c.Slots[i].Name] = i
		}
	}
	for _, r := range left {
		at, there := bySlot[r.Slot]
		r.Since = min(r.Since, c.Now.Unix())
		age := c.Now.Sub(time.Unix(r.Since, 0))
		switch {
		case c.reserved[r.Job] != nil || c.spent[r.Job] || !waits(jobs, r):
		case age >= c.Config.Reserve.Time && age < 2*c.Config.Reserve.Time:
			c.spent[r.Job] = true
			c.Plan.Reservations = append(c.Plan.Reservations, negotiator.Reserved{Reservation: r, GivenUp: true})
		case age < c.Config.Reserve.Time && there && c.Slots[at].Whole != nil && c.Slots[at].Standing == Free:
			c.Slots[at].Standing = Reserved
			c.reserved[r.Job] = &reservation{Reservation: r, slot: at}
		}
	}
}

// waits reports whether the job of a reservation is still idle. The runs are by submitter, then by job.
func waits(jobs []jobprio.Run, r pool.Reservation) bool {
	behind := sort.Search(len(jobs), func(i int) bool {
		return cmp.Or(strings.Compare(jobs[i].Submitter, r.Submitter), jobs[i].FirstJob().Compare(r.Job)) > 0
	})
	if behind == 0 {
		return false
	}
	j := jobs[behind-1]
	return j.Cluster == r.Job.Cluster && r.Job.Proc <= j.Last && j.Submitter == r.Submitter
}

// takeKept takes the slot that is kept for the first job of a queue, if enough of
// it is free by now.
func (c *reservations) takeKept(q *Queue, room float64) (pick, outcome) {
	r := c.reserved[q.Runs[0].FirstJob()]
	if r == nil || r.over {
		return pick{}, nothing
	}
	s := &c.Slots[r.slot]
	if c.Verdict(q.Cluster.Autocluster, s.Group.Group) != shapes.Accepts {
		return pick{}, nothing
	}
	w := c.Weight(q.Cluster, s.Group)
	if !Fits(w, room) {
		return pick{}, tooHeavy
	}
	r.over = true
	s.Standing = Free
	k := c.classOf(s.Ad, s.Weight, true, false)
	return pick{slot: r.slot, group: s.Group, weight: w, takes: c.divide(r.slot, k, q.Cluster.Request)}, found
}

// release ends the reservations that are of no more use, also since their jobs have preempted others, and reports whether that
// set any slot free. The ways to deal call it until it does not, so that reserve finds the jobs of all others.
func (c *reservations) release() (any bool) {
	var held negotiator.Holding
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		at := &c.Slots[r.slot]
		if q != nil && q.Offered() && c.Verdict(q.Cluster.Autocluster, at.Wholly.Group) == shapes.Accepts && c.entitled(s, q, at) && c.affords(held, at.Weight) {
			held.Add(at.Weight)
			continue
		}
		r.over, any = true, true
		c.moves++
		at.Standing = Free
		k := c.classOf(at.Ad, at.Weight, true, false)
		c.arrive(r.slot, k)
	}
	return any
}

// affords reports whether a slot of so much weight may be reserved besides others: up to
// the configured part of the pool, and always one.
func (c *reservations) affords(others negotiator.Holding, weight accountant.Weight) bool {
	return others.Slots == 0 || (others.Weight+weight).Float() <= c.Config.Reserve.Fraction*c.total.Float()+Slack
}

// entitled reports whether the submitter's share allows its job the piece of the slot
// that it wants: the share is the one that it would have if no submitter held anything. A
// submitter without usage may have one slot. In one queue there are no shares, but limits
// of the policy.
func (c *reservations) entitled(s *Submitter, q *Queue, at *Slot) bool {
	w := c.Weight(q.Cluster, at.Wholly)
	if s.Nice || !Fits(w, s.room()) || c.groupUse != nil && !Fits(w, c.groupUse.most(s.Group)) {
		return false
	}
	if c.OneQueue != nil {
		return !c.OneQueue.full(q)
	}
	if c.ideal == nil {
		c.ideal = c.idealShares()
	}
	return s.Usage == 0 || s.Usage.Float()+w.Float() <= c.ideal[s]+Slack
}

// idealShares divides the pool as if no slot was held and every job that any slot would
// take, were it empty, had its weight.
func (c *reservations) idealShares() map[*Submitter]float64 {
	heaviest := map[*Autocluster]float64{}
	for _, k := range c.Clusters {
		for number, v := range k.Verdicts {
			if g := c.Groups[number]; v == shapes.Accepts && (g.whole > 0 || g.Left == nil) {
				heaviest[k] = math.Max(heaviest[k], c.Weight(k, g).Float())
			}
		}
	}
	tier := c.tiers()[0]
	parts := c.divideAmong(c.total.Float(), tier, func(_ int, s *Submitter) (usage, demand float64) {
		demand = s.Usage.Float()
		for _, q := range s.Queues {
			if q.Offered() {
				demand += float64(q.left) * heaviest[q.Cluster]
			}
		}
		return 0, demand
	})
	ideal := map[*Submitter]float64{}
	for i, part := range parts {
		ideal[tier[i]] = part
	}
	return ideal
}

// reserve makes new reservations, and reports all. Each submitter gets one if its first
// job waits for a larger part of a partitionable slot than any slot has free, or than the
// end of any one job frees.
func (c *reservations) reserve() {
	var held negotiator.Holding
	busy, pieces := map[*Submitter]bool{}, sync.OnceValue(c.divided)
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		busy[s] = true
		held.Add(c.Slots[r.slot].Weight)
		c.Plan.Reservations = append(c.Plan.Reservations, c.describe(r, q))
	}
	if c.Config.Reserve.Fraction > 0 && c.Resources != nil {
		least := c.leastDivisible()
		for _, s := range c.inReservingOrder() {
			if !c.affords(held, least) {
				break
			}
			q := s.first()
			if s.Nice || busy[s] || q == nil || q.blocked != "" || c.spent[q.Runs[0].FirstJob()] || !c.tooWide(q.Cluster) {
				continue
			}
			at := c.nearestWhole(q.Cluster, func(at *Slot) bool { return c.affords(held, at.Weight) && c.entitled(s, q, at) })
			if at < 0 || c.oneEndAway(&c.Slots[at], q.Cluster.Request, pieces()[c.Slots[at].Name]) {
				continue
			}
			r := &reservation{Reservation: pool.Reservation{Slot: c.Slots[at].Name, Job: q.Runs[0].FirstJob(), Submitter: s.Name, Since: c.Now.Unix()}, slot: at}
			c.Slots[at].Standing = Reserved
			held.Add(c.Slots[at].Weight)
			c.reserved[r.Job] = r
			c.Plan.Reservations = append(c.Plan.Reservations, c.describe(r, q))
		}
	}
	slices.SortFunc(c.Plan.Reservations, func(a, b negotiator.Reserved) int { return a.Compare(b.Reservation) })
}

// KeptFor reports whether a slot is kept for a job.
func (c *reservations) KeptFor(s *Slot, job pool.JobID) bool {
	r := c.reserved[job]
	return r != nil && !r.over && &c.Slots[r.slot] == s
}

// inReservingOrder returns the submitters in the order of negotiation, or in the order of
// their first jobs if there is one queue of all.
func (c *reservations) inReservingOrder() []*Submitter {
	if c.OneQueue == nil {
		return c.Submitters
	}
	first := map[*Submitter]int{}
	var line []*Submitter
	for _, s := range c.Submitters {
		if q := s.first(); q != nil {
			first[s] = q.Runs[0].Order
			line = append(line, s)
		}
	}
	slices.SortFunc(line, func(a, b *Submitter) int { return cmp.Compare(first[a], first[b]) })
	return line
}

// divided returns the pieces of each partitionable slot that jobs have by now.
func (c *reservations) divided() map[string][]pool.Piece {
	pieces := map[string][]pool.Piece{}
	for i := range c.claims {
		cl := &c.claims[i]
		pieces[cl.SlotAd()] = append(pieces[cl.SlotAd()], cl.Piece)
	}
	for _, m := range c.Plan.Matches {
		if m.Piece.Of != "" {
			pieces[m.Piece.Of] = append(pieces[m.Piece.Of], m.Piece)
		}
	}
	return pieces
}

// oneEndAway reports whether the end of one job on a partitionable slot, which has one of
// the pieces, would make room for the request. Then narrow jobs do not keep it waiting
// for ever: it has its turn like all others when one ends.
func (c *reservations) oneEndAway(s *Slot, q *shapes.Request, pieces []pool.Piece) bool {
	return slices.ContainsFunc(pieces, func(p pool.Piece) bool {
		left := slices.Clone(s.Now.Left)
		for i, r := range c.Resources {
			left[i] += p.Takes.Of(r.Name)
		}
		return q.Fits(left)
	})
}

// first returns the queue with the submitter's first job that may be matched at all; nil
// if there is none.
func (s *Submitter) first() (first *Queue) {
	for _, q := range s.Queues {
		if q.left > 0 && q.Offered() && (first == nil || q.Runs[0].Order < first.Runs[0].Order) {
			first = q
		}
	}
	return first
}

// tooWide reports whether the jobs of k match some partitionable slot as a whole, and
// no slot as it is.
func (c *reservations) tooWide(k *Autocluster) bool {
	whole := false
	for number := range k.Verdicts {
		g := c.Groups[number]
		if k.Verdicts[number] != shapes.Accepts {
			continue
		}
		if g.free > 0 || g.Left == nil && g.counts.total() > 0 {
			return false
		}
		whole = whole || g.whole > 0
	}
	return whole
}

// nearestWhole returns the partitionable slot that needs the least more to become free
// for a job of k, by the lacking part of the resource that it lacks most of; of equals
// the lightest, then the first. Only slots for which may returns true count. It returns
// -1 if there is none.
func (c *reservations) nearestWhole(k *Autocluster, may func(*Slot) bool) int {
	best, lacks := -1, 0.0
	for i := range c.Slots {
		s := &c.Slots[i]
		if s.Whole == nil || s.Standing != Free || k.Verdicts[s.Wholly.Number] != shapes.Accepts {
			continue
		}
		n := k.Request.Lack(s.Now.Left)
		if best >= 0 && cmp.Or(cmp.Compare(n, lacks), cmp.Compare(s.Weight, c.Slots[best].Weight)) >= 0 {
			continue
		}
		if may(s) {
			best, lacks = i, n
		}
	}
	return best
}

// describe returns a reservation as the report has it.
func (c *reservations) describe(r *reservation, q *Queue) negotiator.Reserved {
	s := &c.Slots[r.slot]
	left := s.Now.Left
	return negotiator.Reserved{Reservation: r.Reservation, Weight: s.Weight, Free: c.pieceWeight(s.Wholly, c.Text(left)), Lacks: c.Lacks(q.Cluster.Request, left)}
}

// Lacks says what there is too little of for a request, such as "Cpus 5 of 8": 5 are
// left, and 8 requested.
func (c *arrangement) Lacks(q *shapes.Request, left shapes.Amounts) string {
	var list []string
	for i, x := range q.Ask {
		if x > left[i] {
			list = append(list, fmt.Sprintf("%s %s of %s", c.Resources[i].Name, short(left[i]), short(x)))
		}
	}
	return strings.Join(list, ", ")
}

func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

package negotiator

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
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// reservations is what is kept for wide jobs.
type reservations struct {
	preemption
	spent map[pool.JobID]bool    // jobs whose reservation lasted too long
	ideal map[*submitter]float64 // shares, once asked for
}

// reservation is one that the last cycle left, while it is in force.
type reservation struct {
	pool.Reservation
	slot int
	over bool // the job has a slot, or may not wait for this one any longer
}

// recall takes up the reservations that the last cycle left: their slots are no
// candidates but for the jobs that they are kept for. Those whose job or slot is
// gone end here, and so does one that lasted too long, which is not made again
// for as long as it lasted. One that was made later than now, by a clock that was
// wrong then, counts as made now.
func (c *reservations) recall(left []pool.Reservation, jobs []jobprio.Run) {
	c.kept = map[pool.JobID]*reservation{}
	if c.cfg.Reserve.Fraction <= 0 || c.cfg.Pie == Spins {
		return
	}
	left = slices.Clone(left)
	slices.SortFunc(left, pool.Reservation.Compare)
	bySlot := map[string]int{}
	for i, s := range c.slots {
		bySlot[s.name] = i
	}
	for _, r := range left {
		at, there := bySlot[r.Slot]
		r.Since = min(r.Since, c.now.Unix())
		age := c.now.Sub(time.Unix(r.Since, 0))
		switch {
		case c.kept[r.Job] != nil || c.spent[r.Job] || !waits(jobs, r):
		case age >= c.cfg.Reserve.Time && age < 2*c.cfg.Reserve.Time:
			c.spent[r.Job] = true
			c.plan.Reservations = append(c.plan.Reservations, Reserved{Reservation: r, GivenUp: true})
		case age < c.cfg.Reserve.Time && there && c.slots[at].Whole != nil && c.slots[at].standing == free:
			c.slots[at].standing = reserved
			c.kept[r.Job] = &reservation{Reservation: r, slot: at}
		}
	}
}

// waits reports whether the job of a reservation is still idle. The runs are by job.
func waits(jobs []jobprio.Run, r pool.Reservation) bool {
	behind := sort.Search(len(jobs), func(i int) bool { return jobs[i].FirstJob().Compare(r.Job) > 0 })
	if behind == 0 {
		return false
	}
	j := jobs[behind-1]
	return j.Cluster == r.Job.Cluster && r.Job.Proc <= j.Last && j.Submitter == r.Submitter
}

// takeKept takes the slot that is kept for the first job of a queue, if enough of
// it is free by now.
func (c *reservations) takeKept(q *queue, room float64) (pick, outcome) {
	r := c.kept[q.runs[0].FirstJob()]
	if r == nil || r.over {
		return pick{}, nothing
	}
	s := &c.slots[r.slot]
	if c.Verdict(q.cluster.Autocluster, s.group.Group) != shapes.Accepts {
		return pick{}, nothing
	}
	w := c.weight(q.cluster, s.group)
	if !fits(w, room) {
		return pick{}, tooHeavy
	}
	r.over = true
	s.standing = free
	k := c.classOf(s.Ad, s.Weight, true, false)
	return pick{slot: r.slot, group: s.group, weight: w, takes: c.divide(r.slot, k, q.cluster.Request)}, found
}

// keptWeights returns the weight of what is kept for each submitter's job and large
// enough by now.
func (c *shares) keptWeights() map[*submitter]accountant.Weight {
	kept := map[*submitter]accountant.Weight{}
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		if at := &c.slots[r.slot]; q != nil && c.Verdict(q.cluster.Autocluster, at.group.Group) == shapes.Accepts {
			kept[s] += c.weight(q.cluster, at.group)
		}
	}
	return kept
}

// release ends the reservations that are of no more use, and returns whether that
// set any slot free. The others go on.
func (c *reservations) release() (any bool) {
	var held Holding
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		at := &c.slots[r.slot]
		if q != nil && q.offered() && c.Verdict(q.cluster.Autocluster, at.wholly.Group) == shapes.Accepts && c.entitled(s, q, at) && c.affords(held, at.Weight) {
			held.add(at.Weight)
			continue
		}
		r.over, any = true, true
		c.moves++
		at.standing = free
		k := c.classOf(at.Ad, at.Weight, true, false)
		c.arrive(r.slot, k)
	}
	return any
}

// inForce returns the reservations that are not over, by slot.
func (c *shares) inForce() (list []*reservation) {
	for _, r := range c.kept {
		if !r.over {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *reservation) int { return a.Compare(b.Reservation) })
	return list
}

// queueOf returns the submitter of a reservation, and the queue of its job; nil if
// the job has no place in one any more.
func (c *shares) queueOf(r pool.Reservation) (*submitter, *queue) {
	s := c.called[r.Submitter]
	if s == nil {
		return nil, nil
	}
	for _, q := range s.queues {
		if len(q.runs) > 0 && q.left > 0 && q.runs[0].FirstJob() == r.Job {
			return s, q
		}
	}
	return nil, nil
}

// affords reports whether a slot of so much weight may be reserved besides others: up to
// the configured part of the pool, and always one.
func (c *reservations) affords(others Holding, weight accountant.Weight) bool {
	return others.Slots == 0 || (others.Weight+weight).Float() <= c.cfg.Reserve.Fraction*c.total.Float()+slack
}

func (h *Holding) add(w accountant.Weight) {
	h.Slots++
	h.Weight += w
}

// entitled reports whether the submitter's share allows its job the piece of the slot
// that it wants: the share is the one that it would have if everybody began with
// nothing. Who uses nothing may have one slot. In one queue there are no shares, but limits
// of the policy.
func (c *reservations) entitled(s *submitter, q *queue, at *slot) bool {
	w := c.weight(q.cluster, at.wholly)
	if s.nice || !fits(w, s.room()) || c.groupUse != nil && !fits(w, c.groupUse.most(s.group)) {
		return false
	}
	if c.one != nil {
		return !c.one.full(q)
	}
	if c.ideal == nil {
		c.ideal = c.idealShares()
	}
	return s.usage == 0 || s.usage.Float()+w.Float() <= c.ideal[s]+slack
}

// idealShares divides the pool as if nobody held anything and every job that any
// slot would take, were it empty, had its weight.
func (c *reservations) idealShares() map[*submitter]float64 {
	heaviest := map[*autocluster]float64{}
	for _, k := range c.clusters {
		for number, v := range k.Verdicts {
			if g := c.groups[number]; v == shapes.Accepts && (g.whole > 0 || g.Left == nil) {
				heaviest[k] = math.Max(heaviest[k], c.weight(k, g).Float())
			}
		}
	}
	tier := c.tiers()[0]
	claimants := make([]Claimant, len(tier))
	for i, s := range tier {
		claimants[i] = Claimant{EUP: s.eup, Demand: s.usage.Float()}
		for _, q := range s.queues {
			if q.offered() {
				claimants[i].Demand += float64(q.left) * heaviest[q.cluster]
			}
		}
	}
	ideal := map[*submitter]float64{}
	for i, t := range Targets(c.total.Float(), claimants) {
		ideal[tier[i]] = t
	}
	return ideal
}

// reserve makes new reservations, one for each submitter whose first job waits for
// a larger part of a partitionable slot than is left of any, or than one job that ends
// leaves, and reports all.
func (c *reservations) reserve() {
	var held Holding
	busy, pieces := map[*submitter]bool{}, sync.OnceValue(c.divided)
	for _, r := range c.inForce() {
		s, q := c.queueOf(r.Reservation)
		busy[s] = true
		held.add(c.slots[r.slot].Weight)
		c.plan.Reservations = append(c.plan.Reservations, c.describe(r, q))
	}
	if c.cfg.Reserve.Fraction > 0 && c.Resources != nil {
		least := c.leastDivisible()
		for _, s := range c.inReservingOrder() {
			if !c.affords(held, least) {
				break
			}
			q := s.first()
			if s.nice || busy[s] || q == nil || q.blocked != "" || c.spent[q.runs[0].FirstJob()] || !c.tooWide(q.cluster) {
				continue
			}
			at := c.nearestWhole(q.cluster, func(at *slot) bool { return c.affords(held, at.Weight) && c.entitled(s, q, at) })
			if at < 0 || c.oneEndAway(&c.slots[at], q.cluster.Request, pieces()[c.slots[at].name]) {
				continue
			}
			r := &reservation{Reservation: pool.Reservation{Slot: c.slots[at].name, Job: q.runs[0].FirstJob(), Submitter: s.name, Since: c.now.Unix()}, slot: at}
			c.slots[at].standing = reserved
			held.add(c.slots[at].Weight)
			c.kept[r.Job] = r
			c.plan.Reservations = append(c.plan.Reservations, c.describe(r, q))
		}
	}
	slices.SortFunc(c.plan.Reservations, func(a, b Reserved) int { return a.Compare(b.Reservation) })
}

// inReservingOrder returns the submitters in the order of negotiation, or in that of their
// first jobs where there is one queue of all.
func (c *reservations) inReservingOrder() []*submitter {
	if c.one == nil {
		return c.submitters
	}
	first := map[*submitter]int{}
	var line []*submitter
	for _, s := range c.submitters {
		if q := s.first(); q != nil {
			first[s] = q.runs[0].order
			line = append(line, s)
		}
	}
	slices.SortFunc(line, func(a, b *submitter) int { return cmp.Compare(first[a], first[b]) })
	return line
}

// leastDivisible returns the weight of the lightest partitionable slot.
func (c *inventory) leastDivisible() (least accountant.Weight) {
	any := false
	for i := range c.slots {
		if s := &c.slots[i]; s.Whole != nil && (!any || s.Weight < least) {
			least, any = s.Weight, true
		}
	}
	return least
}

// divided returns the pieces of each partitionable slot that jobs have by now.
func (c *reservations) divided() map[string][]pool.Piece {
	pieces := map[string][]pool.Piece{}
	for name, claims := range c.ours {
		for _, cl := range claims {
			pieces[name] = append(pieces[name], cl.Piece)
		}
	}
	for _, m := range c.plan.Matches {
		if m.Piece.Of != "" {
			pieces[m.Piece.Of] = append(pieces[m.Piece.Of], m.Piece)
		}
	}
	return pieces
}

// oneEndAway reports whether the end of one job on a partitionable slot, which has one of
// the pieces, would make room for the request. Then narrow jobs do not keep it waiting
// for ever: it has its turn like all others when one ends.
func (c *reservations) oneEndAway(s *slot, q *shapes.Request, pieces []pool.Piece) bool {
	return slices.ContainsFunc(pieces, func(p pool.Piece) bool {
		left := slices.Clone(s.now.Left)
		for i, r := range c.Resources {
			left[i] += p.Takes.Of(r.Name)
		}
		return q.Fits(left)
	})
}

// first returns the queue with the first of the submitter's jobs that may be
// matched at all; nil when there is none.
func (s *submitter) first() (first *queue) {
	for _, q := range s.queues {
		if q.left > 0 && q.offered() && (first == nil || q.runs[0].order < first.runs[0].order) {
			first = q
		}
	}
	return first
}

// tooWide reports whether the jobs of k match some partitionable slot as a whole, and
// no slot as it is.
func (c *reservations) tooWide(k *autocluster) bool {
	whole := false
	for number := range k.Verdicts {
		g := c.groups[number]
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

// nearestWhole returns the partitionable slot that needs the least more to become
// free for a job of k: the part that it lacks of the resource that it lacks most of;
// of equals the lightest, then the first. Only those count that may be kept for it.
// -1 when there is none.
func (c *reservations) nearestWhole(k *autocluster, may func(*slot) bool) int {
	best, lacks := -1, 0.0
	for i := range c.slots {
		s := &c.slots[i]
		if s.Whole == nil || s.standing != free || k.Verdicts[s.wholly.Number] != shapes.Accepts {
			continue
		}
		n := k.Request.Lack(s.now.Left)
		if best >= 0 && cmp.Or(cmp.Compare(n, lacks), cmp.Compare(s.Weight, c.slots[best].Weight)) >= 0 {
			continue
		}
		if may(s) {
			best, lacks = i, n
		}
	}
	return best
}

// describe returns a reservation as the report has it.
func (c *reservations) describe(r *reservation, q *queue) Reserved {
	s := &c.slots[r.slot]
	left := s.now.Left
	return Reserved{Reservation: r.Reservation, Weight: s.Weight, Free: c.pieceWeight(s.wholly, c.Text(left)), Lacks: c.lacks(q.cluster.Request, left)}
}

// lacks says what there is too little of for a request, such as "Cpus 5 of 8": 5 are
// left, and 8 requested.
func (c *arrangement) lacks(q *shapes.Request, left shapes.Amounts) string {
	var list []string
	for i, x := range q.Ask {
		if x > left[i] {
			list = append(list, fmt.Sprintf("%s %s of %s", c.Resources[i].Name, short(left[i]), short(x)))
		}
	}
	return strings.Join(list, ", ")
}

func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

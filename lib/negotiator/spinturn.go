package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// turn is an entry's turn in a spin. It takes what is matched off the pie.
func (sp *spinning) turn(p *spinParty, e *entry, spin *Spin, d *division) SpinTurn {
	t := SpinTurn{Name: e.name, EffectivePriority: e.eup, Usage: sp.used(e), Ceiling: headroom(e.ceiling, sp.used(e))}
	if e.ranged {
		t.JobPrios = []int{e.low, e.high}
	}
	var unclaimed float64
	t.Share, t.Limit, unclaimed = sp.entitled(p, e, d)
	if spin.Floor {
		t.Limit = min(t.Limit, float64(e.floor))
	} else if spin.Number == 1 && !sp.sliced[e.submitter] {
		sp.sliced[e.submitter] = true
		e.slice, e.limit = max(0, float64(t.Share*p.weight)), max(0, min(t.Limit, p.weight))
	}
	if t.Limit > d.pie {
		t.Starved, t.Limit = t.Limit-d.pie, d.pie
	}
	t.Outcome = SpinServed
	switch {
	case e.idle == 0:
		t.Skipped = "skipped because no idle jobs"
	case spin.Number > 1 && (t.Limit < sp.least || d.pie < sp.least):
		t.Skipped, t.Outcome = "skipped as pieLeft < minSlotWeight", SpinLimited
	case t.Ceiling == 0 || float64(t.Ceiling) < sp.least:
		t.Skipped = fmt.Sprintf("skipped because submitterCeiling remaining is %d", t.Ceiling)
	default:
		n := &spinNegotiation{spinning: sp, entry: e, turn: &t, unclaimed: unclaimed, pie: &d.pie,
			ranks: spin.Number == 1 && sp.cfg.Preemption.Consider}
		if n.run() {
			t.Outcome = SpinLimited
		}
	}
	return t
}

// spinNegotiation is one turn's way through the submitter's jobs.
type spinNegotiation struct {
	*spinning
	entry     *entry
	turn      *SpinTurn
	unclaimed float64 // the limit for slots that nobody holds: not cut to the pie
	used      float64 // of the limit, by this turn
	free      float64 // of that, by slots that nobody held
	pie       *float64
	ranks     bool // beyond the limit there are slots that prefer the job
	limited   bool
	refused   []string // concurrency limits reached by the requests before, one after the other
	asked     spinRequest
	list      spinList
}

// run asks for job after job, and says whether the submitter was limited.
func (n *spinNegotiation) run() bool {
	s := n.entry.submitter
	restore := s.restrict(n.entry)
	defer restore()
	for {
		over := n.used >= n.turn.Limit
		if over && !n.ranks {
			return true
		}
		n.turn.RankOnly = n.turn.RankOnly || over
		if n.used >= float64(n.turn.Ceiling) {
			return true
		}
		q := s.next()
		if q == nil {
			return over || n.limited
		}
		n.ask(q)
		reason := n.offer(q, over)
		if reason == "" {
			continue
		}
		n.turn.Rejections = append(n.turn.Rejections, SpinRejection{n.asked.first.String(), reason})
		q.said = reason
		s.wait(q)
		s.skip(q)
		if n.limited && !n.cfg.Preemption.Consider && !n.cfg.UseSlotWeights {
			return true
		}
	}
}

// spinRequest is jobs of one autocluster that follow each other without others in
// between: HTCondor's negotiator is asked for all of them by the name of the first.
type spinRequest struct {
	queue *queue
	first pool.JobID
	last  int // the place of the run that was asked for last
}

// ask notes that the first job of q is asked for, by the request that it is in.
func (n *spinNegotiation) ask(q *queue) {
	order := q.runs[0].order
	if n.asked.queue != q || n.isBetween(n.asked.last, order) {
		n.asked = spinRequest{queue: q, first: q.runs[0].FirstJob()}
	}
	n.asked.last = order
}

// isBetween reports whether jobs that were rejected in this turn stand between two places.
func (n *spinNegotiation) isBetween(after, before int) bool {
	if before <= after+1 {
		return false
	}
	return slices.ContainsFunc(n.entry.asked, func(p place) bool {
		at, is := slices.BinarySearchFunc(p.runs, after, func(r run, order int) int { return cmp.Compare(r.order, order) })
		if is {
			at++
		}
		return at < len(p.runs) && p.runs[at].order < before
	})
}

// offer matches the first job of a queue with the best slot that the limit allows,
// or returns why not.
func (n *spinNegotiation) offer(q *queue, over bool) string {
	name, blocked := n.blockedBy(q.cluster)
	q.blocked = name
	if blocked {
		// HTCondor names all limits that it met since it last let a job pass.
		n.refused = append(n.refused, name)
		slices.Sort(n.refused)
		n.refused = slices.Compact(n.refused)
		return "concurrency limit " + strings.Join(n.refused, ", ") + " reached"
	}
	n.refused = nil
	p, how := n.best(q, over)
	if how == found {
		n.matched(q, p)
		return ""
	}
	how = max(how, n.list.how)
	q.limited = over || how == tooHeavy
	n.limited = n.limited || how == tooHeavy
	switch {
	case q.prospects.refused:
		return "PREEMPTION_REQUIREMENTS == False"
	case how == tooHeavy:
		return "submitter limit exceeded"
	}
	return "no match found"
}

// blockedBy returns the first concurrency limit, as the job names them, that does
// not admit one more such job.
func (n *spinNegotiation) blockedBy(k *autocluster) (string, bool) {
	if _, blocked := n.inUse.blocked(k.limits); !blocked {
		return "", false
	}
	text, _ := k.ad.EvalString(n.billed(k), pool.AttrConcurrencyLimits)
	for _, one := range strings.FieldsFunc(text, isBetweenDemands) {
		for _, d := range demandsOf(one) {
			i := slices.IndexFunc(k.limits, func(o demand) bool { return o.name == d.name })
			if i >= 0 && n.inUse.left(k.limits[i]) == 0 {
				return d.name, true
			}
		}
	}
	return n.inUse.blocked(k.limits)
}

// room returns the heaviest slot that may be taken now: up to the limit, but
// whoever has taken nothing in this spin may go beyond it by one slot.
func (n *spinNegotiation) room() float64 {
	if n.free <= 0 && n.unclaimed > 0 {
		return math.Inf(1)
	}
	w := accountant.Weight((n.unclaimed - n.free) * float64(accountant.One))
	if n.unclaimed-n.free >= accountant.MaxWeight.Float() {
		return math.Inf(1)
	}
	// The sum is what HTCondor compares; the difference may be off by a digit.
	for w++; w >= 0 && n.free+w.Float() > n.unclaimed; w-- {
	}
	return w.Float()
}

// matched charges a slot and gives it to the first job of q.
func (n *spinNegotiation) matched(q *queue, p pick) {
	cost := q.cluster.cost(n.cycle, p.group)
	whole := p.group.left == nil || n.once(p.group)
	if whole {
		n.slots--
	}
	n.match(n.entry.submitter, q, p)
	if whole && p.group.left != nil && n.cfg.DepthFirst {
		n.entry.leave(q, n.roomFor(q.cluster, p.group)-1)
	}
	n.used += cost.Float()
	if p.preempts == nil {
		n.free += cost.Float()
	}
	*n.pie -= cost.Float()
	n.charge(n.entry.submitter, cost)
	n.turn.Matches++
}

// roomFor returns how many jobs like those of k a partitionable slot has room for, by
// cores and memory. With NEGOTIATOR_DEPTH_FIRST the others wait for what the first
// leaves of the slot.
func (n *spinNegotiation) roomFor(k *autocluster, g *group) int {
	room := func(held, request string) int64 {
		has, ok := g.ad.EvalInt(n.eval, held)
		if !ok {
			has = 1
		}
		asks, ok := k.ad.EvalInt(n.billed(k), request)
		if !ok {
			asks = 1
		}
		return has / max(1, asks)
	}
	return int(min(room(pool.AttrCpus, pool.AttrRequestCpus), room(pool.AttrMemory, pool.AttrRequestMemory), math.MaxInt32))
}

package negotiator

// spinList is HTCondor's list of candidates for a request: made once, and used up
// without looking again (NEGOTIATOR_MATCHLIST_CACHING).
type spinList struct {
	of    *queue  // nil: there is none
	over  bool    // only slots whose Rank prefers the job
	used  float64 // of the limit, when the list was made
	room  float64 // for slots that nobody holds, at that time
	fresh bool    // it was made for the job at hand
	how   outcome // tooHeavy when the limit kept somebody's slot out of it, or took one off
}

// best finds the best slot for the first job of a queue: free, or of a job that has to
// go; over the limit only one whose Rank prefers the job.
func (n *spinNegotiation) best(q *queue, over bool) (pick, outcome) {
	n.makeList(q, over)
	for {
		p := n.first(q, n.room())
		switch {
		case p != nil && n.mayPreempt(p):
			return n.preempt(p), found
		case p != nil:
			n.list.how = tooHeavy
			q.prospects.heap.Pop()
		case over:
			return pick{}, nothing
		default:
			return n.take(q.cluster, n.room())
		}
	}
}

// first returns the first on the list if that is a slot that runs a job; nil if it is a
// free one that weighs no more than room, or there is none.
func (n *spinNegotiation) first(q *queue, room float64) *prospect {
	p := n.prospect(n.entry.submitter, q, !n.list.over, n.isListed)
	if p == nil || n.list.over {
		return p
	}
	if _, key, how := n.choose(q.cluster, room); how == found && !p.beats(&key) {
		return nil
	}
	return p
}

// makeList begins a new list, unless the one that was made last still serves.
func (n *spinNegotiation) makeList(q *queue, over bool) {
	l := &n.list
	if n.cfg.Preemption.Cached && l.of == q && l.over == over && n.lasts(q) {
		l.fresh = false
		return
	}
	n.turns++
	*l = spinList{of: q, over: over, used: n.used, room: n.room(), fresh: true}
}

// lasts reports whether the list still holds, as far as expressions are not stable: the next
// on it is asked again, but no other.
func (n *spinNegotiation) lasts(q *queue) bool {
	stable := n.cfg.Preemption
	if stable.RequirementsStable && stable.RankStable {
		return true
	}
	p := n.first(q, n.list.room)
	switch {
	case p == nil && !stable.RequirementsStable && !n.list.over:
		_, _, how := n.choose(q.cluster, n.list.room)
		return how == found
	case p == nil:
		return stable.RequirementsStable
	case !stable.RequirementsStable && n.fickle && p.reason == PriorityPreemption && !n.permits(n.entry.submitter, q.cluster, p.tenants):
		return false
	}
	return stable.RankStable || !n.fickleRank || n.presentRank(n.entry.submitter, q.cluster, p.tenants) == p.preemption
}

// isListed reports whether a slot is on the list: for priority only within the limit, as it
// was when the list was made.
func (n *spinNegotiation) isListed(p *prospect) bool {
	if p.reason == RankPreemption || spinPermits(n.list.used, p.weight.Float(), n.turn.Limit) {
		return true
	}
	n.list.how = tooHeavy
	return false
}

// mayPreempt reports whether the first on the list may be taken. HTCondor takes that of a new
// list as it is; the others, of either reason, have to be within the limit, or else within
// that for slots that nobody holds.
func (n *spinNegotiation) mayPreempt(p *prospect) bool {
	cost := p.weight.Float()
	return n.list.fresh || spinPermits(n.used, cost, n.turn.Limit) || spinPermits(n.free, cost, n.unclaimed)
}

// spinPermits reports whether a limit lets a submitter have one more slot: whoever has taken
// nothing yet may go beyond it by that slot.
func spinPermits(used, cost, limit float64) bool {
	return used+cost <= limit || used <= 0 && limit > 0
}

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
	p := n.prospect(n.entry.submitter, q, !over, n.mayPreempt)
	if over {
		if p == nil {
			return pick{}, nothing
		}
		return n.preempt(p), found
	}
	room := n.room()
	if p != nil {
		if _, key, how := n.choose(q.cluster, room); how != found || p.beats(&key) {
			return n.preempt(p), found
		}
	}
	return n.take(q.cluster, room)
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

// lasts says whether the list still holds, as far as expressions are not stable: the next
// on it is asked again, but no other.
func (n *spinNegotiation) lasts(q *queue) bool {
	stable := n.cfg.Preemption
	if stable.RequirementsStable && stable.RankStable {
		return true
	}
	p := n.prospect(n.entry.submitter, q, !n.list.over, n.isListed)
	isFree := false
	if !n.list.over {
		_, key, how := n.choose(q.cluster, n.list.room)
		if isFree = how == found; isFree && p != nil && !p.beats(&key) {
			p = nil
		}
	}
	switch {
	case p == nil:
		return isFree || stable.RequirementsStable
	case !stable.RequirementsStable && n.fickle && p.reason == PriorityPreemption && !n.permits(n.entry.submitter, q.cluster, p.tenants):
		return false
	}
	return stable.RankStable || !n.fickleRank || n.presentRank(n.entry.submitter, q.cluster, p.tenants) == p.preemption
}

// isListed says whether a slot is on the list: for priority only within the limit, as it
// was when the list was made.
func (n *spinNegotiation) isListed(p *prospect) bool {
	if p.reason == RankPreemption || spinPermits(n.list.used, p.weight.Float(), n.turn.Limit) {
		return true
	}
	n.list.how = tooHeavy
	return false
}

// mayPreempt says whether the next on the list may be taken. HTCondor takes the first of a
// new list as it is; the others, of either reason, have to be within the limit, or else
// within that for slots that nobody holds.
func (n *spinNegotiation) mayPreempt(p *prospect) bool {
	if !n.isListed(p) {
		return false
	}
	cost := p.weight.Float()
	if n.list.fresh || spinPermits(n.used, cost, n.turn.Limit) || spinPermits(n.free, cost, n.unclaimed) {
		return true
	}
	n.list.how = tooHeavy
	return false
}

// spinPermits says whether a limit lets a submitter have one more slot: whoever has taken
// nothing yet may go beyond it by that slot.
func spinPermits(used, cost, limit float64) bool {
	return used+cost <= limit || used <= 0 && limit > 0
}

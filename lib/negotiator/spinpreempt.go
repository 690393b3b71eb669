package negotiator

// spinList is HTCondor's list of candidates for a request: made once, and used up
// without looking again (NEGOTIATOR_MATCHLIST_CACHING).
type spinList struct {
	made bool
	of   spinRequest
	over bool    // only slots whose Rank prefers the job
	used float64 // of the limit, when the list was made
	how  outcome // tooHeavy when the limit kept somebody's slot out of it
}

// best finds the best slot for the first job of a queue: free, or of a job that has to
// go; over the limit only one whose Rank prefers the job.
func (n *spinNegotiation) best(q *queue, over bool) (pick, outcome) {
	n.makeList(over)
	p := n.prospect(n.entry.submitter, q, !over, n.mayPreempt(q))
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

// makeList begins a new list, unless the one of the request before still serves.
func (n *spinNegotiation) makeList(over bool) {
	l := &n.list
	if l.made && n.cfg.Preemption.Cached && (!n.fickleRank || n.cfg.Preemption.RankStable) && l.of.queue == n.asked.queue && l.of.first == n.asked.first && l.over == over {
		return
	}
	n.turns++
	*l = spinList{made: true, of: n.asked, over: over, used: n.used}
}

// mayPreempt says whether a slot is on the list: for priority only up to the limit, as it was
// when the list was made.
func (n *spinNegotiation) mayPreempt(q *queue) func(*prospect) bool {
	return func(p *prospect) bool {
		if p.reason == RankPreemption {
			return true
		}
		cost, limit := p.weight.Float(), n.turn.Limit
		if n.list.used+cost > limit && (n.list.used > 0 || limit <= 0) {
			n.list.how = tooHeavy
			return false
		}
		return !n.fickle || n.cfg.Preemption.Cached && n.cfg.Preemption.RequirementsStable || n.permits(n.entry.submitter, q.cluster, p.tenants)
	}
}

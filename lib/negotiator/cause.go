package negotiator

import "slices"

// Cause is one thing that keeps a job from running.
type Cause string

// The causes. The first four stand with a slot for good, the next eight with what the
// slot is just now, the others with the job or its submitter.
const (
	// CauseNoSlots: the pool has no slots.
	CauseNoSlots Cause = "NoSlots"
	// CauseRequirements and CauseSlotRequirements: no slot meets the job's
	// Requirements, or none that does accepts the job; see Nearest.Fails.
	CauseRequirements     Cause = "Requirements"
	CauseSlotRequirements Cause = "SlotRequirements"
	// CauseTooWide: the job requests more than a whole partitionable slot has.
	CauseTooWide Cause = "TooWide"
	// CauseTooSmall: what is left of a partitionable slot is not enough.
	CauseTooSmall Cause = "TooSmall"
	// CauseTaken and CauseClaimed: somebody got the slot in this cycle, or held it
	// before.
	CauseTaken   Cause = "Taken"
	CauseClaimed Cause = "Claimed"
	// CauseReserved: the slot is kept for another, wider job.
	CauseReserved Cause = "Reserved"
	// CauseResting: the slot is left alone after matches that nobody took up.
	CauseResting Cause = "Resting"
	// CauseSlotConstraint: NEGOTIATOR_SLOT_CONSTRAINT leaves the slot out.
	CauseSlotConstraint Cause = "SlotConstraint"
	// CauseBusy: the slot is in a state in which it takes no job.
	CauseBusy Cause = "Busy"
	// CauseDrained: the slot's machine is drained.
	CauseDrained Cause = "Drained"
	// CauseBlocked: the policy of Config.Queue leaves the job out.
	CauseBlocked Cause = "Blocked"
	// CauseThrottle: a limit of that policy is reached.
	CauseThrottle Cause = "Throttle"
	// CauseJobConstraint: NEGOTIATOR_JOB_CONSTRAINT is not true for the job. Config.Queue was
	// not asked about it then.
	CauseJobConstraint Cause = "JobConstraint"
	// CauseSteps: the expressions of its owner's jobs took all the steps that there are
	// (Config.Steps), and what else is in the way was not looked at.
	CauseSteps Cause = "Steps"
	// CauseConcurrencyLimit: a concurrency limit is reached; see Rejection.Limits.
	CauseConcurrencyLimit Cause = "ConcurrencyLimit"
	// CauseCeiling: the submitter's ceiling is reached.
	CauseCeiling Cause = "Ceiling"
	// CauseQuota: the quota of its accounting group, or of one above, leaves no room;
	// see Rejection.Groups.
	CauseQuota Cause = "GroupQuota"
	// CauseShare: the submitter has what its share allows. Never with a Config.Queue, which
	// knows no shares.
	CauseShare Cause = "Share"
	// CauseSkipped: the job is passed over with the rest of its cluster, after one
	// for which nothing was found.
	CauseSkipped Cause = "Skipped"
	// CauseOthers: other submitters' jobs wait for the same slot; see
	// Analysis.Ahead. With a Config.Queue only those before the job in it count (see
	// Rejection.Ahead), and those of other groups, whose quotas may go first. CauseOwnJobs: so do jobs of the same submitter that go first.
	CauseOthers  Cause = "Others"
	CauseOwnJobs Cause = "OwnJobs"
)

// causesOf returns what is in the way of the first job of a rejected queue: all of
// it has to go for the job to run, and nothing else. The first is what the reason
// speaks of.
func (d *diagnosis) causesOf(s *submitter, r *Rejection, w waiter, limited bool) (causes []Cause) {
	c, k, n := d.c, w.cluster, d.nearest(w.cluster)
	add := func(cause Cause, is bool) {
		if is {
			causes = append(causes, cause)
		}
	}
	if k.short || n == nil && k.poor() {
		return []Cause{CauseSteps}
	}
	r.Limits = c.limitsReached(k)
	add(CauseJobConstraint, k.barred)
	add(CauseBlocked, w.kept != "")
	add(CauseConcurrencyLimit, len(r.Limits) > 0)
	if k.endless {
		return append(causes, CauseRequirements)
	}
	if n == nil {
		return append(causes, CauseNoSlots)
	}
	ceiling := !c.underCeiling(s, n.weight)
	skipped := d.skipped(s, w)
	throttled := d.precedence != nil && d.precedence.throttled(w.queue)
	add(CauseThrottle, throttled && n.fails() == 0)
	there := n.there(c, w)
	if there {
		r.Groups = d.full(s, n.weight, n, false, false)
		add(CauseQuota, len(r.Groups) > 0)
		add(CauseCeiling, ceiling)
		add(CauseSkipped, skipped)
		add(CauseShare, d.precedence == nil && (len(causes) == 0 || s.spent))
	} else {
		if limited = limited && len(causes) == 0; limited {
			r.Groups = d.full(s, n.weight, n, false, false)
		}
		add(CauseQuota, len(r.Groups) > 0)
		add(CauseShare, limited && len(r.Groups) == 0)
		causes = append(causes, n.causes(c, w.runs[0].FirstJob())...)
		if len(r.Groups) == 0 {
			r.Groups = d.full(s, n.weight, n, true, false)
			add(CauseQuota, len(r.Groups) > 0)
		}
		add(CauseShare, s.spent && !slices.Contains(causes, CauseShare))
		add(CauseThrottle, throttled && n.fails() > 0)
		add(CauseCeiling, ceiling)
		add(CauseSkipped, skipped)
	}
	full := len(r.Groups) > 0
	if ceiling || full || throttled || n.opens(c, w) {
		r.OwnJobs = d.ownAhead(s, w, n, ceiling || full || throttled)
		add(CauseOwnJobs, r.OwnJobs > 0)
	}
	if full || throttled || n.opens(c, w) {
		add(CauseOthers, d.othersGoFirst(s, w, n, r))
	}
	return causes
}

// othersGoFirst reports whether jobs of others wait for a slot that no group keeps from it, but
// for those whose quota is to be raised, and notes how many with a Config.Queue.
func (d *diagnosis) othersGoFirst(s *submitter, w waiter, n *nearest, r *Rejection) bool {
	if d.precedence == nil {
		return d.othersWait(s, n, r.Groups)
	}
	r.Ahead = d.othersBefore(s, w, n, r.Groups)
	return r.Ahead > 0 || d.otherGroupsWait(s, n, r.Groups)
}

// limitsReached names the concurrency limits that do not admit one more job like those of k.
func (c *cycle) limitsReached(k *autocluster) (names []string) {
	for _, l := range k.limits {
		if c.inUse.left(l) == 0 {
			names = append(names, l.name)
		}
	}
	return names
}

// skipped reports whether an earlier job of the same submitter and cluster, for which
// nothing is found, has the job passed over: in this cycle, where a limit may keep that one
// from being asked about since then, or in the next.
func (d *diagnosis) skipped(s *submitter, w waiter) bool {
	kin := w.runs[0].kin
	if kin == 0 {
		return false
	}
	if w.wasPassed() {
		return true
	}
	order, any := d.hopeless(s, w)[kin]
	return any && order < w.runs[0].order
}

// hopeless returns, by kin, where the first of a submitter's jobs stands for which nothing is
// found. Limits may keep jobs from being asked about, but those that have room again when the
// jobs have ended that are on the slot which is the nearest to w.
func (d *diagnosis) hopeless(s *submitter, w waiter) map[int]int {
	key, n := askedFor{who: s}, d.nearest(w.cluster)
	var used map[string]units
	var kinds []int
	if n != nil {
		if used, kinds = d.freed(n).units, d.endedAt(n); len(used)+len(kinds) > 0 {
			key.slot = d.caseOf(n)
		}
	}
	if found, known := d.vain[key]; known {
		return found
	}
	found := map[int]int{}
	for i := range d.queues[s] {
		o := &d.queues[s][i]
		if !o.offered() || d.blockedBut(o.cluster, used) || d.staysThrottled(o.queue, kinds) || d.anyLeft(*o) {
			continue
		}
		for _, r := range o.runs {
			if first, any := found[r.kin]; !any || r.order < first {
				found[r.kin] = r.order
			}
		}
	}
	d.vain[key] = found
	return found
}

// askedFor is for whom it was found out what is hopeless, and with which slot free.
type askedFor struct {
	who  *submitter
	slot string
}

// anyLeft reports whether a slot is left that the jobs of a queue could use.
func (d *diagnosis) anyLeft(w waiter) bool {
	n := d.nearest(w.cluster)
	return n != nil && n.there(d.c, w)
}

// othersWait reports whether jobs of other submitters wait for the slot that no group keeps
// from it, but for those whose quota is to be raised.
func (d *diagnosis) othersWait(s *submitter, n *nearest, raise []FullGroup) bool {
	for _, x := range d.keptBack(n) {
		if x.one != s && (len(x.full) == 0 || d.raised(x.full, raise)) {
			return true
		}
	}
	return false
}

// keptBack is submitters who wait for a slot and whom the same groups keep from it, be it
// none.
type keptBack struct {
	full []FullGroup
	one  *submitter // nil: there are several
}

// keptBack returns who waits for a slot, by the groups that keep them from it when its holders
// have gone. Two whom none does are as good as all.
func (d *diagnosis) keptBack(n *nearest) []keptBack {
	list, known := d.rivals[n.name]
	if known {
		return list
	}
	at := map[string]int{}
	for _, w := range d.waiting(n) {
		o := d.people[w.who]
		full := d.full(o, w.least, n, true, true)
		names := namesOf(full)
		if i, same := at[names]; same {
			list[i].one = nil
			if len(full) == 0 {
				break
			}
			continue
		}
		at[names] = len(list)
		list = append(list, keptBack{full, o})
	}
	d.rivals[n.name] = list
	return list
}

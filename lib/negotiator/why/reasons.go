package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// reason says the most useful thing about the causes in one line, in spins behind the
// reference's own words.
func (d *diagnosis) reason(s *deal.Submitter, w deal.Waiter, r *negotiator.Rejection, others string) string {
	return inWordsOf(w.Said, d.tell(s, w, r, others))
}

func (d *diagnosis) tell(s *deal.Submitter, w deal.Waiter, r *negotiator.Rejection, others string) string {
	switch r.Cause {
	case negotiator.CauseSteps:
		return fmt.Sprintf("put off to the next cycle: the expressions of %s's jobs took all of the %d steps of this one (MAX_STEPS_PER_OWNER)", w.Runs[0].Payer.Owner, d.c.Config.Steps)
	case negotiator.CauseJobConstraint:
		return "no match found: NEGOTIATOR_JOB_CONSTRAINT is not true for the job"
	case negotiator.CauseBlocked:
		return "blocked: " + w.Kept
	case negotiator.CauseThrottle:
		return "limit of the policy reached: " + strings.Replace(w.Refused, ": ", ", ", 1)
	case negotiator.CauseConcurrencyLimit:
		return d.limitReached(w.Cluster)
	case negotiator.CauseCeiling:
		return fmt.Sprintf("submitter ceiling reached: %s uses %s of at most %d%s", s.Name, s.Usage, s.Ceiling.Slots, d.spinCeiling(s))
	case negotiator.CauseSkipped:
		return fmt.Sprintf("no match found: skipped with the rest of its cluster, after a job without a match; %s would take it", d.nearest(w.Cluster).slot.Name)
	case negotiator.CauseQuota:
		return d.quotaReached(r) + "; " + d.stillThere(r)
	case negotiator.CauseShare:
		what := d.stillThere(r)
		if d.c.Config.Pie == negotiator.Spins {
			if len(r.Also) == 0 {
				what = strings.Replace(what, " left", " left idle in this cycle", 1)
			}
			what = d.spinLimit(s, w) + what + d.servedOnce(w.Cluster)
		}
		return fmt.Sprintf("submitter limit exceeded: %s uses %s of a pie slice of %.2f, %s", s.Name, s.Usage, s.Slice, what)
	}
	if w.Cluster.Endless && r.Cause == negotiator.CauseRequirements {
		return "no match found: the job's Requirements take too many steps to evaluate: make them simpler"
	}
	if n := d.nearest(w.Cluster); n != nil && r.Cause == negotiator.CauseTooSmall && d.c.KeptFor(n.slot, w.Runs[0].FirstJob()) {
		return fmt.Sprintf("no match found: %s is kept for %s until enough of it is free: it has %s requested", n.slot.Name, w.Runs[0].FirstJob(), d.lacks(w.Cluster, n))
	}
	return "no match found: " + d.unmatched(s, w.Cluster, &d.c.Plan.Autoclusters[r.Autocluster]) + others + d.servedOnce(w.Cluster) + d.quotaToo(s, w, r)
}

// quotaToo tells of a group that is full, be it only as long as the jobs on the nearest
// slot run.
func (d *diagnosis) quotaToo(s *deal.Submitter, w deal.Waiter, r *negotiator.Rejection) string {
	n := d.nearest(w.Cluster)
	if n == nil || d.c.Config.Pie == negotiator.Spins {
		return ""
	}
	full := r.Groups
	if len(full) == 0 {
		full = d.asIs.Full(s, n.weight, false)
	}
	if len(full) > 0 && !full[0].AcceptsSurplus {
		return "; its group quota is reached, too: " + full[0].Text()
	}
	return ""
}

// stillThere tells of the slots that match.
func (d *diagnosis) stillThere(r *negotiator.Rejection) string {
	if left := slotsAt(d.c.Plan.Autoclusters[r.Autocluster].Steps, negotiator.Left); len(r.Also) == 0 || r.Cause == negotiator.CauseQuota && left > 0 {
		return plural.Pick(left, "1 matching slot is", "%d matching slots are") + " left"
	}
	return "the other matching slots are taken"
}

// limitReached tells of the first concurrency limit that is reached.
func (d *diagnosis) limitReached(k *deal.Autocluster) string {
	for _, l := range k.Limits {
		if d.c.InUse.Left(l) > 0 {
			continue
		}
		most, _ := d.c.Config.Limits.Of(l.Name)
		if l.Units > most {
			return fmt.Sprintf("concurrency limit %s reached: the job needs %s, more than the limit of %s", l.Name, l.Units, most)
		}
		return fmt.Sprintf("concurrency limit %s reached: %s of %s in use, the job needs %s", l.Name, d.c.InUse.Used[l.Name], most, l.Units)
	}
	return ""
}

// share reports whether the share is what keeps a submitter from slots, and, where it
// got less than that and its ceiling have room for, who took slots that it could have
// used, and how many. Shares do not foresee everything: the choice of slots goes by rank first,
// and a submitter's jobs go by their own order. With a Config.Queue there are no shares, and
// all that others took they took first.
func (d *diagnosis) share(s *deal.Submitter, w deal.Waiter) (others string, limited bool) {
	lightest, heaviest := d.weights(w.Cluster)
	if d.precedence != nil {
		if d.c.UnderCeiling(s, lightest) {
			others = d.others(s, w.Cluster)
		}
		return others, false
	}
	room := s.Slice - d.c.Counted(s)
	limited = w.Limited && -room < heaviest.Float()
	if lightest > 0 && deal.Fits(lightest, room) && d.c.UnderCeiling(s, lightest) {
		if n := d.nearest(w.Cluster); n != nil && d.c.Config.NoReasons && limited {
			d.ahead[w.Cluster] = d.fieldOf(w.Cluster, n)
		}
		others = d.others(s, w.Cluster)
	}
	return others, limited && others == ""
}

// weights does as the cycle's, once for each autocluster.
func (d *diagnosis) weights(k *deal.Autocluster) (lightest, heaviest accountant.Weight) {
	known := once(&d.weighed, k, func() (w [2]accountant.Weight) {
		w[0], w[1] = d.c.Weights(k)
		return w
	})
	return known[0], known[1]
}

// others says which submitters took how many slots that jobs of k could have used.
func (d *diagnosis) others(s *deal.Submitter, k *deal.Autocluster) string {
	f := d.ahead[k]
	if f == nil {
		return ""
	}
	how := "by rank"
	sum, who, first := f.takers(s, func(x *contender) int { return x.byRank })
	if sum == 0 {
		how = "first"
		sum, who, first = f.takers(s, func(x *contender) int { return x.got })
	}
	if who == 0 {
		return ""
	}
	by, what := first.Name, fmt.Sprintf("%d of them", sum)
	if who > 1 {
		by += plural.Pick(who-1, " and another", " and %d others")
	}
	if d.c.Config.NoReasons {
		return by
	}
	if n := matching(d.c.Plan.Autoclusters[d.index[k]].Steps); sum == n {
		what = plural.Pick(n, "it", "them")
	}
	return fmt.Sprintf("; %s took %s %s", by, what, how)
}

// slotsAt returns how many slots drop out at the steps of some causes.
func slotsAt(steps []negotiator.Step, causes ...negotiator.Cause) (n int) {
	for _, s := range steps {
		if slices.Contains(causes, s.Cause) {
			n += s.Slots
		}
	}
	return n
}

// matching returns how many slots match, whatever they are doing.
func matching(steps []negotiator.Step) int {
	return slotsAt(steps, negotiator.CauseTooSmall, negotiator.CauseClaimed, negotiator.CauseBusy, negotiator.CauseDrained, negotiator.CauseResting, negotiator.CauseReserved, negotiator.CauseTaken, negotiator.Left)
}

// unmatched tells how far the slots of the pool are from taking a job.
func (d *diagnosis) unmatched(s *deal.Submitter, k *deal.Autocluster, a *negotiator.Analysis) string {
	slots, accept := len(d.c.Slots), matching(a.Steps)
	meet := accept + slotsAt(a.Steps, negotiator.CauseTooWide, negotiator.CauseSlotRequirements, negotiator.CauseMaintenance)
	switch {
	case a.Nearest == nil:
		return "the pool has no slots"
	case slots == 0:
		return "NEGOTIATOR_SLOT_CONSTRAINT leaves out " + plural.Pick(len(d.c.Excluded), "the only slot", "all %d slots") + a.Nearest.Near(len(d.c.Excluded))
	case slices.Contains(a.Nearest.Causes, negotiator.CauseSlotConstraint):
		return fmt.Sprintf("%s would take the job, but NEGOTIATOR_SLOT_CONSTRAINT leaves it out", a.Nearest.Slot)
	case meet == 0 && !k.Ad.Has(pool.AttrRequirements):
		return "the job has no Requirements"
	case meet == 0:
		return plural.Pick(slots, "the only slot does not meet", "none of %d slots meets") + " the job's Requirements" + a.Nearest.Near(slots)
	case accept == 0 && slotsAt(a.Steps, negotiator.CauseTooWide) > 0:
		return plural.Pick(slots, "the only slot is not", "no slot is") + " as large as the job requests" + a.Nearest.Near(slots)
	case accept == 0:
		return fmt.Sprintf("%d of %s %s the job's Requirements, %s%s", meet, plural.Pick(slots, "1 slot", "%d slots"), plural.Pick(meet, "meets", "meet"),
			refusal(a.Steps, meet), a.Nearest.Near(slots))
	}
	before, taken := slotsAt(a.Steps, negotiator.CauseClaimed), slotsAt(a.Steps, negotiator.CauseClaimed, negotiator.CauseTaken)
	switch {
	case taken == accept:
		return fmt.Sprintf("%s taken (%d before this cycle)%s", plural.Pick(taken, "the only matching slot is", "all %d matching slots are"), before, d.notPreempted(s, k))
	case slotsAt(a.Steps, negotiator.CauseTooSmall) == accept:
		return fmt.Sprintf("%s%s%s", plural.Pick(accept, "the only matching slot has too little left", "all %d matching slots have too little left"), a.Nearest.Near(slots), d.notPreempted(s, k))
	}
	return plural.Pick(accept, "the only matching slot is ", "none of %d matching slots is free: ") + whereabouts(a.Steps)
}

// notPreempted tells why claimed slots that match were not preempted, in a clause; empty
// where preemption is not considered, in spins, where HTCondor's words say it, and with a
// Config.Queue where no slot has a Rank that may prefer another job.
func (d *diagnosis) notPreempted(s *deal.Submitter, k *deal.Autocluster) string {
	c := d.c
	if !c.Config.Preemption.Consider || c.Config.Pie == negotiator.Spins || c.OneQueue != nil && !c.MayPrefer() {
		return ""
	}
	all := c.Protections(s, k, d.pairs)
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b negotiator.Protected) int { return cmp.Compare(b.Slots, a.Slots) })
	if len(all) == 1 {
		return "; " + plural.Pick(all[0].Slots, "it cannot be preempted: ", "none can be preempted: ") + all[0].Text()
	}
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%d as %s", p.Slots, p.Text()))
	}
	return "; not preempted: " + strings.Join(parts, ", ")
}

// refusal tells why none of the slots that meet a job's Requirements accepts
// the job.
func refusal(steps []negotiator.Step, meet int) string {
	mute := 0
	for _, s := range steps {
		if s.Cause == negotiator.CauseSlotRequirements && s.Text == "" {
			mute += s.Slots
		}
	}
	switch mute {
	case 0:
		return plural.Pick(meet, "but does not accept the job", "none of these accepts the job")
	case meet:
		return plural.Pick(meet, "but its ad has no Requirements", "but their ads have no Requirements")
	}
	return fmt.Sprintf("none of these accepts the job: %s no Requirements", plural.Pick(mute, "the ad of 1 has", "the ads of %d have"))
}

// whereabouts lists what the slots are that match but are not free, without a number
// where there is one only.
func whereabouts(steps []negotiator.Step) string {
	var parts []string
	for _, p := range []struct {
		cause negotiator.Cause
		what  string
	}{
		{negotiator.CauseClaimed, "claimed before"},
		{negotiator.CauseTaken, "matched in this cycle"},
		{negotiator.CauseTooSmall, "with too little left"},
		{negotiator.CauseBusy, "in a state that takes no job"},
		{negotiator.CauseDrained, "drained"},
		{negotiator.CauseResting, "left alone after matches that no starter took up"},
		{negotiator.CauseReserved, "kept for a wide job"},
		{negotiator.Left, "left"},
	} {
		if n := slotsAt(steps, p.cause); n > 0 {
			if matching(steps) == 1 {
				return p.what
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// lastTurn is a submitter's turn in the last spin that it took part in.
type lastTurn struct {
	spin int
	turn *negotiator.SpinTurn
}

// lastTurn returns the last turn that jobs of w were for, if possible one with a limit: where
// a round of groups is repeated, nothing may be left to divide. nil if there was none.
func (d *diagnosis) lastTurn(s *deal.Submitter, w deal.Waiter) (last lastTurn) {
	if d.turns == nil {
		d.turns = map[string][]lastTurn{}
		for i := range d.c.Plan.Spins {
			spin := &d.c.Plan.Spins[i]
			for j := range spin.Turns {
				t := &spin.Turns[j]
				d.turns[t.Name] = append(d.turns[t.Name], lastTurn{spin.Number, t})
			}
		}
	}
	prio := w.Runs[0].Prio
	for _, t := range d.turns[s.Name] {
		p := t.turn.JobPrios
		if (p == nil || p[0] <= prio && prio <= p[1]) && (last.turn == nil || t.turn.Limit > 0) {
			last = t
		}
	}
	return last
}

// spinLimit tells how spins ended for a submitter whose share is too small.
func (d *diagnosis) spinLimit(s *deal.Submitter, w deal.Waiter) string {
	last := d.lastTurn(s, w)
	switch t := last.turn; {
	case t == nil:
		return ""
	case t.Skipped != "" && t.Limit < d.c.Lightest:
		return fmt.Sprintf("its limit in spin %d is %.4g, less than the %.4g of the lightest slot; ", last.spin, t.Limit, d.c.Lightest)
	default:
		return fmt.Sprintf("its limit in spin %d was %.4g, and it took %.4g; ", last.spin, t.Limit, d.c.Counted(s)-t.Usage)
	}
}

// spinCeiling tells what is left of a ceiling that is not used up.
func (d *diagnosis) spinCeiling(s *deal.Submitter) string {
	left := deal.Headroom(s.Ceiling, d.c.Counted(s))
	if d.c.Config.Pie != negotiator.Spins || left == 0 {
		return ""
	}
	return fmt.Sprintf(", which leaves %d, less than the %.4g of the lightest slot", left, d.c.Lightest)
}

// servedOnce tells of the partitionable slots that jobs of k could have used, had they
// not served one job in this cycle already.
func (d *diagnosis) servedOnce(k *deal.Autocluster) string {
	n := 0
	for i := range d.stands {
		if st := &d.stands[i]; st.taken && d.c.Slots[st.first].Whole != nil && d.c.Verdict(k.Autocluster, st.group.Group) == shapes.Accepts {
			n += st.slots
		}
	}
	if n == 0 {
		return ""
	}
	return plural.Pick(n, "; 1 partitionable slot served one job, and serves no more in a cycle", "; %d partitionable slots served one job each, and serve no more in a cycle")
}

// inWordsOf begins a reason with what HTCondor says.
func inWordsOf(said, reason string) string {
	const limit = "concurrency limit "
	head, rest, _ := strings.Cut(reason, ": ")
	switch {
	case said == "" || head == said:
		return reason
	case head == "no match found" || head == "submitter limit exceeded":
		return said + ": " + rest
	case strings.HasPrefix(said, limit) && strings.HasPrefix(head, limit):
		return said + ": " + strings.TrimPrefix(head, limit) + ", " + rest
	}
	return said + ": " + reason
}

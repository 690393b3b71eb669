package why

import (
	"cmp"
	"fmt"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/plural"
)

// causesOf returns what is in the way of the first job of a rejected queue: all of
// it has to go for the job to run, and nothing else. The first is what the reason
// speaks of.
func (d *diagnosis) causesOf(s *deal.Submitter, r *negotiator.Rejection, w deal.Waiter, limited bool) (causes []negotiator.Cause) {
	c, k, n := d.c, w.Cluster, d.nearest(w.Cluster)
	add := func(cause negotiator.Cause, is bool) {
		if is {
			causes = append(causes, cause)
		}
	}
	if k.Short || n == nil && k.Poor() {
		return []negotiator.Cause{negotiator.CauseSteps}
	}
	r.Limits = d.limitsReached(k)
	add(negotiator.CauseJobConstraint, k.Barred)
	add(negotiator.CauseBlocked, w.Kept != "")
	add(negotiator.CauseConcurrencyLimit, len(r.Limits) > 0)
	if k.Endless {
		return append(causes, negotiator.CauseRequirements)
	}
	if n == nil {
		return append(causes, negotiator.CauseNoSlots)
	}
	ceiling := !c.UnderCeiling(s, n.weight)
	skipped := d.skipped(s, w)
	throttled := d.precedence != nil && d.precedence.throttled(w.Queue)
	add(negotiator.CauseThrottle, throttled && n.fails() == 0)
	there := d.there(n, w)
	if there {
		r.Groups = d.full(s, n.weight, n, false, false)
		add(negotiator.CauseQuota, len(r.Groups) > 0)
		add(negotiator.CauseCeiling, ceiling)
		add(negotiator.CauseSkipped, skipped)
		add(negotiator.CauseShare, d.precedence == nil && (len(causes) == 0 || s.Spent))
	} else {
		if limited = limited && len(causes) == 0; limited {
			r.Groups = d.full(s, n.weight, n, false, false)
		}
		add(negotiator.CauseQuota, len(r.Groups) > 0)
		add(negotiator.CauseShare, limited && len(r.Groups) == 0)
		causes = append(causes, d.causes(n, w.Runs[0].FirstJob())...)
		if len(r.Groups) == 0 {
			r.Groups = d.full(s, n.weight, n, true, false)
			add(negotiator.CauseQuota, len(r.Groups) > 0)
		}
		add(negotiator.CauseShare, s.Spent && !slices.Contains(causes, negotiator.CauseShare))
		add(negotiator.CauseThrottle, throttled && n.fails() > 0)
		add(negotiator.CauseCeiling, ceiling)
		add(negotiator.CauseSkipped, skipped)
	}
	full := len(r.Groups) > 0
	if ceiling || full || throttled || d.opens(n, w) {
		r.OwnJobs = d.ownAhead(s, w, n, ceiling || full || throttled)
		add(negotiator.CauseOwnJobs, r.OwnJobs > 0)
	}
	if full || throttled || d.opens(n, w) {
		add(negotiator.CauseOthers, d.othersGoFirst(s, w, n, r))
	}
	return causes
}

// othersGoFirst reports whether jobs of others wait for a slot that no group keeps from it, but
// for those whose quota is to be raised, and notes how many with a Config.Queue.
func (d *diagnosis) othersGoFirst(s *deal.Submitter, w deal.Waiter, n *nearest, r *negotiator.Rejection) bool {
	if d.precedence == nil {
		return d.othersWait(s, n, r.Groups)
	}
	r.Ahead = d.othersBefore(s, w, n, r.Groups)
	return r.Ahead > 0 || d.otherGroupsWait(s, n, r.Groups)
}

// limitsReached names the concurrency limits that do not admit one more job like those of k.
func (d *findings) limitsReached(k *deal.Autocluster) (names []string) {
	for _, l := range k.Limits {
		if d.c.InUse.Left(l) == 0 {
			names = append(names, l.Name)
		}
	}
	return names
}

// skipped reports whether an earlier job of the same submitter and cluster, for which
// nothing is found, has the job passed over: in this cycle, where a limit may keep that one
// from being asked about since then, or in the next.
func (d *rivalry) skipped(s *deal.Submitter, w deal.Waiter) bool {
	kin := w.Runs[0].Kin
	if kin == 0 {
		return false
	}
	if w.WasPassed() {
		return true
	}
	order, any := d.hopeless(s, w)[kin]
	return any && order < w.Runs[0].Order
}

// hopeless returns, by kin, where the first of a submitter's jobs stands for which nothing is
// found. Limits may keep jobs from being asked about, but those that have room again when the
// jobs have ended that are on the slot which is the nearest to w.
func (d *rivalry) hopeless(s *deal.Submitter, w deal.Waiter) map[int]int {
	key, n := askedFor{who: s}, d.nearest(w.Cluster)
	var used map[string]concurrency.Units
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
		if !o.Offered() || d.blockedBut(o.Cluster, used) || d.staysThrottled(o.Queue, kinds) || d.anyLeft(*o) {
			continue
		}
		for _, r := range o.Runs {
			if first, any := found[r.Kin]; !any || r.Order < first {
				found[r.Kin] = r.Order
			}
		}
	}
	d.vain[key] = found
	return found
}

// askedFor is for whom it was found out what is hopeless, and with which slot free.
type askedFor struct {
	who  *deal.Submitter
	slot string
}

// anyLeft reports whether a slot is left that the jobs of a queue could use.
func (d *findings) anyLeft(w deal.Waiter) bool {
	n := d.nearest(w.Cluster)
	return n != nil && d.there(n, w)
}

// othersWait reports whether jobs of other submitters wait for the slot that no group keeps
// from it, but for those whose quota is to be raised.
func (d *rivalry) othersWait(s *deal.Submitter, n *nearest, raise []negotiator.FullGroup) bool {
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
	full []negotiator.FullGroup
	one  *deal.Submitter // nil: there are several
}

// keptBack returns who waits for a slot, by the groups that keep them from it when its holders
// have gone. Two whom none does are as good as all.
func (d *rivalry) keptBack(n *nearest) []keptBack {
	list, known := d.rivals[n.name]
	if known {
		return list
	}
	at := map[string]int{}
	for _, w := range d.waiting(n) {
		o := d.people[w.who]
		full := d.full(o, w.least, n, true, true)
		names := negotiator.GroupNames(full)
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

// full returns the groups that leave no room for a submitter's job of this weight at a slot:
// its own first, then those above; were the slot's holders gone, if gone, and did nobody else
// ask for anything, if alone.
func (d *rivalry) full(s *deal.Submitter, weight accountant.Weight, n *nearest, gone, alone bool) []negotiator.FullGroup {
	c := d.c
	if c.Config.Params.Groups.None() || c.GroupUse == nil && c.Config.Pie != negotiator.Spins {
		return nil
	}
	ask := deal.Fullness{Group: c.Config.Params.Groups.Of(s.Name), Nice: s.Nice, Slot: "", Alone: alone, Weight: weight}
	if gone {
		ask.Slot = n.name
	}
	list, known := d.fulls[ask]
	if known {
		return list
	}
	var freed map[int]accountant.Weight
	if gone {
		freed = d.freedWeight(n)
	}
	if c.GroupUse != nil {
		list = c.GroupUse.Full(ask, freed, d.wanting())
	} else {
		list = c.FullInSpins(ask.Group, freed)
	}
	if d.fulls == nil {
		d.fulls = map[deal.Fullness][]negotiator.FullGroup{}
	}
	d.fulls[ask] = list
	return list
}

// freedWeight returns, by group, what the holders of a slot are charged for it.
func (d *rivalry) freedWeight(n *nearest) map[int]accountant.Weight {
	freed, tree := map[int]accountant.Weight{}, d.c.Config.Params.Groups
	for _, cl := range d.c.Claims[n.name] {
		if cl.State.Charged() {
			freed[tree.Of(cl.Submitter)] += cl.Weight
		}
	}
	for m := range d.takers(n.name) {
		freed[tree.Of(m.Submitter)] += m.Weight
	}
	if len(freed) == 0 && n.stand != nil && n.stand.standing == deal.Claimed {
		s := &d.c.Slots[n.stand.first]
		for _, name := range d.c.Holders(s) {
			freed[tree.Of(name)] += s.Weight
		}
	}
	return freed
}

// wanting returns which groups have members that wait.
func (d *rivalry) wanting() []bool {
	if d.wants == nil {
		d.wants = make([]bool, len(d.c.GroupUse.Own))
		for s, list := range d.queues {
			if slices.ContainsFunc(list, func(w deal.Waiter) bool { return w.Kept == "" }) {
				d.wants[s.Group] = true
			}
		}
	}
	return d.wants
}

// raised reports whether to raise the quotas of others, and of those above them, may help any
// of some groups: where one group is above both.
func (d *rivalry) raised(some, others []negotiator.FullGroup) bool {
	tree := d.c.Config.Params.Groups
	top := func(g negotiator.FullGroup) int {
		at, _ := tree.Find(g.Name)
		up := tree.Up(at)
		return up[len(up)-1]
	}
	return slices.ContainsFunc(others, func(o negotiator.FullGroup) bool {
		return slices.ContainsFunc(some, func(g negotiator.FullGroup) bool { return top(g) == top(o) })
	})
}

// quotaReached tells of the first group that is full, and who uses what it has.
func (d *diagnosis) quotaReached(r *negotiator.Rejection) string {
	if len(r.Groups) == 0 {
		return "group quota reached"
	}
	g := r.Groups[0]
	text := "group quota reached: " + g.Text()
	if who := d.usersOf(g); who != "" {
		text += " (" + who + ")"
	}
	if g.AcceptsSurplus {
		return text + ", and others leave none"
	}
	return text
}

// mostUsers is how many users of a group are named.
const mostUsers = 2

// usersOf names those who use the most of what a group has.
func (d *diagnosis) usersOf(g negotiator.FullGroup) string {
	text, known := d.users[g]
	if !known {
		text = d.findUsers(g)
		d.users[g] = text
	}
	return text
}

func (d *diagnosis) findUsers(g negotiator.FullGroup) string {
	tree := d.c.Config.Params.Groups
	at, _ := tree.Find(g.Name)
	var users []*deal.Submitter
	for _, s := range d.c.Submitters {
		of := tree.Of(s.Name)
		if s.Usage > 0 && (of == at || g.Subtree && slices.Contains(tree.Up(of), at)) {
			users = append(users, s)
		}
	}
	slices.SortStableFunc(users, func(a, b *deal.Submitter) int { return cmp.Compare(b.Usage, a.Usage) })
	var words []string
	for _, s := range users[:min(len(users), mostUsers)] {
		words = append(words, fmt.Sprintf("%s %s", s.Name, s.Usage))
	}
	return plural.Some(words, len(users)-len(words))
}

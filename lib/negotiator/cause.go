package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
)

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
	if k.short || n == nil && k.Poor() {
		return []Cause{CauseSteps}
	}
	r.Limits = c.limitsReached(k)
	add(CauseJobConstraint, k.barred)
	add(CauseBlocked, w.kept != "")
	add(CauseConcurrencyLimit, len(r.Limits) > 0)
	if k.Endless {
		return append(causes, CauseRequirements)
	}
	if n == nil {
		return append(causes, CauseNoSlots)
	}
	ceiling := !c.underCeiling(s, n.weight)
	skipped := d.skipped(s, w)
	throttled := d.precedence != nil && d.precedence.throttled(w.queue)
	add(CauseThrottle, throttled && n.fails() == 0)
	there := d.there(n, w)
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
		causes = append(causes, d.causes(n, w.runs[0].FirstJob())...)
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
	if ceiling || full || throttled || d.opens(n, w) {
		r.OwnJobs = d.ownAhead(s, w, n, ceiling || full || throttled)
		add(CauseOwnJobs, r.OwnJobs > 0)
	}
	if full || throttled || d.opens(n, w) {
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
func (c *inventory) limitsReached(k *autocluster) (names []string) {
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
func (d *rivalry) skipped(s *submitter, w waiter) bool {
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
func (d *rivalry) hopeless(s *submitter, w waiter) map[int]int {
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
func (d *findings) anyLeft(w waiter) bool {
	n := d.nearest(w.cluster)
	return n != nil && d.there(n, w)
}

// othersWait reports whether jobs of other submitters wait for the slot that no group keeps
// from it, but for those whose quota is to be raised.
func (d *rivalry) othersWait(s *submitter, n *nearest, raise []FullGroup) bool {
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
func (d *rivalry) keptBack(n *nearest) []keptBack {
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

// FullGroup is an accounting group whose quota leaves no room for a job, in slot weight.
type FullGroup struct {
	Name string
	// Used is what the group's members use, and Allowed what they may: by their quota, and
	// the surplus that others leave. Subtree says that both are of the group with all groups
	// below it, which are together bound by its quota (NEGOTIATOR_STRICT_ENFORCE_QUOTA).
	Used, Allowed float64
	Subtree       bool `json:",omitempty"`
	// AcceptsSurplus says that the group may go beyond its quota, but that nothing is left
	// for it by others.
	AcceptsSurplus bool `json:",omitempty"`
}

// fullness asks which groups leave no room for a weight at a slot; nice users are
// bound by strict quotas alone.
type fullness struct {
	group  int
	nice   bool
	slot   string // whose holders have left; empty: they have not
	alone  bool   // nobody else asks for anything
	weight accountant.Weight
}

// full returns the groups that leave no room for a submitter's job of this weight at a slot:
// its own first, then those above; were the slot's holders gone, if gone, and did nobody else
// ask for anything, if alone.
func (d *rivalry) full(s *submitter, weight accountant.Weight, n *nearest, gone, alone bool) []FullGroup {
	c := d.c
	if c.cfg.Params.Groups.None() || c.groupUse == nil && c.cfg.Pie != Spins {
		return nil
	}
	ask := fullness{c.cfg.Params.Groups.Of(s.name), s.nice, "", alone, weight}
	if gone {
		ask.slot = n.name
	}
	list, known := d.fulls[ask]
	if known {
		return list
	}
	var freed map[int]accountant.Weight
	if gone {
		freed = d.freedWeight(n)
	}
	if c.groupUse != nil {
		list = c.groupUse.full(ask, freed, d.wanting())
	} else {
		list = c.fullInSpins(ask.group, freed)
	}
	if d.fulls == nil {
		d.fulls = map[fullness][]FullGroup{}
	}
	d.fulls[ask] = list
	return list
}

// freedWeight returns, by group, what the holders of a slot are charged for it.
func (d *rivalry) freedWeight(n *nearest) map[int]accountant.Weight {
	freed, tree := map[int]accountant.Weight{}, d.c.cfg.Params.Groups
	for _, cl := range d.c.ours[n.name] {
		if cl.State.Charged() {
			freed[tree.Of(cl.Submitter)] += cl.Weight
		}
	}
	for m := range d.takers(n.name) {
		freed[tree.Of(m.Submitter)] += m.Weight
	}
	if len(freed) == 0 && n.stand != nil && n.stand.standing == claimed {
		s := &d.c.slots[n.stand.first]
		for _, name := range d.c.holders(s) {
			freed[tree.Of(name)] += s.Weight
		}
	}
	return freed
}

// wanting returns which groups have members that wait.
func (d *rivalry) wanting() []bool {
	if d.wants == nil {
		d.wants = make([]bool, len(d.c.groupUse.own))
		for s, list := range d.queues {
			if slices.ContainsFunc(list, func(w waiter) bool { return w.kept == "" }) {
				d.wants[s.group] = true
			}
		}
	}
	return d.wants
}

// full returns the groups that would leave no room. What a group gets of its subgroups' quotas
// depends on what these want; one that accepts surplus could have it if nobody else
// asked for it.
func (u *groupUse) full(ask fullness, freed map[int]accountant.Weight, wanting []bool) (list []FullGroup) {
	own := &u.tree.List[ask.group]
	if !ask.nice && (own.Autoregroup || ask.group == 0 && u.tree.Regroups()) {
		return nil
	}
	used := func(i int) float64 { return (u.own[i] - freed[i]).Float() }
	if !ask.nice {
		requested := make([]float64, len(u.own))
		for i := range requested {
			if requested[i] = used(i); i != ask.group && wanting[i] && !ask.alone && !own.AcceptSurplus {
				requested[i] += u.quotas[0].Subtree
			}
		}
		requested[ask.group] += ask.weight.Float()
		allowed := u.tree.Allocate(u.quotas, requested, false)[ask.group].Weight
		room := allowed - used(ask.group)
		// One that accepts surplus may pass its allocation by a part of a slot.
		if !fits(ask.weight, room) && !(own.AcceptSurplus && room > slack) {
			list = append(list, FullGroup{Name: own.Name, Used: Micro(used(ask.group)), Allowed: Micro(allowed), AcceptsSurplus: own.AcceptSurplus && ask.group > 0})
		}
	}
	for _, a := range u.tree.Up(ask.group) {
		below := u.subtree[a]
		for i, w := range freed {
			if u.isIn(i, a) {
				below -= w
			}
		}
		if fits(ask.weight, u.caps[a]-below.Float()) || a == ask.group && len(list) > 0 && len(u.tree.List[a].Children) == 0 {
			continue
		}
		list = append(list, FullGroup{Name: u.tree.List[a].Name, Used: Micro(below.Float()), Allowed: Micro(u.caps[a]), Subtree: true})
	}
	return list
}

// fullInSpins returns the groups whose members spins let take nothing more.
func (c *roster) fullInSpins(group int, freed map[int]accountant.Weight) (list []FullGroup) {
	tree, rows := c.cfg.Params.Groups, c.accounts()
	own := &tree.List[group]
	if own.Autoregroup || group == 0 && tree.Regroups() {
		return nil
	}
	used := func(i int) float64 { return rows[i].Used - freed[i].Float() }
	// Groups are bound by whole numbers there.
	if g := &rows[group]; used(group) >= math.Trunc(max(g.Allocated, g.EffectiveQuota)) || g.Allocated <= 0 {
		list = append(list, FullGroup{Name: g.Name, Used: Micro(used(group)), Allowed: g.Allocated, AcceptsSurplus: own.AcceptSurplus && group > 0})
	}
	if !c.cfg.Quotas.Strict {
		return list
	}
	caps, subtree := tree.Caps(c.quotas()), make([]float64, len(rows))
	for i := range rows {
		for _, a := range tree.Up(i) {
			subtree[a] += used(i)
		}
	}
	for _, a := range tree.Up(group) {
		if (a != group || len(list) == 0) && subtree[a] >= caps[a] {
			list = append(list, FullGroup{Name: rows[a].Name, Used: Micro(subtree[a]), Allowed: Micro(caps[a]), Subtree: true})
		}
	}
	return list
}

// namesOf names groups.
func namesOf(groups []FullGroup) string {
	var names []string
	for _, g := range groups {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// raised reports whether to raise the quotas of others, and of those above them, may help any
// of some groups: where one group is above both.
func (d *rivalry) raised(some, others []FullGroup) bool {
	tree := d.c.cfg.Params.Groups
	top := func(g FullGroup) int {
		at, _ := tree.Find(g.Name)
		up := tree.Up(at)
		return up[len(up)-1]
	}
	return slices.ContainsFunc(others, func(o FullGroup) bool {
		return slices.ContainsFunc(some, func(g FullGroup) bool { return top(g) == top(o) })
	})
}

// quotaReached tells of the first group that is full, and who uses what it has.
func (d *diagnosis) quotaReached(r *Rejection) string {
	if len(r.Groups) == 0 {
		return "group quota reached"
	}
	g := r.Groups[0]
	text := "group quota reached: " + g.text()
	if who := d.usersOf(g); who != "" {
		text += " (" + who + ")"
	}
	if g.AcceptsSurplus {
		return text + ", and others leave none"
	}
	return text
}

// text tells what a group uses of what it may.
func (g FullGroup) text() string {
	switch {
	case g.Subtree:
		return fmt.Sprintf("%s, with what is below it, uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
	case g.Allowed == 0 && g.Used == 0:
		return g.Name + " has no quota of its own"
	}
	return fmt.Sprintf("%s uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
}

// mostUsers is how many users of a group are named.
const mostUsers = 2

// usersOf names those who use the most of what a group has.
func (d *diagnosis) usersOf(g FullGroup) string {
	text, known := d.users[g]
	if !known {
		text = d.findUsers(g)
		d.users[g] = text
	}
	return text
}

func (d *diagnosis) findUsers(g FullGroup) string {
	tree := d.c.cfg.Params.Groups
	at, _ := tree.Find(g.Name)
	var users []*submitter
	for _, s := range d.c.submitters {
		of := tree.Of(s.name)
		if s.usage > 0 && (of == at || g.Subtree && slices.Contains(tree.Up(of), at)) {
			users = append(users, s)
		}
	}
	slices.SortStableFunc(users, func(a, b *submitter) int { return cmp.Compare(b.usage, a.usage) })
	var words []string
	for _, s := range users[:min(len(users), mostUsers)] {
		words = append(words, fmt.Sprintf("%s %s", s.name, s.usage))
	}
	return list(words, len(users)-len(words))
}

package why

import (
	"cmp"
	"fmt"
	"slices"

	"fairspool/lib/negotiator"
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
	r.Limits = d.asIs.Blocked(k)
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
	limit, _ := d.asIs.Throttled(w.Queue)
	throttled := limit != ""
	add(negotiator.CauseThrottle, throttled && n.fails() == 0)
	there := d.there(n, w)
	if there {
		r.Groups = d.asIs.Full(s, n.weight, false)
		add(negotiator.CauseQuota, len(r.Groups) > 0)
		add(negotiator.CauseCeiling, ceiling)
		add(negotiator.CauseSkipped, skipped)
		add(negotiator.CauseShare, d.precedence == nil && (len(causes) == 0 || s.Spent))
	} else {
		if limited = limited && len(causes) == 0; limited {
			r.Groups = d.asIs.Full(s, n.weight, false)
		}
		add(negotiator.CauseQuota, len(r.Groups) > 0)
		add(negotiator.CauseShare, limited && len(r.Groups) == 0)
		causes = append(causes, d.causes(n, w.Runs[0].FirstJob())...)
		if len(r.Groups) == 0 {
			r.Groups = d.fork(n).Full(s, n.weight, false)
			add(negotiator.CauseQuota, len(r.Groups) > 0)
		}
		add(negotiator.CauseShare, s.Spent && !slices.Contains(causes, negotiator.CauseShare))
		add(negotiator.CauseThrottle, throttled && n.fails() > 0)
		add(negotiator.CauseCeiling, ceiling)
		add(negotiator.CauseSkipped, skipped)
	}
	raised, open := throttled || len(r.Groups) > 0, d.opens(n, w)
	others := (raised || open) && d.othersGoFirst(s, w, n, limit, r)
	if raised || open || ceiling {
		r.OwnJobs = d.ownAhead(s, w, ownTrial{opening: openingOf(n), limit: limit, wider: raised || ceiling || s.Ceiling.Set, alone: others})
		add(negotiator.CauseOwnJobs, r.OwnJobs > 0)
	}
	add(negotiator.CauseOthers, others)
	return causes
}

// othersGoFirst reports whether jobs of others wait for a slot that no group keeps from it, but
// for those whose quota is to be raised. With a Config.Queue those before the job in it count, of
// which it notes how many, and those of other groups: which group may have a slot that is not
// wholly one's goes by quotas, and only then by the queue.
func (d *diagnosis) othersGoFirst(s *deal.Submitter, w deal.Waiter, n *nearest, limit string, r *negotiator.Rejection) bool {
	rivals := d.rivals(n, limit, r.Groups)
	if d.precedence != nil {
		r.Ahead = rivals.before[w.Queue]
	}
	return d.precedence != nil && r.Ahead > 0 || slices.ContainsFunc(rivals.who, func(o *deal.Submitter) bool {
		return o != s && (d.precedence == nil || o.Group != s.Group)
	})
}

// quotaReached describes the first group that is full, and the submitters that use its
// quota.
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

// usersOf names the submitters that use most of a group's part.
func (d *diagnosis) usersOf(g negotiator.FullGroup) string {
	return once(&d.users, g, func() string { return d.findUsers(g) })
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

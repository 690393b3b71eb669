// Package why tells why jobs got no slot in a negotiation cycle. It reads the outcome of the
// deal, and changes nothing in it but the plan's reasons.
//
//   - diagnosis.go, nearest.go: what is left, and the nearest slot (findings)
//   - precedence.go, cause.go: who else has or wants what matches, and who goes first (rivalry)
//   - analysis.go, reasons.go, protected.go: puts it into words (diagnosis)
//   - succession.go: what claims may go on with until the next cycle
//   - explain.go: all of it
package why

import (
	"cmp"
	"math"
	"slices"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
)

// Explain fills the plan's shares, rejections, autoclusters and succession.
func Explain(c *deal.Outcome) {
	c.Plan.Groups = c.Accounts()
	d := diagnose(c)
	for _, k := range d.asked {
		c.Plan.Autoclusters = append(c.Plan.Autoclusters, d.analyse(k))
	}
	for _, x := range c.Explained {
		c.Plan.Explained = append(c.Plan.Explained, negotiator.Explained{Jobs: x.Jobs, Autocluster: d.index[x.Cluster]})
	}
	for _, s := range c.Submitters {
		c.Plan.Submitters = append(c.Plan.Submitters, negotiator.Share{
			Name: s.Name, EffectivePriority: s.EUP, Priority: s.Priority, Usage: s.Before.Float(),
			PieSlice: s.Slice, Limit: s.Limit, Idle: s.Idle, Matched: s.Matched, Demand: s.Demand,
		})
		for _, w := range d.queues[s] {
			c.Plan.Rejections = append(c.Plan.Rejections, d.reject(s, w))
		}
	}
	if d.precedence != nil {
		inQueueOrder(c.Plan)
		if c.Config.Standings {
			c.Plan.Standings = d.standings()
		}
		c.Plan.Policy = c.Config.Queue.Name()
	}
	c.Plan.Succession = succession(c)
}

// inQueueOrder puts rejections into the order of the queue, those that have no place in it
// last.
func inQueueOrder(p *negotiator.Plan) {
	behind := func(r *negotiator.Rejection) int { return cmp.Or(r.Place, math.MaxInt) }
	slices.SortStableFunc(p.Rejections, func(a, b negotiator.Rejection) int { return cmp.Compare(behind(&a), behind(&b)) })
}

// reject returns why what is left of a queue got no slot.
func (d *diagnosis) reject(s *deal.Submitter, w deal.Waiter) negotiator.Rejection {
	r := negotiator.Rejection{Job: w.Runs[0].FirstJob(), Count: w.Jobs, Jobs: deal.ProcsOf(w.Runs), Submitter: s.Name, Autocluster: d.index[w.Cluster]}
	if d.precedence == nil {
		r.Ahead = d.aheadOf(s, w.Cluster)
	} else {
		r.Place, r.Priority = d.precedence.standing(w.Runs[0])
	}
	others, limited := d.share(s, w)
	causes := d.causesOf(s, &r, w, limited)
	if len(causes) == 0 { // a slot is there, and the queue was not asked again
		causes = []negotiator.Cause{negotiator.CauseOthers}
	}
	r.Cause = causes[0]
	if len(causes) > 1 {
		r.Also = causes[1:]
	}
	r.Reason = d.reason(s, w, &r, others)
	return r
}

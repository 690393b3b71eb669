package negotiator

import (
	"math"
	"time"

	"fairspool/lib/pool"
)

// Share is what a submitter was entitled to, and what it got.
type Share struct {
	Name string
	// EffectivePriority is the EUP at the time of the cycle, Priority the
	// RUP; lower is better for both.
	EffectivePriority float64
	Priority          float64 `json:"-"`
	// Usage is the slot weight in use before the cycle's matches.
	Usage float64 `json:"-"`
	// PieSlice is the submitter's share of the pool's weight when the cycle
	// began, including Usage, and Limit what that allows it to take. For a
	// nice user it is the share of what the others left.
	PieSlice, Limit float64
	// Idle and Matched are numbers of jobs: how many wanted a slot, and how
	// many of these got one.
	Idle, Matched int
	// Demand is the slot weight that the idle jobs asked for: by RequestCpus.
	Demand float64 `json:"-"`
}

// Rejection is jobs of one submitter and autocluster that got no slot.
type Rejection struct {
	Job       pool.JobID // the first of them to be served
	Count     int
	Jobs      []Procs // all of them, ascending
	Submitter string
	// Reason begins with "no match found", "submitter limit exceeded" or
	// "submitter ceiling reached" and goes on with the numbers.
	Reason string
}

// Report is a cycle's report as programs read it: negotiate -json, and the
// spool's cycle.json.
type Report struct {
	Cycle      int   // number of the cycle in its spool
	Time       int64 // policy time in Unix seconds
	Slots      int   // slots looked at
	Submitters []Share
	Groups     []Group
	Matches    []ReportedMatch
	Rejections []ReportedRejection
}

// Group is an accounting group's part in a cycle, in slot weight.
type Group struct {
	Name string
	// ConfigQuota is the number configured, a fraction of the parent's for a
	// dynamic one; EffectiveQuota what came of it for the group alone, and
	// SubtreeQuota with all groups below.
	ConfigQuota, EffectiveQuota, SubtreeQuota float64
	// SurplusPolicy is "no", "regroup" or "byquota".
	SurplusPolicy string
	// GroupSortKey is where the group stands in the order of groups: what its
	// members used before the cycle, divided by its quota.
	GroupSortKey float64
	// Usage is what its members used before the cycle, Requested that and what
	// their idle jobs asked for.
	Usage, Requested float64
}

// ReportedMatch is a Match in a Report. Preempts is the job that has to go,
// if any.
type ReportedMatch struct {
	Job, Submitter, Slot, Reason string
	Preempts                     string `json:",omitempty"`
}

// ReportedRejection is a Rejection in a Report.
type ReportedRejection struct {
	Job    string
	Count  int
	Jobs   []Procs // as texts like "7.0" and "1.2-3"
	Reason string
}

// Report returns the plan as the report of the cycle with this number, slot
// weights with six decimals.
func (p *Plan) Report(number int, now time.Time) Report {
	r := Report{
		Cycle: number, Time: now.Unix(), Slots: p.Slots,
		Submitters: append([]Share{}, p.Submitters...),
		Groups:     append([]Group{}, p.Groups...),
		Matches:    make([]ReportedMatch, len(p.Matches)),
		Rejections: make([]ReportedRejection, len(p.Rejections)),
	}
	for i := range r.Submitters {
		s := &r.Submitters[i]
		s.PieSlice, s.Limit = micro(s.PieSlice), micro(s.Limit)
	}
	for i, m := range p.Matches {
		r.Matches[i] = ReportedMatch{Job: m.Job.String(), Submitter: m.Submitter, Slot: m.Slot, Reason: m.Reason}
	}
	for i, x := range p.Rejections {
		r.Rejections[i] = ReportedRejection{x.Job.String(), x.Count, x.Jobs, x.Reason}
	}
	return r
}

// micro rounds to millionths: digits beyond them tell of the arithmetic, not
// of shares.
func micro(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// report fills the plan's shares and rejections.
func (c *cycle) report() {
	c.plan.Groups = c.accounts()
	for _, s := range c.submitters {
		c.plan.Submitters = append(c.plan.Submitters, Share{
			Name: s.name, EffectivePriority: s.eup, Priority: s.priority, Usage: s.before.Float(),
			PieSlice: s.slice, Limit: s.limit, Idle: s.idle, Matched: s.matched, Demand: s.demand,
		})
		for _, q := range s.queues {
			if q.left > 0 {
				c.plan.Rejections = append(c.plan.Rejections, Rejection{
					Job: q.runs[0].first, Count: q.left, Jobs: procsOf(q.runs), Submitter: s.name, Reason: c.reason(s, q),
				})
			}
		}
	}
}

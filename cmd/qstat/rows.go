package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// queue is what a listing is made from.
type queue struct {
	call  *cmdline.Call
	spool *spool.Spool
	view  *spool.View
}

// submitter returns who is charged for a job.
func (q queue) submitter(ad *classad.Ad) string {
	return operation.Submitter(ad, q.spool.Domain(), q.call.Config.Groups)
}

func (q queue) context() *classad.Context { return &classad.Context{Now: q.call.Now} }

// row is one line of the table: jobs of one cluster that look alike.
type row struct {
	cells                    // what is shown, and what has to be equal to share a line
	ranges []span            // the procs, ascending
	slot   string            // of a job with a claim
	claim  *pool.Claim       // nil for none
	key    jobprio.Job       // of the first proc: its place in the order
	who    accountant.Record // who is charged
	ad     *classad.Ad       // of the first proc
}

type span struct{ first, last int }

type cells struct {
	cluster           int
	prior             int64
	name, user, state string
	at                time.Time // of the start, else of the submission
	slots             int64
}

// rows returns the lines of the table in their order.
func (q queue) rows(spans []selection.Span) ([]*row, error) {
	policy, err := jobprio.Named(q.call.Config.JobPriorityPolicy)
	if err != nil {
		return nil, q.call.Config.Complain("JOB_PRIORITY_POLICY", err)
	}
	claims := map[pool.JobID]pool.Claim{}
	for _, c := range q.view.Claims() {
		claims[c.Job] = c
	}
	var placed, waiting, held []*row
	for _, s := range spans {
		for _, r := range q.split(s, claims) {
			switch {
			case r.state == "hqw":
				held = append(held, r)
			case r.state == "qw":
				waiting = append(waiting, r)
			default:
				placed = append(placed, r)
			}
		}
	}
	slices.SortStableFunc(placed, func(a, b *row) int {
		return cmp.Or(pool.CompareNames(a.slot, b.slot), a.key.ID.Compare(b.key.ID))
	})
	return slices.Concat(placed, merge(q.served(policy, waiting)), merge(q.served(policy, held))), nil
}

// split makes a row of each job with a claim, and one of each stretch of jobs
// without.
func (q queue) split(s selection.Span, claims map[pool.JobID]pool.Claim) []*row {
	var rows []*row
	first := s.First
	for p := s.First; p <= s.Last; p++ {
		c, ok := claims[pool.JobID{Cluster: s.Cluster, Proc: p}]
		if !ok {
			continue
		}
		if p > first {
			rows = append(rows, q.alike(s, first, p-1)...)
		}
		rows = append(rows, q.row(s, p, p, &c))
		first = p + 1
	}
	if first <= s.Last {
		rows = append(rows, q.alike(s, first, s.Last)...)
	}
	return rows
}

// alike makes one row of procs without a claim, or one of each where the
// place in the order is an expression, which each may evaluate differently.
func (q queue) alike(s selection.Span, first, last int) (rows []*row) {
	if uniform(s.Run.Ad) {
		return []*row{q.row(s, first, last, nil)}
	}
	for p := first; p <= last; p++ {
		rows = append(rows, q.row(s, p, p, nil))
	}
	return rows
}

// uniform tells whether the attributes that order jobs are constants.
func uniform(ad *classad.Ad) bool {
	for _, name := range [...]string{
		pool.AttrPreJobPrio1, pool.AttrPreJobPrio2, pool.AttrJobPrio, pool.AttrPostJobPrio1, pool.AttrPostJobPrio2, pool.AttrQDate,
	} {
		if e, ok := ad.Lookup(name); ok {
			if _, constant := e.Constant(); !constant {
				return false
			}
		}
	}
	return true
}

func (q queue) row(s selection.Span, first, last int, claim *pool.Claim) *row {
	ctx, ad := q.context(), s.Run.Proc(first)
	id := pool.JobID{Cluster: s.Cluster, Proc: first}
	r := &row{ranges: []span{{first, last}}, key: jobprio.JobOf(ctx, id, ad), ad: ad}
	status, _ := ad.EvalInt(ctx, pool.AttrJobStatus)
	r.cells = cells{
		cluster: s.Cluster, prior: r.key.JobPrio, name: printable(nameOf(ctx, ad)),
		state: state(pool.Status(status), claim), at: time.Unix(r.key.QDate, 0), slots: 1,
	}
	owner, _ := ad.EvalString(ctx, pool.AttrOwner)
	r.user = printable(owner)
	if n, ok := ad.EvalInt(ctx, pool.AttrRequestCpus); ok {
		r.slots = n
	}
	if claim != nil {
		r.claim, r.slot, r.at = claim, claim.Slot, claim.MatchedAt
		if !claim.StartedAt.IsZero() {
			r.at = claim.StartedAt
		}
	}
	r.who, _ = q.view.Submitter(q.submitter(ad))
	return r
}

// nameOf returns a job's name: what its user called it, else its program.
func nameOf(c *classad.Context, ad *classad.Ad) string {
	if name, ok := ad.EvalString(c, "JobBatchName"); ok && name != "" {
		return name
	}
	cmd, _ := ad.EvalString(c, pool.AttrCmd)
	return filepath.Base(cmd)
}

// printable keeps what a job says of itself on its line of the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// state returns Grid Engine's letters for where a job stands.
func state(s pool.Status, claim *pool.Claim) string {
	switch {
	case s == pool.Removed:
		return "dr"
	case s == pool.Held:
		return "hqw"
	case s == pool.Suspended:
		return "s"
	case s == pool.Running, claim != nil && claim.State == pool.RunningClaim, claim != nil && claim.State == pool.Vacating:
		return "r"
	case claim != nil:
		return "t"
	}
	return "qw"
}

// served orders waiting jobs as a cycle would serve them: submitters by
// EUP, and each one's jobs by the policy.
func (q queue) served(policy jobprio.Policy, rows []*row) []*row {
	p := operation.Params(q.call.Config)
	of := map[string][]*row{}
	var who []accountant.Record
	for _, r := range rows {
		if of[r.who.Name] == nil {
			who = append(who, r.who)
		}
		of[r.who.Name] = append(of[r.who.Name], r)
	}
	slices.SortFunc(who, func(a, b accountant.Record) int {
		return cmp.Or(cmp.Compare(a.Effective(q.call.Now, p), b.Effective(q.call.Now, p)), strings.Compare(a.Name, b.Name))
	})
	ordered := make([]*row, 0, len(rows))
	for _, w := range who {
		mine := of[w.Name]
		keys := make([]jobprio.Job, len(mine))
		for i, r := range mine {
			keys[i] = r.key
		}
		for _, score := range policy.Rank(keys, q.call.Now) {
			ordered = append(ordered, mine[score.Index])
		}
	}
	return ordered
}

// merge puts neighbours of one cluster that look alike on one line.
func merge(rows []*row) []*row {
	var out []*row
	for _, r := range rows {
		k := len(out) - 1
		if k < 0 || out[k].cells != r.cells {
			out = append(out, r)
			continue
		}
		last := &out[k].ranges[len(out[k].ranges)-1]
		if next := r.ranges[0]; last.last+1 == next.first {
			last.last = next.last
			continue
		}
		out[k].ranges = append(out[k].ranges, r.ranges...)
	}
	return out
}

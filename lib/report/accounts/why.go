package accounts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
)

// Pool is what accounts are read from.
type Pool struct {
	Spool  *spool.Spool
	Config *config.Config
	Now    time.Time
}

// unixOf returns a time in Unix seconds, 0 for never.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// OpSetFactor is the name in the spool's log of the edit that sets a factor.
const OpSetFactor = "set priority factor"

// Standing describes a submitter or group, as -json writes it.
// Priorities and weights are numbers as in the table, times Unix seconds, 0 for
// never; durations are seconds.
type Standing struct {
	Name             string
	EUP, RUP, Factor float64
	FactorFrom       source
	// InUse is the weight in use, for a group by its members. Subtree adds the groups below.
	// TendsTo is the limit of the RUP.
	InUse, Subtree, TendsTo float64
	HalfLife                float64
	Usage                   float64 // weight seconds
	Begin, Last             int64
	Ceiling, Floor          int64
	Rank                    *rank    `json:",omitempty"` // of submitters
	Cycle                   *outcome `json:",omitempty"` // the last cycle's
	NoCycle                 string   `json:",omitempty"` // why Cycle is missing
	Group                   *group   `json:",omitempty"` // where there are groups
	// Policy is the policy that puts all jobs into one queue, whatever the EUPs; empty: the order
	// is by EUP.
	Policy string `json:",omitempty"`
	// Tree says that usage counts by the share tree of [sge].
	Tree bool `json:",omitempty"`
	// Best is the best EUP that lasts, Lease the EUP when the lease on the factor
	// ends. Waiting is the number of idle jobs of a submitter without a record.
	Best    arrival
	Lease   *arrival `json:",omitempty"`
	Waiting int      `json:",omitempty"`

	record accountant.Record
	future Future
}

// source is the origin of a factor.
type source struct {
	Key   string // of the configuration; empty when set by hand
	Where string // file and line of the key, empty for its default
	Until int64  // when a lease ends
	Then  float64
	// By and At are the editor and the time of the edit, if the log has them.
	By string
	At int64

	kind accountant.FactorFrom
}

// rank is the place among submitters with usage or waiting jobs. A submitter without either
// has the place that it would have.
type rank struct {
	Active               bool
	Place, Of            int
	Nice                 bool    // served after all others
	Share, ShareInTheEnd float64 // of the pool, by EUP, 0 to 1; 0 under a Policy
}

// outcome is the part about a submitter of the last negotiation cycle's report.
type outcome struct {
	At                         int64
	PieSlice, SlicePart, Limit float64 // SlicePart of all slices, 0 to 1
	Idle, Matched              int
	Took                       bool // whether it took part
	Reasons                    []negotiator.ReportedRejection

	oneQueue bool // there were no slices
}

// group is the accounting group of a submitter, or the one that the command line names.
type group struct {
	Name                string
	Quota, SubtreeQuota float64 // as of the last cycle, -1 if it did not say
	InUse, Subtree      float64
	Surplus             string // "no", "regroup" or "byquota"
}

// StandingOf returns the standing of one of the records as of now. waiting is the number of idle jobs if the submitter
// has no record in the spool.
func (in Pool) StandingOf(r accountant.Record, waiting int, records []accountant.Record) (*Standing, error) {
	p := in.Config.Params
	f := Future{in.Now, p, r, waiting}
	w := &Standing{
		Name: r.Name, EUP: f.eup(in.Now), RUP: r.Priority, InUse: r.InUse.Float(), Subtree: r.Subtree.Float(), TendsTo: f.limit(),
		HalfLife: p.HalfLife.Seconds(), Usage: r.Weighted.Seconds(), Begin: unixOf(r.Begin), Last: unixOf(r.Last),
		Ceiling: r.Ceiling.Int(), Floor: r.Floor, Best: f.best(), Lease: f.lease(), Waiting: waiting, record: r, future: f,
	}
	if inForce := registry.Of(in.Config); inForce.OneQueue() {
		w.Policy, w.Tree = inForce.Name(), inForce.Display(in.Config).ByTree
	}
	if err := w.source(in, p); err != nil {
		return nil, err
	}
	last, silent := in.lastReport()
	w.NoCycle = silent
	w.group(p, records, last)
	if r.IsGroup() {
		return w, nil
	}
	w.rank(in.Now, p, records, last)
	if silent != "" {
		return w, nil
	}
	return w, w.outcome(in.Spool, p.Groups, last)
}

// lastReport returns the last cycle's report, or why there is none.
func (in Pool) lastReport() (r negotiator.Report, silent string) {
	found, err := report.Read(in.Spool.Report, &r)
	switch {
	case err != nil:
		return negotiator.Report{}, fmt.Sprintf("its report does not read: %v", err)
	case !found:
		return r, "no negotiation cycle has been run yet"
	}
	return r, ""
}

// source fills in where the factor comes from.
func (w *Standing) source(in Pool, p accountant.Params) error {
	from := &w.FactorFrom
	w.Factor, from.kind = w.record.FactorIn(in.Now, p)
	switch from.kind {
	case accountant.FactorNice:
		from.Key = "NICE_USER_PRIO_FACTOR"
	case accountant.FactorGroup:
		const prefix = "GROUP_PRIO_FACTOR_"
		name := p.Groups.NameOf(w.Name)
		from.Key, from.Where = prefix+name, in.Config.WhereGroup(prefix, name)
		return nil
	case accountant.FactorRemote:
		from.Key = "REMOTE_PRIO_FACTOR"
	case accountant.FactorDefault:
		from.Key = "DEFAULT_PRIO_FACTOR"
	default:
		if lease := w.record.FactorLease; !lease.Until.IsZero() {
			from.Until = lease.Until.Unix()
			after := w.record
			after.Factor, after.FactorLease = lease.Before, accountant.Lease{}
			from.Then, _ = after.FactorIn(in.Now, p)
		}
		return w.editor(in.Spool)
	}
	from.Where = in.Config.Where(from.Key)
	return nil
}

// editor fills in the last edit of the factor if it set the present number. An import or undo may have
// changed the factor since.
func (w *Standing) editor(s *spool.Spool) error {
	return s.Log(func(l spool.Logged) error {
		if l.Op != OpSetFactor || len(l.Args) < 2 || l.Args[0] != w.Name {
			return nil
		}
		w.FactorFrom.By, w.FactorFrom.At = "", 0
		if x, err := strconv.ParseFloat(l.Args[1], 64); err == nil && x == w.Factor {
			w.FactorFrom.By, w.FactorFrom.At = l.User, l.Policy.Unix()
		}
		return nil
	})
}

// rank fills in the place among active submitters, by EUP, nice users last.
func (w *Standing) rank(now time.Time, p accountant.Params, records []accountant.Record, report negotiator.Report) {
	waits := map[string]bool{}
	for _, s := range report.Submitters {
		waits[s.Name] = s.Idle > s.Matched
	}
	waits[w.Name] = waits[w.Name] || w.Waiting > 0
	w.Rank = &rank{Nice: p.Nice(w.Name)}
	var active, peers []accountant.Record
	for _, r := range records {
		busy := !r.IsGroup() && (r.ResourcesUsed > 0 || waits[r.Name])
		if r.Name == w.Name {
			w.Rank.Active = busy
			busy = true
		}
		if !busy {
			continue
		}
		active = append(active, r)
		if p.Nice(r.Name) == w.Rank.Nice {
			peers = append(peers, r)
		}
	}
	w.Rank.Of = len(active)
	slices.SortFunc(active, func(a, b accountant.Record) int {
		if nice := p.Nice(a.Name); nice != p.Nice(b.Name) {
			if nice {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.Effective(now, p), b.Effective(now, p)), cmp.Compare(a.Name, b.Name))
	})
	w.Rank.Place = 1 + slices.IndexFunc(active, func(r accountant.Record) bool { return r.Name == w.Name })
	if w.Policy != "" {
		return
	}
	for _, x := range accountant.Portions(peers, now, p) {
		if x.Name == w.Name {
			w.Rank.Share, w.Rank.ShareInTheEnd = x.Now, x.InTheEnd
		}
	}
}

// outcome fills in the part about the submitter of the last cycle's report, with the reasons of jobs
// that are still in the queue.
func (w *Standing) outcome(s *spool.Spool, groups *accountant.Groups, report negotiator.Report) error {
	w.Cycle = &outcome{At: report.Time, Reasons: []negotiator.ReportedRejection{}, oneQueue: report.Policy != ""}
	all := 0.0
	for _, x := range report.Submitters {
		all += x.PieSlice
		if x.Name == w.Name {
			w.Cycle.Took = true
			w.Cycle.PieSlice, w.Cycle.Limit, w.Cycle.Idle, w.Cycle.Matched = x.PieSlice, x.Limit, x.Idle, x.Matched
		}
	}
	if all > 0 {
		w.Cycle.SlicePart = w.Cycle.PieSlice / all
	}
	return s.View(func(v *spool.View) error {
		for _, x := range report.Rejections {
			id, err := pool.ParseJobID(x.Job)
			if err != nil {
				continue // the report was edited by hand
			}
			if ad, ok := v.Job(id); ok && lifecycle.Submitter(ad, s.Domain(), groups) == w.Name {
				w.Cycle.Reasons = append(w.Cycle.Reasons, x)
			}
		}
		return nil
	})
}

// group fills in the group and its usage, if groups are configured and the submitter is in one.
func (w *Standing) group(p accountant.Params, records []accountant.Record, report negotiator.Report) {
	name := p.Groups.NameOf(w.Name)
	if p.Groups.None() || name == accountant.RootGroup && !w.record.IsGroup() {
		return
	}
	g := &group{Name: name, Quota: -1, SubtreeQuota: -1}
	for _, r := range records {
		if r.Name == name {
			g.InUse, g.Subtree = r.InUse.Float(), r.Subtree.Float()
		}
	}
	for _, x := range report.Groups {
		if x.Name == name {
			g.Quota, g.SubtreeQuota, g.Surplus = x.EffectiveQuota, x.SubtreeQuota, x.SurplusPolicy
		}
	}
	w.Group = g
}

package userprio

import (
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/spool"
)

// row is one submitter or accounting group with everything that a display shows
// of it. Usage is in seconds; weights, the share's limit, floor, ceiling and quotas are
// slot weight.
type row struct {
	name  string
	in    string // the accounting group that it belongs to; a group's own name
	group bool

	priority, effective, factor float64
	slots                       int64   // in use
	inUse, within               float64 // weight in use; of a group with those below
	accumulated, usage          float64 // in slot seconds, in weight seconds
	counted                     bool    // whether usage was ever counted
	lastDay                     float64 // percent of what all submitters used in the last 24 hours
	sampled                     bool    // whether lastDay is known
	begin, last                 time.Time
	floor, ceiling              int64   // ceiling below 0: none
	dealt                       bool    // whether share and limit are known, as groups' are: they have none
	share, limit                float64 // of the last cycle
	part                        part
}

// part is what a group is entitled to.
type part struct {
	configured bool // config is known
	negotiated bool // everything else is
	// config is the quota as configured, effective what came of it for the
	// group alone, subtree with those below.
	config, effective, subtree float64
	surplus                    string // no, byquota or regroup
	sortKey, requested         float64
	// taken is what the group used beyond its quota after the last cycle, demand what its
	// idle jobs had asked for; divided says that both are known, as they are not from
	// HTCondor's ads.
	taken, demand float64
	divided       bool
}

// view is all rows there are: groups first, parents before their children.
type view struct {
	at     time.Time // as of when
	rows   []row
	policy string // the surplus policy of the whole pool
}

// lastCycle is what displays need of the last cycle's report.
type lastCycle struct {
	Submitters []negotiator.Share
	Groups     []negotiator.Group
}

// spoolView returns what the spool holds, as of now.
func spoolView(c *cmdline.Call) (view, error) {
	s, err := c.Spool()
	if err != nil {
		return view{}, err
	}
	var records []accountant.Record
	if err := s.View(func(v *spool.View) error { records = operation.Submitters(v, c.Reading()); return nil }); err != nil {
		return view{}, err
	}
	p := c.Config.Params
	var last *lastCycle
	if !p.Groups.None() || showsAds(c) {
		last = readCycle(c, s)
	}
	v := viewOf(records, c.Now, p, last)
	for _, x := range columnsOf(c) {
		if x.load != nil {
			if err := x.load(c, s, &v); err != nil {
				return view{}, err
			}
		}
	}
	return v, nil
}

// showsAds tells whether a display needs what only ads have.
func showsAds(c *cmdline.Call) bool {
	return c.Has("long") || c.Has("json") || c.Has("af") || c.Has("autoformat") || c.Has("constraint")
}

// readCycle returns what the last cycle found, nil without one. A report that
// does not read is no reason not to show priorities: what it would say is not known.
func readCycle(c *cmdline.Call, s *spool.Spool) *lastCycle {
	last := new(lastCycle)
	found, err := operation.ReadReport(s, last)
	if err != nil {
		c.Warn("%v: shares, limits and quotas are not known until the next cycle", err)
	}
	if err != nil || !found {
		return nil
	}
	return last
}

// viewOf returns the records as of now, in the order in which they came, behind
// the groups of the configuration. Without a cycle last is nil.
func viewOf(records []accountant.Record, now time.Time, p accountant.Params, last *lastCycle) view {
	v := view{at: now, rows: make([]row, 0, len(records))}
	if !p.Groups.None() {
		groups := map[string]accountant.Record{}
		for _, r := range records {
			if r.IsGroup() {
				groups[r.Name] = r
			}
		}
		for _, g := range p.Groups.List {
			r := groups[g.Name]
			r.Name = g.Name
			one := rowOf(r, now, p)
			one.in, one.group, one.dealt = g.Name, true, true
			one.part = part{configured: true, config: g.Quota}
			v.rows = append(v.rows, one)
		}
	}
	for _, r := range records {
		if !r.IsGroup() {
			one := rowOf(r, now, p)
			one.in = p.Groups.NameOf(r.Name)
			v.rows = append(v.rows, one)
		}
	}
	if last != nil {
		v.negotiated(*last)
	}
	v.policy = v.rootPolicy()
	return v
}

func rowOf(r accountant.Record, now time.Time, p accountant.Params) row {
	r = r.AsOf(now, p)
	factor, _ := r.FactorIn(now, p)
	return row{
		name: r.Name, priority: r.Priority, factor: factor, effective: r.Priority * factor,
		slots: int64(r.ResourcesUsed), inUse: r.InUse.Float(), within: r.Subtree.Float(),
		accumulated: r.Slots.Seconds(), usage: r.Weighted.Seconds(), counted: !r.Begin.IsZero() || r.Weighted != (accountant.Usage{}),
		begin: r.Begin, last: r.Last, floor: r.Floor, ceiling: r.Ceiling.Int(),
	}
}

// negotiated adds what the last cycle found.
func (v *view) negotiated(last lastCycle) {
	groups := map[string]negotiator.Group{}
	for _, g := range last.Groups {
		groups[g.Name] = g
	}
	shares := map[string]negotiator.Share{}
	for _, s := range last.Submitters {
		shares[s.Name] = s
	}
	pie := map[string]float64{} // by group
	for i := range v.rows {
		pie[v.rows[i].in] += shares[v.rows[i].name].PieSlice
	}
	for i := range v.rows {
		r := &v.rows[i]
		r.dealt = true
		if g, ok := groups[r.name]; ok && r.group {
			r.part = part{
				configured: true, config: r.part.config, negotiated: true,
				effective: g.EffectiveQuota, subtree: g.SubtreeQuota, surplus: g.SurplusPolicy, sortKey: g.GroupSortKey, requested: g.Requested,
				taken: g.Surplus, demand: max(0, negotiator.Micro(g.Requested-g.Usage)), divided: true,
			}
		}
		if s, ok := shares[r.name]; ok && !r.group {
			r.limit = s.Limit
			if pie[r.in] > 0 {
				r.share = s.PieSlice / pie[r.in]
			}
		}
	}
}

// rootPolicy returns the surplus policy of nobody's group.
func (v *view) rootPolicy() string {
	i := slices.IndexFunc(v.rows, func(r row) bool { return r.group && r.name == accountant.RootGroup })
	if i < 0 {
		return ""
	}
	return v.rows[i].part.surplus
}

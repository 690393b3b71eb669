package accounts

import (
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
)

// Row is one submitter or accounting group with everything that a display shows
// of it. Usage is in seconds; weights, the share's limit, floor, ceiling and quotas are
// slot weight.
type Row struct {
	Name  string
	In    string // the accounting group that it belongs to; a group's own name
	Group bool

	Priority, Effective, Factor float64
	slots                       int64   // in use
	InUse, within               float64 // weight in use; of a group with those below
	Accumulated, Usage          float64 // in slot seconds, in weight seconds
	Counted                     bool    // whether usage was ever counted
	lastDay                     float64 // percent of all submitters' usage in the last 24 hours
	sampled                     bool    // whether lastDay is known
	Begin, Last                 time.Time
	Floor, Ceiling              int64   // ceiling below 0: none
	dealt                       bool    // whether share and limit are known, as groups' are: they have none
	share, limit                float64 // of the last cycle
	Part                        Part
}

// Part is a group's entitlement.
type Part struct {
	Configured bool // config is known
	Negotiated bool // everything else is
	// config is the quota as configured, effective what came of it for the
	// group alone, subtree with those below.
	Config, Effective, Subtree float64
	Surplus                    string // no, byquota or regroup
	SortKey, Requested         float64
	// taken is the group's usage beyond its quota after the last cycle, demand the
	// requests of its idle jobs. divided says that both are known; HTCondor's ads lack
	// them.
	taken, demand float64
	divided       bool
}

// LastDay returns the submitter's percentage of all usage in the last 24 hours, if View.LastDay found it.
func (r *Row) LastDay() (percent float64, known bool) { return r.lastDay, r.sampled }

// View is all rows there are: groups first, parents before their children.
type View struct {
	At     time.Time // as of when
	Rows   []Row
	Policy string // the surplus policy of the whole pool
}

// LastCycle is what displays need of the last cycle's report.
type LastCycle struct {
	Submitters []negotiator.Share
	Groups     []negotiator.Group
}

// ViewOf returns the records as of now, in their order, behind the groups of the
// configuration. Without a cycle last is nil.
func ViewOf(records []accountant.Record, now time.Time, p accountant.Params, last *LastCycle) View {
	v := View{At: now, Rows: make([]Row, 0, len(records))}
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
			one.In, one.Group, one.dealt = g.Name, true, true
			one.Part = Part{Configured: true, Config: g.Quota}
			v.Rows = append(v.Rows, one)
		}
	}
	for _, r := range records {
		if !r.IsGroup() {
			one := rowOf(r, now, p)
			one.In = p.Groups.NameOf(r.Name)
			v.Rows = append(v.Rows, one)
		}
	}
	if last != nil {
		v.negotiated(*last)
	}
	v.Policy = v.RootPolicy()
	return v
}

func rowOf(r accountant.Record, now time.Time, p accountant.Params) Row {
	r = r.AsOf(now, p)
	factor, _ := r.FactorIn(now, p)
	return Row{
		Name: r.Name, Priority: r.Priority, Factor: factor, Effective: r.Priority * factor,
		slots: int64(r.ResourcesUsed), InUse: r.InUse.Float(), within: r.Subtree.Float(),
		Accumulated: r.Slots.Seconds(), Usage: r.Weighted.Seconds(), Counted: !r.Begin.IsZero() || r.Weighted != (accountant.Usage{}),
		Begin: r.Begin, Last: r.Last, Floor: r.Floor, Ceiling: r.Ceiling.Int(),
	}
}

// negotiated adds the results of the last cycle.
func (v *View) negotiated(last LastCycle) {
	groups := map[string]negotiator.Group{}
	for _, g := range last.Groups {
		groups[g.Name] = g
	}
	shares := map[string]negotiator.Share{}
	for _, s := range last.Submitters {
		shares[s.Name] = s
	}
	pie := map[string]float64{} // by group
	for i := range v.Rows {
		pie[v.Rows[i].In] += shares[v.Rows[i].Name].PieSlice
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		r.dealt = true
		if g, ok := groups[r.Name]; ok && r.Group {
			r.Part = Part{
				Configured: true, Config: r.Part.Config, Negotiated: true,
				Effective: g.EffectiveQuota, Subtree: g.SubtreeQuota, Surplus: g.SurplusPolicy, SortKey: g.GroupSortKey, Requested: g.Requested,
				taken: g.Surplus, demand: max(0, negotiator.Micro(g.Requested-g.Usage)), divided: true,
			}
		}
		if s, ok := shares[r.Name]; ok && !r.Group {
			r.limit = s.Limit
			if pie[r.In] > 0 {
				r.share = s.PieSlice / pie[r.In]
			}
		}
	}
}

// RootPolicy returns the surplus policy of the root group.
func (v *View) RootPolicy() string {
	i := slices.IndexFunc(v.Rows, func(r Row) bool { return r.Group && r.Name == accountant.RootGroup })
	if i < 0 {
		return ""
	}
	return v.Rows[i].Part.Surplus
}

// Listing says which rows and which columns are wanted, and in what order.
type Listing struct {
	Since      time.Time // zero: no matter when they were active
	Users      []string
	Constraint *classad.Expr
	Context    *classad.Context
	Columns    []*Column
	// quotas are shown even if no submitter is in a group.
	Quotas bool
	// flat is one list, groupsFirst one that begins with the groups, grouped
	// shows users under their groups even where only priorities are shown,
	// rollup shows groups with the sums of those below.
	Flat, GroupsFirst, Grouped, Rollup bool
}

// Pick returns the wanted rows in the order of the view.
func (s Listing) Pick(v View) []*Row {
	var picked []*Row
	for i := range v.Rows {
		r := &v.Rows[i]
		if s.wants(r) && (s.Constraint == nil || s.Constraint.Eval(s.Context, AdOf(r, v.At), nil).True()) {
			picked = append(picked, r)
		}
	}
	return picked
}

func (s Listing) wants(r *Row) bool {
	if len(s.Users) > 0 {
		return slices.ContainsFunc(s.Users, func(u string) bool { return accountant.Named(r.Name, u) })
	}
	if r.Group && s.Quotas && s.Grouped { // a tree of quotas has no gaps
		return true
	}
	if r.Last.IsZero() { // nothing was counted yet, though slots may be in use
		return s.Since.IsZero() || !r.Group && (r.slots > 0 || r.InUse > 0)
	}
	return !r.Last.Before(s.Since)
}

// Records returns the names of all rows, in records without other fields.
func (v View) Records() []accountant.Record {
	records := make([]accountant.Record, len(v.Rows))
	for i, r := range v.Rows {
		records[i].Name = r.Name
	}
	return records
}

// LastDay fills in each submitter's share of all usage since then, a day ago: the usage accumulated by
// now less that before. It returns the number of submitters with unknown usage.
func (v *View) LastDay(before map[string]float64, then time.Time) (missing int) {
	total := 0.0
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Group {
			continue
		}
		had, ok := before[r.Name]
		if r.Begin.IsZero() || !r.Begin.Before(then) { // nothing was counted before then, or it was reset since
			had, ok = 0, true
		}
		if !ok {
			missing++
			continue
		}
		r.lastDay, r.sampled = max(r.Usage-had, 0), true
		total += r.lastDay
	}
	for i := range v.Rows {
		v.Rows[i].lastDay = accountant.Percent(v.Rows[i].lastDay, total)
	}
	return missing
}

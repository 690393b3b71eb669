package userprio

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/report"
	"fairspool/lib/report/accounts"
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
	if err := s.View(func(v *spool.View) error { records = v.Submitters(); return nil }); err != nil {
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

// showsAds reports whether a display needs what only ads have.
func showsAds(c *cmdline.Call) bool {
	return c.Has("long") || c.Has("json") || c.Has("af") || c.Has("autoformat") || c.Has("constraint")
}

// readCycle returns what the last cycle found, nil without one. A report that
// does not read is no reason not to show priorities: what it would say is not known.
func readCycle(c *cmdline.Call, s *spool.Spool) *lastCycle {
	last := new(lastCycle)
	found, err := report.Read(s.Report, last)
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

// activeFor is how long ago anything must have been in use for a submitter
// to be shown without being asked for.
const activeFor = 24 * time.Hour

// chosen says which rows and which columns are wanted, and in what order.
type chosen struct {
	since      time.Time // zero: no matter when they were active
	users      []string
	constraint *classad.Expr
	context    *classad.Context
	columns    []*column
	// quotas are shown even where nobody is in a group.
	quotas bool
	// flat is one list, groupsFirst one that begins with the groups, grouped
	// shows users under their groups even where only priorities are shown,
	// rollup shows groups with the sums of those below.
	flat, groupsFirst, grouped, rollup bool
}

func selection(c *cmdline.Call) (chosen, error) {
	if len(c.Args) == 2 {
		if _, err := strconv.ParseFloat(c.Args[1], 64); err == nil {
			return chosen{}, cmdline.Usagef("%s is no submitter: -setfactor %s %s sets a factor, -setprio a priority", c.Args[1], c.Args[0], c.Args[1])
		}
	}
	s := chosen{
		users: c.Args, columns: columnsOf(c), context: &classad.Context{Now: c.Now}, quotas: c.Has("quotas") || c.Has("surplus"),
		rollup: c.Has("grouprollup"), groupsFirst: c.Has("grouporder"), grouped: c.Has("hierarchical"),
	}
	if _, err := c.One("flat", "hierarchical"); err != nil {
		return s, err
	}
	s.flat = c.Has("flat") || s.groupsFirst && !c.Has("hierarchical")
	if c.Has("constraint") {
		e, err := classad.ParseExpr(c.Value("constraint"))
		if err != nil {
			return s, cmdline.Usagef("-constraint: %s: %v", c.Value("constraint"), err)
		}
		s.constraint = e
	}
	if len(c.Args) > 0 || c.Has("allusers") {
		return s, nil
	}
	s.since = c.Now.Add(-activeFor)
	if c.Has("activefrom") {
		day, err := date(c.Values("activefrom"), c.Now.Location())
		if err != nil {
			return s, err
		}
		s.since = day
	}
	return s, nil
}

// date reads month, day and year. A year below 50 is one of 20YY, below 100
// one of 19YY.
func date(mdy []string, zone *time.Location) (time.Time, error) {
	var n [3]int
	for i, text := range mdy {
		x, err := strconv.ParseUint(text, 10, 14)
		if err != nil {
			return time.Time{}, cmdline.Usagef("-activefrom: %q: not a number of a month, day or year", text)
		}
		n[i] = int(x)
	}
	switch {
	case n[2] < 50:
		n[2] += 2000
	case n[2] < 100:
		n[2] += 1900
	}
	t := time.Date(n[2], time.Month(n[0]), n[1], 0, 0, 0, 0, zone)
	if y, m, d := t.Date(); y != n[2] || int(m) != n[0] || d != n[1] {
		return t, cmdline.Usagef("-activefrom: %s: no such day", strings.Join(mdy, " "))
	}
	return t, nil
}

// show is the display: of the spool, or of a file of ads.
func show(c *cmdline.Call) error {
	if !c.Has("inputfile") {
		if _, err := c.Spool(); err != nil { // from now on it is the pool's time
			return err
		}
	}
	s, err := selection(c)
	if err != nil {
		return err
	}
	var v view
	if c.Has("inputfile") {
		v, err = fileView(c)
	} else {
		v, err = spoolView(c)
	}
	if err != nil {
		return err
	}
	if err := display(c, s, v); err != nil {
		return err
	}
	if len(s.users) == 0 {
		return nil
	}
	return s.complain(c, v.records())
}

// pick returns the wanted rows in the order of the view.
func (s chosen) pick(v view) []*row {
	var picked []*row
	for i := range v.rows {
		r := &v.rows[i]
		if s.wants(r) && (s.constraint == nil || s.constraint.Eval(s.context, adOf(r, v.at), nil).True()) {
			picked = append(picked, r)
		}
	}
	return picked
}

func (s chosen) wants(r *row) bool {
	if len(s.users) > 0 {
		return slices.ContainsFunc(s.users, func(u string) bool { return accountant.Named(r.name, u) })
	}
	if r.group && s.quotas && s.grouped { // a tree of quotas has no gaps
		return true
	}
	if r.last.IsZero() { // nothing was counted yet, perhaps of what is in use
		return s.since.IsZero() || !r.group && (r.slots > 0 || r.inUse > 0)
	}
	return !r.last.Before(s.since)
}

// complain fails when somebody asked for by name is not known.
func (s chosen) complain(c *cmdline.Call, records []accountant.Record) error {
	var failed error
	for _, u := range s.users {
		if !slices.ContainsFunc(records, func(r accountant.Record) bool { return accountant.Named(r.Name, u) }) {
			c.Warn("%v", accounts.Unknown(u, records))
			failed = cmdline.ErrReported
		}
	}
	return failed
}

// records returns who is there, by name only.
func (v view) records() []accountant.Record {
	records := make([]accountant.Record, len(v.rows))
	for i, r := range v.rows {
		records[i].Name = r.name
	}
	return records
}

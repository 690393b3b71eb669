package accounts

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/report/table"
)

// Column is one figure of a submitter or group: the attribute of ads that has it, and how
// tables show it.
type Column struct {
	// attr is the attribute of ads, which -inputfile reads back; empty for a figure that another
	// column has in ads.
	attr string
	// field returns the figure's place in a row: a *float64, *int64, *time.Time, *string or *bool.
	// It is nil for a figure that depends on the whole table.
	field func(r *Row) any
	// known returns the field of the row that reports whether the figure is known; nil: it always is.
	// An ad lacks an unknown figure, or has it as undefined.
	known     func(r *Row) *bool
	undefined bool
	ofGroups  bool // users have no such figure
	// samples says that the figure comes from samples: View.LastDay fills it in.
	samples bool

	// on are the options that show the column in tables, parted by blanks; option is one of the
	// column's own.
	on     string
	option Option
	// quota columns are of interest where there are groups. Tree columns show, in a tree of
	// groups, what these use of their quotas and want.
	quota, tree bool
	// optional columns vanish when all of their cells are blank.
	optional bool
	// direction is the order of rows that earlier columns leave equal: 1 for ascending, -1 for
	// descending, 0 for no order by this column.
	direction int

	above, below string // the heading, with HTCondor's widths
	width        int
	left         bool // the cells are aligned to the left
	whole        bool // a number has no decimals, else two
	hours        bool // the cell is in hours, the figure in seconds
	blank        func(r *Row) bool
	cell         func(t *Table, b []byte, r *Row) []byte // nil: the figure
	// sum columns add up: in the footer's total, and in groups with -grouprollup.
	sum, total bool

	classic *classic
}

// Attributes of the columns that orders and layouts depend on.
const (
	attrReal  = "Priority"
	attrEUP   = "EffectivePriority"
	attrUsage = "WeightedAccumulatedUsage"
)

// every is all columns in their fixed order. A new one is one row here.
var every = []Column{
	{attr: "Name", field: func(r *Row) any { return &r.Name }},
	{attr: "AccountingGroup", field: func(r *Row) any { return &r.In }},
	{attr: "IsAccountingGroup", field: func(r *Row) any { return &r.Group }},
	{attr: "SubmitterShare", field: func(r *Row) any { return &r.share }, known: func(r *Row) *bool { return &r.dealt }, undefined: true},
	{attr: "SubmitterLimit", field: func(r *Row) any { return &r.limit }, known: func(r *Row) *bool { return &r.dealt }, undefined: true},
	{option: Option{Name: "groupid", Min: 1, Help: "show the groups' numbers"},
		above: "Group", below: "Id", width: 5, cell: func(t *Table, b []byte, r *Row) []byte {
			if n := t.numbers[r.In]; n > 0 {
				b = strconv.AppendInt(b, int64(n), 10)
			}
			return b
		}},
	{option: Option{Name: "order", Min: 1, Help: "show the groups' order"},
		above: "Group", below: "Order", width: 9, cell: (*Table).orderCell},
	{attr: "GroupSortKey", field: func(r *Row) any { return &r.Part.SortKey }, known: negotiated, ofGroups: true,
		option: Option{Name: "sortkey", Min: 2, Help: "show the key by which groups are ordered"},
		above:  "Group", below: "Sort Key", width: 9, blank: func(r *Row) bool { return !r.Part.Negotiated }, cell: func(_ *Table, b []byte, r *Row) []byte {
			if r.Part.SortKey >= math.MaxFloat32 {
				return append(b, "<last>"...)
			}
			return decimals(b, r.Part.SortKey, 2, 9)
		}},
	{attr: "EffectiveQuota", field: func(r *Row) any { return &r.Part.Effective }, known: negotiated, ofGroups: true,
		on: "all quotas", quota: true, above: "Effective", below: "Quota", width: 9},
	{attr: "ConfigQuota", field: func(r *Row) any { return &r.Part.Config }, known: func(r *Row) *bool { return &r.Part.Configured }, ofGroups: true,
		on: "all most quotas", quota: true, above: "Config", below: "Quota", width: 9},
	{attr: "SurplusPolicy", field: func(r *Row) any { return &r.Part.Surplus }, known: negotiated, ofGroups: true,
		on: "all most quotas", option: Option{Name: "surplus", Min: 1, Help: "show whether groups use surplus"}, quota: true,
		above: "Use", below: "Surplus", width: 7, left: true, total: true, cell: surplusCell},
	{attr: "SubtreeQuota", field: func(r *Row) any { return &r.Part.Subtree }, known: negotiated, ofGroups: true,
		on: "all quotas", quota: true, above: "Subtree", below: "Quota", width: 9},
	{attr: attrEUP, field: func(r *Row) any { return &r.Effective },
		on: "all most priority", direction: 1, above: "Effective", below: "Priority", width: 12, blank: func(r *Row) bool { return r.Group },
		classic: &classic{"all most", 14, [3]string{"Effective", "Priority ", "---------"}}},
	{attr: attrReal, field: func(r *Row) any { return &r.Priority },
		on: "all priority", above: "Real", below: "Priority", width: 8,
		classic: &classic{"all", 8, [3]string{"Real  ", "Priority", "--------"}}},
	{attr: "PriorityFactor", field: func(r *Row) any { return &r.Factor },
		on: "all most priority", above: "Priority", below: "Factor", width: 9, blank: func(r *Row) bool { return r.Factor == 0 },
		classic: &classic{"all", 12, [3]string{"Priority  ", "Factor   ", "------------"}}},
	{attr: "ResourcesUsed", field: func(r *Row) any { return &r.slots }, sum: true,
		classic: &classic{"all", 4, [3]string{"Res ", "Used", "----"}}},
	{attr: "WeightedResourcesUsed", field: func(r *Row) any { return &r.InUse }, sum: true, total: true,
		on: "all most usage", above: "Wghted", below: "In Use", width: 6, whole: true, blank: func(r *Row) bool { return r.InUse == 0 && !r.Counted }},
	{attr: "HierWeightedResourcesUsed", field: func(r *Row) any { return &r.within }, ofGroups: true},
	{attr: "AccumulatedUsage", field: func(r *Row) any { return &r.Accumulated }, hours: true, sum: true,
		classic: &classic{"all usage", 12, [3]string{"Accumulated ", "Usage (hrs) ", "----------- "}}},
	{attr: attrUsage, field: func(r *Row) any { return &r.Usage }, hours: true, sum: true, total: true,
		on: "all most usage", direction: 1, above: "Total Usage", below: "(wghted-hrs)", width: 12},
	{attr: "LastDayPercent", field: func(r *Row) any { return &r.lastDay }, known: func(r *Row) *bool { return &r.sampled }, samples: true,
		option: Option{Name: "lastday", Help: "show each submitter's part of all usage in the last 24 hours, in percent"}, direction: -1,
		above: "Last Day", below: "Share %", width: 8, blank: func(r *Row) bool { return r.Group }, sum: true, total: true},
	{attr: "BeginUsageTime", field: func(r *Row) any { return &r.Begin },
		on: "all usage", above: "Usage", below: "Start Time", width: 16, optional: true,
		classic: &classic{"all usage", 16, [3]string{"Usage     ", "Start Time   ", "----------------"}}},
	{attr: "LastUsageTime", field: func(r *Row) any { return &r.Last }, total: true,
		on: "all usage", above: "Last", below: "Usage Time", width: 16, optional: true,
		classic: &classic{"all usage", 16, [3]string{"Last     ", "Usage Time   ", "----------------"}}},
	{on: "all most", above: "Time Since", below: "Last Usage", width: 10, optional: true, total: true,
		cell: func(t *Table, b []byte, r *Row) []byte { return t.ago(b, r.Last) }},
	{attr: "Requested", field: func(r *Row) any { return &r.Part.Requested }, known: negotiated, ofGroups: true,
		on: "all most quotas", quota: true, above: "Weighted", below: "Requested", width: 10, whole: true},
	{field: func(r *Row) any { return &r.InUse }, tree: true, above: "Weighted", below: "In Use", width: 9},
	{attr: "SurplusUsed", field: func(r *Row) any { return &r.Part.taken }, known: divided, ofGroups: true,
		tree: true, above: "Surplus", below: "In Use", width: 9},
	{attr: "Demand", field: func(r *Row) any { return &r.Part.demand }, known: divided, ofGroups: true,
		tree: true, below: "Demand", width: 9},
	{attr: "Floor", field: func(r *Row) any { return &r.Floor },
		on: "all most", above: "Submitter", below: "Floor", width: 9, blank: func(r *Row) bool { return r.Group || r.Floor <= 0 }},
	{attr: "Ceiling", field: func(r *Row) any { return &r.Ceiling },
		on: "all most", above: "Submitter", below: "Ceiling", width: 9, blank: func(r *Row) bool { return r.Group || r.Ceiling < 0 }},
}

func negotiated(r *Row) *bool { return &r.Part.Negotiated }
func divided(r *Row) *bool    { return &r.Part.divided }

// Option is an option of a column of its own.
type Option struct {
	Name, Help string
	Min        int // letters of the shortest abbreviation; 0: it is spelled in full
}

// Options returns the options of single columns.
func Options() (list []Option) {
	for _, c := range every {
		if c.option.Name != "" {
			list = append(list, c.option)
		}
	}
	return list
}

// NeedLastDay reports whether one of the columns shows usage of the last 24 hours.
func NeedLastDay(list []*Column) bool {
	return slices.ContainsFunc(list, func(c *Column) bool { return c.samples })
}

// ColumnsWith returns the columns that options ask for.
func ColumnsWith(has func(option string) bool) (list []*Column) {
	for i := range every {
		if c := &every[i]; slices.ContainsFunc(append(strings.Fields(c.on), c.option.Name), has) {
			list = append(list, c)
		}
	}
	return list
}

// columnOf returns the column of an attribute.
func columnOf(attr string) *Column {
	return &every[slices.IndexFunc(every, func(c Column) bool { return c.attr == attr })]
}

// append appends a row's cell, nothing for a blank one.
func (c *Column) append(t *Table, b []byte, r *Row) []byte {
	if c.ofGroups && !r.Group {
		return b
	}
	return c.figure(t, b, r)
}

// figure appends the cell of a row of any kind.
func (c *Column) figure(t *Table, b []byte, r *Row) []byte {
	switch {
	case c.blank != nil && c.blank(r):
		return b
	case c.cell != nil:
		return c.cell(t, b, r)
	case c.known != nil && !*c.known(r):
		return append(b, unknown...)
	}
	places := 2
	if c.whole {
		places = 0
	}
	switch p := c.field(r).(type) {
	case *float64:
		return decimals(b, c.shown(*p), places, c.width)
	case *int64:
		return decimals(b, float64(*p), places, c.width)
	case *time.Time:
		return t.moment(b, *p)
	}
	return b
}

// shown returns a number in the unit of cells.
func (c *Column) shown(x float64) float64 {
	if c.hours {
		return x / 3600
	}
	return x
}

// compare compares two rows in the column's direction.
func (c *Column) compare(a, b *Row) int {
	return c.direction * cmp.Compare(*c.field(a).(*float64), *c.field(b).(*float64))
}

// add adds another row's figure to one's.
func (c *Column) add(r, other *Row) {
	if c.known != nil && *c.known(other) {
		*c.known(r) = true
	}
	switch p := c.field(r).(type) {
	case *float64:
		*p += *c.field(other).(*float64)
	case *int64:
		*p += *c.field(other).(*int64)
	}
}

// set gives an ad, which may have another row's, the attribute of a row. Times are Unix seconds, 0
// for never.
func (c *Column) set(ad *classad.Ad, r *Row) {
	if c.attr == "" || c.ofGroups && !r.Group {
		return
	}
	if c.known != nil && !*c.known(r) {
		if c.undefined {
			ad.Set(c.attr, classad.Literal(classad.Undefined()))
		} else {
			ad.Delete(c.attr)
		}
		return
	}
	switch p := c.field(r).(type) {
	case *float64:
		ad.SetReal(c.attr, *p)
	case *int64:
		ad.SetInt(c.attr, *p)
	case *time.Time:
		ad.SetInt(c.attr, unixOf(*p))
	case *string:
		ad.SetString(c.attr, *p)
	case *bool:
		ad.SetBool(c.attr, *p)
	}
}

// read reads the attribute back. What an ad lacks stays as it is.
func (c *Column) read(f fields, r *Row) {
	if c.attr == "" || c.ofGroups && !r.Group {
		return
	}
	var ok bool
	switch p := c.field(r).(type) {
	case *float64:
		*p, ok = f.number(c.attr)
	case *int64:
		var n int64
		if n, ok = f.ad.EvalInt(f.context, c.attr+f.behind); ok {
			*p = n
		}
	case *time.Time:
		*p = f.moment(c.attr)
	case *string:
		*p, ok = f.ad.EvalString(f.context, c.attr+f.behind)
	case *bool:
		*p, ok = f.ad.EvalBool(f.context, c.attr+f.behind)
	}
	if ok && c.known != nil {
		*c.known(r) = true
	}
}

// unknown stands where the last cycle would have to tell.
const unknown = "n/d"

// orderCell appends the key by which the row's group is ordered, which depends on the
// shown columns.
func (t *Table) orderCell(b []byte, r *Row) []byte {
	key, known := t.keys[r.In]
	switch {
	case len(t.numbers) == 0:
		return b
	case !t.by(attrEUP) && !t.by(attrUsage):
		key = t.order(r)
	case !known || key == negotiator.SortLate:
		return b
	case t.by(attrUsage):
		key /= 3600
	}
	return decimals(b, key, 2, 9)
}

// surplusCell reports whether a group uses what others leave; the root group always does.
func surplusCell(_ *Table, b []byte, r *Row) []byte {
	switch policy := r.Part.Surplus; {
	case r.Name == accountant.RootGroup:
		return append(b, "yes"...)
	case !r.Part.Negotiated:
		return append(b, unknown...)
	case policy == "regroup":
		return append(b, "Regroup"...)
	case policy == "byquota":
		return append(b, "ByQuota"...)
	default:
		return append(b, policy...)
	}
}

// decimals appends x with so many decimals, or shorter where that is too wide.
func decimals(b []byte, x float64, places, width int) []byte {
	n := len(b)
	if b = strconv.AppendFloat(b, x, 'f', places, 64); len(b)-n > width {
		b = strconv.AppendFloat(b[:n], x, 'g', width-6, 64)
	}
	return b
}

// moment writes a point in time, nothing for the zero one.
func (t *Table) moment(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	at = t.local(at)
	year, month, day := at.Date()
	hour, minute, _ := at.Clock()
	b = append(table.Pad(b, boolInt(month < 10)), strconv.Itoa(int(month))...)
	b = two(append(b, '/'), day)
	b = strconv.AppendInt(append(b, '/'), int64(year), 10)
	return two(append(two(append(b, ' '), hour), ':'), minute)
}

// ago writes how long before the figures at was, as days+hours:minutes.
func (t *Table) ago(b []byte, at time.Time) []byte {
	switch {
	case at.IsZero():
		return b
	case t.At.Unix() <= at.Unix():
		return append(b, "<now>"...)
	}
	minutes := int64(t.At.Sub(at) / time.Minute)
	days := minutes / 1440
	b = strconv.AppendInt(table.Pad(b, boolInt(days < 10)+boolInt(days < 100)), days, 10)
	return two(append(two(append(b, '+'), int(minutes/60%24)), ':'), int(minutes%60))
}

// two writes a number below 100 with two digits.
func two(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func boolInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

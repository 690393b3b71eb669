package userprio

import (
	"math"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
)

// column is one column of the table, with HTCondor's widths and headings.
type column struct {
	of           columns
	width        int
	above, below string
	left         bool // aligned to the left
	cell         func(t *table, b []byte, r *row) []byte
	total        func(t *table, b []byte) []byte // nil: blank
	// optional columns vanish when all of their cells are blank.
	optional bool
}

// every is all columns in their fixed order.
var every = []column{
	{of: colGroupID, width: 5, above: "Group", below: "Id", cell: func(t *table, b []byte, r *row) []byte {
		if n := t.numbers[r.in]; n > 0 {
			b = strconv.AppendInt(b, int64(n), 10)
		}
		return b
	}},
	{of: colOrder, width: 9, above: "Group", below: "Order", cell: (*table).orderCell},
	{of: colSortKey, width: 9, above: "Group", below: "Sort Key", cell: func(_ *table, b []byte, r *row) []byte {
		if !r.group || !r.part.negotiated {
			return b
		}
		if r.part.sortKey >= math.MaxFloat32 {
			return append(b, "<last>"...)
		}
		return numberCell(b, r.part.sortKey, 9)
	}},
	{of: colOwnQuotas, width: 9, above: "Effective", below: "Quota", cell: ofGroup(func(p part) (float64, bool) { return p.effective, p.negotiated }, 9)},
	{of: colConfigQuota, width: 9, above: "Config", below: "Quota", cell: ofGroup(func(p part) (float64, bool) { return p.config, p.configured }, 9)},
	{of: colSurplus, width: 7, above: "Use", below: "Surplus", left: true, cell: surplusCell, total: func(t *table, b []byte) []byte { return policy(b, t.policy) }},
	{of: colOwnQuotas, width: 9, above: "Subtree", below: "Quota", cell: ofGroup(func(p part) (float64, bool) { return p.subtree, p.negotiated }, 9)},
	{of: colPriority, width: 12, above: "Effective", below: "Priority", cell: func(_ *table, b []byte, r *row) []byte {
		if r.group {
			return b
		}
		return numberCell(b, r.effective, 12)
	}},
	{of: colReal, width: 8, above: "Real", below: "Priority", cell: func(_ *table, b []byte, r *row) []byte { return numberCell(b, r.priority, 8) }},
	{of: colPriority, width: 9, above: "Priority", below: "Factor", cell: func(_ *table, b []byte, r *row) []byte {
		if r.factor == 0 {
			return b
		}
		return numberCell(b, r.factor, 9)
	}},
	{of: colUsage, width: 6, above: "Wghted", below: "In Use", cell: func(_ *table, b []byte, r *row) []byte {
		if r.inUse == 0 && !r.counted {
			return b
		}
		return decimals(b, r.inUse, 0, 6)
	}, total: totalOf(func(r *row) float64 { return r.inUse }, func(b []byte, x float64) []byte { return decimals(b, x, 0, 6) })},
	{of: colUsage, width: 12, above: "Total Usage", below: "(wghted-hrs)", cell: func(_ *table, b []byte, r *row) []byte { return numberCell(b, r.usage/3600, 12) },
		total: totalOf(func(r *row) float64 { return r.usage }, func(b []byte, x float64) []byte { return numberCell(b, x/3600, 12) })},
	{of: colTimes, width: 16, above: "Usage", below: "Start Time", optional: true, cell: func(t *table, b []byte, r *row) []byte { return t.moment(b, r.begin) }},
	{of: colTimes, width: 16, above: "Last", below: "Usage Time", optional: true, cell: func(t *table, b []byte, r *row) []byte { return t.moment(b, r.last) },
		total: func(t *table, b []byte) []byte { return t.moment(b, t.since) }},
	{of: colSince, width: 10, above: "Time Since", below: "Last Usage", optional: true, cell: func(t *table, b []byte, r *row) []byte { return t.ago(b, r.last) },
		total: func(t *table, b []byte) []byte { return t.ago(b, t.since) }},
	{of: colRequested, width: 10, above: "Weighted", below: "Requested", cell: func(_ *table, b []byte, r *row) []byte {
		switch {
		case !r.group:
			return b
		case !r.part.negotiated:
			return append(b, unknownQuota...)
		}
		return decimals(b, r.part.requested, 0, 10)
	}},
	{of: colGroupUse, width: 9, above: "Weighted", below: "In Use", cell: func(_ *table, b []byte, r *row) []byte { return numberCell(b, r.inUse, 9) }},
	{of: colGroupUse, width: 9, above: "Surplus", below: "In Use", cell: ofGroup(func(p part) (float64, bool) { return p.taken, p.divided }, 9)},
	{of: colGroupUse, width: 9, above: "", below: "Demand", cell: ofGroup(func(p part) (float64, bool) { return p.demand, p.divided }, 9)},
	{of: colLimits, width: 9, above: "Submitter", below: "Floor", cell: func(_ *table, b []byte, r *row) []byte {
		if r.group || r.floor <= 0 {
			return b
		}
		return numberCell(b, float64(r.floor), 9)
	}},
	{of: colLimits, width: 9, above: "Submitter", below: "Ceiling", cell: func(_ *table, b []byte, r *row) []byte {
		if r.group || r.ceiling < 0 {
			return b
		}
		return numberCell(b, float64(r.ceiling), 9)
	}},
}

// unknownQuota stands where the last cycle would have to tell.
const unknownQuota = "n/d"

// ofGroup is a cell with a number that only groups have.
func ofGroup(value func(part) (x float64, known bool), width int) func(*table, []byte, *row) []byte {
	return func(_ *table, b []byte, r *row) []byte {
		if !r.group {
			return b
		}
		x, known := value(r.part)
		if !known {
			return append(b, unknownQuota...)
		}
		return numberCell(b, x, width)
	}
}

// totalOf is the sum over all users.
func totalOf(value func(*row) float64, write func([]byte, float64) []byte) func(*table, []byte) []byte {
	return func(t *table, b []byte) []byte {
		sum := 0.0
		for _, r := range t.picked {
			if !r.group {
				sum += value(r)
			}
		}
		return write(b, sum)
	}
}

// orderCell tells what the row's group is ordered by, which depends on what else is
// shown.
func (t *table) orderCell(b []byte, r *row) []byte {
	key, known := t.keys[r.in]
	switch {
	case len(t.numbers) == 0:
		return b
	case t.columns&(colPriority|colUsage) == 0:
		return numberCell(b, t.order(r), 9)
	case !known || key == negotiator.SortLate:
		return b
	case t.columns&colPriority == 0:
		key /= 3600
	}
	return numberCell(b, key, 9)
}

// surplusCell says whether a group uses what others leave; nobody's always does.
func surplusCell(_ *table, b []byte, r *row) []byte {
	switch {
	case !r.group:
		return b
	case r.name == accountant.RootGroup:
		return append(b, "yes"...)
	case !r.part.negotiated:
		return append(b, unknownQuota...)
	}
	return policy(b, r.part.surplus)
}

// policy writes a surplus policy as tables have it.
func policy(b []byte, name string) []byte {
	switch name {
	case "regroup":
		name = "Regroup"
	case "byquota":
		name = "ByQuota"
	}
	return append(b, name...)
}

// numberCell writes x with two decimals, or shorter where that is too wide.
func numberCell(b []byte, x float64, width int) []byte { return decimals(b, x, 2, width) }

func decimals(b []byte, x float64, places, width int) []byte {
	n := len(b)
	if b = strconv.AppendFloat(b, x, 'f', places, 64); len(b)-n > width {
		b = strconv.AppendFloat(b[:n], x, 'g', width-6, 64)
	}
	return b
}

// moment writes a point in time, nothing for the zero one.
func (t *table) moment(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	at = t.local(at)
	year, month, day := at.Date()
	hour, minute, _ := at.Clock()
	b = append(pad(b, boolInt(month < 10)), strconv.Itoa(int(month))...)
	b = two(append(b, '/'), day)
	b = strconv.AppendInt(append(b, '/'), int64(year), 10)
	return two(append(two(append(b, ' '), hour), ':'), minute)
}

// ago writes how long before the figures at was, as days+hours:minutes.
func (t *table) ago(b []byte, at time.Time) []byte {
	switch {
	case at.IsZero():
		return b
	case t.at.Unix() <= at.Unix():
		return append(b, "<now>"...)
	}
	minutes := int64(t.at.Sub(at) / time.Minute)
	days := minutes / 1440
	b = strconv.AppendInt(pad(b, boolInt(days < 10)+boolInt(days < 100)), days, 10)
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

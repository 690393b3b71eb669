package accountant

import "math"

// Attribute is what an edit can change, by its name in a submitter's ad.
type Attribute string

// The attributes, in the order in which Changed returns them.
const (
	AttrPriority                 Attribute = "Priority" // the RUP
	AttrPriorityFactor           Attribute = "PriorityFactor"
	AttrCeiling                  Attribute = "Ceiling"
	AttrFloor                    Attribute = "Floor"
	AttrAccumulatedUsage         Attribute = "AccumulatedUsage"
	AttrWeightedAccumulatedUsage Attribute = "WeightedAccumulatedUsage"
	AttrBeginUsageTime           Attribute = "BeginUsageTime"
	AttrLastUsageTime            Attribute = "LastUsageTime"
)

// setting is one that stays as it is until somebody changes it, or its lease
// ends.
type setting struct {
	attribute Attribute
	same      func(a, b Record) bool
	copy      func(to *Record, from Record)
}

var settings = [...]setting{
	{AttrPriorityFactor,
		func(a, b Record) bool { return a.Factor == b.Factor && a.FactorLease.same(b.FactorLease) },
		func(to *Record, from Record) { to.Factor, to.FactorLease = from.Factor, from.FactorLease }},
	{AttrCeiling,
		func(a, b Record) bool { return a.Ceiling == b.Ceiling && a.CeilingLease.same(b.CeilingLease) },
		func(to *Record, from Record) { to.Ceiling, to.CeilingLease = from.Ceiling, from.CeilingLease }},
	{AttrFloor,
		func(a, b Record) bool { return a.Floor == b.Floor && a.FloorLease.same(b.FloorLease) },
		func(to *Record, from Record) { to.Floor, to.FloorLease = from.Floor, from.FloorLease }},
}

func (l Lease) same(o Lease) bool { return l.Before == o.Before && l.Until.Equal(o.Until) }

// nearly is by how much of it a RUP may differ from itself reckoned in other
// steps.
const nearly = 1e-9

// Changed returns what the edit itself changed: time that passed since the
// record's last event changed nothing of it. A setting counts with its lease. The
// records are those before and after the edit, both as of it.
func (e Edit) Changed(p Params) (what []Attribute, before, after Record) {
	before, after = e.asOf(e.At, p)
	if math.Abs(before.Priority-after.Priority) > nearly*before.Priority {
		what = append(what, AttrPriority)
	}
	for _, s := range settings {
		if !s.same(before, after) {
			what = append(what, s.attribute)
		}
	}
	for _, x := range []struct {
		attribute Attribute
		same      bool
	}{
		{AttrAccumulatedUsage, before.Slots == after.Slots},
		{AttrWeightedAccumulatedUsage, before.Weighted == after.Weighted},
		{AttrBeginUsageTime, before.Begin.Equal(after.Begin)},
		{AttrLastUsageTime, before.Last.Equal(after.Last)},
	} {
		if !x.same {
			what = append(what, x.attribute)
		}
	}
	return what, before, after
}

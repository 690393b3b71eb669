package accountant

import (
	"math"
	"time"
)

// MinPriority is the best RUP there is, and everybody's first (manual,
// "Real User Priority").
const MinPriority = 0.5

// Record is what is known of one submitter or accounting group as of At. The
// zero Record with a Name is one that never used anything. A submitter's name
// has an @, a group's has none.
type Record struct {
	Name string
	// Priority is the RUP at At; lower is better. Below MinPriority (so also
	// the zero value) it reads as MinPriority.
	Priority float64
	// At is the last event, in policy time; zero before the first.
	At time.Time
	// HalfLife is the half-life in force since At; zero before the first
	// event.
	HalfLife time.Duration
	// Factor is the priority factor set by hand, 0 when it is computed.
	Factor float64
	// ResourcesUsed is the number of slots charged since At, InUse their
	// weight (WeightedResourcesUsed).
	// In a group these are its own members', and Subtree is the weight of the
	// group and all groups below, which its RUP follows; for the root group its
	// own again.
	ResourcesUsed  int
	InUse, Subtree Weight
	// OutsideSlots and Outside are what of ResourcesUsed and InUse is for slots
	// that say themselves that the submitter holds them, as of the last cycle.
	OutsideSlots int
	Outside      Weight
	// Slots is the lifetime usage up to At in slot time (AccumulatedUsage),
	// Weighted the same in weight time (WeightedAccumulatedUsage).
	Slots, Weighted Usage
	// Begin is when usage was first counted, or last reset; Last is when
	// anything was last in use. Zero: never.
	Begin, Last time.Time
	// Ceiling bounds the weight that the submitter may have in use, Floor is
	// the weight that it gets before shares count, 0 for none.
	Ceiling Limit
	Floor   int64
	// Leases are settings on time. One that has run out has no effect from its
	// Until on, whether or not anybody took it out of the record.
	FactorLease, CeilingLease, FloorLease Lease
}

// Limit is a bound in whole units of slot weight. The zero Limit is none.
type Limit struct {
	Set   bool
	Slots int64 // 0 and more
}

// Lease is a setting that ends at Until, when the value Before comes back: a
// factor, 0 for the computed one; a ceiling, -1 for none; a floor. The zero Lease
// is none.
type Lease struct {
	Until  time.Time
	Before float64
}

// Over reports whether the lease has run out at t.
func (l Lease) Over(t time.Time) bool { return !l.Until.IsZero() && !t.Before(l.Until) }

// LimitOf returns the limit that n stands for: none below zero.
func LimitOf(n int64) Limit {
	if n < 0 {
		return Limit{}
	}
	return Limit{true, n}
}

// Int returns the limit as ads have it, -1 for none.
func (l Limit) Int() int64 {
	if !l.Set {
		return -1
	}
	return l.Slots
}

// withoutOver returns the record with the leases that have run out at t taken
// back.
func (r Record) withoutOver(t time.Time) Record {
	if r.FactorLease.Over(t) {
		r.Factor, r.FactorLease = r.FactorLease.Before, Lease{}
	}
	if r.CeilingLease.Over(t) {
		r.Ceiling, r.CeilingLease = LimitOf(int64(r.CeilingLease.Before)), Lease{}
	}
	if r.FloorLease.Over(t) {
		r.Floor, r.FloorLease = int64(r.FloorLease.Before), Lease{}
	}
	return r
}

// held returns the weight that drives the RUP.
func (r Record) held() Weight { return max(r.InUse, r.Subtree) }

// AsOf returns the record advanced to t with nothing changed in between: RUP
// by the manual's formula, usage by weight times time, leases that ended by then
// taken back. Without a claim begun or ended between them, AsOf(b) of AsOf(a)
// equals AsOf(b) up to rounding. For a t before r.At only those leases go: the
// clock went back, and no event is ever older than the last.
func (r Record) AsOf(t time.Time, p Params) Record {
	r.Priority = math.Max(r.Priority, MinPriority)
	if r.HalfLife <= 0 {
		r.HalfLife = p.HalfLife
	}
	t = t.Truncate(time.Millisecond)
	r = r.withoutOver(t)
	if r.At.IsZero() {
		r.At = t
		return r
	}
	d := t.Sub(r.At)
	if d <= 0 {
		return r
	}
	r.Priority = math.Max(decay(r.Priority, r.held().Float(), d, r.HalfLife), MinPriority)
	r.Slots = r.Slots.Add(Weight(r.ResourcesUsed)*One, d)
	r.Weighted = r.Weighted.Add(r.InUse, d)
	if r.ResourcesUsed > 0 {
		if r.Begin.IsZero() {
			r.Begin = r.At
		}
		r.Last = t
	}
	r.At = t
	return r
}

// decay is the manual's formula, section "Priority Calculation": the RUP
// after inUse was held for d with half-life h.
func decay(priority, inUse float64, d, h time.Duration) float64 {
	beta := math.Exp2(-d.Seconds() / h.Seconds())
	return priority*beta + inUse*(1-beta)
}

// Settle returns the record advanced to t and, from then on, under the
// half-life of p: a changed half-life is an event.
func (r Record) Settle(t time.Time, p Params) Record {
	r = r.AsOf(t, p)
	r.HalfLife = p.HalfLife
	return r
}

// Start returns the record after a claim of weight w was charged from t on.
func (r Record) Start(t time.Time, w Weight, p Params) Record {
	r = r.Settle(t, p)
	r.ResourcesUsed++
	r.InUse += w
	if r.Begin.IsZero() {
		r.Begin = r.At
	}
	r.Last = r.At
	return r
}

// End returns the record after a claim of weight w ceased to be charged at t.
func (r Record) End(t time.Time, w Weight, p Params) Record {
	r = r.Settle(t, p)
	r.ResourcesUsed = max(r.ResourcesUsed-1, 0)
	r.InUse = max(r.InUse-w, 0)
	return r
}

// GiveBack returns the record after a claim of weight w, charged since from (the
// record's At after Start), turned out never to have started: what it added to
// usage and RUP is taken away again. The RUP is linear in the weights held, so
// the claim added w·(1-0.5^((t-from)/h)), with the half-life that was in force;
// only where the floor of MinPriority cut in between, or the RUP was set by
// hand, is the result not what it would have been. Usage that was reset in
// between is not taken away twice.
func (r Record) GiveBack(from, t time.Time, w Weight, p Params) Record {
	halfLife := r.AsOf(t, p).HalfLife
	r = r.End(t, w, p)
	d := r.At.Sub(from)
	if d <= 0 {
		return r
	}
	r.Priority = r.without(from, w, halfLife)
	if r.Begin.After(from) {
		d = r.At.Sub(r.Begin)
	}
	r.Slots = r.Slots.Take(One, d)
	r.Weighted = r.Weighted.Take(w, d)
	return r
}

// without returns the RUP that the record would have if weight w had not been
// held from then on until now.
func (r Record) without(from time.Time, w Weight, halfLife time.Duration) float64 {
	d := r.At.Sub(from)
	if d <= 0 {
		return r.Priority
	}
	return math.Max(r.Priority-decay(0, w.Float(), d, halfLife), MinPriority)
}

// HeldOutside returns the record when slots of this number and weight say at t that
// the submitter holds them, without a claim of the pool: such a holding is charged
// from the cycle that sees it to the one that no longer does.
func (r Record) HeldOutside(slots int, w Weight, t time.Time, p Params) Record {
	if r.OutsideSlots == slots && r.Outside == w {
		return r
	}
	r = r.Settle(t, p)
	r.ResourcesUsed = max(r.ResourcesUsed+slots-r.OutsideSlots, 0)
	r.InUse = max(r.InUse+w-r.Outside, 0)
	r.OutsideSlots, r.Outside = slots, w
	if slots > 0 {
		if r.Begin.IsZero() {
			r.Begin = r.At
		}
		r.Last = r.At
	}
	return r
}

// Joined returns the record of one who went by two names until t: what either used
// and uses is added up. Where both have a setting, that of r counts.
func (r Record) Joined(o Record, t time.Time, p Params) Record {
	r, o = r.Settle(t, p), o.Settle(t, p)
	r.Priority = math.Max(r.Priority+o.Priority-MinPriority, MinPriority)
	r.ResourcesUsed += o.ResourcesUsed
	r.InUse += o.InUse
	r.Subtree += o.Subtree
	r.OutsideSlots += o.OutsideSlots
	r.Outside += o.Outside
	r.Slots, r.Weighted = r.Slots.Plus(o.Slots), r.Weighted.Plus(o.Weighted)
	if r.Begin.IsZero() || !o.Begin.IsZero() && o.Begin.Before(r.Begin) {
		r.Begin = o.Begin
	}
	if o.Last.After(r.Last) {
		r.Last = o.Last
	}
	if r.Factor == 0 && r.FactorLease == (Lease{}) {
		r.Factor, r.FactorLease = o.Factor, o.FactorLease
	}
	if !r.Ceiling.Set && r.CeilingLease == (Lease{}) {
		r.Ceiling, r.CeilingLease = o.Ceiling, o.CeilingLease
	}
	if r.Floor == 0 && r.FloorLease == (Lease{}) {
		r.Floor, r.FloorLease = o.Floor, o.FloorLease
	}
	return r
}

// Irrelevant reports whether nothing would be lost if the record were not there:
// the RUP is the best there is, nothing is in use or was ever, and nothing is
// set by hand. Such records go by themselves (manual, "Group Accounting": entities
// that are no longer relevant are removed). A group's goes when the group is no
// longer configured.
func (r Record) Irrelevant(t time.Time, p Params) bool {
	if _, configured := p.Groups.Find(r.Name); configured && !p.Groups.None() {
		return false
	}
	r = r.AsOf(t, p)
	return r.Priority <= MinPriority && r.ResourcesUsed == 0 && r.held() == 0 && r.Slots == (Usage{}) && r.Weighted == (Usage{}) &&
		r.Factor == 0 && !r.Ceiling.Set && r.Floor == 0 &&
		r.FactorLease == (Lease{}) && r.CeilingLease == (Lease{}) && r.FloorLease == (Lease{})
}

// ResetUsage returns the record with its accumulated usage set to nothing
// as of t; RUP, factor and what is in use stay (userprio -resetusage).
func (r Record) ResetUsage(t time.Time, p Params) Record {
	r = r.AsOf(t, p)
	r.Slots, r.Weighted = Usage{}, Usage{}
	r.Begin = r.At
	return r
}

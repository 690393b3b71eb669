package accountant

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MinPriority is the best RUP, and a new submitter's RUP (manual, "Real User Priority").
const MinPriority = 0.5

// Record is the account of one submitter or accounting group as of At. The zero Record
// with a Name is of one that never used anything. A submitter's name has an @, a group's
// has none.
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
	// Leases are settings for a limited time. A lease has no effect from its Until on,
	// even if it is still in the record.
	FactorLease, CeilingLease, FloorLease Lease
}

// Limit is a bound in whole units of slot weight. The zero Limit means no limit.
type Limit struct {
	Set   bool
	Slots int64 // 0 and more
}

// Lease is a setting that ends at Until, when the value Before returns: a factor, 0 for
// the computed one; a ceiling, -1 for none; a floor. The zero Lease means that there is
// none.
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

// GiveBack returns the record after a claim of weight w, charged since from (the record's
// At after Start), turned out never to have started: its contribution to usage and RUP is
// subtracted again. The RUP is linear in the weights held, so the claim added
// w·(1-0.5^((t-from)/h)), with the half-life that was in force. The result is exact
// unless the floor of MinPriority cut in between, or the RUP was set by hand. Usage that
// was reset in between is not subtracted twice.
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

// Joined returns the record of a submitter that had two names until t: the usage of both
// is added up. If both have a setting, r's counts.
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

// ResetUsage returns the record with accumulated usage 0 as of t; RUP, factor and the
// weight in use stay (userprio -resetusage).
func (r Record) ResetUsage(t time.Time, p Params) Record {
	r = r.AsOf(t, p)
	r.Slots, r.Weighted = Usage{}, Usage{}
	r.Begin = r.At
	return r
}

// Params are the settings that priorities depend on.
type Params struct {
	HalfLife      time.Duration // PRIORITY_HALFLIFE, above zero
	DefaultFactor float64       // DEFAULT_PRIO_FACTOR, at least 1
	NiceFactor    float64       // NICE_USER_PRIO_FACTOR
	NiceGroup     string        // NICE_USER_ACCOUNTING_GROUP_NAME
	RemoteFactor  float64       // REMOTE_PRIO_FACTOR
	LocalDomain   string        // ACCOUNTANT_LOCAL_DOMAIN; empty: users of RemoteDomains alone are remote
	RemoteDomains []string      // of FLOCK_FROM
	Groups        *Groups       // GROUP_NAMES and what belongs to them; nil: none
	Windows       WindowParams  // [maui], for tallies
	Decay         DecayParams   // [sge], for tallies
	// DefaultProjects are the projects of users' jobs that name none ([sge]), by user.
	DefaultProjects map[string]string
}

// FactorFrom says where a priority factor comes from.
type FactorFrom int

// The sources of a factor, in order of precedence.
const (
	FactorSet     FactorFrom = iota + 1 // set by hand, without an end
	FactorLeased                        // set by hand, on time
	FactorNice                          // NICE_USER_PRIO_FACTOR
	FactorGroup                         // GROUP_PRIO_FACTOR_group
	FactorRemote                        // REMOTE_PRIO_FACTOR
	FactorDefault                       // DEFAULT_PRIO_FACTOR
)

// FactorOf returns the priority factor that the configuration gives a submitter or group
// without its own factor, and the source of the factor: first the setting for nice users,
// then the group's, then the setting for users of another domain, then the default
// (manual, "Effective User Priority").
func (p Params) FactorOf(name string) (float64, FactorFrom) {
	if p.Nice(name) {
		return p.NiceFactor, FactorNice
	}
	if p.Groups != nil {
		if f := p.Groups.List[p.Groups.Of(name)].Factor; f >= 1 {
			return f, FactorGroup
		}
	}
	if _, domain := split(name); domain != "" && p.remote(domain) {
		return p.RemoteFactor, FactorRemote
	}
	return p.DefaultFactor, FactorDefault
}

// remote reports whether a domain is another pool's.
func (p Params) remote(domain string) bool {
	if p.LocalDomain != "" {
		return !strings.EqualFold(domain, p.LocalDomain)
	}
	return slices.ContainsFunc(p.RemoteDomains, func(d string) bool { return strings.EqualFold(d, domain) })
}

// Nice reports whether a submitter is a nice user, which is one of the group
// NiceGroup, without regard to case: nice-user.alice@example.org.
func (p Params) Nice(name string) bool {
	user, _ := split(name)
	group, _, ok := strings.Cut(user, ".")
	return ok && p.NiceGroup != "" && strings.EqualFold(group, p.NiceGroup)
}

// FactorIn returns the factor in force at t, and where it comes from: the one
// set by hand, else FactorOf.
func (r Record) FactorIn(t time.Time, p Params) (float64, FactorFrom) {
	if r = r.withoutOver(t); r.Factor < 1 {
		return p.FactorOf(r.Name)
	}
	if !r.FactorLease.Until.IsZero() {
		return r.Factor, FactorLeased
	}
	return r.Factor, FactorSet
}

// Effective returns the EUP at t: the RUP at t times the factor. Lower is
// better.
func (r Record) Effective(t time.Time, p Params) float64 {
	factor, _ := r.FactorIn(t, p)
	return r.AsOf(t, p).Priority * factor
}

// IsGroup reports whether the record is an accounting group's: its name has no @.
func (r Record) IsGroup() bool { return !strings.Contains(r.Name, "@") }

// NamesSubmitter reports whether a submitter may have this name: user@domain, with
// neither blanks nor double quotes nor what cannot be seen.
func NamesSubmitter(name string) bool {
	user, domain, _ := cutDomain(name)
	return user != "" && domain != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, unnameable)
}

func unnameable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '"'
}

// split cuts a submitter's name at its last @.
func split(name string) (user, domain string) {
	user, domain, _ = cutDomain(name)
	return user, domain
}

// cutDomain does as split, and reports whether there was an @.
func cutDomain(name string) (user, domain string, ok bool) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

// SubmitterName returns the name under which a job is accounted: owner, or
// the accounting group in its place, at the pool's domain (manual, "Group
// Accounting": the group is given without domain, which is appended).
func SubmitterName(owner, accountingGroup, domain string) string {
	if user, own, foreign := strings.Cut(owner, "@"); foreign {
		owner, domain = user, own
	}
	if accountingGroup != "" {
		owner = accountingGroup
	}
	return owner + "@" + domain
}

// Clock is how far a clock is ahead of the time since the machine was booted, which cannot
// be set. For the machine's clock it changes only when the clock is set: what slews it moves
// both, and so does a suspended machine. A pool keeps its own, see ClockMark. The zero Clock
// is unknown, as for a time given by the user.
type Clock struct {
	Boot   string        // names the boot, without white space
	Offset time.Duration // whole milliseconds
}

// ClockMark is the name of the spool's mark that has the pool's Clock, as String writes it.
const ClockMark = "clock"

// Known reports whether the clock says anything.
func (c Clock) Known() bool { return c.Boot != "" }

// Booted returns when a known clock's machine was booted, as it tells that now.
func (c Clock) Booted() time.Time { return time.Unix(0, 0).Add(c.Offset) }

// String returns the clock as ParseClock reads it, empty for the zero Clock.
func (c Clock) String() string {
	if !c.Known() {
		return ""
	}
	return fmt.Sprintf("%s %d", c.Boot, c.Offset.Milliseconds())
}

// ParseClock is the inverse of String; empty text is the zero Clock.
func ParseClock(text string) (Clock, error) {
	if text == "" {
		return Clock{}, nil
	}
	boot, offset, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(offset, 10, 64)
	d := time.Duration(ms) * time.Millisecond
	if err != nil || boot == "" || d.Milliseconds() != ms {
		return Clock{}, fmt.Errorf("%q: want a boot's name and milliseconds", text)
	}
	return Clock{boot, d}, nil
}

// Reading is a policy time, and what there is to know of the clock that it was
// read from at that moment.
type Reading struct {
	Now   time.Time
	Clock Clock
	// Ahead is how far a time of the user's own is ahead of the machine's clock; 0 where
	// the user says that it is meant so.
	Ahead time.Duration
}

// By returns the same moment by another clock of the same boot, and the reading itself by a clock
// of another boot.
func (r Reading) By(c Clock) Reading {
	if c.Known() && c.Boot == r.Clock.Boot {
		r.Now, r.Clock = r.Now.Add(c.Offset-r.Clock.Offset), c
	}
	return r
}

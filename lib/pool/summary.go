package pool

import (
	"cmp"
	"math"
	"strings"

	"fairspool/lib/classad"
)

// SlotSummary is what totals of a pool are computed from, of a slot.
type SlotSummary struct {
	Name, Machine string // Machine is that of the ad, empty if it has none
	State, Holder string
	Cpus, Load    float64 // NaN: the ad has no such number
	Until         int64   // in Unix seconds, until when the ad is valid; 0: for ever
	Partitionable bool
}

// Summarized are the attributes that a summary comes from.
var Summarized = []string{
	AttrMachine, AttrState, AttrAccountingGroup, AttrRemoteUser, AttrCpus, AttrLoadAvg, AttrLastHeardFrom, AttrAdLifetime, AttrPartitionable,
}

// Totalled are the attributes that totals of jobs come from, by submitter, state and reason.
var Totalled = [...]string{
	AttrOwner, AttrAccountingGroup, AttrJobStatus, AttrHoldReasonCode, AttrHoldReason, AttrNumJobStarts,
	"AfterOk", "AfterAny", "DependenciesMet", "DeferralTime", AttrRequestCpus,
}

// ClaimSummary is what totals need of a claim.
type ClaimSummary struct {
	Job           JobID
	State         ClaimState
	Slot, Machine string
	Piece         Piece
}

// Summary returns what totals need of the claim.
func (c *Claim) Summary() ClaimSummary {
	return ClaimSummary{c.Job, c.State, c.Slot, c.Machine, c.Piece}
}

// SlotAd does as that of a Claim.
func (c *ClaimSummary) SlotAd() string { return cmp.Or(c.Piece.Of, c.Slot) }

// SummaryOf returns the summary of a slot.
func SummaryOf(c *classad.Context, slot Slot) SlotSummary {
	s := SlotSummary{Name: slot.Name, Cpus: math.NaN(), Load: math.NaN(), Partitionable: Partitionable(c, slot.Ad)}
	s.Machine, _ = slot.Ad.EvalString(c, AttrMachine)
	s.State, _ = slot.Ad.EvalString(c, AttrState)
	s.Holder = HolderIn(c, slot.Ad, s.State)
	if n, ok := slot.Ad.EvalNumber(c, AttrCpus); ok {
		s.Cpus = n
	}
	if x, ok := slot.Ad.EvalNumber(c, AttrLoadAvg); ok {
		s.Load = x
	}
	s.Until = ValidUntil(c, slot.Ad)
	return s
}

// ValidUntil returns until when a slot's ad is valid, in Unix seconds; 0: for ever.
func ValidUntil(c *classad.Context, ad *classad.Ad) int64 {
	life, limited := ad.EvalInt(c, AttrAdLifetime)
	if heard, known := ad.EvalInt(c, AttrLastHeardFrom); limited && life > 0 && known {
		return max(heard+life, 1)
	}
	return 0
}

// SummariesOf returns the summaries of slots.
func SummariesOf(slots []Slot) []SlotSummary {
	list := make([]SlotSummary, 0, len(slots))
	for _, s := range slots {
		list = append(list, SummaryOf(&classad.Context{}, s))
	}
	return list
}

// On returns the name of the slot's machine; without one the slot's own.
func (s *SlotSummary) On() string { return cmp.Or(s.Machine, s.Name) }

// Vacant reports whether a slot can be assigned according to its own ad: it has no
// holder, and its State, if it has one, is Unclaimed or Matched.
func (s *SlotSummary) Vacant() bool { return IsOpen(s.State) && s.Holder == "" }

// CpusLeft returns how many processors pieces leave of those of a partitionable slot.
func (s *SlotSummary) CpusLeft(pieces []Resources) float64 {
	left := s.Cpus
	if !(left > 0) || math.IsInf(left, 0) {
		return 0
	}
	if len(pieces) == 0 {
		return left
	}
	taken := 0.0
	for _, p := range pieces {
		taken += p.Of(AttrCpus)
	}
	return max(0, tidy(left-taken))
}

// IsOpen reports whether a slot in a state takes jobs.
func IsOpen(state string) bool {
	return state == "" || strings.EqualFold(state, "Unclaimed") || strings.EqualFold(state, "Matched")
}

// HolderIn returns the submitter that a slot's own ad names as its holder, in this state; empty: none.
func HolderIn(eval *classad.Context, ad *classad.Ad, state string) string {
	if !strings.EqualFold(state, "Claimed") && !strings.EqualFold(state, "Preempting") {
		return ""
	}
	if group, ok := ad.EvalString(eval, AttrAccountingGroup); ok {
		return group
	}
	user, _ := ad.EvalString(eval, AttrRemoteUser)
	return user
}

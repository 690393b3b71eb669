package pool

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// Slot is one slot ad of the pool.
type Slot struct {
	// Name is the ad's Name, the key of the slot in the whole pool.
	Name string
	// Ad is the slot as advertised. It is shared: never change it.
	Ad *classad.Ad
	// Seq is the transaction that last changed the ad; 0 for an ad written by
	// hand, which has no transaction.
	Seq uint64
	// Source is "file:line" of an ad written by hand, empty for one that was
	// advertised.
	Source string
}

// Machine returns the name of the slot's machine; without one the slot's own.
func (s Slot) Machine(c *classad.Context) string {
	if machine, ok := s.Ad.EvalString(c, AttrMachine); ok {
		return machine
	}
	return s.Name
}

// AmountOf returns an attribute of an ad that is an amount, such as Cpus; 0 if it is not
// a number.
func AmountOf(c *classad.Context, ad *classad.Ad, name string) float64 {
	x, ok := ad.EvalNumber(c, name)
	if !ok || !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// ClaimState is where a claim stands between match and release.
type ClaimState int

// The states of a claim. The job of a Matched claim is still idle, and so is the job of a
// Promised claim. A Promised claim waits for the holder of its slot to go: another claim,
// which is Vacating, or a holder named by the slot's own ad. It turns Matched then.
const (
	Matched ClaimState = iota + 1
	RunningClaim
	Vacating
	Promised
)

var claimStates = [...]string{Matched: "Matched", RunningClaim: "Running", Vacating: "Vacating", Promised: "Promised"}

// String returns the state's name as it is written in ads and reports.
func (s ClaimState) String() string {
	if s < Matched || s > Promised {
		return "ClaimState(" + strconv.Itoa(int(s)) + ")"
	}
	return claimStates[s]
}

// ParseClaimState is the inverse of String.
func ParseClaimState(name string) (ClaimState, error) {
	for s := Matched; s <= Promised; s++ {
		if claimStates[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q: not a state of a claim", name)
}

// Claim binds a slot and a job. A job has at most one claim at a time, so
// the job names it; Attempt tells one claim of a job from the next.
type Claim struct {
	Job     JobID
	Attempt int // 1 for the job's first match, growing by 1
	// Slot is the slot's Name; for a piece of a partitionable slot the dynamic slot's,
	// such as "slot1_2@node" of "slot1@node".
	Slot      string
	Piece     Piece  // the part of a partitionable slot; zero for a whole slot
	Machine   string // the slot's Machine; its starter takes the claim up
	Submitter string // who is charged
	State     ClaimState
	Weight    accountant.Weight
	By        accountant.Credentials // of the job, at the match
	// Limits are the concurrency limits that the claim counts for, as
	// negotiator.Match has them; empty for none.
	Limits string
	// Rank is the value of the slot's Rank for the job at the match: the slot's
	// CurrentRank; 0 if the value was no number.
	Rank float64
	// MatchedAt is the policy time of the match; of a claim that was Promised once, when
	// it turned Matched.
	MatchedAt time.Time
	// ChargedSince is the policy time of the match of a claim that was Promised once. Zero
	// for all others.
	ChargedSince time.Time
	StartedAt    time.Time // policy time of Matched -> Running; zero before
	PID          int       // the supervisor's process id on Machine; 0 before the start
	// Flocked is the engine of kind fairspool with the pool that gave the slot, from the slot's FlockedTo at
	// the match; empty: the slot is the pool's own. Only claims of its own slots are usage of the pool.
	Flocked string
	// Instance is the instance of the pilot that began the attempt; empty: a supervisor of the
	// spool's machine did, or it has not begun.
	Instance string
	// Told is the number of the supervisor's last report that is recorded, of a pilot; 0 for none.
	Told int
	// VacateSince is the policy time of Running -> Vacating; zero before.
	VacateSince time.Time
	// VacateReason is why the claim has to end though its job was not removed; empty
	// before.
	VacateReason string
	// VacateCode and VacateSubcode are the VacateReasonCode and VacateReasonSubCode that
	// go with that; 0 for none.
	VacateCode, VacateSubcode int
	// PromisedTo is the job to which the slot was promised when the claim turned Vacating;
	// zero for none. Whether it still is, that job's claim says (Promises).
	PromisedTo JobID
	// Seq is the transaction that last changed the claim.
	Seq uint64
}

// Followed is what processes that follow the claims of a machine know of each: there may be many claims, and many processes.
type Followed struct {
	Attempt
	State    ClaimState
	PID      int // as Claim has it, and the next likewise
	Instance string
	Why      Reason // the claim's VacateReason and its codes
}

// Followed returns the part of a claim that its watchers need. It keeps no other text in
// memory.
func (c Claim) Followed() Followed {
	why := Reason{Text: strings.Clone(c.VacateReason), Code: c.VacateCode, Subcode: c.VacateSubcode}
	return Followed{Attempt{c.Job, c.Attempt}, c.State, c.PID, strings.Clone(c.Instance), why}
}

// SlotAd returns the Name of the slot ad that the claim takes from: the
// partitionable slot's, or the slot's own.
func (c Claim) SlotAd() string {
	if c.Piece.Of != "" {
		return c.Piece.Of
	}
	return c.Slot
}

// ChargedFrom returns the policy time since which the claim is charged, while it is
// Charged: the time of the match.
func (c Claim) ChargedFrom() time.Time {
	if c.ChargedSince.IsZero() {
		return c.MatchedAt
	}
	return c.ChargedSince
}

// RunsFrom returns when the claim began to run, or was made if it has not.
func (c Claim) RunsFrom() time.Time {
	if c.StartedAt.IsZero() {
		return c.ChargedFrom()
	}
	return c.StartedAt
}

// Charged reports whether a claim in this state is charged to its submitter: from the
// match until the claim is told to vacate.
func (s ClaimState) Charged() bool { return s == Matched || s == RunningClaim || s == Promised }

// Usage returns the weight of the claim in the usage of the pool, in a state that is Charged: 0 for a slot of another
// pool.
func (c Claim) Usage() accountant.Weight {
	if c.Flocked != "" {
		return 0
	}
	return c.Weight
}

// Promises reports whether another claim is the one that waits for this one to end.
func (c Claim) Promises(other Claim) bool {
	return c.State == Vacating && other.State == Promised &&
		c.PromisedTo == other.Job && c.Slot == other.Slot && c.Piece == other.Piece
}

// Kept returns a Promised claim as it is when its slot came free at now: Matched, so
// that a starter may take it up from then on. It has been charged since the match.
func (c Claim) Kept(now time.Time) Claim {
	c.State, c.ChargedSince = Matched, c.MatchedAt
	if now.After(c.MatchedAt) {
		c.MatchedAt = now
	}
	return c
}

// LockName returns the name of the file that the claim's supervisor keeps locked as long
// as it lives: one for each job and attempt, never used twice.
func (c Claim) LockName() string {
	return Attempt{c.Job, c.Attempt}.String()
}

// Backoff leaves a slot alone after matches that no starter took up: it gets no match
// before Until. Failures counts these matches in a row.
type Backoff struct {
	Slot     string
	Failures int
	Until    time.Time
}

// HeldOutside returns the Promised claims that wait for no claim of the same slot to end,
// in the order of the list: their slots' own ads name another holder, or did so at the
// match.
func HeldOutside(claims []Claim) []Claim {
	var promised []Claim
	for _, c := range claims {
		if c.State == Promised {
			promised = append(promised, c)
		}
	}
	if len(promised) == 0 {
		return nil
	}
	held := map[string]bool{}
	for _, c := range claims {
		if c.State != Promised {
			held[c.Slot] = true
		}
	}
	var waiting []Claim
	for _, c := range promised {
		if !held[c.Slot] {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// Contradiction is a claim that contradicts the others, and why, in one line.
type Contradiction struct {
	Claim Claim
	Why   string
}

// Contradictions returns the claims of a pool that contradict others: the later of two
// claims that have, or are promised, one slot; and a promise of a slot that its holder does
// not leave for the job. Without these claims the others are sound. They are in the order
// of the list, with unkept promises behind the rest.
func Contradictions(claims []Claim) []Contradiction {
	holders, promises := map[string]Claim{}, map[string]Claim{}
	var wrong []Contradiction
	add := func(c Claim, format string, args ...any) {
		wrong = append(wrong, Contradiction{c, fmt.Sprintf(format, args...)})
	}
	for _, c := range claims {
		of, verb := holders, "claimed by"
		if c.State == Promised {
			of, verb = promises, "promised to"
		}
		if first, twice := of[c.Slot]; twice {
			add(c, "slot %s is %s job %v and job %v", c.Slot, verb, first.Job, c.Job)
			continue
		}
		of[c.Slot] = c
	}
	for _, c := range claims {
		if c.State != Promised || promises[c.Slot].Job != c.Job {
			continue
		}
		if holder, held := holders[c.Slot]; held && !holder.Promises(c) {
			add(c, "slot %s is promised to job %v, and job %v, which has it, does not leave it for that", c.Slot, c.Job, holder.Job)
		}
	}
	return wrong
}

// Accounts holds the events of the accounts, except those of claims of other pools' slots.
type Accounts interface {
	Submitters() []accountant.Record
	Tallies() []accountant.Tally
	Claims() []Claim
}

// LastEvent returns the time of the last event before a time, for the zero time the last of all;
// zero if there was none. Flocked are the records of submitters' usage in other pools.
func LastEvent(of Accounts, flocked []accountant.Record, before time.Time) (last time.Time) {
	note := func(t time.Time) {
		if t.After(last) && (before.IsZero() || t.Before(before)) {
			last = t
		}
	}
	for _, r := range slices.Concat(of.Submitters(), flocked) {
		note(r.At)
	}
	for _, y := range of.Tallies() {
		note(y.At)
	}
	for _, c := range of.Claims() {
		note(c.ChargedSince)
		note(c.MatchedAt)
		note(c.StartedAt)
		note(c.VacateSince)
	}
	return last
}

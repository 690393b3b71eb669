package pool

import (
	"fmt"
	"strconv"
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

// ClaimState is where a claim stands between match and release.
type ClaimState int

// The states of a claim. A Matched claim's job is still idle. A Promised
// claim waits for the holder of its slot, which is Vacating, to go.
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
	// Slot is the slot's Name; of a piece of a partitionable slot that of the
	// dynamic slot, such as "slot1_2@node" of "slot1@node".
	Slot      string
	Piece     Piece  // what is taken of a partitionable slot; zero for a whole slot
	Machine   string // the slot's Machine: whose starter takes the claim up
	Submitter string // who is charged
	State     ClaimState
	Weight    accountant.Weight
	By        accountant.Credentials // of the job, at the match
	// Limits are the concurrency limits that the claim counts for, as
	// negotiator.Match has them; empty for none.
	Limits string
	// Rank is what the slot's Rank made of the job at the match: the slot's CurrentRank. 0
	// where that was no number.
	Rank      float64
	MatchedAt time.Time // policy time
	StartedAt time.Time // policy time of Matched -> Running; zero before
	PID       int       // the supervisor's process id on Machine; 0 before the start
	// VacateSince is the policy time of Running -> Vacating; zero before.
	VacateSince time.Time
	// Seq is the transaction that last changed the claim.
	Seq uint64
}

// SlotAd returns the Name of the slot ad that the claim takes from: the
// partitionable slot's, or the slot's own.
func (c Claim) SlotAd() string {
	if c.Piece.Of != "" {
		return c.Piece.Of
	}
	return c.Slot
}

// LockName returns the name of the file whose lock the claim's supervisor
// holds as long as it lives: one a job and attempt, never used twice.
func (c Claim) LockName() string {
	return c.Job.String() + "." + strconv.Itoa(c.Attempt)
}

// Backoff leaves a slot alone whose matches were not taken up: no match
// before Until. Failures counts the matches in a row that nobody took up.
type Backoff struct {
	Slot     string
	Failures int
	Until    time.Time
}

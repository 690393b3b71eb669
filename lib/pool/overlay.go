package pool

import (
	"time"

	"fairspool/lib/classad"
)

// Overlay returns a slot's ad as a claim on the slot makes it, with HTCondor's
// attributes: State and Activity, since when it is in them (EnteredCurrentState), who
// has it (RemoteUser, RemoteOwner, the submitter both), its job (JobId) and what the
// slot's Rank makes of that (CurrentRank); of a job that was started also when
// (JobStart) and how many seconds ago, as of now (TotalJobRunTime). The ad, which may
// be that of a dynamic slot, is not changed. What a Promised claim is to its slot
// OverlayPromise says: it does not have it yet.
func Overlay(ad *classad.Ad, c Claim, now time.Time) *classad.Ad {
	if c.State == Promised {
		return OverlayPromise(ad, c)
	}
	state, activity, since := "Claimed", "Busy", c.StartedAt
	switch c.State {
	case Matched:
		state, activity, since = "Matched", "Idle", c.MatchedAt
	case Vacating:
		state, activity, since = "Preempting", "Vacating", c.VacateSince
	}
	ad = ad.Clone()
	ad.SetString(AttrState, state)
	ad.SetString(AttrActivity, activity)
	ad.SetInt(AttrEnteredState, since.Unix())
	ad.SetString(AttrRemoteUser, c.Submitter)
	ad.SetString(AttrRemoteOwner, c.Submitter)
	ad.SetString(AttrJobID, c.Job.String())
	ad.SetReal(AttrCurrentRank, c.Rank)
	if !c.StartedAt.IsZero() {
		ad.SetInt(AttrJobStart, c.StartedAt.Unix())
		ad.SetInt(AttrTotalJobRunTime, max(now.Unix()-c.StartedAt.Unix(), 0))
	}
	return ad
}

// OverlayPromise returns a slot's ad with what a Promised claim says: for whom its
// holder has to leave (PreemptingUser, PreemptingOwner, the submitter both), with
// which job (PreemptingJobId), and what the slot's Rank makes of that
// (PreemptingRank). The ad is not changed.
func OverlayPromise(ad *classad.Ad, c Claim) *classad.Ad {
	ad = ad.Clone()
	ad.SetString(AttrPreemptingUser, c.Submitter)
	ad.SetString(AttrPreemptingOwner, c.Submitter)
	ad.SetString(AttrPreemptingJobID, c.Job.String())
	ad.SetReal(AttrPreemptingRank, c.Rank)
	return ad
}

package pool

import (
	"time"

	"fairspool/lib/classad"
)

// OverlayDrained returns a slot's ad as that of a drained machine is, with HTCondor's
// attributes: State and Activity, which is Retiring while jobs are still leaving the
// machine and Idle then, since when (EnteredCurrentState, unless that is zero), Draining,
// and the reason, if there is one (DrainReason). The ad is not changed. It is for a slot
// that nobody holds.
func OverlayDrained(ad *classad.Ad, since time.Time, reason string, leaving bool) *classad.Ad {
	ad = ad.Clone()
	ad.SetString(AttrState, Drained)
	activity := "Idle"
	if leaving {
		activity = "Retiring"
	}
	ad.SetString(AttrActivity, activity)
	if !since.IsZero() {
		ad.SetInt(AttrEnteredState, since.Unix())
	}
	ad.SetBool("Draining", true)
	if reason != "" {
		ad.SetString("DrainReason", reason)
	}
	return ad
}

// Drained is the State of a slot on a drained machine, which takes no jobs.
const Drained = "Drained"

package pool

import (
	"testing"
	"time"

	"fairspool/lib/classad"
)

func TestOverlay(t *testing.T) {
	const slot = `[ Name = "a"; Cpus = 2; State = "Unclaimed"; Activity = "Idle"; EnteredCurrentState = 5 ]`
	claim := Claim{
		Job: JobID{3, 1}, Slot: "a", Submitter: "alice@x", Rank: 2.5,
		MatchedAt: time.Unix(10, 0), StartedAt: time.Unix(20, 0), VacateSince: time.Unix(30, 0),
	}
	const of = `RemoteUser = "alice@x"; RemoteOwner = "alice@x"; JobId = "3.1"; CurrentRank = 2.5`
	for _, c := range []struct {
		state ClaimState
		want  string
	}{
		{Matched, `[ Name = "a"; Cpus = 2; State = "Matched"; Activity = "Idle"; EnteredCurrentState = 10; ` + of + ` ]`},
		{RunningClaim, `[ Name = "a"; Cpus = 2; State = "Claimed"; Activity = "Busy"; EnteredCurrentState = 20; ` + of + `; JobStart = 20; TotalJobRunTime = 80 ]`},
		{Vacating, `[ Name = "a"; Cpus = 2; State = "Preempting"; Activity = "Vacating"; EnteredCurrentState = 30; ` + of + `; JobStart = 20; TotalJobRunTime = 80 ]`},
		{Promised, `[ Name = "a"; Cpus = 2; State = "Unclaimed"; Activity = "Idle"; EnteredCurrentState = 5;
			PreemptingUser = "alice@x"; PreemptingOwner = "alice@x"; PreemptingJobId = "3.1"; PreemptingRank = 2.5 ]`},
	} {
		k, a := claim, ad(t, slot)
		if k.State = c.state; c.state == Matched || c.state == Promised {
			k.StartedAt = time.Time{}
		}
		got := Overlay(a, k, time.Unix(100, 0)).Format(classad.StyleSpool)
		if want := ad(t, c.want).Format(classad.StyleSpool); got != want {
			t.Errorf("Overlay(%s, %v) = %s, want %s", slot, c.state, got, want)
		}
		if again := a.Format(classad.StyleSpool); again != ad(t, slot).Format(classad.StyleSpool) {
			t.Errorf("Overlay(%s, %v) changed the ad: %s", slot, c.state, again)
		}
	}
	claim.State = RunningClaim
	if ran, _ := Overlay(ad(t, slot), claim, time.Unix(15, 0)).EvalInt(&classad.Context{}, AttrTotalJobRunTime); ran != 0 {
		t.Errorf("TotalJobRunTime before the start = %d, want 0", ran)
	}
}

package negotiator

import (
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

// carriedOut is the pool when a plan was carried out and who had to go has gone: the new
// jobs run, and the old ones are idle again.
func carriedOut(outer testing.TB, p Pool, plan *Plan, days int) Pool {
	then := now.AddDate(0, 0, days)
	p = after(p, plan)
	p.Slots = slices.Clone(p.Slots)
	p.Claims = slices.DeleteFunc(p.Claims, func(cl pool.Claim) bool {
		return cl.State == pool.Vacating && cl.PromisedTo != pool.JobID{}
	})
	for i := range p.Claims {
		if cl := &p.Claims[i]; cl.State == pool.Matched || cl.State == pool.Promised {
			cl.State, cl.MatchedAt, cl.StartedAt = pool.RunningClaim, then, then
		}
	}
	for _, m := range plan.Matches {
		if m.Preempts == nil || m.Preempts.Job != (pool.JobID{}) {
			continue
		}
		for i := range p.Slots {
			if s := &p.Slots[i]; s.Name == m.Slot {
				s.Ad = s.Ad.Clone()
				s.Ad.SetString("State", "Unclaimed")
				for _, name := range []string{"RemoteUser", "RemoteOwner", "AccountingGroup", "ConcurrencyLimits", "CurrentRank"} {
					s.Ad.Set(name, classad.Literal(classad.Undefined()))
				}
			}
		}
		p.Jobs = append(slices.Clone(p.Jobs), aJob(outer, 1000+len(p.Jobs), 1, m.Preempts.Submitter, ""))
	}
	p.Submitters = slices.Clone(p.Submitters)
	for i := range p.Submitters {
		p.Submitters[i].At = then
	}
	return p
}

// Nobody preempts back and forth: when plans are carried out again and again, at once or
// a day later, at the same EUPs, nobody takes back what was taken for a priority in the
// cycle before, and after a few cycles there is nothing left to preempt.
func TestNoPreemptionBackAndForth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		cfg.RequestClaimTimeout = 0
		step := rapid.IntRange(0, 1).Draw(rt, "days between")
		var story []string
		before := map[string]bool{}
		most := 2*len(p.Slots) + 10
		for n := 0; ; n++ {
			plan := Cycle(p, cfg, now.AddDate(0, 0, n*step))
			story = append(story, ousted(plan))
			took, busy := map[string]bool{}, false
			for _, m := range plan.Matches {
				if busy = busy || m.Preempts != nil; m.Preempts == nil {
					continue
				}
				if m.Reason == PriorityPreemption && before[m.Preempts.Submitter+" "+m.Submitter] {
					rt.Fatalf("%s takes from %s what it lost to it:\n%s", m.Submitter, m.Preempts.Submitter, strings.Join(story, "\n"))
				}
				if m.Reason == PriorityPreemption {
					took[m.Submitter+" "+m.Preempts.Submitter] = true
				}
			}
			if !busy && n > 0 {
				return
			}
			if n > most {
				rt.Fatalf("no end after %d cycles:\n%s\n%s", n, strings.Join(story, "\n"), portrait(p, cfg))
			}
			p, before = carriedOut(t, p, plan, (n+1)*step), took
		}
	})
}

package negotiation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// equalPool draws a pool of slots that all are equal and jobs that all are, of one
// core. Partitionable slots have so many pieces each.
func equalPool(t *rapid.T, outer testing.TB, pieces int) negotiator.Pool {
	var p negotiator.Pool
	text := ""
	if pieces > 1 {
		text = fmt.Sprintf("PartitionableSlot = true; Cpus = %d", pieces)
	}
	n := rapid.IntRange(0, 30/pieces).Draw(t, "slots")
	for i := range n {
		p.Slots = append(p.Slots, aSlot(outer, fmt.Sprintf("slot%d@n", i+1), text))
	}
	users := lawUsers[:rapid.IntRange(1, len(lawUsers)).Draw(t, "users")]
	for i, name := range users {
		p.Submitters = append(p.Submitters, record(name, rapid.SampledFrom([]float64{0.5, 0.7, 1, 2, 5, 10, 33, 1000}).Draw(t, "rup")))
		if c := rapid.IntRange(-9, 6).Draw(t, "ceiling"); c >= 0 {
			p.Submitters[i].Ceiling = accountant.LimitOf(int64(c))
		}
		if count := rapid.SampledFrom([]int{0, 1, 3, 10, 40}).Draw(t, "count"); count > 0 {
			p.Jobs = append(p.Jobs, aJob(outer, i+1, count, name, ""))
		}
	}
	for i := range n * pieces {
		if rapid.IntRange(0, 5).Draw(t, "claimed") > 0 {
			continue
		}
		slot := p.Slots[i/pieces].Name
		cl := pool.Claim{Job: pool.JobID{Cluster: 90, Proc: i}, Attempt: 1, Slot: slot, Submitter: rapid.SampledFrom(users).Draw(t, "holder"),
			Weight: accountant.One, State: pool.RunningClaim}
		if pieces > 1 {
			cl.Slot, cl.Piece = pool.DynamicName(slot, 1+i%pieces), pool.Piece{Of: slot, Takes: "Cpus=1 Memory=128"}
		}
		p.Claims = append(p.Claims, cl)
	}
	return p
}

// targetsByBisection is Targets by bisection.
func targetsByBisection(total float64, claimants []shares.Claimant) []float64 {
	at := func(level float64) (all []float64, sum float64) {
		for _, c := range claimants {
			x := max(c.Usage, min(level/c.EUP, c.Usage+c.Demand))
			all = append(all, x)
			sum += x
		}
		return all, sum
	}
	low, high := 0.0, 0.0
	for _, c := range claimants {
		high = max(high, (c.Usage+c.Demand)*c.EUP)
	}
	if all, sum := at(high); sum <= total {
		return all
	}
	for range 200 {
		mid := (low + high) / 2
		if _, sum := at(mid); sum > total {
			high = mid
		} else {
			low = mid
		}
	}
	all, _ := at(low)
	return all
}

// On equal slots, and on equal pieces of slots, everybody ends within one of the
// weighted max-min ideal, in which nice users share what the others leave.
func TestSharesAreIdeal(t *testing.T) {
	cfg := defaults(t)
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SampledFrom([]int{1, 1, 3, 8}).Draw(rt, "pieces")
		p := equalPool(rt, t, pieces)
		plan := Cycle(p, cfg, now)
		precision := 1e-6
		if pieces > 1 {
			precision = 1 // forecasts deal whole pieces
		}
		free := float64(len(p.Slots)*pieces - len(p.Claims))
		for _, nice := range []bool{false, true} {
			var tier []negotiator.Share
			var claimants []shares.Claimant
			total := free
			for _, s := range plan.Submitters {
				if strings.HasPrefix(s.Name, "nice-user.") != nice {
					continue
				}
				wants := float64(s.Idle)
				for _, r := range p.Submitters {
					if r.Name == s.Name && r.Ceiling.Set {
						wants = max(0, min(wants, float64(r.Ceiling.Slots)-s.Usage))
					}
				}
				tier = append(tier, s)
				claimants = append(claimants, shares.Claimant{EUP: s.EffectivePriority, Usage: s.Usage, Demand: wants})
				total += s.Usage
				free -= float64(s.Matched)
			}
			for i, ideal := range targetsByBisection(total, claimants) {
				s := tier[i]
				if got := s.Usage + float64(s.Matched); math.Abs(got-ideal) >= 1+1e-6 || math.Abs(s.PieSlice-ideal) > precision {
					rt.Fatalf("%s has %v of %v and a pie slice of %v, want within one of %v; all: %+v", s.Name, got, total, s.PieSlice, ideal, plan.Submitters)
				}
			}
		}
		if free < 0 {
			rt.Fatalf("%v slots more are matched than there are", -free)
		}
	})
}

// Where all slots are equal nobody with the better priority goes away with nothing
// while one with a worse gets a slot.
func TestBetterPriorityIsNotLeftWithNothing(t *testing.T) {
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, false), lawConfig(rt, t)
		for i := range p.Slots {
			p.Slots[i].Ad = aSlot(t, p.Slots[i].Name, "Cpus = 2; HasG = true").Ad
		}
		for i := range p.Submitters {
			p.Submitters[i].Floor = 0
		}
		cfg.SkipClusters, cfg.RemoveSignificant = false, nil
		plan := Cycle(p, cfg, now)
		eup := map[string]float64{}
		for _, s := range plan.Submitters {
			eup[s.Name] = s.EffectivePriority
		}
		for _, r := range plan.Rejections {
			s := share(plan, r.Submitter)
			limited := slices.ContainsFunc(p.Submitters, func(a accountant.Record) bool { return a.Name == s.Name && a.Ceiling.Set })
			_, job := jobOf(p, r.Job)
			if s.Usage > 0 || s.Matched > 0 || limited || job.Has("ConcurrencyLimits") || cfg.JobConstraint != nil && !cfg.JobConstraint.Eval(eval, job, nil).True() {
				continue
			}
			for _, m := range plan.Matches {
				if s.EffectivePriority < eup[m.Submitter] && classad.Match(eval, job, slotOf(p, m.Slot, m.Piece)) {
					rt.Fatalf("%s of %s (EUP %v) gets %s, which %s of %s (EUP %v) could use, who gets nothing", m.Job, m.Submitter, eup[m.Submitter],
						m.Slot, r.Job, s.Name, s.EffectivePriority)
				}
			}
		}
	})
}

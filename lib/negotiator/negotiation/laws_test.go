package negotiation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// lasting returns the claims of a pool that the plan does not give up.
func lasting(p negotiator.Pool, plan *negotiator.Plan) (claims []pool.Claim) {
	for _, cl := range p.Claims {
		if !slices.Contains(plan.GiveUp, cl) {
			claims = append(claims, cl)
		}
	}
	return claims
}

// after returns the pool as it is when a plan has been carried out.
func after(p negotiator.Pool, plan *negotiator.Plan) negotiator.Pool {
	p.Claims = lasting(p, plan)
	for _, m := range plan.Matches {
		state := pool.Matched
		if m.Preempts != nil {
			state = pool.Promised
			vacate(&p, m)
		}
		p.Claims = append(p.Claims, pool.Claim{Job: m.Job, Attempt: 2, Slot: m.Slot, Piece: m.Piece, Submitter: m.Submitter,
			State: state, Weight: m.Weight, Rank: m.Rank, Limits: m.Limits, MatchedAt: now})
	}
	p.Backoffs = slices.DeleteFunc(slices.Clone(p.Backoffs), func(b pool.Backoff) bool {
		return slices.ContainsFunc(plan.Backoffs, func(n pool.Backoff) bool { return n.Slot == b.Slot })
	})
	p.Backoffs = append(p.Backoffs, plan.Backoffs...)
	p.Reservations = nil
	for _, r := range plan.Reservations {
		p.Reservations = append(p.Reservations, r.Reservation)
	}
	return p
}

// vacate lets the claim go that a match preempts; from outside there is none.
func vacate(p *negotiator.Pool, m negotiator.Match) {
	for i := range p.Claims {
		if cl := &p.Claims[i]; cl.Job == m.Preempts.Job && cl.Attempt == m.Preempts.Attempt {
			cl.State, cl.VacateSince, cl.PromisedTo = pool.Vacating, now, m.Job
		}
	}
}

// slotOf returns the ad of the slot that a claim or match takes from.
func slotOf(p negotiator.Pool, slot string, piece pool.Piece) *classad.Ad {
	if piece.Of != "" {
		slot = piece.Of
	}
	for _, s := range p.Slots {
		if s.Name == slot {
			return s.Ad
		}
	}
	return nil
}

// jobOf returns a job of the pool, and its ad.
func jobOf(p negotiator.Pool, id pool.JobID) (jobprio.Run, *classad.Ad) {
	for _, j := range p.Jobs {
		if j.Has(id) {
			return j, procAd(j.Ad, id.Proc)
		}
	}
	return jobprio.Run{}, nil
}

// No slot or job is matched twice, the pieces of a slot never exceed it, names of
// dynamic slots are nobody else's, and what is matched does match.
func TestNothingTwice(t *testing.T) {
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := maybeQueued(rt, t, lawPool(rt, t, true), anyPie(rt, lawConfig(rt, t)))
		plan := Cycle(p, cfg, now)
		names, jobs := map[string]bool{}, map[pool.JobID]bool{}
		pieces := map[string][]pool.Resources{}
		for _, s := range p.Slots {
			if pool.Partitionable(eval, s.Ad) {
				names[s.Name] = true
			}
		}
		for _, cl := range lasting(p, plan) {
			jobs[cl.Job], names[cl.Slot] = true, true
			pieces[cl.Piece.Of] = append(pieces[cl.Piece.Of], cl.Piece.Takes)
		}
		for _, cl := range plan.GiveUp {
			names[cl.SlotAd()] = true // rests
		}
		for _, m := range plan.Matches {
			j, job := jobOf(p, m.Job)
			ad := slotOf(p, m.Slot, m.Piece)
			if ad == nil || names[m.Slot] || jobs[m.Job] || j.Submitter != m.Submitter {
				rt.Fatalf("match %+v: no such slot, or the slot or the job is taken, or not this submitter's", m)
			}
			if m.Piece.Of != "" {
				if slotOf(p, m.Slot, pool.Piece{}) != nil {
					rt.Fatalf("match %+v: there is a slot of this name", m)
				}
				ad = pool.Left(eval, ad, pieces[m.Piece.Of])
				if !pool.Fits(eval, ad, m.Piece.Takes) {
					rt.Fatalf("match %+v takes more than is left of %v", m, ad)
				}
				pieces[m.Piece.Of] = append(pieces[m.Piece.Of], m.Piece.Takes)
			}
			if !classad.Match(eval, job, ad) {
				rt.Fatalf("match %+v: %v and %v do not match", m, job, ad)
			}
			names[m.Slot], jobs[m.Job] = true, true
		}
	})
}

// Nobody gets beyond a ceiling or a concurrency limit, and what is charged is the
// weight of the slot.
func TestNoLimitIsExceeded(t *testing.T) {
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := maybeQueued(rt, t, lawPool(rt, t, true), anyPie(rt, lawConfig(rt, t)))
		plan := Cycle(p, cfg, now)
		usage, inUse := map[string]accountant.Weight{}, concurrency.NewInUse(cfg.Limits)
		for _, s := range plan.Submitters {
			w, err := accountant.WeightOf(s.Usage)
			testenv.OK(rt, err)
			usage[s.Name] = w
		}
		for _, cl := range lasting(p, plan) {
			inUse.Add(cl.Limits)
		}
		for _, s := range p.Slots {
			if limits, ok := s.Ad.EvalString(eval, "ConcurrencyLimits"); ok && cfg.SlotConstraint == nil && !claimedWhole(p, plan, s.Name) {
				inUse.Add(limits)
			}
		}
		for _, m := range plan.Matches {
			// HTCondor's spins pass a ceiling by a part of a slot.
			if usage[m.Submitter] += m.Weight; m.Weight > 0 && (cfg.Pie == negotiator.MaxMin || cfg.Queue != nil) {
				for _, r := range p.Submitters {
					if r.Name == m.Submitter && r.Ceiling.Set && usage[m.Submitter].Float() > float64(r.Ceiling.Slots)+rounding {
						rt.Fatalf("match %+v takes the submitter to %v of %d", m, usage[m.Submitter], r.Ceiling.Slots)
					}
				}
			}
			_, job := jobOf(p, m.Job)
			text, _ := job.EvalString(eval, "ConcurrencyLimits")
			if want := concurrency.Text(concurrency.Demands(text)); m.Limits != want {
				rt.Fatalf("match %+v: limits %q, want %q", m, m.Limits, want)
			}
			if name, blocked := inUse.Blocked(concurrency.Demands(m.Limits)); blocked {
				rt.Fatalf("match %+v exceeds %s", m, name)
			}
			inUse.Add(m.Limits)
			ad := slotOf(p, m.Slot, m.Piece)
			if m.Piece.Of != "" {
				ad = pool.DynamicAd(ad, m.Slot, m.Piece.Takes)
			}
			if want := rulesOf(cfg).weigh(ad); m.Weight != want {
				rt.Fatalf("match %+v: want a weight of %v of %v", m, want, ad)
			}
		}
	})
}

// claimedWhole reports whether a claim that lasts has the whole of a slot.
func claimedWhole(p negotiator.Pool, plan *negotiator.Plan, slot string) bool {
	return slices.ContainsFunc(lasting(p, plan), func(cl pool.Claim) bool { return cl.SlotAd() == slot && cl.Piece.Of == "" })
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// The order of what goes in does not matter, nor whether equal procs come as a run.
func TestOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := maybeQueued(rt, t, lawPool(rt, t, true), anyPie(rt, lawConfig(rt, t)))
		plan := Cycle(p, cfg, now)
		want := asJSON(rt, plan)
		if rapid.Bool().Draw(rt, "second cycle") {
			p = later(t, p, plan)
			want = asJSON(rt, Cycle(p, cfg, now))
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		q := negotiator.Pool{Slots: shuffled(r, p.Slots), Claims: shuffled(r, p.Claims), Jobs: shuffled(r, jobprio.Singly(p.Jobs)), Submitters: shuffled(r, p.Submitters), Backoffs: shuffled(r, p.Backoffs), Reservations: shuffled(r, p.Reservations), Held: shuffled(r, jobprio.Singly(p.Held)), Running: shuffled(r, p.Running)}
		if got := asJSON(rt, Cycle(q, cfg, now)); got != want {
			rt.Fatalf("Cycle of the shuffled pool = %s, want %s", got, want)
		}
	})
}

// written is a pool as a text.
func written(t *rapid.T, p negotiator.Pool) string {
	var b strings.Builder
	for _, s := range p.Slots {
		fmt.Fprintln(&b, s.Name, s.Ad, s.Ad.Parent())
	}
	for _, j := range p.Jobs {
		fmt.Fprintln(&b, j.FirstJob(), j.Count(), j.Submitter, j.Ad, j.Ad.Parent())
	}
	rest, err := json.Marshal([]any{p.Claims, p.Submitters, p.Backoffs, p.Reservations})
	testenv.OK(t, err)
	return b.String() + string(rest)
}

// A dry run is the real one: the same pool twice gives the same, and is still what
// it was.
func TestCycleIsPure(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := maybeQueued(rt, t, lawPool(rt, t, true), anyPie(rt, lawConfig(rt, t)))
		before := written(rt, p)
		first := asJSON(rt, Cycle(p, cfg, now))
		if again := asJSON(rt, Cycle(p, cfg, now)); again != first {
			rt.Fatalf("Cycle again = %s, want %s", again, first)
		}
		if left := written(rt, p); left != before {
			rt.Fatalf("Cycle leaves\n%s\nof\n%s", left, before)
		}
	})
}

// A second cycle at the same instant changes nothing.
func TestSecondCycleChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := maybeQueued(rt, t, lawPool(rt, t, true), lawConfig(rt, t))
		first := Cycle(p, cfg, now)
		second := Cycle(later(t, p, first), cfg, now)
		if len(second.Matches)+len(second.GiveUp)+len(second.Backoffs) > 0 {
			rt.Fatalf("second cycle: matches %+v, gives up %+v; after %+v", second.Matches, second.GiveUp, first.Matches)
		}
		if got, want := fmt.Sprintf("%+v", second.Reservations), fmt.Sprintf("%+v", first.Reservations); got != want {
			rt.Fatalf("second cycle: reservations %s, want %s", got, want)
		}
	})
}

// Nothing stays idle that somebody could use and whose limits allow it.
func TestNothingIdle(t *testing.T) {
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, true), lawConfig(rt, t)
		cfg.SkipClusters, cfg.RemoveSignificant = false, nil
		first := Cycle(p, cfg, now)
		q := after(p, first)
		inUse, usage := concurrency.NewInUse(cfg.Limits), map[string]float64{}
		for _, cl := range q.Claims {
			inUse.Add(cl.Limits)
		}
		for _, s := range first.Submitters {
			usage[s.Name] = s.Usage
		}
		for _, m := range first.Matches {
			usage[m.Submitter] += m.Weight.Float()
		}
		of := rulesOf(cfg)
		for _, s := range q.Slots {
			ad, busy := s.Ad, false
			if pool.Partitionable(eval, s.Ad) {
				ad = pool.Left(eval, s.Ad, takesOf(&q, s.Name))
			}
			state, _ := ad.EvalString(eval, "State")
			for _, cl := range q.Claims {
				busy = busy || cl.Slot == s.Name
			}
			for _, b := range q.Backoffs {
				busy = busy || b.Slot == s.Name && b.Until.After(now)
			}
			for _, r := range q.Reservations {
				busy = busy || r.Slot == s.Name
			}
			if busy || state != "Unclaimed" || ad.Has("ClassAdLifetime") || ad.Has("ConcurrencyLimits") || !of.allows(cfg.SlotConstraint, s.Ad) {
				continue
			}
			for _, r := range first.Rejections {
				_, job := jobOf(p, r.Job)
				limits, _ := job.EvalString(eval, "ConcurrencyLimits")
				_, blocked := inUse.Blocked(concurrency.Demands(limits))
				blocked = blocked || limits != "" // a slot's own claim may count too
				capped := slices.ContainsFunc(p.Submitters, func(a accountant.Record) bool {
					return a.Name == r.Submitter && a.Ceiling.Set && usage[a.Name]+64 > float64(a.Ceiling.Slots)
				})
				if !blocked && !capped && of.allows(cfg.JobConstraint, job) && classad.Match(eval, job, ad) && enough(eval, job, ad) {
					rt.Fatalf("%s of %s gets nothing (%s), but %s is idle: %v", r.Job, r.Submitter, r.Reason, s.Name, ad)
				}
			}
		}
	})
}

// enough reports whether a job may have what it requests of a slot. One that is not
// partitionable has no need to.
func enough(eval *classad.Context, job, slot *classad.Ad) bool {
	if !pool.Partitionable(eval, slot) {
		return true
	}
	for _, name := range []string{"Cpus", "Memory", "Disk", "GPUs"} {
		want, ok := job.EvalNumber(eval, "Request"+name)
		if !ok && name == "Cpus" || ok && want <= 0 && name == "Cpus" {
			want, ok = 1, true
		}
		has, there := slot.EvalNumber(eval, name)
		if ok && want > 0 && (there && max(0, has) < want || !there && name == "GPUs") {
			return false
		}
	}
	return true
}

package negotiation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/pool"
)

// replay follows a plan match by match.
type replay struct {
	negotiator.Pool
	rules
	plan  *negotiator.Plan
	share map[string]negotiator.Share
	usage map[string]accountant.Weight // as the matches so far have it
	gone  map[string]bool              // slots and pieces whose holders were preempted
	group map[string]negotiator.Group  // by name
}

func newReplay(p negotiator.Pool, cfg negotiator.Config, plan *negotiator.Plan) *replay {
	r := &replay{Pool: p, rules: rulesOf(cfg), plan: plan, share: map[string]negotiator.Share{},
		usage: map[string]accountant.Weight{}, gone: map[string]bool{}, group: map[string]negotiator.Group{}}
	for _, s := range plan.Submitters {
		r.share[s.Name] = s
		r.usage[s.Name], _ = accountant.WeightOf(s.Usage)
	}
	for _, g := range plan.Groups {
		r.group[g.Name] = g
	}
	return r
}

// step counts a match.
func (r *replay) step(m negotiator.Match) {
	r.usage[m.Submitter] += m.Weight
	if m.Preempts != nil {
		r.usage[m.Preempts.Submitter] -= m.Preempts.Weight
		r.gone[m.Slot] = true
	}
}

// inGroup returns what the members of a group use themselves.
func (r *replay) inGroup(name string) (sum accountant.Weight) {
	for who, w := range r.usage {
		if r.cfg.Params.Groups.NameOf(who) == name {
			sum += w
		}
	}
	return sum
}

// victim returns the ad of the slot that a match takes away from somebody, with all
// that expressions may ask of its claim; an error if that may not be preempted at all.
func (r *replay) victim(m negotiator.Match) (*classad.Ad, error) {
	ad := slotOf(r.Pool, m.Slot, m.Piece)
	v := m.Preempts
	switch {
	case ad == nil:
		return nil, fmt.Errorf("there is no such slot")
	case r.gone[m.Slot]:
		return nil, fmt.Errorf("its holder has gone already")
	case slices.ContainsFunc(r.Backoffs, func(b pool.Backoff) bool {
		return (b.Slot == m.Slot || b.Slot == m.Piece.Of) && b.Until.After(now)
	}):
		return nil, fmt.Errorf("the slot is left alone")
	case v.Job == pool.JobID{}:
		state, _ := ad.EvalString(r.eval, "State")
		activity, _ := ad.EvalString(r.eval, "Activity")
		taken := slices.ContainsFunc(r.Claims, func(cl pool.Claim) bool { return cl.SlotAd() == m.Slot })
		who := r.cfg.Params.Groups.Spelled(negotiator.Holder(r.eval, ad))
		if taken || m.Piece.Of != "" || who != v.Submitter || state != "Claimed" || activity == "Idle" || ad.Has("PreemptingUser") || v.Attempt != 0 {
			return nil, fmt.Errorf("%s of %s in state %s, activity %s cannot be preempted", m.Slot, who, state, activity)
		}
		if left, ok := ad.EvalNumber(r.eval, "RetirementTimeRemaining"); ok && left > 0 && !r.cfg.Preemption.Early {
			return nil, fmt.Errorf("the job retires")
		}
		return r.about(classad.New().Chain(ad), v.Submitter), nil
	}
	i := slices.IndexFunc(r.Claims, func(cl pool.Claim) bool { return cl.Job == v.Job && cl.Attempt == v.Attempt })
	if i < 0 {
		return nil, fmt.Errorf("there is no such claim")
	}
	cl := r.Claims[i]
	if cl.State != pool.RunningClaim || cl.Slot != m.Slot || cl.Piece != m.Piece || cl.Submitter != v.Submitter || cl.Weight != v.Weight || now.Sub(cl.StartedAt) != v.Ran {
		return nil, fmt.Errorf("not what is said of the claim %+v", cl)
	}
	if left, ok := ad.EvalNumber(r.eval, "RetirementTimeRemaining"); ok && left > 0 && !r.cfg.Preemption.Early {
		return nil, fmt.Errorf("the job retires")
	}
	if m.Piece.Of != "" {
		ad = pool.DynamicAd(ad, m.Slot, m.Piece.Takes)
	}
	ad = classad.New().Chain(ad)
	for name, text := range map[string]string{"State": "Claimed", "Activity": "Busy", "RemoteUser": cl.Submitter, "RemoteOwner": cl.Submitter, "JobId": cl.Job.String(), "ConcurrencyLimits": cl.Limits} {
		ad.SetString(name, text)
	}
	for _, name := range []string{"EnteredCurrentState", "EnteredCurrentActivity", "JobStart"} {
		ad.SetInt(name, cl.StartedAt.Unix())
	}
	ad.SetInt("TotalJobRunTime", now.Unix()-cl.StartedAt.Unix())
	ad.SetReal("CurrentRank", cl.Rank)
	return r.about(ad, cl.Submitter), nil
}

// about adds to a slot's ad what is said of its holder.
func (r *replay) about(ad *classad.Ad, holder string) *classad.Ad {
	ad.SetReal("RemoteUserPrio", r.share[holder].EffectivePriority)
	ad.SetReal("RemoteUserResourcesInUse", r.usage[holder].Float())
	if tree := r.cfg.Params.Groups; tree != nil {
		g := r.group[tree.NameOf(holder)]
		ad.SetString("RemoteGroup", g.Name)
		ad.SetReal("RemoteGroupQuota", g.EffectiveQuota)
		ad.SetReal("RemoteGroupResourcesInUse", r.inGroup(g.Name).Float())
	}
	return ad
}

// candidate returns the ad of a job with what is said of its submitter.
func (r *replay) candidate(m negotiator.Match) *classad.Ad {
	_, job := jobOf(r.Pool, m.Job)
	job.SetReal("SubmitterUserPrio", r.share[m.Submitter].EffectivePriority)
	job.SetReal("SubmitterUserResourcesInUse", r.usage[m.Submitter].Float())
	if tree := r.cfg.Params.Groups; tree != nil {
		g := r.group[tree.NameOf(m.Submitter)]
		job.SetString("SubmitterGroup", g.Name)
		job.SetReal("SubmitterGroupQuota", g.EffectiveQuota)
		job.SetReal("SubmitterGroupResourcesInUse", r.inGroup(g.Name).Float())
	}
	return job
}

// lawful returns what is wrong with a match that preempts.
func (r *replay) lawful(m negotiator.Match) error {
	slot, err := r.victim(m)
	if err != nil {
		return err
	}
	job := r.candidate(m)
	rank, current := r.number(slot, "Rank", job), r.number(slot, "CurrentRank", nil)
	req := r.cfg.Preemption.Requirements
	switch {
	case !r.cfg.Preemption.Consider:
		return fmt.Errorf("preemption is not considered")
	case !classad.Match(r.eval, job, slot) || m.Piece.Of != "" && !enough(r.eval, job, slot):
		return fmt.Errorf("%v and %v do not match", job, slot)
	case m.Rank != rank:
		return fmt.Errorf("Rank = %v, want %v", m.Rank, rank)
	case m.Reason == negotiator.RankPreemption && rank > current:
	case r.cfg.Queue != nil:
		return fmt.Errorf("one queue knows no other reason than Rank")
	case m.Reason != negotiator.PriorityPreemption:
		return fmt.Errorf("the slot's Rank is %v, was %v", rank, current)
	case m.Submitter == m.Preempts.Submitter:
		return fmt.Errorf("the submitter's own job")
	case r.share[m.Submitter].EffectivePriority >= r.share[m.Preempts.Submitter].EffectivePriority:
		return fmt.Errorf("the submitter's EUP is not better")
	case rank < current:
		return fmt.Errorf("the slot's Rank of the job is %v, below %v", rank, current)
	case req == nil || !req.Eval(r.eval, slot, job).True():
		return fmt.Errorf("PREEMPTION_REQUIREMENTS is not true of %v and %v", slot, job)
	}
	return nil
}

// No slot, piece or job is matched twice. A victim is preempted once at most, and only
// while it runs; what it has is what the new job gets. The slot's Rank preempts only for
// a job that it prefers to the present one; a priority only for another's, whose EUP is
// worse, where PREEMPTION_REQUIREMENTS is true and the slot's Rank of the job no worse.
func TestPreemptionIsLawful(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		p, cfg = maybeQueued(rt, t, p, cfg)
		plan := Cycle(p, cfg, now)
		r := newReplay(p, cfg, plan)
		jobs, slots, names := map[pool.JobID]bool{}, map[string]bool{}, map[string]bool{}
		for _, cl := range lasting(p, plan) {
			jobs[cl.Job], slots[cl.SlotAd()], names[cl.Slot] = true, true, true
		}
		for _, m := range plan.Matches {
			j, job := jobOf(p, m.Job)
			if jobs[m.Job] || j.Submitter != m.Submitter {
				rt.Fatalf("match %+v: the job has a slot, or is not this submitter's", m)
			}
			jobs[m.Job] = true
			switch ad := slotOf(p, m.Slot, m.Piece); {
			case m.Preempts != nil:
				if err := r.lawful(m); err != nil {
					rt.Fatalf("match %+v preempts %+v: %v\n%s", m, *m.Preempts, err, portrait(p, cfg))
				}
			case m.Reason != negotiator.NoPreemption || names[m.Slot] || m.Piece.Of == "" && (slots[m.Slot] || !classad.Match(r.eval, job, ad)):
				rt.Fatalf("match %+v: the slot is taken, or does not match", m)
			}
			slots[m.Slot], names[m.Slot] = true, m.Preempts == nil
			r.step(m)
		}
	})
}

// The order of what goes in does not matter with preemption and quotas either, and the
// cycle leaves it as it was.
func TestBusyOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		cfg.Pie = rapid.SampledFrom([]negotiator.Pie{negotiator.MaxMin, negotiator.MaxMin, negotiator.Spins}).Draw(rt, "pie")
		p, cfg = maybeQueued(rt, t, p, cfg)
		if cfg.Params.Groups != nil {
			p.Jobs = jobprio.Singly(p.Jobs)
		}
		before := written(rt, p)
		plan := Cycle(p, cfg, now)
		want := asJSON(rt, plan)
		if left := written(rt, p); left != before {
			rt.Fatalf("Cycle leaves\n%s\nof\n%s", left, before)
		}
		if rapid.Bool().Draw(rt, "second cycle") {
			p = later(t, p, plan)
			want = asJSON(rt, Cycle(p, cfg, now))
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		q := negotiator.Pool{Slots: shuffled(r, p.Slots), Claims: shuffled(r, p.Claims), Jobs: shuffled(r, jobprio.Singly(p.Jobs)), Submitters: shuffled(r, p.Submitters), Backoffs: shuffled(r, p.Backoffs), Reservations: shuffled(r, p.Reservations), Held: shuffled(r, jobprio.Singly(p.Held)), Running: shuffled(r, p.Running)}
		if got := asJSON(rt, Cycle(q, cfg, now)); got != want {
			rt.Fatalf("Cycle of the shuffled pool = %s, want %s\n%s", got, want, portrait(p, cfg))
		}
	})
}

// A second cycle at the same instant changes nothing: whoever was preempted vacates,
// and the slots are promised. Jobs are looked at one by one: what is passed over with the
// rest of its cluster may be wanted by a cycle that has not come so far yet.
func TestSecondBusyCycleChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		p, cfg = maybeQueued(rt, t, p, cfg)
		cfg.SkipClusters, cfg.RemoveSignificant = false, nil
		first := Cycle(p, cfg, now)
		second := Cycle(later(t, p, first), cfg, now)
		if len(second.Matches)+len(second.GiveUp)+len(second.Backoffs) > 0 {
			rt.Fatalf("second cycle: matches %s, gives up %+v; after %s\n%s", ousted(second), second.GiveUp, ousted(first), portrait(p, cfg))
		}
	})
}

// Who preempts has no free slot to go to instead: none is left in the end that the job
// could use, ceilings and quotas apart, and that ranks as high as the one that it got.
func TestNoFreeSlotInsteadOfPreempting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, false)
		cfg.DepthFirst = false
		plan := Cycle(p, cfg, now)
		r := newReplay(p, cfg, plan)
		v := quotaView{r, cfg.Params.Groups}
		for _, m := range plan.Matches {
			capped := slices.ContainsFunc(p.Submitters, func(a accountant.Record) bool { return a.Name == m.Submitter && a.Ceiling.Set })
			if m.Preempts == nil || capped {
				r.step(m)
				continue
			}
			slot, err := r.victim(m)
			if err != nil {
				rt.Fatal(err)
			}
			job := r.candidate(m)
			r.step(m)
			for _, s := range r.idle() {
				if s.weight <= m.Weight && v.mayHave(m.Submitter, s.weight) && classad.Match(r.eval, job, s.ad) && slices.Compare(r.ranks(job, slot), r.ranks(job, s.ad)) <= 0 {
					rt.Fatalf("%s preempts on %s, with ranks of %v, but %s stays idle, with ranks of %v; matches %s\n%s", m.Job, m.Slot, r.ranks(job, slot), s.name, r.ranks(job, s.ad), ousted(plan), portrait(p, cfg))
				}
			}
		}
	})
}

// idle returns the slots that nobody has when all is done.
func (r *replay) idle() []freeSlot {
	free, _ := r.look(r.Pool)
	return slices.DeleteFunc(free, func(s freeSlot) bool {
		return slices.ContainsFunc(r.plan.Matches, func(m negotiator.Match) bool { return m.Slot == s.name })
	})
}

// Preemption for a priority keeps to the shares of the whole pool: it takes nobody above
// the fair share of it, nor the holder below, save by a third of a slot where the one has nothing or
// the other is entitled to less than a third, and that who has nothing may leave the holder short of a part. The pie slices say so. The shares are found here by bisection, for
// users who want no more than slots that are alike.
func TestPreemptionKeepsShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := defaults(t)
		cfg.Preemption = negotiator.Preemption{Consider: true, Requirements: expr(t, "true"), Rank: expr(t, oneOf(rt, "PREEMPTION_RANK", busyRanks))}
		p := equalPool(rt, t, 1)
		for i := range p.Claims {
			p.Claims[i].StartedAt = now.Add(-oneOf(rt, "age", busyAges))
			if evenly(rt, 2, "one holder") == 0 {
				p.Claims[i].Submitter = p.Submitters[len(p.Submitters)-1].Name
			}
		}
		plan := Cycle(p, cfg, now)
		r := newReplay(p, cfg, plan)
		entitled := map[string]float64{}
		total, free := float64(len(p.Slots)), float64(len(p.Slots)-len(p.Claims))
		for _, nice := range []bool{false, true} {
			var claimants []shares.Claimant
			var names []string
			for _, s := range plan.Submitters {
				if strings.HasPrefix(s.Name, "nice-user.") == nice {
					wants := min(float64(s.Idle), float64(len(p.Slots))-s.Usage)
					for _, a := range p.Submitters {
						if a.Name == s.Name && a.Ceiling.Set {
							wants = max(0, min(wants, float64(a.Ceiling.Slots)-s.Usage))
						}
					}
					names, claimants = append(names, s.Name), append(claimants, shares.Claimant{EUP: s.EffectivePriority, Demand: s.Usage + wants})
				}
			}
			for i, part := range targetsByBisection(total, claimants) {
				entitled[names[i]] = part
				total -= part
			}
			total = max(0, total)
		}
		for name, least := range entitled {
			if got := r.share[name].PieSlice; got < least-1e-6 {
				rt.Fatalf("%s has a pie slice of %v, want at least %v, which it may preempt for\n%s", name, got, least, portrait(p, cfg))
			}
		}
		for _, m := range plan.Matches {
			nothing, lacks := r.usage[m.Submitter] == 0, entitled[m.Submitter]-r.usage[m.Submitter].Float()
			if r.step(m); m.Preempts == nil {
				continue
			}
			due := (nothing || entitled[m.Preempts.Submitter] < 1.0/3) && lacks > 2.0/3 && r.usage[m.Preempts.Submitter].Float()+1-entitled[m.Preempts.Submitter] > 2.0/3
			if got := r.usage[m.Submitter].Float(); got > entitled[m.Submitter]+1e-6 && !due {
				rt.Fatalf("%s takes %s to %v, want at most %v; matches %s\n%s", m.Job, m.Submitter, got, entitled[m.Submitter], ousted(plan), portrait(p, cfg))
			}
			if got := r.usage[m.Preempts.Submitter].Float(); got < entitled[m.Preempts.Submitter]-1e-6 && !due && !(nothing && got+1 > entitled[m.Preempts.Submitter]) {
				rt.Fatalf("%s takes %s to %v, want at least %v; matches %s\n%s", m.Job, m.Preempts.Submitter, got, entitled[m.Preempts.Submitter], ousted(plan), portrait(p, cfg))
			}
		}
		// As far as it may: nobody who waits could have one more slot by these rules.
		for _, rej := range plan.Rejections {
			for i := range p.Claims {
				who, holder := rej.Submitter, p.Claims[i].Submitter
				if !r.gone[p.Claims[i].Slot] && r.share[who].EffectivePriority < r.share[holder].EffectivePriority &&
					r.usage[who].Float()+1 <= entitled[who]-1e-6 && r.usage[holder].Float()-1 >= entitled[holder]+1e-6 {
					rt.Fatalf("%s waits, has %v of %v, but %s keeps %v of %v; %v free at first; matches %s\n%s", who, r.usage[who], entitled[who], holder, r.usage[holder], entitled[holder], free, ousted(plan), portrait(p, cfg))
				}
			}
		}
	})
}

// carriedOut is the pool when a plan was carried out and who had to go has gone: the new
// jobs run, and the old ones are idle again.
func carriedOut(outer testing.TB, p negotiator.Pool, plan *negotiator.Plan, days int) negotiator.Pool {
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
				if m.Reason == negotiator.PriorityPreemption && before[m.Preempts.Submitter+" "+m.Submitter] {
					rt.Fatalf("%s takes from %s what it lost to it:\n%s", m.Submitter, m.Preempts.Submitter, strings.Join(story, "\n"))
				}
				if m.Reason == negotiator.PriorityPreemption {
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

package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// quotaView is what a test asks of groups as a plan is followed, by their places in the tree.
type quotaView struct {
	*replay
	tree *accountant.Groups
}

// subtree returns what a group uses with all below it.
func (v quotaView) subtree(at int) (sum accountant.Weight) {
	for who, w := range v.usage {
		if slices.Contains(v.tree.Up(v.tree.Of(who)), at) {
			sum += w
		}
	}
	return sum
}

// quota returns what a group may use with all below it, by the plan's own table; with
// strict enforcement static quotas count as configured, and dynamic ones as worked out.
func (v quotaView) quota(at int) float64 {
	switch g := v.tree.List[at]; {
	case v.cfg.Quotas.Strict && g.Dynamic:
		return v.plan.Groups[at].SubtreeQuota
	case v.cfg.Quotas.Strict:
		return g.Quota
	}
	return v.entitled(at)
}

// entitled returns what a group's members may have without surplus from above: its own quota
// and all that the groups below leave of theirs. With oversubscription these may be more
// together than the quota of the group with all below it.
func (v quotaView) entitled(at int) float64 {
	sum := v.plan.Groups[at].EffectiveQuota
	for _, below := range v.tree.List[at].Children {
		sum += v.entitled(below)
	}
	return sum
}

// bounded reports whether quotas bound anybody.
func (v quotaView) bounded() bool {
	return v.tree != nil && slices.ContainsFunc(v.tree.List, func(g accountant.Group) bool { return g.Quota > 0 })
}

// No match takes a group that does not accept surplus beyond its quota, nor one above it
// where quotas are strictly enforced; but those that regroup may go beyond it with nobody's
// group. Without strict enforcement it is the group's own members that are bound, but for
// floors and for what slots prefer.
func TestQuotasAreKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := groupConfig(rt, t)
		p, cfg := maybeQueued(rt, t, busyPool(rt, t, cfg, true, lawMembers), cfg)
		plan := Cycle(p, cfg, now)
		v := quotaView{newReplay(p, cfg, plan), cfg.Params.Groups}
		if !v.bounded() {
			return
		}
		for _, m := range plan.Matches {
			own := v.tree.Of(m.Submitter)
			before := map[int]accountant.Weight{}
			for _, at := range v.tree.Up(own) {
				before[at] = v.subtree(at)
			}
			alone := v.inGroup(v.tree.List[own].Name)
			v.step(m)
			if v.tree.List[own].Autoregroup {
				continue
			}
			for _, at := range v.tree.Up(own) {
				g := v.tree.List[at]
				if after := v.subtree(at); cfg.Quotas.Strict && !g.AcceptSurplus && after > before[at] && after.Float() > v.quota(at)+rounding {
					rt.Fatalf("match %+v takes %s from %v to %v of %v; matches %s\n%s", m, g.Name, before[at], after, v.quota(at), ousted(plan), portrait(p, cfg))
				}
			}
			g, floor := v.tree.List[own], slices.ContainsFunc(p.Submitters, func(r accountant.Record) bool { return r.Name == m.Submitter && r.Floor > 0 })
			if after := v.inGroup(g.Name); own > 0 && !g.AcceptSurplus && !floor && m.Reason != negotiator.RankPreemption && after > alone && after.Float() > v.entitled(own)+1e-6 {
				rt.Fatalf("match %+v takes the members of %s from %v to %v of %v; matches %s\n%s", m, g.Name, alone, after, v.entitled(own), ousted(plan), portrait(p, cfg))
			}
		}
	})
}

// mayHave reports whether quotas let a submitter have another slot of this weight as surplus
// when all is done: it is in nobody's group or regroups, or its group accepts surplus, and
// each above it does, too, or has so much left of its quota with all below it.
func (v quotaView) mayHave(who string, weight accountant.Weight) bool {
	if !v.bounded() {
		return true
	}
	at := v.tree.Of(who)
	if at == 0 || v.tree.List[at].Autoregroup {
		return true
	}
	for _, a := range v.tree.Up(at) {
		room := v.quota(a)
		if q := v.plan.Groups[a].SubtreeQuota; q < room {
			room = q
		}
		if !v.tree.List[a].AcceptSurplus && (a == at || (v.subtree(a)+weight).Float() > room+rounding) {
			return false
		}
	}
	return true
}

// Surplus is used: no slot stays free, whatever it weighs, that a waiting job matches which
// no ceiling and no concurrency limit bars, and whose group may have it.
func TestSurplusIsUsed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := groupConfig(rt, t)
		cfg.SkipClusters, cfg.RemoveSignificant = false, nil
		p := busyPool(rt, t, cfg, false, lawMembers)
		if rapid.Bool().Draw(rt, "one queue") {
			p, cfg = freely(rt, t, p, cfg)
		}
		plan := Cycle(p, cfg, now)
		v := quotaView{newReplay(p, cfg, plan), cfg.Params.Groups}
		if v.tree == nil {
			return
		}
		for _, m := range plan.Matches {
			v.step(m)
		}
		v.mustUseSurplus(rt)
	})
}

// mustUseSurplus fails when something is left free that a waiting job may have.
func (v quotaView) mustUseSurplus(t *rapid.T) {
	for _, s := range v.idle() {
		for _, r := range v.plan.Rejections {
			_, job := jobOf(v.Pool, r.Job)
			capped := slices.ContainsFunc(v.Submitters, func(a accountant.Record) bool { return a.Name == r.Submitter && a.Ceiling.Set })
			if !capped && !job.Has("ConcurrencyLimits") && v.allows(v.cfg.JobConstraint, job) && classad.Match(v.eval, job, s.ad) && v.mayHave(r.Submitter, s.weight) {
				t.Fatalf("%s of %s gets nothing (%s), but %s is idle; matches %s\n%s", r.Job, r.Submitter, r.Reason, s.name, ousted(v.plan), portrait(v.Pool, v.cfg))
			}
		}
	}
}

// What waits for a piece either fits nowhere in what is left of the slots when all is dealt out, or is told what
// forbids it that room: the quota of a group, a ceiling or a concurrency limit; and quotas do.
func TestWhatWaitsFitsNowhereOrIsForbidden(t *testing.T) {
	eval := &classad.Context{Now: now}
	forbids := []negotiator.Cause{negotiator.CauseQuota, negotiator.CauseCeiling, negotiator.CauseConcurrencyLimit}
	rapid.Check(t, func(rt *rapid.T) {
		cfg := defaults(t)
		cfg.Limits, _ = concurrency.NewLimits(100, nil, map[string]float64{"lic": 2})
		if rapid.Bool().Draw(rt, "groups") {
			cfg.Params.Groups = lawTree(rt)
			cfg.Quotas.Strict = rapid.Bool().Draw(rt, "strict")
		}
		if rapid.Bool().Draw(rt, "reserves") {
			cfg.Reserve = negotiator.Reserve{Fraction: 0.3, Time: time.Hour}
		}
		p := mixedPool(rt, t)
		if rapid.Bool().Draw(rt, "one queue") {
			p, cfg = freely(rt, t, p, cfg)
			p.Held = nil
		}
		plan := Cycle(p, cfg, now)
		v := quotaView{newReplay(p, cfg, plan), cfg.Params.Groups}
		taken, weights := map[string][]pool.Resources{}, map[string]accountant.Weight{}
		for _, m := range plan.Matches {
			taken[m.Piece.Of] = append(taken[m.Piece.Of], m.Piece.Takes)
			weights[m.Submitter] += m.Weight
			v.step(m)
		}
		for _, s := range p.Slots {
			if slices.ContainsFunc(plan.Reservations, func(r negotiator.Reserved) bool { return r.Slot == s.Name }) {
				continue
			}
			left := pool.Left(eval, s.Ad, taken[s.Name])
			for _, r := range plan.Rejections {
				_, job := jobOf(p, r.Job)
				if !classad.Match(eval, job, left) || !enough(eval, job, left) {
					continue
				}
				if !slices.Contains(forbids, r.Cause) && !slices.ContainsFunc(r.Also, func(c negotiator.Cause) bool { return slices.Contains(forbids, c) }) {
					rt.Fatalf("%s of %s is told %s %v (%s), but fits into %v\n%s", r.Job, r.Submitter, r.Cause, r.Also, r.Reason, left, portrait(p, cfg))
				}
				cores, _ := job.EvalNumber(eval, pool.AttrRequestCpus)
				weight := accountant.Weight(cores) * accountant.One
				capped := slices.ContainsFunc(p.Submitters, func(a accountant.Record) bool {
					return a.Name == r.Submitter && a.Ceiling.Set && (weights[r.Submitter]+weight).Float() > float64(a.Ceiling.Slots)
				})
				if !capped && !job.Has("ConcurrencyLimits") && v.mayHave(r.Submitter, weight) {
					rt.Fatalf("%s of %s gets nothing (%s), but may have a piece of %v\n%s", r.Job, r.Submitter, r.Reason, left, portrait(p, cfg))
				}
			}
		}
	})
}

// mixedPool draws partitionable slots, and more jobs than they have room for, of unlike cores and memory.
func mixedPool(t *rapid.T, outer testing.TB) (p negotiator.Pool) {
	for i := range 1 + evenly(t, 6, "slots") {
		p.Slots = append(p.Slots, aSlot(outer, fmt.Sprintf("slot1@n%d", i+1), fmt.Sprintf("PartitionableSlot = true; Cpus = %d; Memory = %d",
			oneOf(t, "cores", []int{4, 8, 16}), oneOf(t, "memory", []int{1000, 4096, 16384}))))
	}
	for i := range 2 + evenly(t, 12, "clusters") {
		text := fmt.Sprintf("RequestCpus = %d; RequestMemory = %d", oneOf(t, "cpus", []int{1, 1, 2, 3, 8}), oneOf(t, "megabytes", []int{100, 900, 1500, 4000}))
		if evenly(t, 6, "licence") == 0 {
			text += `; ConcurrencyLimits = "lic"`
		}
		p.Jobs = append(p.Jobs, aJob(outer, i+1, 1+evenly(t, 6, "procs"), oneOf(t, "member", lawMembers), text))
	}
	for _, who := range lawMembers {
		r := record(who, oneOf(t, "rup", []float64{0.5, 1, 3, 10}))
		if evenly(t, 5, "ceiling") == 0 {
			r.Ceiling = accountant.LimitOf(int64(1 + evenly(t, 6, "of")))
		}
		p.Submitters = append(p.Submitters, r)
	}
	return p
}

// Where nothing runs and all slots are alike, groups get what quotas and surplus allocate
// them, to the slot: the one that is the most behind goes first.
func TestAllocationsAreReached(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := defaults(t)
		cfg.Params.Groups = lawTree(rt)
		if cfg.Quotas.Strict = rapid.Bool().Draw(rt, "strict"); !cfg.Quotas.Strict {
			cfg.Quotas.Oversubscribe = rapid.Bool().Draw(rt, "oversubscribe")
		}
		tree := cfg.Params.Groups
		if tree == nil || tree.Regroups() {
			return
		}
		p := negotiator.Pool{Slots: equal(t, 1+evenly(rt, 20, "slots"), "")}
		asked := make([]float64, len(tree.List))
		for i, who := range lawMembers {
			if strings.HasPrefix(who, "nice") || evenly(rt, 3, "wants none") == 0 {
				continue
			}
			n := 1 + evenly(rt, 12, "jobs")
			p.Jobs = append(p.Jobs, aJob(t, i+1, n, who, ""))
			asked[tree.Of(who)] += float64(n)
		}
		if rapid.Bool().Draw(rt, "one queue") {
			p, cfg = freely(rt, t, p, cfg)
		}
		plan := Cycle(p, cfg, now)
		v := quotaView{newReplay(p, cfg, plan), tree}
		if !v.bounded() {
			return
		}
		for _, m := range plan.Matches {
			v.step(m)
		}
		v.mustUseSurplus(rt)
		quotas := tree.Quotas(float64(len(p.Slots)), accountant.QuotaRules{Oversubscribe: cfg.Quotas.Oversubscribe})
		sum := 0.0
		given := tree.Allocate(quotas, asked, false)
		for _, a := range given {
			sum += a.Weight
		}
		if sum > float64(len(p.Slots))+rounding {
			return // more than there is: who comes first has it
		}
		for i, a := range given {
			if got := v.inGroup(tree.List[i].Name).Float(); got <= a.Weight-1 {
				rt.Fatalf("%s uses %v of the %v that it was allocated: %s\n%s", tree.List[i].Name, got, a.Weight, inGroups(plan, cfg), portrait(p, cfg))
			}
		}
	})
}

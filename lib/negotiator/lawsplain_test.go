package negotiator

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

// decisions returns what a plan decided as plainCycle tells it.
func decisions(p *Plan) string {
	var b strings.Builder
	for _, m := range p.Matches {
		fmt.Fprintln(&b, toldOf(m))
	}
	for _, s := range p.Submitters {
		fmt.Fprintf(&b, "%s %.6f %.6f\n", s.Name, s.PieSlice, s.Limit)
	}
	return b.String()
}

// The cycle does what one does that remembers nothing.
func TestCycleIsThePlainOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, false), lawConfig(rt, t)
		want := plain(p, cfg, now).told()
		if got := decisions(Cycle(p, cfg, now)); got != want {
			rt.Fatalf("Cycle does\n%s\nwant\n%s", got, want)
		}
	})
}

// So does preemption. What an expression asks of what is in use is not remembered there,
// since the cycle may look at it again less often; and all slots and claims weigh something,
// since who is the worse for losing nothing is a matter of when one looks.
func TestPreemptionIsThePlainOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := busyConfig(rt, t)
		for _, e := range []*classad.Expr{cfg.Preemption.Requirements, cfg.Preemption.Rank} {
			if e != nil && strings.Contains(e.String(), "InUse") {
				return
			}
		}
		p := busyPool(rt, t, cfg, false, lawUsers)
		if slices.ContainsFunc(p.Slots, func(s pool.Slot) bool {
			return (&plainCycle{cfg: cfg, eval: &classad.Context{Now: now}}).weigh(s.Ad) == 0
		}) {
			return
		}
		for i := range p.Claims {
			p.Claims[i].Weight = max(p.Claims[i].Weight, accountant.One/2)
		}
		want := plain(p, cfg, now).told()
		if got := decisions(Cycle(p, cfg, now)); got != want {
			rt.Fatalf("Cycle does\n%s\nwant\n%s\n%s", got, want, portrait(p, cfg))
		}
	})
}

// Pieces go as one would deal them out by hand: each job in turn gets the best slot
// that has enough left. One submitter has the whole pool here, since what several
// may expect of slots of any size is not told by simple rules.
func TestPiecesAreThePlainOnes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, true), lawConfig(rt, t)
		cfg.UseSlotWeights, cfg.Reserve, cfg.SkipClusters, cfg.RemoveSignificant = false, Reserve{}, false, nil
		cfg.PreJobRank = expr(t, rapid.SampledFrom([]string{"SlotID", "-SlotID", "-1000 * Cpus - SlotID", "1000 * Memory + SlotID"}).Draw(rt, "rank"))
		for i := range p.Slots {
			own := p.Slots[i].Ad.Clone()
			own.SetInt("SlotID", int64(i))
			p.Slots[i].Ad = own
		}
		for i := range p.Jobs {
			p.Jobs[i].Submitter = "alice@x"
		}
		p.Submitters = nil
		want := plainPieces(p, cfg)
		plan := Cycle(p, cfg, now)
		if got := fmt.Sprintf("%+v", plan.Matches); got != want {
			rt.Fatalf("Cycle matches\n%s\nwant\n%s", got, want)
		}
	})
}

// plainPieces returns the matches of a pool where one submitter has all jobs and no
// slots weigh or rank the same.
func plainPieces(p Pool, cfg Config) string {
	c := &plainCycle{cfg: cfg, now: now, eval: &classad.Context{Now: now}, inUse: newUnitsInUse(cfg.Limits)}
	claims := slices.DeleteFunc(slices.Clone(p.Claims), c.overdue)
	c.lookAtSlots(p, claims)
	c.gather(p, claims)
	names, begun := map[string]bool{}, map[string]bool{}
	pieces := map[string][]pool.Resources{}
	for _, s := range p.Slots {
		names[s.Name] = true
	}
	for _, cl := range claims {
		names[cl.Slot] = true
		pieces[cl.Piece.Of] = append(pieces[cl.Piece.Of], cl.Piece.Takes)
	}
	matches := []Match{}
	// What no slot has is nobody's resource.
	gpus := slices.ContainsFunc(c.slots, func(s *plainSlot) bool {
		_, ok := s.ad.EvalNumber(c.eval, "GPUs")
		return ok && pool.Partitionable(c.eval, s.ad)
	})
	for _, j := range c.jobs {
		if !gpus {
			j.ad.Set("RequestGPUs", classad.Literal(classad.Undefined()))
		}
		limits, _ := j.ad.EvalString(c.eval, "ConcurrencyLimits")
		demands := demandsOf(limits)
		if _, blocked := c.inUse.blocked(demands); blocked || j.barred {
			continue
		}
		var best *plainSlot
		var bestAd *classad.Ad
		for _, s := range c.slots {
			ad := s.ad
			if pool.Partitionable(c.eval, s.ad) {
				ad = pool.Left(c.eval, s.ad, pieces[s.name])
			}
			if !s.free || !classad.Match(c.eval, j.ad, ad) || !enough(c.eval, j.ad, ad) {
				continue
			}
			now := &plainSlot{ad: ad}
			first := best == nil || begun[s.name] && !begun[best.name]
			if first || begun[s.name] == begun[best.name] && c.rank(cfg.PreJobRank, now, j) > c.rank(cfg.PreJobRank, &plainSlot{ad: bestAd}, j) {
				best, bestAd = s, ad
			}
		}
		if best == nil {
			continue
		}
		c.inUse.take(demands)
		m := Match{Job: j.id, Submitter: j.user.name, Slot: best.name, Limits: demandText(demands), Weight: accountant.One, Reason: NoPreemption}
		m.Rank = c.number(bestAd, "Rank", j.ad)
		if pool.Partitionable(c.eval, best.ad) {
			m.Piece = pool.Piece{Of: best.name, Takes: plainTakes(c.eval, j.ad, bestAd)}
			pieces[best.name] = append(pieces[best.name], m.Piece.Takes)
			for n := 1; names[m.Slot]; n++ {
				m.Slot = pool.DynamicName(best.name, n)
			}
			names[m.Slot], begun[best.name] = true, cfg.DepthFirst
		} else {
			best.free = false
		}
		matches = append(matches, m)
	}
	return fmt.Sprintf("%+v", matches)
}

// plainTakes returns what a job takes of a slot with this ad.
func plainTakes(eval *classad.Context, job, slot *classad.Ad) pool.Resources {
	var takes []pool.Amount
	for name, quantum := range map[string]float64{"Cpus": 1, "Memory": 128, "Disk": 1024, "GPUs": 0} {
		want, ok := job.EvalNumber(eval, "Request"+name)
		if name == "Cpus" && (!ok || want <= 0) {
			want = 1
		}
		if quantum > 0 {
			want = math.Ceil(want/quantum-1e-9) * quantum
		}
		if has, ok := slot.EvalNumber(eval, name); ok {
			takes = append(takes, pool.Amount{Name: name, Of: min(want, has)})
		}
	}
	return pool.ResourcesOf(takes)
}

// Slots that are too heavy for one are there for the next, whose jobs are alike.
func TestTooHeavyForOneIsThereForTheNext(t *testing.T) {
	p := Pool{
		Slots:      []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", ""), aSlot(t, "slot3", "Cpus = 2"), aSlot(t, "slot4", "Cpus = 2")},
		Submitters: []accountant.Record{bounded("alice@x", 1, 3, 0), record("bob@x", 5)},
		Jobs:       []Job{aJob(t, 1, 1, "alice@x", "Rank = TARGET.Cpus"), aJob(t, 2, 1, "bob@x", "Rank = TARGET.Cpus")},
		Claims: []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot4", Submitter: "alice@x", State: pool.RunningClaim,
			Weight: 2 * accountant.One}},
	}
	cfg := defaults(t)
	cfg.PreJobRank, cfg.PostJobRank = nil, nil
	if got, want := pairs(Cycle(p, cfg, now)), "1.0>slot1 2.0>slot3"; got != want {
		t.Errorf("Cycle matches %s, want %s", got, want)
	}
}

// Those who only want the special slot, which somebody else has, count for nothing
// in the shares of the plain ones, although their turn would come after the last.
func TestSharesOfWhatIsLeftBesideTheTaken(t *testing.T) {
	p := Pool{Slots: append(equal(t, 3, "HasG = false"), aSlot(t, "g1", "HasG = true"))}
	for i, u := range []struct {
		rup   float64
		count int
		needs string
	}{{0.5, 1, "Requirements = TARGET.HasG"}, {1, 3, ""}, {5, 1, ""}, {5, 1, "Requirements = TARGET.HasG"}, {5, 1, "Requirements = TARGET.HasG"}} {
		name := fmt.Sprintf("user%d@x", i)
		p.Submitters = append(p.Submitters, record(name, u.rup))
		p.Jobs = append(p.Jobs, aJob(t, i+1, u.count, name, u.needs))
	}
	plan := Cycle(p, defaults(t), now)
	for i, want := range []float64{1, 2.5, 0.5, 0, 0} {
		name := fmt.Sprintf("user%d@x", i)
		if got := share(plan, name).PieSlice; math.Abs(got-want) > 1e-6 {
			t.Errorf("pie slice of %s = %v, want %v", name, got, want)
		}
	}
}

// Nothing is taken of what a slot does not say that it has, or the match could not
// be carried out.
func TestNothingIsTakenOfWhatIsNotThere(t *testing.T) {
	slot := aSlot(t, "slot1@n", "PartitionableSlot = true; Cpus = 4; Memory = 4096")
	plan := Cycle(Pool{Slots: []pool.Slot{slot}, Jobs: []Job{aJob(t, 1, 1, "alice@x", "RequestDisk = 1100")}}, defaults(t), now)
	if len(plan.Matches) != 1 || plan.Matches[0].Piece.Takes != "Cpus=1 Memory=128" {
		t.Errorf("Cycle matches %+v, want one that takes Cpus=1 Memory=128", plan.Matches)
	}
}

package negotiation

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// Pieces go as one would deal them out by hand: each job in turn gets the best slot
// that has enough left. One submitter has the whole pool here, since what several
// may expect of slots of any size is not told by simple rules.
func TestPiecesGoInTurn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, true), lawConfig(rt, t)
		cfg.UseSlotWeights, cfg.Reserve, cfg.SkipClusters, cfg.RemoveSignificant = false, negotiator.Reserve{}, false, nil
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
		want := piecesInTurn(p, cfg)
		plan := Cycle(p, cfg, now)
		if got := fmt.Sprintf("%+v", plan.Matches); got != want {
			rt.Fatalf("Cycle matches\n%s\nwant\n%s", got, want)
		}
	})
}

// piecesInTurn returns the matches of a pool where one submitter has all jobs and no
// slots weigh or rank the same.
func piecesInTurn(p negotiator.Pool, cfg negotiator.Config) string {
	r := rulesOf(cfg)
	free, inUse := r.look(p)
	names, begun, claimed := map[string]bool{}, map[string]bool{}, map[pool.JobID]bool{}
	pieces := map[string][]pool.Resources{}
	gpus := false // what no slot has is nobody's resource
	for _, s := range p.Slots {
		names[s.Name] = true
		_, has := s.Ad.EvalNumber(r.eval, "GPUs")
		gpus = gpus || has && pool.Partitionable(r.eval, s.Ad) && r.allows(cfg.SlotConstraint, s.Ad)
	}
	for _, cl := range p.Claims {
		if !r.overdue(cl) {
			names[cl.Slot], claimed[cl.Job] = true, true
			pieces[cl.Piece.Of] = append(pieces[cl.Piece.Of], cl.Piece.Takes)
		}
	}
	jobs := jobprio.Singly(p.Jobs)
	slices.SortFunc(jobs, func(a, b jobprio.Run) int {
		return jobprio.Compare(jobprio.NewViews().Of(r.eval, a.FirstJob(), a.Ad), jobprio.NewViews().Of(r.eval, b.FirstJob(), b.Ad))
	})
	matches := []negotiator.Match{}
	for _, j := range jobs {
		if !gpus {
			j.Ad.Set("RequestGPUs", classad.Literal(classad.Undefined()))
		}
		limits, _ := j.Ad.EvalString(r.eval, "ConcurrencyLimits")
		demands := concurrency.Demands(limits)
		if _, blocked := inUse.Blocked(demands); blocked || claimed[j.FirstJob()] || !r.allows(cfg.JobConstraint, j.Ad) {
			continue
		}
		best := -1
		var bestAd *classad.Ad
		for i, s := range free {
			ad := s.ad
			if pool.Partitionable(r.eval, ad) {
				ad = pool.Left(r.eval, ad, pieces[s.name])
			}
			if !classad.Match(r.eval, j.Ad, ad) || !enough(r.eval, j.Ad, ad) {
				continue
			}
			first := best < 0 || begun[s.name] && !begun[free[best].name]
			if first || begun[s.name] == begun[free[best].name] && r.rank(cfg.PreJobRank, ad, j.Ad) > r.rank(cfg.PreJobRank, bestAd, j.Ad) {
				best, bestAd = i, ad
			}
		}
		if best < 0 {
			continue
		}
		inUse.Take(demands)
		s := free[best]
		m := negotiator.Match{Job: j.FirstJob(), Submitter: j.Submitter, Slot: s.name, Limits: concurrency.Text(demands), Weight: accountant.One, Reason: negotiator.NoPreemption}
		m.Rank = r.number(bestAd, "Rank", j.Ad)
		if pool.Partitionable(r.eval, s.ad) {
			m.Piece = pool.Piece{Of: s.name, Takes: takenOf(r.eval, j.Ad, bestAd)}
			pieces[s.name] = append(pieces[s.name], m.Piece.Takes)
			for n := 1; names[m.Slot]; n++ {
				m.Slot = pool.DynamicName(s.name, n)
			}
			names[m.Slot], begun[s.name] = true, cfg.DepthFirst
		} else {
			free = slices.Delete(free, best, best+1)
		}
		matches = append(matches, m)
	}
	return fmt.Sprintf("%+v", matches)
}

// takenOf returns what a job takes of a slot with this ad.
func takenOf(eval *classad.Context, job, slot *classad.Ad) pool.Resources {
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
	p := negotiator.Pool{
		Slots:      []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", ""), aSlot(t, "slot3", "Cpus = 2"), aSlot(t, "slot4", "Cpus = 2")},
		Submitters: []accountant.Record{bounded("alice@x", 1, 3, 0), record("bob@x", 5)},
		Jobs:       []jobprio.Run{aJob(t, 1, 1, "alice@x", "Rank = TARGET.Cpus"), aJob(t, 2, 1, "bob@x", "Rank = TARGET.Cpus")},
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
	p := negotiator.Pool{Slots: append(equal(t, 3, "HasG = false"), aSlot(t, "g1", "HasG = true"))}
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
	plan := Cycle(negotiator.Pool{Slots: []pool.Slot{slot}, Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestDisk = 1100")}}, defaults(t), now)
	if len(plan.Matches) != 1 || plan.Matches[0].Piece.Takes != "Cpus=1 Memory=128" {
		t.Errorf("Cycle matches %+v, want one that takes Cpus=1 Memory=128", plan.Matches)
	}
}

package negotiation

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// likenesses are those of jobs, by their submitters and their ads without the attributes of jobprio.Apart.
type likenesses map[string]*jobprio.Likeness

// put gives runs the likenesses that they have.
func (l likenesses) put(runs []jobprio.Run) {
	for i := range runs {
		r := &runs[i]
		ad, constant := r.Ad.Clone(), true
		for _, name := range jobprio.Apart {
			if e, is := ad.Lookup(name); is {
				_, literal := e.Constant()
				constant = constant && literal
			}
			ad.Set(name, classad.Literal(classad.Int(0)))
		}
		if !constant {
			continue
		}
		key := r.Submitter + ad.Format(classad.StyleSpool)
		if l[key] == nil {
			l[key] = new(jobprio.Likeness)
		}
		at, _ := r.Ad.EvalInt(&classad.Context{}, pool.AttrQDate)
		r.Likeness, r.QDate = l[key], at
	}
}

// TestLearnedLaw holds that cycles which keep what they learn of slots and jobs give the same as cycles that keep nothing, while jobs
// start and end, slots change, and the configuration looks at other attributes. So do cycles without reasons, but for these.
func TestLearnedLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, rapid.Bool().Draw(rt, "pieces"))
		cfg.Pie = rapid.SampledFrom([]negotiator.Pie{negotiator.MaxMin, negotiator.Spins}).Draw(rt, "pie")
		p, cfg = maybeQueued(rt, t, p, cfg)
		at, learned, likes := now, &negotiator.Learned{}, likenesses{}
		for range rapid.IntRange(1, 4).Draw(rt, "cycles") {
			plain := p
			plain.Learned, plain.Jobs = nil, slices.Clone(p.Jobs)
			for i := range p.Jobs {
				plain.Jobs[i].Likeness = nil
			}
			likes.put(p.Jobs)
			plan := Cycle(plain, cfg, at)
			p.Learned = learned
			if got, want := asJSON(rt, Cycle(p, cfg, at)), asJSON(rt, plan); got != want {
				rt.Fatalf("with what was learned: %s\nwithout: %s\n%s", got, want, portrait(p, cfg))
			}
			quiet, bare := cfg, *plan
			quiet.NoReasons = true
			bare.Autoclusters, bare.Rejections = nil, slices.Clone(plan.Rejections)
			for i := range bare.Rejections {
				bare.Rejections[i].Jobs, bare.Rejections[i].Reason, bare.Rejections[i].Ahead = nil, "", 0
			}
			if got, want := asJSON(rt, Cycle(p, quiet, at)), asJSON(rt, &bare); got != want {
				rt.Fatalf("without reasons: %s\nwith: %s\n%s", got, want, portrait(p, cfg))
			}
			at = at.Add(time.Minute)
			p = after(p, plan)
			for i := range p.Claims {
				switch c := &p.Claims[i]; {
				case c.State == pool.Matched:
					c.State, c.StartedAt = pool.RunningClaim, at
				case c.State == pool.RunningClaim && rapid.IntRange(0, 3).Draw(rt, "restarted") == 0:
					c.StartedAt = at
				}
			}
			for i := range p.Slots {
				if rapid.IntRange(0, 5).Draw(rt, "changed") == 0 {
					p.Slots[i].Ad = p.Slots[i].Ad.Clone()
					p.Slots[i].Ad.SetInt("KFlops", int64(rapid.IntRange(0, 2).Draw(rt, "KFlops")))
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "other rank") == 0 {
				cfg.PreJobRank = expr(t, rapid.SampledFrom([]string{"KFlops", "-Memory", "0"}).Draw(rt, "rank"))
			}
		}
	})
}

// TestLearnedStarts holds that running slots which differ in their start alone are told apart, where jobs rank slots by it.
func TestLearnedStarts(t *testing.T) {
	cfg := preempting(t)
	cfg.Preemption.Rank = nil
	p := negotiator.Pool{
		Slots: equal(t, 4, ""), Claims: runs(1, "bob@x", 1, 4, 5*time.Hour), Jobs: []jobprio.Run{aJob(t, 2, 1, "alice@x", "Rank = TARGET.EnteredCurrentState")},
		Submitters: []accountant.Record{record("alice@x", 1), record("bob@x", 1000)}, Learned: &negotiator.Learned{},
	}
	for range 2 {
		if got, want := ousted(Cycle(p, cfg, now)), "2.0>slot4(1.4 Priority)"; got != want {
			t.Errorf("%s, want the slot that was entered last: %s", got, want)
		}
	}
}

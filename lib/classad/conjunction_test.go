package classad

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFalls(t *testing.T) {
	other := mustAd(t, `[ Memory = 4096; Arch = "x86_64"; Load = 0.5; Needs = TARGET.RequestMemory; Loop = Loop; Has = true; Not = false ]`)
	for _, c := range []struct {
		requirements string
		want         int
	}{
		{"true", -1}, {"1", -1}, {"0.0", 0}, {"false", 0}, {`"true"`, 0}, {"undefined", 0}, {"error", 0}, {"(2)", -1}, {"-1 && 2.5", -1}, {"1 && true", -1}, {"true && 0", 1},
		{`true && "true" && false`, 1}, {"Has && Not", 1}, {"(Has && true) && (true && Not)", 3}, {"Has && (Missing && Not)", 1}, {"Missing || true && error", 0}, {"Missing || Has && Has", -1},
		{`TARGET.Arch == "X86_64" && TARGET.Memory >= RequestMemory`, -1}, {`TARGET.Arch == "X86_64" && TARGET.Memory >= 2 * RequestMemory && error`, 1},
		{"2000 <= TARGET.Memory && 5000 <= TARGET.Memory", 1}, {"TARGET.Load < 1 && TARGET.Load > 0.5", 1}, {"1 > TARGET.Load && TARGET.Arch > 5", 1}, {`TARGET.Arch != "aarch64" && "Y" > Arch`, -1},
		{"TARGET.Needs == 3000 && MY.RequestMemory == 3000 && TARGET.Loop", 2}, {"Has && Requirements", 1}, {"Has && MY.Sub && Not", 2}, {"Has && MY.Fails && Not", 1}, {"Has && Memory", -1},
		{"time() == 1709206496 && CurrentTime > 1709206496", 1}, {"random(3) < 3 && random() >= 0 && random(2) == 2", 2},
		{"Has ? Has && Not : Has", 0}, {"!Not && !(Has && Has)", 1}, {"ifThenElse(RequestMemory > 1, Has && Has && Not, true) && Not", 0}, {"ifThenElse(RequestMemory > 1, Has && Has, false) && Has && Not", 2},
	} {
		my := mustAd(t, "[ RequestMemory = 3000; Sub = TARGET.Memory > 1000 && TARGET.Has; Fails = TARGET.Has && TARGET.Memory < RequestMemory ]")
		my.Set("Requirements", mustExpr(t, c.requirements))
		m, by := NewMatcher(noon, my), NewMatcher(noon, other)
		for question := range 2 * worthIt {
			if got := m.Falls(other); got != c.want {
				t.Errorf("Falls with Requirements %s at question %d = %d, want %d", c.requirements, question, got, c.want)
				break
			}
			if got := by.FallsBy(my); got != c.want {
				t.Errorf("FallsBy with Requirements %s at question %d = %d, want %d", c.requirements, question, got, c.want)
				break
			}
		}
	}
}

func TestFallsOfNobody(t *testing.T) {
	ad, mute := mustAd(t, "[ Requirements = true ]"), mustAd(t, "[ A = 1 ]")
	for _, c := range []struct {
		name      string
		my, other *Ad
		falls, by int
	}{{"no Requirements here", mute, ad, 0, -1}, {"none there", ad, mute, -1, 0}, {"nobody there", ad, nil, 0, 0}, {"nobody here", nil, ad, 0, 0}, {"an empty ad there", ad, New(), -1, 0}} {
		m := NewMatcher(noon, c.my)
		if falls, by := m.Falls(c.other), m.FallsBy(c.other); falls != c.falls || by != c.by {
			t.Errorf("%s: Falls, FallsBy = %d, %d, want %d, %d", c.name, falls, by, c.falls, c.by)
		}
	}
}

// conjunction is clauses in any grouping, most of them true or quick to tell.
func (g gen) conjunction(depth int) string {
	if depth == 0 || g.n(5) == 0 {
		return g.of("true", "1", "A", "MY.B", "TARGET.C", "TARGET.A >= 1", "2 > MY.B", `C == "a"`, `"A" != TARGET.D`, "D <= 2.5", "Requirements", "("+g.expr(2)+")")
	}
	return "(" + g.conjunction(depth-1) + ") && " + g.operandOf(g.conjunction(depth-1))
}

func (g gen) operandOf(text string) string { return g.of("("+text+")", "(("+text+"))") }

// TestFallsAgrees has Requirements that are conjunctions, of ads that share
// them, over so many questions that everything is specialised.
func TestFallsAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		c := &Context{Now: noon.Now, Seed: uint64(g.n(100)), Strict: g.n(8) == 0}
		ads := []*Ad{g.rich(), g.rich(), g.rich()}
		shared := g.parse(g.conjunction(3))
		for _, ad := range ads {
			for _, name := range []string{"A", "B", "C", "D"} {
				if g.n(2) == 0 {
					ad.Set(name, g.parse(g.of("1", "2", "3.5", `"A"`, "true", "TARGET.A", "B", "true && TARGET.B", "A > 0 && B > 0")))
				}
			}
			ad.Set("Requirements", shared)
			if g.n(3) == 0 {
				ad.Set("Requirements", g.parse(g.conjunction(3)))
			}
		}
		checkMatcher(t.Fatalf, c, ads[0], ads[1], ads[2], ads[1].Clone())
	})
}

func TestMatcherDoesNotAllocate(t *testing.T) {
	job, slot := mustAd(t, smallJob), mustAd(t, smallSlot)
	m := NewMatcher(benchContext, job)
	for range 2 * worthIt {
		m.Match(slot)
	}
	allocs := testing.AllocsPerRun(1000, func() {
		m.Falls(slot)
		m.FallsBy(slot)
		m.Rank(slot)
	})
	if allocs != 0 {
		t.Errorf("allocations = %v, want 0", allocs)
	}
}

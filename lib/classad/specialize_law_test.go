package classad

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sameValue reports whether two values are the same: of one kind, and equal to
// the last bit.
func sameValue(a, b Value) bool {
	switch {
	case a.kind != b.kind || a.zone != b.zone:
		return false
	case a.kind == KindString:
		return a.text() == b.text()
	case a.kind >= KindList:
		return string(appendValue(nil, a, StyleSpool)) == string(appendValue(nil, b, StyleSpool))
	}
	return a.bits == b.bits || a.kind == KindReal && a.real() != a.real() && b.real() != b.real()
}

// checkLaw compares an expression with what it is specialised to, whichever
// side is known, and with that printed and read again.
func checkLaw(fatalf func(string, ...any), c *Context, e *Expr, my, target *Ad) {
	want := e.Eval(c, my, target)
	known := []struct {
		name       string
		c          *Context
		my, target *Ad
	}{
		{"nothing", c, nil, nil}, {"MY", c, my, nil}, {"TARGET", c, nil, target}, {"both", c, my, target}, {"MY without the time", nil, my, nil}, {"both without the time", nil, my, target},
	}
	for _, k := range known {
		if k.my == nil && my.shadowsScopes() || k.target == nil && target.shadowsScopes() {
			continue
		}
		r := e.Specialize(k.c, k.my, k.target)
		if got := r.Eval(c, my, target); !sameValue(got, want) {
			fatalf("%v specialised for %s is %v = %v, want %v\nmy %v\ntarget %v", e, k.name, r, got, want, my.Format(StyleOld), target.Format(StyleOld))
		}
		text := r.Format(StyleSpool)
		if r != e && !r.constant() && text == e.Format(StyleSpool) && !strings.Contains(text, "relTime(") { // relTime(5) prints as its value does
			fatalf("%v specialised for %s is a copy, want the same expression", e, k.name)
		}
		if again, err := ParseExpr(text); err != nil {
			fatalf("%v specialised for %s prints as %s: %v", e, k.name, text, err)
		} else if got := again.Eval(c, my, target); !sameValue(got, want) {
			fatalf("%v specialised for %s prints as %s = %v, want %v", e, k.name, text, got, want)
		}
	}
}

func TestSpecializeAgreesOnGoldenEval(t *testing.T) {
	overGolden(t, "eval", func(a *agreement, c evalCase) {
		my, err := goldenAd(c.My)
		if err != nil || c.Strict {
			a.skipped++
			return
		}
		var target *Ad
		if c.Target != "" {
			if target, err = goldenAd(c.Target); err != nil {
				a.skipped++
				return
			}
		}
		e, err := ParseExpr(c.Expr)
		if err != nil {
			a.skipped++
			return
		}
		a.all++
		a.same++
		checkLaw(t.Errorf, goldenContext, e, my, target)
	})
}

func TestSpecializeAgreesOnGoldenMatch(t *testing.T) {
	overGolden(t, "match", func(a *agreement, c matchCase) {
		left, right := c.ads(t)
		a.all++
		a.same++
		for _, side := range [][2]*Ad{{left, right}, {right, left}} {
			my, target := side[0], side[1]
			for _, entry := range my.all() {
				checkLaw(t.Errorf, goldenContext, entry.expr, my, target)
			}
			checkInPlace(t.Errorf, goldenContext, my, target)
		}
	})
}

// checkInPlace compares an ad's Requirements with what they are specialised
// to, in the place of them, and with every attribute specialised in its place.
// An attribute handed to countMatches is evaluated in nested ads, so its place
// cannot be taken.
func checkInPlace(fatalf func(string, ...any), c *Context, my, target *Ad) {
	if my.shadowsScopes() || target.shadowsScopes() {
		return
	}
	want := my.Eval(c, "Requirements", target)
	for _, known := range [][2]*Ad{{my, nil}, {nil, target}, {my, target}} {
		alone, all := my.Clone(), my.Clone()
		for _, entry := range my.all() {
			r := entry.expr.Specialize(c, known[0], known[1])
			all.Set(entry.name, r)
			if equalFold(entry.name, "Requirements") {
				alone.Set(entry.name, r)
			}
		}
		specials := []*Ad{alone, all}
		if text := fold(my.Format(StyleOld) + target.Format(StyleOld)); strings.Contains(text, "countmatches") || strings.Contains(text, "evalineachcontext") {
			specials = specials[:1]
		}
		for _, special := range specials {
			if got := special.Eval(c, "Requirements", target); !sameValue(got, want) {
				fatalf("Requirements specialised in place to %v = %v, want %v\nmy %v\ntarget %v", special.Format(StyleOld), got, want, my.Format(StyleOld), target.Format(StyleOld))
			}
		}
	}
}

func TestSpecializeAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		my, target := g.ad(), g.ad()
		if g.n(10) == 0 {
			my.Chain(g.ad())
		}
		c := &Context{Now: noon.Now, Seed: uint64(g.n(100))}
		checkLaw(t.Fatalf, c, g.parse(g.expr(4)), my, target)
	})
}

func TestSpecializeAgreesInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t, blind: true}
		checkInPlace(t.Fatalf, &Context{Now: noon.Now, Seed: 3}, g.ad(), g.ad())
	})
}

// specializedPool returns slots with every expression specialised for a job,
// and how many expressions that were.
func specializedPool(job *Ad, slots []*Ad) ([]*Ad, int) {
	done := map[*Expr]*Expr{}
	special := make([]*Ad, len(slots))
	for i, slot := range slots {
		special[i] = slot.Clone()
		for _, entry := range slot.entries() {
			if entry.expr.constant() {
				continue
			}
			if done[entry.expr] == nil {
				done[entry.expr] = entry.expr.Specialize(benchContext, nil, job)
			}
			special[i].Set(entry.name, done[entry.expr])
		}
	}
	return special, len(done)
}

func TestSpecializeAgreesOnThePool(t *testing.T) {
	slots, job := readPool(t, poolText(t), NewInterner()), poolJob(t)
	special := job.Clone()
	for _, name := range []string{"Requirements", "Rank"} {
		e, _ := job.Lookup(name)
		special.Set(name, e.Specialize(benchContext, job, nil))
	}
	forJob, _ := specializedPool(job, slots)
	for i, slot := range slots {
		ok, left, right := MatchRanks(benchContext, job, slot)
		gotOK, gotLeft, gotRight := MatchRanks(benchContext, special, forJob[i])
		if ok != gotOK || left != gotLeft || right != gotRight {
			name, _ := slot.EvalString(nil, "Name")
			t.Errorf("match with %s when both are specialised = %v, %v, %v, want %v, %v, %v", name, gotOK, gotLeft, gotRight, ok, left, right)
		}
	}
}

func BenchmarkSpecialize(b *testing.B) {
	slots, job := readPool(b, poolText(b), NewInterner()), poolJob(b)
	e, _ := job.Lookup("Requirements")
	b.Run("job", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Specialize(benchContext, job, nil)
		}
	})
	b.Run("all slots for the job", func(b *testing.B) {
		count := 0
		for b.Loop() {
			_, count = specializedPool(job, slots)
		}
		b.ReportMetric(float64(count), "expressions")
	})
	for _, name := range []string{"Requirements", "WithinResourceLimits"} {
		e, _ := slots[0].Lookup(name)
		b.Run(fmt.Sprintf("slot %s for the job", name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Specialize(benchContext, nil, job)
			}
		})
		b.Run(fmt.Sprintf("slot %s for itself", name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Specialize(benchContext, slots[0], nil)
			}
		})
	}
}

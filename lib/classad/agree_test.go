package classad

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The engine has several ways to the same value: the program that is folded
// and flattened, the one in which every operator looks at its depth, a
// specialised expression, and a Matcher. All must agree.

// counted returns a copy of an expression that is always evaluated by the
// program in which every operator looks at its depth, in all its parts.
func counted(e *Expr) *Expr {
	if e.constant() {
		return e
	}
	out := newExpr(countedNode(e.root))
	if out.constant() {
		return out
	}
	p := out.program()
	out.prog.Store(&program{top: p.top, height: maxDepth + 1, size: p.size})
	return out
}

func countedExprs(exprs []*Expr) []*Expr {
	out := make([]*Expr, len(exprs))
	for i, e := range exprs {
		out[i] = counted(e)
	}
	return out
}

func countedNodes(nodes []node) []node {
	out := make([]node, len(nodes))
	for i, n := range nodes {
		out[i] = countedNode(n)
	}
	return out
}

func countedNode(n node) node {
	switch n := n.(type) {
	case *selection:
		return &selection{countedNode(n.base), n.attribute}
	case *subscript:
		return &subscript{countedNode(n.base), countedNode(n.index)}
	case *unary:
		return &unary{n.op, countedNode(n.x)}
	case *binary:
		return &binary{n.op, countedNode(n.l), countedNode(n.r)}
	case *conditional:
		return &conditional{countedNode(n.c), countedNode(n.t), countedNode(n.f)}
	case *elvis:
		return &elvis{countedNode(n.a), countedNode(n.b)}
	case *paren:
		return &paren{countedNode(n.x)}
	case *call:
		return &call{n.name, n.fn, countedNodes(n.args)}
	case *listing:
		return newListing(countedExprs(n.items))
	case *record:
		return &record{countedAd(n.ad)}
	}
	return n
}

// countedAd is counted for every attribute of an ad and of its parents.
func countedAd(ad *Ad) *Ad {
	if ad == nil {
		return nil
	}
	out := New()
	for _, e := range ad.entries() {
		out.Set(e.name, counted(e.expr))
	}
	return out.Chain(countedAd(ad.parent))
}

// evalCounting is Eval with every operator looking at its depth.
func evalCounting(e *Expr, c *Context, my, target *Ad) Value {
	return counted(e).Eval(c, countedAd(my), countedAd(target))
}

// evalLimited is Eval, and whether the evaluation came near one of its limits,
// so that others that do less work need not agree.
func evalLimited(e *Expr, c *Context, my, target *Ad) (v Value, near bool) {
	st := newState(c, my, target)
	v = st.run(e, &st.my)
	if near = st.failed || st.steps > maxSteps/2 || st.bytes > maxBytes/2; st.failed {
		v = Error()
	}
	return v, near
}

// checkAgree compares the evaluators on one expression. Where a limit was
// exceeded, a specialised expression need not be ERROR too, for it has less to
// do; the program that counts must.
func checkAgree(fatalf func(string, ...any), c *Context, e *Expr, my, target *Ad) {
	want, near := evalLimited(e, c, my, target)
	if got := e.Eval(c, my, target); !sameValue(got, want) {
		fatalf("%v = %v and at another time %v\nmy %v\ntarget %v", e, got, want, my.Format(StyleOld), target.Format(StyleOld))
	}
	if got := evalCounting(e, c, my, target); !sameValue(got, want) {
		fatalf("%v = %v when every operator looks at its depth, want %v\nmy %v\ntarget %v", e, got, want, my.Format(StyleOld), target.Format(StyleOld))
	}
	if !near && !c.Strict {
		checkLaw(fatalf, c, e, my, target)
	}
}

// matchResult is everything that matching two ads can tell.
type matchResult struct {
	match, wants, wantedBy, ranked bool
	rank, otherRank, alone         uint64 // bits, NaN as one of them
	falls, fallsBy                 int
}

func rankBits(x float64) uint64 {
	if x != x {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(x)
}

func matchPlain(c *Context, my, other *Ad) matchResult {
	ok, rank, otherRank := MatchRanks(c, my, other)
	e, _ := my.Lookup("Rank")
	alone, _ := Rank(c, e, my, other)
	return matchResult{
		Match(c, my, other), Satisfies(c, my, other), Satisfies(c, other, my), ok,
		rankBits(rank), rankBits(otherRank), rankBits(alone), fallsPlain(c, my, other), fallsPlain(c, other, my),
	}
}

// fallsPlain evaluates the clauses of Requirements one after another, in one
// evaluation.
func fallsPlain(c *Context, my, target *Ad) int {
	st, name := newState(c, my, target), newAttribute("Requirements")
	e := my.get(&name)
	if e == nil {
		return 0
	}
	st.makeRoom()
	st.active[0], st.busy = activity{e, &st.my, &name}, 1
	for i, clause := range e.Clauses() {
		if v := st.run(clause, &st.my); !v.True() || st.failed {
			return i
		}
	}
	return -1
}

func matchWith(m *Matcher, other *Ad) matchResult {
	ok, rank, otherRank := m.MatchRanks(other)
	return matchResult{
		m.Match(other), m.Falls(other) < 0, m.FallsBy(other) < 0, ok,
		rankBits(rank), rankBits(otherRank), rankBits(m.Rank(other)), m.Falls(other), m.FallsBy(other),
	}
}

// checkMatcher compares a Matcher with the functions that know nothing
// beforehand, each other ad four times: what is met often is specialised. A
// second Matcher does so from the first question on. A third was another ad's
// before, at another time.
func checkMatcher(fatalf func(string, ...any), c *Context, my *Ad, others ...*Ad) {
	fresh, eager := NewMatcher(c, my), NewMatcher(c, my)
	eager.asked = worthIt - 1
	used := NewMatcher(&Context{Now: c.Now.Add(time.Hour), Strict: !c.Strict}, others[0])
	used.asked = worthIt - 1
	for range oftenMet {
		matchWith(used, my)
	}
	used.Reset(c, my)
	for round := range 4 {
		for _, other := range others {
			want := matchPlain(c, my, other)
			for _, m := range []*Matcher{fresh, eager, used} {
				if got := matchWith(m, other); got != want {
					fatalf("Matcher in round %d, eager: %v, used: %v = %+v, want %+v\nmy %v\nother %v", round, m == eager, m == used, got, want, my.Flat().Format(StyleSpool), other.Flat().Format(StyleSpool))
				}
			}
			if got := matchPlain(c, countedAd(my), countedAd(other)); got != want {
				fatalf("match when every operator looks at its depth = %+v, want %+v\nmy %v\nother %v", got, want, my.Flat().Format(StyleSpool), other.Flat().Format(StyleSpool))
			}
		}
	}
}

func TestEvaluatorsAgreeOnGoldenEval(t *testing.T) {
	overGolden(t, "eval", func(a *agreement, c evalCase) {
		my, err := goldenAd(c.My)
		target, terr := goldenAd(c.Target)
		parse, context := ParseExpr, *goldenContext
		if c.Strict {
			parse, context.Strict = ParseStrictExpr, true
		}
		e, eerr := parse(c.Expr)
		if err != nil || terr != nil || eerr != nil {
			a.skipped++ // a syntax error is the same for all of them
			return
		}
		if c.Target == "" {
			target = nil
		}
		a.all++
		a.same++
		want := e.Eval(&context, my, target)
		if got := evalCounting(e, &context, my, target); !sameValue(got, want) {
			t.Errorf("%s = %v when every operator looks at its depth, want %v\nmy %s\ntarget %s", c.Expr, got, want, c.My, c.Target)
		}
	})
}

func TestMatcherAgreesOnGoldenMatch(t *testing.T) {
	overGolden(t, "match", func(a *agreement, c matchCase) {
		left, right := c.ads(t)
		a.all++
		a.same++
		checkMatcher(t.Errorf, goldenContext, left, right)
		checkMatcher(t.Errorf, goldenContext, right, left)
	})
}

// rich is an ad with everything that makes a difference to the evaluators:
// ranks, parents, names that mean a scope, and so many attributes that a
// Reader gives it a front.
func (g gen) rich() *Ad {
	ad := g.ad()
	ad.Set("Rank", g.parse(g.expr(2)))
	if g.n(8) == 0 {
		ad.Set(g.of("MY", "target", "Parent", "SELF", "other", "root"), g.parse(g.of("1", "N", "[ A = 9; x = B ]", "TARGET", "undefined")))
	}
	if g.n(3) == 0 {
		for _, name := range customary[:frontSize+2] {
			if ad.cell(&name) == nil {
				ad.Set(name.name, g.parse(g.of("1", `"a"`, "A", "B + 1")))
			}
		}
	}
	if g.n(5) == 0 {
		ad.Chain(g.ad())
	}
	return ad
}

func TestEvaluatorsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		c := &Context{Now: noon.Now, Seed: uint64(g.n(100)), Strict: g.n(4) == 0}
		my, target := g.rich(), g.rich()
		checkAgree(t.Fatalf, c, g.parse(g.expr(4)), my, target)
		for _, name := range []string{"A", "Requirements", "Rank"} {
			if e, ok := my.Lookup(name); ok {
				checkAgree(t.Fatalf, c, e, my, target)
			}
		}
	})
}

func TestMatcherAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		c := &Context{Now: noon.Now, Seed: uint64(g.n(100)), Strict: g.n(4) == 0}
		my, others := g.rich(), []*Ad{g.rich(), g.rich(), g.rich()}
		// Others that share expressions, as ads of one stream do.
		twin := others[0].Clone()
		twin.Set(g.of("A", "B", "x", "MY", "Rank"), g.parse(g.leaf()))
		checkMatcher(t.Fatalf, c, my, append(others, twin)...)
		if want := Satisfies(c, my, New()); (NewMatcher(c, my).Falls(New()) < 0) != want {
			t.Fatalf("Falls < 0 of an empty ad = %v, want %v", !want, want)
		}
	})
}

// TestMatcherInListsOfTheAdsThemselves has the ads of the match in lists that
// expressions are evaluated in.
func TestMatcherInListsOfTheAdsThemselves(t *testing.T) {
	my := mustAd(t, `[ Requirements = countMatches(P, { TARGET }) == 1; D = false; Rank = sum(evalInEachContext(Q, { TARGET, MY })); V = 1 ]`)
	other := mustAd(t, `[ Requirements = countMatches(E, { TARGET, MY }) == 1; P = C; C = D; D = true && V == 5; Q = W; W = V; V = 5; E = F; F = G; G = V == 5 ]`)
	checkMatcher(t.Errorf, noon, my, other)
	checkMatcher(t.Errorf, noon, other, my)
	if !Satisfies(noon, my, other) {
		t.Error("Satisfies = false, want true: D of the other ad is true in it")
	}
}

// TestMatcherWithShadowedScopes has others in which TARGET is an attribute,
// between others in which it is not, with the same expressions.
func TestMatcherWithShadowedScopes(t *testing.T) {
	wants := mustExpr(t, "TARGET.W == 5 && MY.W == 6")
	others := make([]*Ad, 4)
	for i, text := range []string{"[ W = 6 ]", "[ W = 6; TARGET = [ W = 5 ] ]", "[ W = 6; V = 5 ]", "[ MY = [ W = 6 ] ]"} {
		others[i] = mustAd(t, text)
		others[i].Set("Requirements", wants)
	}
	for _, text := range []string{"[ W = 5; Requirements = TARGET.W == 6; Rank = W ]", "[ W = 4; Requirements = true ]", "[ W = 5; MY = [ W = 4 ]; Requirements = MY.W == 4 ]"} {
		checkMatcher(t.Errorf, noon, mustAd(t, text), others...)
	}
}

// TestLimitOfDepthCountsAttributes walks to the limit over attributes. Limits
// are the one thing in which evaluators differ: what is specialised has less to
// do, so it, and a Matcher, may have a value where the whole is ERROR.
func TestLimitOfDepthCountsAttributes(t *testing.T) {
	my := New()
	my.SetInt("D250", 1)
	for i := range 250 {
		my.Set(nameOf("D", i), mustExpr(t, nameOf("D", i+1)+" + 1"))
	}
	e := mustExpr(t, "D0")
	if v := e.Eval(noon, my, nil); v.Kind() != KindError {
		t.Errorf("Eval of a chain of 250 attributes = %v, want error", v)
	}
	if v := evalCounting(e, noon, my, nil); v.Kind() != KindError {
		t.Errorf("Eval of a chain of 250 attributes, counting = %v, want error", v)
	}
	row := mustExpr(t, "D249"+strings.Repeat(" + 1", 399))
	if v := row.Eval(noon, my, nil); v.Kind() != KindError {
		t.Errorf("Eval of 399 additions over two attributes = %v, want error", v)
	}
	if v, _ := mustExpr(t, "D249"+strings.Repeat(" + 1", 396)).Eval(noon, my, nil).Int(); v != 398 {
		t.Errorf("Eval of 396 additions over two attributes = %v, want 398", v)
	}
}

// TestLimitIsTheSameForAllPrograms walks up to the limit of depth in steps of
// one, with every kind of operator on the way.
func TestLimitIsTheSameForAllPrograms(t *testing.T) {
	for _, form := range []struct{ before, inner, after string }{
		{"", "A", " + 1"}, {"", "A", " && A"}, {"", "A", " || false"}, {"!", "A", ""}, {"", "A", " ?: 1"}, {"A && (", "A", ")"}, {"true && (", "A", ")"}, {"true ? (", "A", ") : 1"},
		{"", "MY", ".MY"}, {"int(", "A", ")"}, {"ifThenElse(true, ", "A", ", 1)"}, {"regexp(", "A", ", A)"}, {"{ 1, 2 }[", "0", "]"}, {"", "1", " + 1"}, {"", "true", " && true"},
	} {
		my := mustAd(t, "[ A = B; B = C + 0; C = 1 ]")
		for _, n := range []int{100, 130, 190, 196, 197, 198, 199, 200, 395, 396, 397, 398, 399, 400, 401, 402, 403} {
			e, err := ParseExpr(strings.Repeat(form.before, n) + form.inner + strings.Repeat(form.after, n))
			if err != nil {
				break // the parser gives up first
			}
			want := e.Eval(noon, my, nil)
			if got := evalCounting(e, noon, my, nil); !sameValue(got, want) {
				t.Errorf("%s%s%s nested %d times = %v when every operator looks at its depth, want %v", form.before, form.inner, form.after, n, got, want)
			}
			my.Set("Requirements", e)
			if want, got := Satisfies(noon, my, New()), NewMatcher(noon, my).Falls(New()) < 0; got != want {
				t.Errorf("%s%s%s nested %d times: Falls < 0 = %v, want %v", form.before, form.inner, form.after, n, got, want)
			}
		}
	}
}

func nameOf(s string, i int) string { return s + Int(int64(i)).String() }

// MatchRanks is what Matcher.MatchRanks is made for: Match and, if the ads match, the Rank of each with the other
// as TARGET. A rank that is missing or no number is 0.
func MatchRanks(c *Context, left, right *Ad) (ok bool, leftRank, rightRank float64) {
	st := newState(c, left, right)
	if right != nil && left != nil && st.satisfied(&st.target) && st.satisfied(&st.my) {
		ok, leftRank, rightRank = true, st.rank(&st.my), st.rank(&st.target)
	}
	st.release()
	return ok, leftRank, rightRank
}

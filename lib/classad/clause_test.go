package classad

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestClauses(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"a && b && c", "a; b; c"}, {"a && (b && (c || d))", "a; b; c || d"}, {"(((a) && b))", "a; b"}, {"(a == 1) && (b)", "a == 1; b"},
		{"a || b", "a || b"}, {"(a)", "(a)"}, {"true", "true"}, {"a ? b && c : d", "a ? b && c : d"}, {"!(a && b)", " !(a && b)"}, {"a && true && 1", "a; true; 1"},
	} {
		var got []string
		for _, e := range mustExpr(t, c.expr).Clauses() {
			got = append(got, e.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("Clauses(%s) = %s, want %s", c.expr, strings.Join(got, "; "), c.want)
		}
	}
	e := mustExpr(t, "(a || b)")
	if clauses := e.Clauses(); len(clauses) != 1 || clauses[0] != e {
		t.Errorf("Clauses(%v) = %v, want the expression itself", e, clauses)
	}
}

// TestClausesMakeUpTheConjunction holds for every expression, as && associates
// over all values.
func TestClausesMakeUpTheConjunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t, calm: true}
		my, target := g.ad(), g.ad()
		e := g.parse(g.operand(3) + " && " + g.operand(3))
		got := Bool(true)
		for _, clause := range e.Clauses() {
			got = applyJunction(opAnd, got, clause.Eval(noon, my, target))
		}
		if want := e.Eval(noon, my, target); !sameValue(got, want) {
			t.Fatalf("clauses of %v = %v, want %v", e, got, want)
		}
	})
}

// applyJunction is && or || of two values.
func applyJunction(o op, l, r Value) Value {
	if v, decided := shortCut(o, l); decided {
		return v
	}
	return combine(o, l, r)
}

// explained prints clauses as path: clause = value.
func explained(clauses []Clause) string {
	var lines []string
	for _, c := range clauses {
		text := "none"
		if c.Expr != nil {
			text = c.Expr.String()
		}
		line := strings.Join(c.Path, ">") + ": " + text + " is " + c.Value.String()
		if c.Fails() {
			line += " FAILS"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestExplain(t *testing.T) {
	my := mustAd(t, `[ Memory = 10; On = true; Zero = 0; Start = TARGET.Owner == "alice" && (Limits); Limits = Memory > TARGET.RequestMemory; Own = MY.Start;
		Requirements = (START) && MY.Limits && On && Missing && TARGET.X > 1; One = (Start); Me = Me && On; A = B && On; B = A && Zero; Again = isUndefined(Again) && On;
		Bare = Theirs && TARGET.Start; Or = Start || On; Text = "a"; N = N2; N2 = { 1 } ]`)
	target := mustAd(t, `[ Owner = "alice"; RequestMemory = 20; Theirs = On && On; Start = true ]`)
	for _, c := range []struct{ name, want string }{
		{"requirements", `requirements>START: TARGET.Owner == "alice" is true
requirements>START>Limits: Memory > TARGET.RequestMemory is false FAILS
requirements>Limits: Memory > TARGET.RequestMemory is false FAILS
requirements: On is true
requirements: Missing is undefined FAILS
requirements: TARGET.X > 1 is undefined FAILS`},
		{"Nothing", "Nothing: none is undefined FAILS"},
		{"Zero", "Zero: 0 is 0 FAILS"}, {"On", "On: true is true"}, {"Memory", "Memory: 10 is 10"}, {"Text", `Text: "a" is "a" FAILS`},
		{"Me", "Me: Me is undefined FAILS\nMe: On is true"},
		{"A", "A>B: A is undefined FAILS\nA>B: Zero is 0 FAILS\nA: On is true"},
		{"Again", "Again: isUndefined(Again) is true\nAgain: On is true"},
		{"Bare", "Bare: Theirs is true\nBare: TARGET.Start is true"},
		{"Or", "Or: Start || On is true"},
		{"N", "N>N2: { 1 } is { 1 } FAILS"},
	} {
		if got := explained(Explain(noon, my, target, c.name)); got != c.want {
			t.Errorf("Explain(%s) =\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got, want := explained(Explain(noon, nil, nil, "Requirements")), "Requirements: none is undefined FAILS"; got != want {
		t.Errorf("Explain(Requirements) of no ad = %s, want %s", got, want)
	}
	alone := mustAd(t, `[ Requirements = TARGET.A is undefined && Bare && 2.5 ]`)
	want := "Requirements: TARGET.A =?= undefined is true\nRequirements: Bare is undefined FAILS\nRequirements: 2.5 is 2.5"
	if got := explained(Explain(noon, alone, nil, "Requirements")); got != want {
		t.Errorf("Explain(Requirements) without a target = %s, want %s", got, want)
	}
}

func TestExplainKeepsClausesApart(t *testing.T) {
	my := mustAd(t, `[ MY = [ Start = true ]; Start = false && true; Requirements = MY.Start && Start && isError(Deep) && Deep isnt 1 && Start is false ]`)
	my.Set("Deep", mustExpr(t, strings.Repeat("1+", 500)+"A"))
	want := `Requirements: MY.Start is true
Requirements>Start: false is false FAILS
Requirements>Start: true is true
Requirements: isError(Deep) is error FAILS
Requirements: Deep =!= 1 is error FAILS
Requirements: Start =?= false is true`
	if got := explained(Explain(noon, my, nil, "Requirements")); got != want {
		t.Errorf("Explain(Requirements) =\n%s\nwant\n%s", got, want)
	}
}

func TestExplainIsBounded(t *testing.T) {
	ad := New()
	for i := range 2000 {
		next := "A" + strconv.Itoa(i+1)
		ad.Set("A"+strconv.Itoa(i), mustExpr(t, next+" && "+next))
	}
	clauses := Explain(noon, ad, nil, "A0")
	if len(clauses) > 2*maxClauses {
		t.Errorf("clauses of a doubling ad = %d, want at most %d", len(clauses), 2*maxClauses)
	}
	for _, c := range clauses {
		if len(c.Path) > maxPath {
			t.Fatalf("path of a clause = %d names, want at most %d", len(c.Path), maxPath)
		}
	}
}

func TestExplainAgreesWithMatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		my, target := g.ad(), g.ad()
		c := &Context{Now: noon.Now, Seed: uint64(g.n(100))}
		satisfied := true
		clauses := Explain(c, my, target, "Requirements")
		for _, clause := range clauses {
			satisfied = satisfied && !clause.Fails()
		}
		if want := Satisfies(c, my, target); satisfied != want {
			t.Fatalf("no clause fails = %v, want %v\n%s\nmy %v\ntarget %v", satisfied, want, explained(clauses), my.Format(StyleOld), target.Format(StyleOld))
		}
	})
}

func TestExplainAgreesOnGoldenMatch(t *testing.T) {
	overGolden(t, "match", func(a *agreement, c matchCase) {
		left, err := goldenAd(c.Left)
		testenv.OK(t, err)
		right, err := goldenAd(c.Right)
		testenv.OK(t, err)
		ok := true
		for _, clause := range append(Explain(goldenContext, right, left, "Requirements"), Explain(goldenContext, left, right, "Requirements")...) {
			ok = ok && !clause.Fails()
		}
		a.check(c.Name, strconv.FormatBool(ok), strconv.FormatBool(c.Match), "")
	})
}

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

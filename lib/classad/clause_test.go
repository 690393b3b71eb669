package classad

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		if err != nil {
			t.Fatal(err)
		}
		right, err := goldenAd(c.Right)
		if err != nil {
			t.Fatal(err)
		}
		ok := true
		for _, clause := range append(Explain(goldenContext, right, left, "Requirements"), Explain(goldenContext, left, right, "Requirements")...) {
			ok = ok && !clause.Fails()
		}
		a.check(c.Name, strconv.FormatBool(ok), strconv.FormatBool(c.Match), "")
	})
}

package classad

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ample is a budget that what the laws draw does not spend.
const ample = 1 << 40

// TestBudgetLaw holds that an expression has the value within a budget that it has without,
// that a budget of just what it takes is enough, and that of one less it is spent.
func TestBudgetLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := gen{T: r}
		my, target := adOf(r, g), adOf(r, g)
		e, err := ParseExpr(g.expr(4))
		if err != nil {
			r.Fatal(err)
		}
		c := &Context{Now: time.Unix(1700000000, 0), Seed: 5}
		want := e.Eval(c, my, target)
		with := func(steps int) (Value, *Budget) {
			b := NewBudget(steps)
			limited := *c
			limited.Budget = b
			return e.Eval(&limited, my, target), b
		}
		got, b := with(ample)
		if !sameValue(got, want) || b.Spent() {
			r.Fatalf("%v with a budget = %v, want %v", e, got, want)
		}
		took := ample - b.Left()
		if got, b := with(took); !sameValue(got, want) || b.Spent() || b.Left() != 0 {
			r.Fatalf("%v with the %d steps that it takes = %v (%d left, spent %v), want %v and nothing left", e, took, got, b.Left(), b.Spent(), want)
		}
		if _, b := with(took - 1); took > 0 && !b.Spent() {
			r.Fatalf("%v takes %d steps, and %d were enough", e, took, took-1)
		}
	})
}

// TestMatcherBudgetLaw holds the same for a Matcher, which has fewer steps to take.
func TestMatcherBudgetLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := gen{T: r}
		my := adOf(r, g)
		var others []*Ad
		for range rapid.IntRange(1, 4).Draw(r, "others") {
			others = append(others, adOf(r, g))
		}
		c := &Context{Now: time.Unix(1700000000, 0), Seed: 5, Budget: NewBudget(ample)}
		plain, limited := NewMatcher(&Context{Now: c.Now, Seed: c.Seed}, my), NewMatcher(c, my)
		for i := range 2 * worthIt {
			o := others[i%len(others)]
			a, x, y := plain.MatchRanks(o)
			b, v, w := limited.MatchRanks(o)
			if got, want := fmt.Sprint(b, v, w), fmt.Sprint(a, x, y); got != want {
				r.Fatalf("MatchRanks with a budget = %s, want %s", got, want)
			}
		}
		spent := NewBudget(0)
		limited.Charge(spent)
		limited.Match(others[0])
		if took := ample - c.Budget.Left(); took > 0 && plain.ad.want(requirements) != nil && spent.Left() != 0 {
			r.Fatalf("Charge left %d steps of none", spent.Left())
		}
	})
}

func adOf(r *rapid.T, g gen) *Ad {
	ad := New()
	for _, name := range []string{"A", "B", "C", "D", "N", "L", "Requirements", "Rank"} {
		if !rapid.Bool().Draw(r, "has "+name) {
			continue
		}
		e, err := ParseExpr(g.expr(3))
		if err != nil {
			r.Fatal(err)
		}
		ad.Set(name, e)
	}
	return ad
}

// endless are ads whose attribute X takes all the steps that there are, each by other
// means. The text of doubling says what A1, A2 and so on are made of the one before.
var endless = []struct{ name, text string }{
	{"doubling", doubling(60, "1", "MY.A%[1]d + MY.A%[1]d") + "X = MY.A60"},
	{"bare names", doubling(60, "1", "A%[1]d + A%[1]d") + "X = A60"},
	{"text", doubling(60, `"abcdefgh"`, "strcat(A%[1]d, A%[1]d)") + "X = size(A60)"},
	{"lists", doubling(60, "1", "{A%[1]d, A%[1]d}") + "X = A60 =?= A60 || size(unparse(A60)) > 1 || sum({A60[0][1]}) > 1"},
	{"joins", doubling(60, `"abcdefgh,"`, `join(",", A%[1]d, A%[1]d)`) + "X = stringListSize(A60)"},
	{"patterns", doubling(60, "1", `(regexp(strcat("a", A%[1]d), "aaaa") ? 1 : 2) + A%[1]d`) + "X = A60"},
	{"evals", doubling(60, "1", `eval("A%[1]d + 1") + eval("A%[1]d + 2")`) + "X = A60"},
	{"unresolved", doubling(60, "1", "size(unresolved(A%[1]d)) + A%[1]d + A%[1]d") + "X = A60"},
	{"unparse", doubling(60, "1", "size(unparse(A%[1]d)) + A%[1]d + A%[1]d") + "X = A60"},
	{"members", doubling(60, "1", "member(A%[1]d, {1,2,3,4,5,6,7,8,9,A%[1]d}) ? 1 : 2") + "X = A60"},
	{"contexts", doubling(60, "1", "countMatches(A%[1]d, {[a=1],[a=2],[a=3]})") + "X = A60"},
	{"times", doubling(60, "1", `size(formatTime(A%[1]d, "%%c")) + A%[1]d`) + "X = A60"},
	{"splits", doubling(60, `"a b c d e f"`, `join(" ", split(A%[1]d), split(A%[1]d)[0], A%[1]d)`) + "X = A60"},
	{"scopes", doubling(60, "[v = 1]", "[v = A%[1]d.v + A%[1]d.v]") + "X = A60.v"},
	{"versions", doubling(60, `"1.2.3"`, `versionGT(A%[1]d, "1.2") ? A%[1]d : A%[1]d`) + "X = A60"},
	{"replacing", doubling(60, `"aaaaaaaa"`, `replaceAll("a", A%[1]d, A%[1]d)`) + "X = size(A60)"},
}

func doubling(n int, first, next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A0 = %s\n", first)
	for i := range n {
		fmt.Fprintf(&b, "A%d = %s\n", i+1, fmt.Sprintf(next, i))
	}
	return b.String()
}

func endlessAd(t testing.TB, text string) *Ad {
	ad, err := NewReader(strings.NewReader(text+"\n"), "test").Next()
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

// TestHostileExpressionsKeepToTheBudget holds that many jobs with expressions that have no end
// take together what their owner has, and little more than that.
func TestHostileExpressionsKeepToTheBudget(t *testing.T) {
	const each, all = 100_000, 1_000_000
	for _, h := range endless {
		t.Run(h.name, func(t *testing.T) {
			ad := endlessAd(t, h.text)
			c := &Context{Now: time.Unix(1700000000, 0), MaxSteps: each, Budget: NewBudget(all)}
			n := 0
			for n < 1000 && !c.Budget.Spent() {
				ad.Eval(c, "X", nil)
				n++
			}
			if over := -c.Budget.left; over > all {
				t.Errorf("%d evaluations took %d steps more than the %d that there were", n, over, all)
			}
			c.Budget = NewBudget(0)
			if v := ad.Eval(c, "X", nil); v.kind != KindError || !c.Budget.Spent() {
				t.Errorf("an evaluation without steps = %v, want error", v)
			}
		})
	}
}

// BenchmarkHostile says what a step costs at worst.
func BenchmarkHostile(b *testing.B) {
	for _, h := range endless {
		b.Run(h.name, func(b *testing.B) {
			ad, steps := endlessAd(b, h.text), 0
			for b.Loop() {
				c := &Context{Now: time.Unix(1700000000, 0), MaxSteps: 200_000, Budget: NewBudget(ample)}
				ad.Eval(c, "X", nil)
				steps += ample - c.Budget.left
			}
			b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(steps, 1)), "ns/step")
		})
	}
}

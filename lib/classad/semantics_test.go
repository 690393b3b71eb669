package classad

import (
	"strings"
	"testing"
)

// TestBytesAreBytes holds that texts are bytes, whatever they mean in UTF-8.
func TestBytesAreBytes(t *testing.T) {
	for text, want := range map[string]string{
		`stringListMember("b", "a\303\251b", "\303\251")`: "true",
		`stringListSize("a\376b", "\377")`:                "1",
		`stringListSize("a\303\251b", "\303")`:            "2",
		`size(argsToList("a\302\240b", 1))`:               "1",
		`stringListSize("a b", "")`:                       "1",
		`regexp("[]a b]", " ", "x")`:                      "true",
		`regexp("[^]a b]", " ", "x")`:                     "false",
		`regexp("[a] ]", "a]", "x")`:                      "true",
		`formatTime(absTime(-62500000000, 0), "%C")`:      `"-1"`,
		`formatTime(absTime(0, 0), "%C")`:                 `"19"`,
	} {
		if got := mustExpr(t, text).Eval(nil, nil, nil).String(); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

// TestWorkIsBounded holds that what would take very long, or very much memory,
// is ERROR.
func TestWorkIsBounded(t *testing.T) {
	ad := mustAd(t, `[ N = size(L) ]`)
	ad.SetString("Many", strings.Repeat("(a|b)?", 20000))
	ad.SetString("Groups", strings.Repeat("()", 1000)+".")
	ad.SetString("Repeats", strings.Repeat("a{1000}", 3000))
	ad.SetString("Text", strings.Repeat("a", 20<<10))
	items := make([]*Expr, 4000)
	for i := range items {
		items[i] = AdExpr(New())
	}
	ad.Set("L", ListExpr(items))
	for _, text := range []string{
		`regexp(Many, Text)`, `replaceAll(Groups, Text, "")`, `regexp(Repeats, Text)`, `replaceAll("a.*b|a", Text, "x")`,
		`countMatches(countMatches(true || X, L) + countMatches(X, L), L)`,
	} {
		if got := mustExpr(t, text).Eval(nil, ad, nil).String(); got != "error" {
			t.Errorf("%s = %.40s, want error", text, got)
		}
	}
}

// TestHugeTextsAreNotMade holds that a small value which prints as terabytes is
// not printed.
func TestHugeTextsAreNotMade(t *testing.T) {
	v := String(strings.Repeat("x", 1<<10))
	for range 6 {
		same := make([]*Expr, 100)
		for i := range same {
			same[i] = &Expr{lit: v}
		}
		v = scoped(KindList, &scope{items: same})
	}
	if got := v.String(); got != "error" {
		t.Errorf("a list of 10^12 texts = %.40s, want error", got)
	}
}

// TestLimitsForgetNothing holds that an evaluation does not get further because
// another one has made the pattern before.
func TestLimitsForgetNothing(t *testing.T) {
	ad := New()
	ad.SetString("P", strings.Repeat("a", 8000))
	ad.SetString("T", "b")
	e := mustExpr(t, strings.Repeat(`regexp(P, T) || `, 200)+"true")
	first := e.Eval(nil, ad, nil).String()
	for range 3 {
		if got := e.Eval(nil, ad, nil).String(); got != first {
			t.Errorf("evaluated again = %s, want %s as at first", got, first)
		}
	}
}

// TestExprsStayAsTheyAre holds that an expression shares nothing with those it
// was made from.
func TestExprsStayAsTheyAre(t *testing.T) {
	items := []*Expr{Literal(Int(1)), nil}
	list := ListExpr(items)
	items[0] = Literal(Int(2))
	if got, want := list.String(), "{ 1,undefined }"; got != want {
		t.Errorf("the list = %s, want %s", got, want)
	}
	old := mustAd(t, `[ A = 1; L = { [] }.parent ]`)
	kept := New()
	kept.Set("L", Literal(old.Eval(nil, "L", nil)))
	before := mustExpr(t, "L[0].A").Eval(nil, kept, nil).String()
	old.SetInt("A", 77)
	if got := mustExpr(t, "L[0].A").Eval(nil, kept, nil).String(); got != before || got == "77" {
		t.Errorf("L[0].A = %s, want %s as before", got, before)
	}
}

func TestNilIsUndefined(t *testing.T) {
	var none *Expr
	if got := none.Eval(nil, nil, nil).String() + none.String() + none.Specialize(nil, nil, New()).String(); got != strings.Repeat("undefined", 3) {
		t.Errorf("nil = %s, want undefined three times", got)
	}
	if _, ok := none.Constant(); !ok {
		t.Error("Constant of nil is not ok, want UNDEFINED")
	}
	if n := len(none.Clauses()); n != 1 {
		t.Errorf("nil has %d clauses, want 1", n)
	}
	if own, external := References(none, New()); len(own)+len(external) != 0 {
		t.Errorf("nil refers to %v and %v, want nothing", own, external)
	}
	if clock, chance := Varies(none, nil, nil); clock || chance {
		t.Errorf("nil varies: %v, %v", clock, chance)
	}
}

func TestIdentical(t *testing.T) {
	for _, c := range []struct {
		a, b Value
		want bool
	}{
		{String("ab"), String(strings.Clone("ab")), true}, {String("a"), String("A"), false}, {Int(1), Real(1), false},
		{Undefined(), Undefined(), true}, {Error(), Error(), true}, {Bool(true), Bool(true), true},
	} {
		if got := c.a.Identical(c.b); got != c.want {
			t.Errorf("%v.Identical(%v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

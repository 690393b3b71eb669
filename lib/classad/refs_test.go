package classad

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestVaries(t *testing.T) {
	my := mustAd(t, `[ A = 1; Now = time(); Die = random(6); Deep = Deeper + 1; Deeper = Now; Loop = Loop2; Loop2 = Loop + random(); Fall = Theirs; N = [ x = 1; y = CurrentTime ]; L = { 1, time() };
		Scope = MY; Twice = eval("Now"); Back = TARGET.Back; Zone = absTime("2024-01-01T00:00:00"); Fixed = absTime("2024-01-01T00:00:00Z"); M = [ y = Now ] ]`)
	target := mustAd(t, `[ Theirs = time(); Back = TARGET.Die; A = random(); Each = { [ v = 1 ] }; Sees = Die ]`)
	for _, c := range []struct {
		expr          string
		clock, chance bool
	}{
		{"1 + 1", false, false}, {"A + MY.A", false, false}, {"TARGET.A", false, true}, {"time()", true, false}, {"CurrentTime", true, false}, {"MY.CurrentTime", true, false},
		{"random(5)", false, true}, {"Now", true, false}, {"Die > 3", false, true}, {"Deep", true, false}, {"Loop", false, true}, {"Fall", true, false}, {"MY.Theirs", false, false}, {"Theirs", true, false},
		{"Back", false, true}, {"false && Now", true, false}, {"true ? A : Die", false, true}, {"ifThenElse(A, A, Now)", true, false}, {"{ 1, Now }[0]", true, false}, {"L", true, false},
		{"N.x", true, false}, {"[ x = Die ].x", false, true}, {"[ x = Sees ].x", false, true}, {"Scope", true, true}, {"Scope.Die", true, true}, {"MY[\"Die\"]", true, true}, {"[ a = 1 ][\"a\"]", false, true}, {"[ b = 1 ][\"b\"]", false, false},
		{"eval(\"1\")", false, false}, {"eval(\"Die\")", false, true}, {"eval(A)", true, true}, {"eval(\"time(\")", false, false}, {"Twice", true, false}, {"Zone", true, false}, {"Fixed", false, false}, {"getYear(Fixed)", true, false},
		{"countMatches(A > 1, TARGET.Each)", false, true}, {"countMatches(v > 1, TARGET.Each)", false, false}, {"random(1, 2)", false, false}, {"nosuch(Now)", false, false}, {"strcat(1, Now)", true, false},
		{".A", false, true}, {"TARGET.TARGET.A", true, true}, {"parent.A", false, true}, {"M.y", true, false}, {"formatTime(0)", true, false}, {"getDays(relTime(1))", false, false}, {"Nobodys", false, false},
	} {
		clock, chance := Varies(mustExpr(t, c.expr), my, target)
		if clock != c.clock || chance != c.chance {
			t.Errorf("Varies(%s) = %v, %v, want %v, %v", c.expr, clock, chance, c.clock, c.chance)
		}
	}
	if clock, chance := Varies(mustExpr(t, "CurrentTime"), mustAd(t, "[ CurrentTime = 5 ]"), nil); clock || chance {
		t.Errorf("Varies(CurrentTime) = %v, %v in an ad that has one, want false, false", clock, chance)
	}
	if clock, chance := Varies(mustExpr(t, "MY.A"), mustAd(t, "[ MY = [ A = time() ]; A = 1 ]"), nil); !clock || chance {
		t.Errorf("Varies(MY.A) = %v, %v in an ad that has a MY, want true, false", clock, chance)
	}
	if clock, chance := Varies(mustExpr(t, "A + TARGET.A"), nil, nil); clock || chance {
		t.Errorf("Varies(A + TARGET.A) = %v, %v without ads, want false, false", clock, chance)
	}
}

// TestFunctionsAreMarked calls every function with all sorts of arguments, at
// two times and by two seeds.
func TestFunctionsAreMarked(t *testing.T) {
	args := []string{"0", "-3", "1", "2.5", "true", `"a"`, `"2"`, `"a, b"`, `"<"`, "{ 1, 2 }", `{ "a" }`, "{ }", "undefined", "error", "absTime(1700000000, 0)", "relTime(65)", "[ Year = 2000 ]"}
	lists := [4][]string{{""}, args}
	for i := 2; i <= 3; i++ {
		for _, list := range lists[i-1] {
			for k := 0; k < len(args); k += i - 1 {
				lists[i] = append(lists[i], list+", "+args[k])
			}
		}
	}
	now := &Context{Now: noon.Now, Seed: 1}
	later := &Context{Now: noon.Now.Add(12345 * time.Hour).In(time.FixedZone("", -7200)), Seed: 1}
	lucky := &Context{Now: noon.Now, Seed: 2}
	for name, f := range functions {
		for n := f.min; n < len(lists) && (f.max < 0 || n <= f.max); n++ {
			for _, list := range lists[n] {
				text := name + "(" + list + ")"
				e, err := ParseExpr(text)
				if err != nil {
					continue // a text that is no time
				}
				v := e.Eval(now, nil, nil)
				if f.truth && v.kind > KindBoolean {
					t.Errorf("%s = %v, but %s is marked as truthful", text, v, name)
				}
				if got := e.Eval(later, nil, nil); f.sees&seesClock == 0 && !sameValue(got, v) {
					t.Errorf("%s = %v and later %v, but %s is not marked as one that sees the clock", text, v, got, name)
				}
				if got := e.Eval(lucky, nil, nil); f.sees&seesChance == 0 && !sameValue(got, v) {
					t.Errorf("%s = %v and with another seed %v, but %s is not marked as one that sees chance", text, v, got, name)
				}
			}
		}
	}
}

func TestVariesLooksIntoValues(t *testing.T) {
	list := mustExpr(t, "evalInEachContext(MY, { [ a = time() ] })").Eval(noon, New(), nil)
	ad := New()
	ad.Set("L", Literal(listOf([]Value{list})))
	if clock, chance := Varies(mustExpr(t, "L[0][0].a"), ad, nil); !clock || chance {
		t.Errorf("Varies(L[0][0].a) with L[0] = %v = %v, %v, want true, false", list, clock, chance)
	}
}

func TestVariesIsBounded(t *testing.T) {
	ad := New()
	for i := range 30000 {
		ad.Set("A"+strconv.Itoa(i), mustExpr(t, "A"+strconv.Itoa(i+1)+" + A"+strconv.Itoa(i+1)))
	}
	if clock, chance := Varies(mustExpr(t, "A0"), ad, nil); !clock || !chance {
		t.Errorf("Varies of a chain of 30000 attributes = %v, %v, want true, true: that is too far to look", clock, chance)
	}
	if clock, chance := Varies(mustExpr(t, "A25000"), ad, nil); clock || chance {
		t.Errorf("Varies of a chain of 5000 attributes = %v, %v, want false, false", clock, chance)
	}
}

func TestWhatDoesNotVaryStaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		my, target := g.ad(), g.ad()
		e := g.parse(g.expr(4))
		clock, chance := Varies(e, my, target)
		c := &Context{Now: noon.Now, Seed: 1}
		want := e.Eval(c, my, target)
		later := &Context{Now: noon.Now.Add(12345 * time.Hour).In(time.FixedZone("", -7200)), Seed: 1}
		if got := e.Eval(later, my, target); !clock && !chance && !sameValue(got, want) {
			t.Fatalf("%v = %v and later %v, but does not vary with the time\nmy %v\ntarget %v", e, want, got, my.Format(StyleOld), target.Format(StyleOld))
		}
		lucky := &Context{Now: noon.Now, Seed: 2}
		if got := e.Eval(lucky, my, target); !chance && !sameValue(got, want) {
			t.Fatalf("%v = %v and with another seed %v, but does not vary by chance\nmy %v\ntarget %v", e, want, got, my.Format(StyleOld), target.Format(StyleOld))
		}
		if got := e.Specialize(c, my, target).Specialize(later, my, target).Eval(lucky, my, target); !clock && !chance && !sameValue(got, want) {
			t.Fatalf("%v specialised for two times = %v, want %v", e, got, want)
		}
	})
}

func TestSides(t *testing.T) {
	for _, c := range []struct {
		text, own, other, either string
		ok                       bool
	}{
		{"1 + 2", "", "", "", true},
		{"MY.Rank", "rank", "", "", true},
		{"TARGET.Memory >= RequestMemory", "", "memory", "requestmemory", true},
		{"TARGET.Memory >= Memory", "", "memory", "memory", true},
		{"(Self.A || other.b) && ifThenElse(c, MY.D, 1)", "a d", "b", "c", true},
		{`member(X, {MY.Y, "z"})`, "y", "", "x", true},
		{"a ?: MY.b", "b", "", "a", true},
		{"time() > EnteredCurrentState", "", "", "enteredcurrentstate", true},
		{"CurrentTime", "", "", "currenttime", true},
		{"[ a = 1 ].a", "", "", "", false},
		{"x.y", "", "", "", false},
		{"MY", "", "", "", false},
		{".a", "", "", "", false},
		{"a[0]", "", "", "", false},
		{`eval("a")`, "", "", "", false},
	} {
		e, err := ParseExpr(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Sides(e)
		own, other, either := strings.Join(got.Own, " "), strings.Join(got.Other, " "), strings.Join(got.Either, " ")
		if own != c.own || other != c.other || either != c.either || ok != c.ok {
			t.Errorf("Sides(%s) = %q, %q, %q, %v, want %q, %q, %q, %v", c.text, own, other, either, ok, c.own, c.other, c.either, c.ok)
		}
	}
}

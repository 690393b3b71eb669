package classad

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = &Context{Now: time.Date(2024, 2, 29, 12, 34, 56, 0, time.FixedZone("CET", 3600)), Seed: 7}

func mustExpr(tb testing.TB, text string) *Expr {
	tb.Helper()
	e, err := ParseExpr(text)
	if err != nil {
		tb.Fatalf("ParseExpr(%q): %v", text, err)
	}
	return e
}

// checkEval evaluates pairs of an expression and its value.
func checkEval(t *testing.T, my, target *Ad, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		if got := mustExpr(t, c[0]).Eval(noon, my, target).String(); got != c[1] {
			t.Errorf("Eval(%s) = %s, want %s", c[0], got, c[1])
		}
	}
}

func TestOperators(t *testing.T) {
	checkEval(t, nil, nil, [][2]string{
		{"1 + 2 * 3", "7"}, {"7 / 2", "3"}, {"-7 / 2", "-3"}, {"-7 % 3", "-1"}, {"7 / 2.0", "3.5"}, {"5 % 2.0", "error"},
		{"1 / 0", "error"}, {"1.0 / 0", "error"}, {"-1.0 / 0", `real("-INF")`}, {"true + true", "2"}, {`"a" + "b"`, "error"},
		{"9223372036854775807 + 1", "-9223372036854775808"}, {"2 - -3", "5"}, {"2 -3", "-1"}, {"- 3", "-3"},
		{"5 & 4 == 4", "error"}, {"5 & (4 | 2)", "4"}, {"~0", "-1"}, {"1 << 65", "2"}, {"-8 >> 1", "-4"}, {"-8 >>> 60", "15"}, {"1.0 & 1", "error"},
		{`"ABC" == "abc"`, "true"}, {`"ABC" =?= "abc"`, "false"}, {`"a" < 1`, "error"}, {"1 == 1.0", "true"}, {"1 =?= 1.0", "false"},
		{"undefined == 1", "undefined"}, {"undefined =?= undefined", "true"}, {"error =!= undefined", "true"}, {"{} =?= {}", "error"},
		{"undefined + error", "error"}, {"!undefined", "undefined"}, {`!"a"`, "error"}, {"-true", "error"},
		{"1 ? 2 : 3", "2"}, {"undefined ? 2 : 3", "undefined"}, {`"x" ? 2 : 3`, "error"}, {"false ? 1 : true ? 2 : 3", "2"},
		{"undefined ?: 3 + 4", "7"}, {"2 * undefined ?: 3", "6"}, {"error ?: 1", "error"}, {"false ? : 1", "false"},
		{"{1,2,3}[1]", "2"}, {"{1}[1]", "error"}, {"{1}[-1]", "error"}, {`[a=1]["A"]`, "1"}, {`[a=1]["b"]`, "undefined"}, {"{1,2}[1.0]", "error"},
	})
}

func TestScopes(t *testing.T) {
	my := mustAd(t, `[ A = 1; B = A + 1; C = TARGET.A; Own = OnlyTheirs; N = [ x = A; y = parent.A; z = MY.A; A = 50 ]; L = {A, TARGET.A} ]`)
	target := mustAd(t, `[ A = 10; B = A + 1; OnlyTheirs = 99; Back = MY.A + TARGET.A; Bare = Own ]`)
	checkEval(t, my, target, [][2]string{
		{"A", "1"}, {"TARGET.A", "10"}, {"MY.B", "2"}, {"TARGET.B", "11"}, {"C", "10"}, {"other.A", "10"},
		{"OnlyTheirs", "99"}, {"MY.OnlyTheirs", "undefined"}, {"Own", "99"}, {"TARGET.Back", "11"}, {"TARGET.TARGET.A", "1"}, {"TARGET.Bare", "99"},
		{"N.x", "50"}, {"N.y", "1"}, {"N.z", "50"}, {"N.B", "2"}, {"[q = OnlyTheirs].q", "undefined"}, {"[q = TARGET.A].q", "10"},
		{"L[0] + L[1]", "11"}, {".A", "undefined"}, {"{N, [A = 3]}.A", "{ 50,3 }"}, {"target.nothing", "undefined"},
		{"CurrentTime == time()", "true"}, {"self.A", "1"}, {"noSuchFunction(1)", "error"}, {"true || noSuchFunction(1)", "true"},
	})
	checkEval(t, my, nil, [][2]string{{"TARGET.A", "undefined"}, {".A", "1"}, {"OnlyTheirs", "undefined"}, {"root.A", "1"}, {"parent", "undefined"}})
	checkEval(t, nil, nil, [][2]string{{"A", "undefined"}, {"size(MY)", "0"}})
}

func TestCircles(t *testing.T) {
	my := mustAd(t, `[ A = B; B = A; C = C + 1; D = D || true; E = E ?: 5; F = TARGET.F; G = eval("G"); N = [ x = N.x ] ]`)
	target := mustAd(t, `[ F = TARGET.F ]`)
	checkEval(t, my, target, [][2]string{
		{"A", "undefined"}, {"C", "undefined"}, {"D", "true"}, {"E", "5"}, {"F", "undefined"}, {"G", "undefined"}, {"N.x", "undefined"},
	})
}

func TestExpressionsSharedByAds(t *testing.T) {
	// Two attributes, and two ads, may share one expression: that is no circle.
	in := NewInterner()
	shared := func(text string) *Expr {
		e, err := in.Expr(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	my, target := New(), New()
	my.Set("A", shared("B"))
	my.Set("X", shared("B"))
	my.Set("B", shared("TARGET.A"))
	target.Set("A", shared("B"))
	target.Set("B", shared("5 + 1"))
	if got, want := my.Eval(noon, "X", target).String(), "6"; got != want {
		t.Errorf("X = %s, want %s", got, want)
	}
	nested := shared("[ x = y; y = 2 ]")
	my.Set("N", nested)
	target.Set("N", nested)
	if got, want := mustExpr(t, "N.x + TARGET.N.x").Eval(noon, my, target).String(), "4"; got != want {
		t.Errorf("N.x + TARGET.N.x = %s, want %s", got, want)
	}
}

func TestFunctions(t *testing.T) {
	checkEval(t, mustAd(t, `[ S = "x"; U = undefined ]`), nil, [][2]string{
		{`strcat("a", 1, true, S)`, `"a1truex"`}, {`strcat("a", U, error)`, "undefined"}, {`substr("hello", -3, 2)`, `"ll"`},
		{`join("-", {1, U, 2})`, `"1-2"`}, {`split("a,,b")`, `{ "a","","b" }`}, {`size("abc")`, "3"}, {`toUpper(S)`, `"X"`},
		{`int("0x1F")`, "31"}, {`int("abc")`, "error"}, {`real("-INF")`, `real("-INF")`}, {`int(9007199254740993)`, "9007199254740993"}, {`int("9007199254740993")`, "9007199254740993"},
		{`round(2.5)`, "2"}, {`quantize(1025, 1024)`, "2048"}, {`sum({1, 2.5, U})`, "3.5"}, {`min({1, 2.5})`, "1.0"}, {`pow(2, 10)`, "1024"},
		{`ifThenElse(U, 1, 2)`, "undefined"}, {`ifThenElse(1, "y", error)`, `"y"`}, {`isUndefined(U)`, "true"}, {`isError(1/0)`, "true"},
		{`stringListMember("b", "a, b")`, "true"}, {`stringListIMember("B", "a, b")`, "true"}, {`stringListSize("a, b,,c")`, "3"}, {`stringListSum("1,2")`, "3"},
		{`regexp("^A", "abc", "i")`, "true"}, {`regexp("(?<=a)b", "ab")`, "error"}, {`regexps("(b)(c)", "abcd", "\\2\\1")`, `"cb"`}, {`replaceAll("b", "abcb", "X")`, `"aXcX"`},
		{`regexp("^.$", "\377")`, "true"}, {`regexps(".", "\303\251", "<\\0>")`, "\"<\303>\""},
		{`member(2, {1, 2})`, "true"}, {`anyCompare("<", {5, 1}, 2)`, "true"}, {`versionLT("9.0.1", "10.0")`, "true"},
		{`time()`, "1709206496"}, {`formatTime(time(), "%F %T")`, `"2024-02-29 12:34:56"`}, {`absTime("2024-02-29T12:34:56")`, `absTime("2024-02-29T12:34:56+01:00")`},
		{`interval(90061)`, `"1+01:01:01"`}, {`relTime("1:05")`, "65.0"}, {`getHours(absTime(0))`, "1"}, {`eval("1 + 1")`, "2"}, {`eval("1 +")`, "error"},
		{`strcat()`, `""`}, {`substr("a")`, "error"}, {`random(0)`, "error"}, {`random(10) < 10`, "true"}, {`random() != random()`, "true"},
		{`identicalMember("A", {"a", "A"})`, "true"}, {`allCompare(">", {1, 2}, 1)`, "false"}, {`anyCompare("=?=", {1}, 1)`, "error"}, {`avg({1, 2})`, "1.5"}, {`avg({})`, "0"},
		{`listToArgs({"a b", "", "it's"})`, `"a' 'b '' it''''s"`}, {`argsToList("a' 'b 'it''s'")`, `{ "a b","it's" }`}, {`argsToList("'a")`, "error"}, {`listToArgs({"a b"}, 1)`, "error"},
		{`regexp("a # comment\n [ ] b", "a b", "x")`, "true"}, {`regexp("a\\ b", "a b", "x")`, "true"}, {`regexpMember("b", {U, "b"})`, "true"}, {`regexpMember("b", {U, "c"})`, "undefined"},
		{`stringListsIntersect("a,b", "c,b")`, "true"}, {`stringListSubsetMatch("a,b", "b,c,a")`, "true"}, {`stringListAvg("1,2.0")`, "1.5"}, {`stringListMax("")`, "undefined"},
		{`unparse(S)`, `"\"x\""`}, {`unresolved(S)`, `""`}, {`countMatches(a > 1, {[a = 1], [a = 2], 5})`, "1"}, {`evalInEachContext(a, {[a = 1], [b = 2]})`, "{ 1,undefined }"},
		{`formatTime(0, "%j %U %W %V %u %w %C %s %% %Q")`, `"001 00 00 01 4 4 19 0 % %Q"`}, {`splitTime(relTime(93784)).Hours`, "2"}, {`getSeconds(relTime(-5))`, "-5"},
		{`formatTime(0, "%k|%l")`, `" 1| 1"`}, {`formatTime(absTime(43200, 0), "%k|%l")`, `"12|12"`}, {`formatTime(absTime(46800, 0), "%k|%l")`, `"13| 1"`},
		{`splitTime(relTime(-5.5)).Seconds`, "-5.5"}, {`splitTime(relTime(-3605)).Hours`, "-1"}, {`splitTime(relTime(-3605)).Seconds`, "5.0"}, {`absTime(0, relTime(-3600))`, `absTime("1969-12-31T23:00:00-01:00")`},
		{`stringListISubsetMatch(",", "")`, "false"}, {`stringListSubsetMatch(", a", "a")`, "true"}, {`userMap("m", error, "p", "d")`, "error"}, {`userMap("m", "u", error, "d")`, `"d"`},
		{`unparse(MY.S)`, `""`}, {`unparse(.S)`, `""`}, {`unparse([a = 1].a)`, `""`}, {`unparse((S))`, "error"},
		{`bool("TRUE")`, "true"}, {`bool("x")`, "undefined"}, {`stricmp("a", "B")`, "-1"}, {`interval(-3700)`, `"-1:01:40"`}, {`version_in_range("1.5", "1.2", "1.10")`, "true"},
		{`userHome("alice", "/d")`, `"/d"`}, {`mergeEnvironment("A=1 B=2", "A='x y'")`, `"A=x' 'y B=2"`},
	})
}

func TestRandomFollowsTheSeed(t *testing.T) {
	e := mustExpr(t, "random(1000000000)")
	one, again := e.Eval(&Context{Seed: 1}, nil, nil), e.Eval(&Context{Seed: 1}, nil, nil)
	if one != again {
		t.Errorf("random with seed 1 = %v and then %v, want the same", one, again)
	}
	if other := e.Eval(&Context{Seed: 2}, nil, nil); other == one {
		t.Errorf("random with seed 2 = %v, want another number than with seed 1", other)
	}
}

func TestLimits(t *testing.T) {
	doubling := New()
	doubling.SetString("A0", strings.Repeat("x", 1000))
	doubling.SetInt("N0", 1)
	for i := range 60 {
		n, next := strconv.Itoa(i), strconv.Itoa(i+1)
		doubling.Set("A"+next, mustExpr(t, "strcat(A"+n+", A"+n+")"))
		doubling.Set("N"+next, mustExpr(t, "N"+n+" + N"+n))
	}
	doubling.Set("L0", mustExpr(t, "{ 1, 2 }"))
	for i := range 40 {
		l, next := "L"+strconv.Itoa(i), "L"+strconv.Itoa(i+1)
		doubling.Set(next, mustExpr(t, "{ [x = "+l+"], [x = "+l+"] }.x"))
	}
	for _, text := range []string{
		strings.Repeat("1+", 401) + "1",
		strings.Repeat("1+", 9000) + "1",
		"A60",
		"isError(N60) || true",
		"size(string(L40))",
	} {
		if got := mustExpr(t, text).Eval(noon, doubling, nil); got.Kind() != KindError {
			t.Errorf("Eval(%.20s...) = %v, want error", text, got)
		}
	}
	for _, text := range []string{
		strings.Repeat("(", 166) + "1" + strings.Repeat(")", 166),
		strings.Repeat("!", 498) + "true",
		strings.Repeat("{", 100000),
		strings.Repeat("[a=", 100000),
		strings.Repeat("1+", 20000) + "1",
		"a" + strings.Repeat(".a", 20000),
		strings.Repeat("a?:", 100000) + "1",
		strings.Repeat("a?1:", 100000) + "1",
	} {
		if _, err := ParseExpr(text); err == nil {
			t.Errorf("ParseExpr(%.20s...) accepts it, want an error", text)
		}
	}
}

func TestLogicTables(t *testing.T) {
	samples := map[string][]string{"T": {"true", "1", "-0.5"}, "F": {"false", "0", "0.0"}, "U": {"undefined"}, "E": {"error"}, "X": {`"true"`, "{}", "[]"}}
	and := map[string]string{"TT": "T", "TF": "F", "TU": "U", "FT": "F", "FF": "F", "FU": "F", "FE": "F", "FX": "F", "UT": "U", "UF": "F", "UU": "U"}
	or := map[string]string{"TT": "T", "TF": "T", "TU": "T", "TE": "T", "TX": "T", "FT": "T", "FF": "F", "FU": "U", "UT": "T", "UF": "U", "UU": "U"}
	text := map[string]string{"T": "true", "F": "false", "U": "undefined", "": "error"}
	for l, ls := range samples {
		for r, rs := range samples {
			for _, x := range ls {
				for _, y := range rs {
					checkEval(t, nil, nil, [][2]string{{x + " && " + y, text[and[l+r]]}, {x + " || " + y, text[or[l+r]]}})
				}
			}
		}
	}
}

func TestArithmeticOfIntegersWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		if got, want := applyBinary(opAdd, Int(x), Int(y)), Int(x+y); got != want {
			t.Errorf("%d + %d = %v, want %v", x, y, got, want)
		}
		if y != 0 && !(x == math.MinInt64 && y == -1) {
			q, _ := applyBinary(opDiv, Int(x), Int(y)).Int()
			r, _ := applyBinary(opMod, Int(x), Int(y)).Int()
			if q*y+r != x {
				t.Errorf("(%d / %d) * %d + %d %% %d = %d, want %d", x, y, y, x, y, q*y+r, x)
			}
		}
	})
}

func TestComparisonsAgree(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Int64Range(-3, 3), Int), rapid.Map(rapid.Float64Range(-3, 3), Real), rapid.Map(rapid.Bool(), Bool),
	)
	rapid.Check(t, func(t *rapid.T) {
		x, y := value.Draw(t, "x"), value.Draw(t, "y")
		less, more := applyBinary(opLt, x, y), applyBinary(opGt, y, x)
		if less != more {
			t.Errorf("%v < %v = %v, but %v > %v = %v", x, y, less, y, x, more)
		}
		same, differ := applyBinary(opEq, x, y), applyBinary(opNe, x, y)
		if same.True() == differ.True() {
			t.Errorf("%v == %v and != are both %v", x, y, same)
		}
		if n := b2i(less) + b2i(same) + b2i(applyBinary(opGt, x, y)); n != 1 {
			t.Errorf("%d of <, ==, > hold for %v and %v, want 1", n, x, y)
		}
	})
}

func b2i(v Value) int {
	if v.True() {
		return 1
	}
	return 0
}

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

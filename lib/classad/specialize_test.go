package classad

import (
	"fairspool/lib/caseless"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSpecializeForKnownMy(t *testing.T) {
	my := mustAd(t, `[ A = 1; Zero = 0; S = "x"; T = true; F = false; U = undefined; E = error; B = A + 1; C = C + 1; D = G; G = D ?: 1;
		Open = TARGET.A > 1; Fall = Theirs + 1; Clock = time() - 5; Die = random(6); L = { 1, "a" }; Names = { A, S }; N = [ x = 1; A = 5 ];
		Re = isUndefined(Requirements); Text = "A + 1"; Loop = eval("Loop"); Huge = "`+strings.Repeat("h", 5000)+`"; Long = strcat(K, K); K = replaceAll("a", "aaaaaaaaaaaaaaaa", "`+strings.Repeat("k", 200)+`") ]`)
	for _, c := range [][2]string{
		{"A", "1"}, {"MY.A", "1"}, {"self.B", "2"}, {"MY.Missing", "undefined"}, {"Missing", "Missing"}, {"TARGET.A", "TARGET.A"},
		{"TARGET.A + A * 2", "TARGET.A + 2"}, {"(A)", "1"}, {"((TARGET.A))", "((TARGET.A))"}, {"-(A + TARGET.A)", " -(1 + TARGET.A)"},
		// Conjunctions.
		{"T && TARGET.A", "true && TARGET.A"}, {"A && TARGET.A", "true && TARGET.A"}, {"T && TARGET.A > 1", "TARGET.A > 1"}, {"T && !TARGET.A", " !TARGET.A"},
		{"F && TARGET.A", "false"}, {"Zero && TARGET.A", "false"}, {"TARGET.A && F", "TARGET.A && false"}, {"TARGET.A && T", "TARGET.A && true"},
		{"U && TARGET.A", "undefined && TARGET.A"}, {"U && F", "false"}, {"E && TARGET.A", "error"}, {"S && TARGET.A", "error"}, {"TARGET.A && S", `TARGET.A && "x"`},
		{"TARGET.A && T && TARGET.B", "TARGET.A && TARGET.B"}, {"T && TARGET.A && T && TARGET.B && T", "TARGET.A && TARGET.B"},
		{"TARGET.A && F && TARGET.B && TARGET.C", "TARGET.A && false"}, {"TARGET.A && (TARGET.B && F) && TARGET.C", "TARGET.A && (TARGET.B && false)"},
		{"T && (T && TARGET.A) && T", "TARGET.A && true"}, {"TARGET.B && (T && TARGET.A)", "TARGET.B && TARGET.A"}, {"TARGET.A && 5", "TARGET.A && true"},
		// Disjunctions.
		{"T || TARGET.A", "true"}, {"F || TARGET.A", "false || TARGET.A"}, {"F || isError(TARGET.A)", "isError(TARGET.A)"}, {"TARGET.A || T", "TARGET.A || true"},
		{"TARGET.A || F || TARGET.B", "TARGET.A || TARGET.B"}, {"TARGET.A || T || TARGET.B", "TARGET.A || true"}, {"U || TARGET.A", "undefined || TARGET.A"},
		{"TARGET.X && (F || TARGET.A)", "TARGET.X && TARGET.A"}, {"T && (TARGET.X || TARGET.A)", "(TARGET.X || TARGET.A)"},
		// Conditions.
		{"T ? TARGET.A : TARGET.B", "TARGET.A"}, {"ifThenElse(F, TARGET.A, TARGET.B)", "TARGET.B"}, {"U ? TARGET.A : 1", "undefined"}, {"S ? 1 : TARGET.A", "error"},
		{"ifThenElse(T, TARGET.A || TARGET.B, 1) && TARGET.C", "(TARGET.A || TARGET.B) && TARGET.C"}, {"TARGET.A ? A : B", "TARGET.A ? 1 : 2"},
		{"!ifThenElse(T, T && TARGET.A, 1)", " !TARGET.A"}, {"ifThenElse(TARGET.A, T && TARGET.B, A)", "ifThenElse(TARGET.A,true && TARGET.B,1)"},
		{"U ?: TARGET.A", "TARGET.A"}, {"A ?: TARGET.A", "1"}, {"TARGET.A ?: A", "TARGET.A ?: 1"}, {"MY.Missing ?: (-A)", "-1"},
		{"(T ? TARGET.A ?: 1 : 2).x", "(TARGET.A ?: 1).x"}, {"TARGET.A ?: (T ? !TARGET.B : 1)", "TARGET.A ?: ( !TARGET.B)"},
		{"TARGET.A - ifThenElse(T, TARGET.B - 1, 0) - A", "TARGET.A - (TARGET.B - 1) - 1"}, {"ifThenElse(T, TARGET.B - 1, 0) - TARGET.A", "TARGET.B - 1 - TARGET.A"},
		{"ifThenElse(T, TARGET.A ? 1 : 2, 3) ? 4 : 5", "(TARGET.A ? 1 : 2) ? 4 : 5"}, {"ifThenElse(T, TARGET.A ?: 1, 0) ?: 2", "(TARGET.A ?: 1) ?: 2"},
		// No operand that is evaluated is dropped.
		{"E + TARGET.A", "error + TARGET.A"}, {"TARGET.A =?= U", "TARGET.A =?= undefined"},
		// What stays.
		{"Open", "Open"}, {"Fall", "Fall"}, {"C", "C"}, {"D + G", "D + G"}, {"Loop", "Loop"}, {"Clock", "Clock"}, {"Die < 3", "Die < 3"}, {"Names", "Names"}, {"N", "N"}, {"N.x", "N.x"},
		{"random(A + 1)", "random(2)"}, {"time() + A", "time() + 1"}, {"CurrentTime", "CurrentTime"}, {`absTime("2024-01-01T00:00:00")`, `absTime("2024-01-01T00:00:00")`},
		{"[ x = A ].x", "[ x = A ].x"}, {"{ A, 2 }", "{ A,2 }"}, {"countMatches(A > 1, TARGET.L)", "countMatches(A > 1,TARGET.L)"}, {"unparse(A)", "unparse(A)"}, {"MY", "MY"}, {"size(MY)", "size(MY)"},
		{".A", ".A"}, {"TARGET.TARGET.A", "TARGET.TARGET.A"}, {`MY["A"]`, `MY["A"]`}, {"size(Long)", "size(Long)"}, {"size(K)", "3200"},
		{"T && (TARGET.A ? TARGET.B > 1 : F)", "(TARGET.A ? TARGET.B > 1 : false)"}, {"T && ifThenElse(TARGET.A, TARGET.B, F)", "true && ifThenElse(TARGET.A,TARGET.B,false)"}, {"T && (TARGET.A ?: F)", "true && (TARGET.A ?: false)"},
		{"T && ((TARGET.A > 1) ?: F)", "((TARGET.A > 1) ?: false)"}, {"size(Huge)", "size(Huge)"}, {"evalInEachContext(A, { N })", "evalInEachContext(A,{ N })"}, {"split(TARGET.A, S)[A]", `split(TARGET.A,"x")[1]`},
		// Functions.
		{"strcat(S, A)", `"x1"`}, {"strcat(S, TARGET.A)", `strcat("x",TARGET.A)`}, {"member(TARGET.A, L)", `member(TARGET.A,{ 1,"a" })`}, {"size(L) + L[0]", "3"}, {"L[TARGET.A]", `{ 1,"a" }[TARGET.A]`},
		{`split("a,b")`, `{ "a","b" }`}, {"nosuch(TARGET.A)", "error"}, {"size(TARGET.A, 1)", "error"}, {`eval("A + 1") + TARGET.A`, "2 + TARGET.A"}, {"eval(Text)", "2"},
		{"eval(strcat(Text, TARGET.A))", `eval(strcat("A + 1",TARGET.A))`}, {`eval("TARGET.A")`, `eval("TARGET.A")`}, {`eval("A +")`, "error"}, {"eval(U)", "error"},
		{`regexp(S, "axb") && TARGET.A > 1`, "TARGET.A > 1"}, {"U.x", "undefined"}, {"A.x", "error"}, {"debug(A)", "1"}, {"absTime(S)", `absTime(("x"))`}, {"sum({1, 2.5})", "3.5"},
	} {
		e := mustExpr(t, c[0])
		r := e.Specialize(nil, my, nil)
		if got := r.String(); got != c[1] {
			t.Errorf("Specialize(%s) with MY known = %s, want %s", c[0], got, c[1])
		}
		if e.String() == c[1] && r != e {
			t.Errorf("Specialize(%s) made an expression, want the same one: nothing is known in it", c[0])
		}
	}
}

func TestSpecializeForKnownTarget(t *testing.T) {
	target := mustAd(t, `[ A = 1; RequestCpus = 2; RequestDisk = DiskUsage * 2; DiskUsage = 10; Open = TARGET.Memory; Bare = Memory; Mine = MY.A; CurrentTime = 7 ]`)
	for _, c := range [][2]string{
		{"A", "A"}, {"MY.A", "MY.A"}, {"TARGET.A", "1"}, {"other.A", "1"}, {"TARGET.Missing", "undefined"}, {"TARGET.RequestDisk", "20"}, {"TARGET.Open", "TARGET.Open"},
		{"TARGET.Bare", "TARGET.Bare"}, {"TARGET.Mine", "1"}, {"TARGET.CurrentTime", "7"}, {"CurrentTime", "CurrentTime"}, {"MY.CurrentTime", "MY.CurrentTime"},
		{"ifThenElse(TARGET._cp_orig_RequestCpus isnt undefined, TARGET.RequestCpus <= MY.Cpus, MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus) && (TARGET.GPUs is undefined || TARGET.GPUs == 0)",
			"MY.Cpus > 0 && 2 <= MY.Cpus"},
		{"(Start) && (TARGET.JobUniverse =!= 1 || (MY.Point =!= undefined))", "(Start) && true"},
		{`strcat(TARGET.A, "/", Name)`, `strcat(1,"/",Name)`},
	} {
		if got := mustExpr(t, c[0]).Specialize(nil, nil, target).String(); got != c[1] {
			t.Errorf("Specialize(%s) with TARGET known = %s, want %s", c[0], got, c[1])
		}
	}
}

func TestSpecializeForBothKnown(t *testing.T) {
	my, target := mustAd(t, `[ A = 1; B = Theirs * 2; C = TARGET.C ]`), mustAd(t, `[ Theirs = Back + 1; Back = TARGET.A; C = TARGET.C ]`)
	for _, c := range [][2]string{
		{"B", "4"}, {"Theirs", "2"}, {"Nobodys", "undefined"}, {"TARGET.Theirs > A", "true"}, {"C", "C"}, {".A", "undefined"},
	} {
		if got := mustExpr(t, c[0]).Specialize(nil, my, target).String(); got != c[1] {
			t.Errorf("Specialize(%s) with both known = %s, want %s", c[0], got, c[1])
		}
	}
}

func TestSpecializeForKnownTime(t *testing.T) {
	my := mustAd(t, `[ Since = time() - 6; Own = [ CurrentTime = 1 ] ]`)
	for _, c := range [][2]string{
		{"time()", "1709206496"}, {"CurrentTime - Since + TARGET.A", "6 + TARGET.A"}, {"MY.CurrentTime", "1709206496"}, {"TARGET.CurrentTime", "TARGET.CurrentTime"},
		{`absTime("2024-02-29T12:00:00")`, `absTime("2024-02-29T12:00:00+01:00")`}, {"getHours(absTime(0))", "1"}, {`formatTime(time(), "%F")`, `"2024-02-29"`}, {"random()", "random()"},
	} {
		if got := mustExpr(t, c[0]).Specialize(noon, my, nil).String(); got != c[1] {
			t.Errorf("Specialize(%s) at noon = %s, want %s", c[0], got, c[1])
		}
	}
	if got, want := mustExpr(t, "CurrentTime").Specialize(noon, nil, mustAd(t, "[]")).String(), "CurrentTime"; got != want {
		t.Errorf("Specialize(CurrentTime) at noon with TARGET known = %s, want %s: MY may have one of its own", got, want)
	}
}

func TestSpecializeInsideAnAttribute(t *testing.T) {
	// Re asks for the attribute that is being evaluated, so it is part of it.
	my := mustAd(t, `[ Requirements = Re && TARGET.A; Re = isUndefined(Requirements) ]`)
	e, _ := my.Lookup("Requirements")
	if r := e.Specialize(nil, my, nil); r != e {
		t.Errorf("Specialize(%v) = %v, want it unchanged: Re refers to Requirements", e, r)
	}
}

func TestSpecializeLeavesShadowedScopesAlone(t *testing.T) {
	for _, text := range []string{`[ A = 1; MY = [ A = 2 ] ]`, `[ A = 1; target = 2 ]`} {
		e, ad := mustExpr(t, "MY.A + TARGET.A + A"), mustAd(t, text)
		if r := e.Specialize(nil, ad, nil); r != e {
			t.Errorf("Specialize(%v) with MY %s = %v, want it unchanged", e, text, r)
		}
		if r := e.Specialize(nil, nil, ad); r != e {
			t.Errorf("Specialize(%v) with TARGET %s = %v, want it unchanged", e, text, r)
		}
	}
}

func TestSpecializeIsBounded(t *testing.T) {
	ad := New()
	ad.SetString("A0", strings.Repeat("x", 1000))
	ad.SetInt("N0", 1)
	ad.SetString("E0", "1")
	for i := range 2000 {
		n, next := strconv.Itoa(i), strconv.Itoa(i+1)
		ad.Set("A"+next, mustExpr(t, "strcat(A"+n+", A"+n+")"))
		ad.Set("N"+next, mustExpr(t, "N"+n+" + N"+n))
		ad.SetString("E"+next, "eval(E"+n+") + eval(E"+n+")")
	}
	for _, c := range [][2]string{
		{"A1999", "A1999"}, {"size(A2)", "4000"}, {"size(A3)", "size(A3)"}, {"N1999", "N1999"}, {"N40", "1099511627776"}, {"eval(E20)", "1048576"},
		{"eval(E1999) + N1", "eval(E1999) + 2"},
	} {
		got := mustExpr(t, c[0]).Specialize(nil, ad, nil).String()
		if c[0] == "eval(E1999) + N1" {
			if !strings.HasSuffix(got, " + 2") {
				t.Errorf("Specialize(%s) = %.80s, want the text left and + 2", c[0], got)
			}
			continue
		}
		if got != c[1] {
			t.Errorf("Specialize(%s) = %.80s, want %s", c[0], got, c[1])
		}
	}
	ad.SetString("Pattern", strings.Repeat("x", 4000))
	greedy, chatty := "Pattern", "1"
	for i := range 20 {
		greedy += ` + regexp(strcat(Pattern, ` + strconv.Itoa(i) + `), Pattern)`
	}
	for i := range 10000 {
		chatty += `, eval("` + strconv.Itoa(i) + ` + 1")`
	}
	for _, text := range []string{greedy, "size(strcat(" + chatty + "))"} {
		e := mustExpr(t, text)
		r := e.Specialize(nil, ad, nil)
		if r == e || r.constant() || !sameValue(r.Eval(nil, ad, nil), e.Eval(nil, ad, nil)) {
			t.Errorf("Specialize of an expression that takes much work = %.200s..., want part of it done and the same value", r)
		}
	}
	lists := New()
	lists.Set("L", Literal(listOf([]Value{Int(1), listOf(nil)})))
	if r := mustExpr(t, "L[0] + L[TARGET.A]").Specialize(nil, lists, nil).String(); r != "L[0] + L[TARGET.A]" {
		t.Errorf("Specialize(L[0] + L[TARGET.A]) with a list in the list L = %s, want it unchanged", r)
	}
	chain := New()
	chain.SetInt("D130", 1)
	for i := range 130 {
		chain.Set("D"+strconv.Itoa(i), mustExpr(t, "D"+strconv.Itoa(i+1)+" + 1"))
	}
	twice := mustExpr(t, "isError(D0) || D0"+strings.Repeat(" + 1", 150)+" > 0")
	if got, want := twice.Specialize(nil, chain, nil).Eval(nil, chain, nil), twice.Eval(nil, chain, nil); !sameValue(got, want) || want.Kind() != KindError {
		t.Errorf("Specialize of what is too deep at its second place = %v, want %v, an error", got, want)
	}
	deep := strings.Repeat("1+", 401) + "N0"
	if r := mustExpr(t, deep).Specialize(nil, ad, nil); r.Eval(nil, ad, nil).Kind() != KindError {
		t.Errorf("Specialize of 402 operators in a row = %.20s..., want something that still is ERROR", r)
	}
}

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
		if k.my == nil && my.ShadowsScopes() || k.target == nil && target.ShadowsScopes() {
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
	if my.ShadowsScopes() || target.ShadowsScopes() {
		return
	}
	want := my.Eval(c, "Requirements", target)
	for _, known := range [][2]*Ad{{my, nil}, {nil, target}, {my, target}} {
		alone, all := my.Clone(), my.Clone()
		for _, entry := range my.all() {
			r := entry.expr.Specialize(c, known[0], known[1])
			all.Set(entry.name, r)
			if caseless.Equal(entry.name, "Requirements") {
				alone.Set(entry.name, r)
			}
		}
		specials := []*Ad{alone, all}
		if text := caseless.Fold(my.Format(StyleOld) + target.Format(StyleOld)); strings.Contains(text, "countmatches") || strings.Contains(text, "evalineachcontext") {
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

package classad

import (
	"encoding/json"
	"errors"
	"fairspool/internal/testenv"
	"fairspool/lib/caseless"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestAdKeepsTheFirstSpelling(t *testing.T) {
	ad := New()
	ad.SetInt("Memory", 1)
	ad.SetInt("MEMORY", 2)
	if got, want := strings.Join(ad.Names(), " "), "Memory"; got != want {
		t.Errorf("Names = %s, want %s", got, want)
	}
	if n, ok := ad.EvalInt(noon, "memory"); n != 2 || !ok {
		t.Errorf("EvalInt(memory) = %d, %v, want 2, true", n, ok)
	}
}

func TestChainedAds(t *testing.T) {
	cluster := mustAd(t, `[ Cmd = "/bin/sleep"; Args = strcat("", ProcId); Prio = 1 ]`)
	proc := mustAd(t, `[ ProcId = 3; prio = 5 ]`).Chain(cluster)
	if got, want := proc.Eval(noon, "Args", nil).String(), `"3"`; got != want {
		t.Errorf("Args = %s, want %s: an inherited expression sees the chained ad", got, want)
	}
	if got, want := strings.Join(proc.Names(), " "), "Args Cmd prio ProcId"; got != want {
		t.Errorf("Names = %s, want %s", got, want)
	}
	if got, want := strings.Join(proc.OwnNames(), " "), "prio ProcId"; got != want {
		t.Errorf("OwnNames = %s, want %s", got, want)
	}
	if got := proc.Len(); got != 4 {
		t.Errorf("Len = %d, want 4", got)
	}
	flat, clone := proc.Flat(), proc.Clone()
	if got, want := flat.Format(StyleSpool), proc.Format(StyleSpool); got != want || flat.Parent() != nil {
		t.Errorf("Flat = %s with parent %v, want %s without", got, flat.Parent(), want)
	}
	proc.Delete("PRIO")
	if n, _ := proc.EvalInt(noon, "Prio"); n != 1 {
		t.Errorf("Prio after Delete = %d, want the inherited 1", n)
	}
	if n, _ := clone.EvalInt(noon, "Prio"); n != 5 {
		t.Errorf("Prio of the clone = %d, want 5", n)
	}
	if cluster.Chain(proc); cluster.Parent() != nil {
		t.Error("an ad has become its own ancestor")
	}
}

func TestAdIsAMapWithoutCase(t *testing.T) {
	name := rapid.StringMatching(`[A-Ca-c_]{1,2}`)
	rapid.Check(t, func(t *rapid.T) {
		ad, model := New(), map[string]int64{}
		for i := range int64(rapid.IntRange(0, 200).Draw(t, "steps")) {
			n := name.Draw(t, "name")
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				ad.Delete(n)
				delete(model, strings.ToLower(n))
			} else {
				ad.SetInt(n, i)
				model[strings.ToLower(n)] = i
			}
		}
		if got, want := ad.Len(), len(model); got != want {
			t.Fatalf("Len = %d, want %d", got, want)
		}
		for n, want := range model {
			if got, ok := ad.EvalInt(nil, strings.ToUpper(n)); got != want || !ok {
				t.Errorf("EvalInt(%s) = %d, %v, want %d", n, got, ok, want)
			}
		}
		if !slices.IsSortedFunc(ad.Names(), caseless.Compare) {
			t.Errorf("Names = %v, want them sorted", ad.Names())
		}
	})
}

func TestNilAdIsEmpty(t *testing.T) {
	var ad *Ad
	if ad.Has("A") || ad.Len() != 0 || len(ad.Names()) != 0 || ad.Format(StyleSpool) != "[  ]" || ad.Parent() != nil || len(ad.Flat().Names()) != 0 {
		t.Errorf("a nil ad is %s, want it empty", ad.Format(StyleSpool))
	}
	if Match(noon, nil, New()) || Match(noon, New(), nil) || Satisfies(noon, nil, nil) {
		t.Error("a nil ad matches")
	}
}

func TestMatchAndRank(t *testing.T) {
	for _, c := range []struct {
		left, right string
		want        bool
	}{
		{"true", "true", true}, {"1", "2.5", true}, {"0", "true", false}, {"undefined", "true", false}, {"error", "true", false},
		{`"true"`, "true", false}, {"TARGET.A == 2", "TARGET.A == 1", true}, {"TARGET.A == 3", "true", false}, {"true", "TARGET.Nothing > 1", false},
	} {
		left, right := mustAd(t, "[ A = 1; Requirements = "+c.left+" ]"), mustAd(t, "[ A = 2; Requirements = "+c.right+" ]")
		if got := Match(noon, left, right); got != c.want {
			t.Errorf("Match(%s, %s) = %v, want %v", c.left, c.right, got, c.want)
		}
		if got, want := Match(noon, right, left), Satisfies(noon, left, right) && Satisfies(noon, right, left); got != want {
			t.Errorf("Match(%s, %s) = %v, want %v, as both sides say", c.right, c.left, got, want)
		}
	}
	if Match(noon, New(), mustAd(t, "[ Requirements = true ]")) {
		t.Error("an ad without Requirements matches")
	}
	for _, c := range []struct {
		rank string
		want float64
		ok   bool
	}{{"TARGET.A * 2", 4, true}, {"true", 1, true}, {"undefined", 0, false}, {`"x"`, 0, false}, {"1/0", 0, false}} {
		got, ok := Rank(noon, mustExpr(t, c.rank), mustAd(t, "[ A = 1 ]"), mustAd(t, "[ A = 2 ]"))
		if got != c.want || ok != c.ok {
			t.Errorf("Rank(%s) = %v, %v, want %v, %v", c.rank, got, ok, c.want, c.ok)
		}
	}
}

func TestAdsAreReadByManyAtOnce(t *testing.T) {
	job, slot := mustAd(t, smallJob), mustAd(t, smallSlot)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if !Match(noon, job, slot) {
					t.Error("Match = false, want true")
				}
				if got := mustExpr(t, "{ MY.Owner, TARGET.Cpus }").Eval(noon, job, slot); got.Kind() != KindList {
					t.Errorf("Eval = %v, want a list", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestSettersAndGetters(t *testing.T) {
	ad := New()
	ad.SetReal("r", 0.5)
	ad.SetBool("b", true)
	ad.SetString("s", "a\x00b")
	ad.Set("e", mustExpr(t, "r * 4"))
	if x, ok := ad.EvalNumber(nil, "E"); x != 2 || !ok {
		t.Errorf("EvalNumber(E) = %v, %v, want 2, true", x, ok)
	}
	if b, ok := ad.EvalBool(nil, "B"); !b || !ok {
		t.Errorf("EvalBool(B) = %v, %v, want true, true", b, ok)
	}
	if s, ok := ad.EvalString(nil, "S"); s != "a" || !ok {
		t.Errorf("EvalString(S) = %q, %v, want a: strings end before a NUL byte", s, ok)
	}
	if _, ok := ad.EvalInt(nil, "r"); ok {
		t.Error("EvalInt of a real is ok, want it not to be")
	}
	if ad.Set("r", nil); ad.Has("R") {
		t.Error("Set(nil) keeps the attribute, want it deleted")
	}
}

func TestJSON(t *testing.T) {
	ad := mustAd(t, `[ s = "a\"\n/\\é"; I = 1; r = 2.0; b = true; u = undefined; l = {1, "x", {}}; n = [ z = 1; A = 2 ]; e = a =?= "q\"" ]`)
	got, err := json.Marshal(ad)
	testenv.OK(t, err)
	want := `{"b":true,"e":"\/Expr(a =?= \"q\\\"\")\/","I":1,"l":[1,"x",[]],"n":{"A":2,"z":1},"r":2.0,"s":"a\"\n/\\é","u":null}`
	if string(got) != want {
		t.Errorf("MarshalJSON = %s, want %s", got, want)
	}
}

func TestReferences(t *testing.T) {
	ad := mustAd(t, `[ RequestMemory = Size * 2; Size = 5; C = D; D = C; N = [ a = Size; b = Outside ] ]`)
	for _, c := range []struct{ expr, own, external string }{
		{"TARGET.Memory >= RequestMemory && Arch == \"X\"", "[RequestMemory Size]", "[Arch Memory]"},
		{"C", "[]", "[]"}, {"N.b", "[N]", "[Outside]"}, {"MY.Missing", "[]", "[Missing]"}, {"TARGET.GPUs.Name", "[]", "[GPUs]"},
	} {
		own, external := References(mustExpr(t, c.expr), ad)
		if got := fmt.Sprint(own, external); got != c.own+" "+c.external {
			t.Errorf("References(%s) = %s, want %s %s", c.expr, got, c.own, c.external)
		}
	}
	if own, external := References(mustExpr(t, "C"), ad); own != nil || external != nil {
		t.Errorf("References of a circle = %v, %v, want nil", own, external)
	}
}

func TestListAndAdValues(t *testing.T) {
	my := mustAd(t, `[ A = 4 ]`)
	items, ok := mustExpr(t, `{ A, "x", [ b = 1 ] }`).Eval(noon, my, nil).List(noon)
	if !ok || len(items) != 3 || items[0] != Int(4) {
		t.Fatalf("List = %v, %v, want three values, the first 4", items, ok)
	}
	ad, ok := items[2].Ad()
	if n, _ := ad.EvalInt(noon, "B"); !ok || n != 1 {
		t.Errorf("Ad = %v, %v, want b = 1", ad, ok)
	}
	if _, ok := Int(1).List(noon); ok {
		t.Error("an integer is a list")
	}
	if got, want := Literal(mustExpr(t, `{1, {2}}`).Eval(noon, nil, nil)).String(), "{ 1,{ 2 } }"; got != want {
		t.Errorf("Literal of a list = %s, want %s", got, want)
	}
}

func TestLookUps(t *testing.T) {
	c := &Context{
		UserMap: func(mapName, user string) (string, bool) {
			names, ok := map[string]string{"groups/alice": "physics, chem,bio", "groups/nobody": ""}[mapName+"/"+user]
			return names, ok
		},
		UserHome: func(user string) (string, bool) { return "/home/" + user, user == "alice" },
	}
	for text, want := range map[string]string{
		`userMap("groups", "alice")`:                        `"physics, chem,bio"`,
		`userMap("groups", "alice", "CHEM")`:                `"chem"`,
		`userMap("groups", "alice", "law")`:                 `"physics"`,
		`userMap("groups", "alice", undefined, "none")`:     `"physics"`,
		`userMap("groups", "nobody", "x")`:                  `""`,
		`userMap("groups", "bob")`:                          "undefined",
		`userMap("groups", "bob", "x", "none")`:             `"none"`,
		`userMap("other", "alice", "x", 5)`:                 "5",
		`userMap(1, "alice")`:                               "undefined",
		`userHome("alice", "/tmp")`:                         `"/home/alice"`,
		`userHome("bob", "/tmp")`:                           `"/tmp"`,
		`userHome("bob")`:                                   "undefined",
		`userHome(7)`:                                       "error",
		`member("chem", split(userMap("groups", "alice")))`: "true",
	} {
		if got := mustExpr(t, text).Eval(c, nil, nil).String(); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestMatcherLooksUp(t *testing.T) {
	c := &Context{UserMap: func(_, user string) (string, bool) { return "physics", user == "alice" }}
	job := mustAd(t, `[ Owner = "alice"; Requirements = true ]`)
	slot := mustAd(t, `[ Requirements = userMap("groups", TARGET.Owner) == "physics" ]`)
	m := NewMatcher(c, job)
	for i := range 2 * worthIt {
		if !m.Match(slot) {
			t.Fatalf("Match = false at question %d, want true", i)
		}
	}
	if Match(nil, job, slot) {
		t.Error("Match = true without a map, want false")
	}
}

func TestUnmarshalJSONMakesTheAdThatWasMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ad, err := ParseAd(drawnAd(t, 4))
		testenv.OK(t, err)
		text, err := json.Marshal(ad)
		testenv.OK(t, err)
		got := New().Chain(mustParse(t, "[ Inherited = 1 ]"))
		got.SetInt("Before", 1)
		if err := json.Unmarshal(text, got); err != nil {
			t.Fatalf("Unmarshal(%s): %v", text, err)
		}
		if got, want := got.Format(StyleSpool), ad.Format(StyleSpool); got != want {
			t.Errorf("Unmarshal(%s) = %s, want %s", text, got, want)
		}
	})
}

func mustParse(t *rapid.T, text string) *Ad {
	ad, err := ParseAd(text)
	testenv.OK(t, err)
	return ad
}

func TestUnmarshalJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, "[  ]"},
		{" \n{\"A\": 1, \"a\": \"\\/Expr(b + 1)\\/\"}\n", "[ A = b + 1 ]"},
		{"null", "[ Before = 1 ]"},
		{" null ", "[ Before = 1 ]"},
		{`[{"A": 1}]`, `1:1: expected {, found "["`},
		{`{"A": 1} {}`, `1:10: expected the end of the text behind }, found "{"`},
		{`{"A": 1}]`, `1:9: expected the end of the text behind }, found "]"`},
		{"", "1:1: expected {, found the end of the text"},
		{`"A"`, `1:1: expected {, found "\""`},
		{`{"A": `, "1:7: expected a value, found the end of the text"},
		{`{"A": "\/Expr(b +)\/"}`, `1:18: expected a value, a name or (, found the end of the text`},
	} {
		ad := mustAd(t, "[ Before = 1 ]")
		err := ad.UnmarshalJSON([]byte(c.text))
		got := ad.Format(StyleSpool)
		if err != nil {
			var bad *SyntaxError
			if !errors.As(err, &bad) || got != "[ Before = 1 ]" {
				t.Errorf("UnmarshalJSON(%s) = %T and the ad %s, want a *SyntaxError and the ad unchanged", c.text, err, got)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("UnmarshalJSON(%s) = %s, want %s", c.text, got, c.want)
		}
	}
	var job struct{ Ads []*Ad }
	testenv.OK(t, json.Unmarshal([]byte(`{"Ads": [{"A": 1}, null, {"B": [true]}]}`), &job))
	if got, want := fmt.Sprint(job.Ads), "[[ A = 1 ] [  ] [ B = { true } ]]"; got != want {
		t.Errorf("Unmarshal = %s, want %s", got, want)
	}
}

func TestAdsPrint(t *testing.T) {
	for want, ad := range map[string]*Ad{"[  ]": nil, `[ B = 1; Aa = "x\y" ]`: mustAd(t, `[ Aa = "x\\y"; B = 1 ]`)} {
		if got := fmt.Sprint(ad); got != want {
			t.Errorf("Sprint = %s, want %s", got, want)
		}
	}
}

// TestCopiesReadAlike keeps a copy that was given attributes, old ones and new,
// where programs that have met the others look.
func TestCopiesReadAlike(t *testing.T) {
	slot := firstOfPool(t, 1)[0]
	rest := slot.Clone()
	for _, name := range []string{"Cpus", "Memory", "Disk", "SlotWeight", "ChildCpus", "MY"} {
		rest.SetInt(name, 1)
	}
	if slot.table() != rest.table() {
		t.Errorf("a copy with attributes set reads by another table, want that of the ad it was copied from")
	}
	if slot.Has("SlotWeight") || slot.ShadowsScopes() || !rest.ShadowsScopes() {
		t.Errorf("the copy's new attributes: SlotWeight in the original = %v, scopes shadowed there = %v and in the copy = %v, want false, false, true",
			slot.Has("SlotWeight"), slot.ShadowsScopes(), rest.ShadowsScopes())
	}
}

// TestCopiesAreApart sets attributes of copies of copies and compares them with
// ads that never had anything in common.
func TestCopiesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, alone := []*Ad{New()}, []*Ad{New()}
		set := func(i int, name string, n int64) {
			shared[i].SetInt(name, n)
			alone[i].SetInt(name, n)
		}
		for i := range 12 {
			set(0, fmt.Sprintf("Old%d", i), int64(i))
		}
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(shared)-1).Draw(t, "ad")
			name := rapid.SampledFrom([]string{"Old1", "old5", "A", "B", "C", "D", "E", "F", "G", "Rank", "Requirements", "My"}).Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				shared, alone = append(shared, shared[i].Clone()), append(alone, alone[i].Flat().apart())
			case 1:
				shared[i].Delete(name)
				alone[i].Delete(name)
			default:
				set(i, name, int64(step))
			}
		}
		for i := range shared {
			checkAlike(t, shared[i], alone[i])
		}
	})
}

// apart returns an ad that shares no shape with a.
func (a *Ad) apart() *Ad {
	out := New()
	for _, e := range a.entries() {
		out.Set(e.name, e.expr)
	}
	return out
}

func checkAlike(t *rapid.T, got, want *Ad) {
	if got.String() != want.String() || got.Len() != want.Len() || got.ShadowsScopes() != want.ShadowsScopes() {
		t.Fatalf("copy = %v, want %v", got, want)
	}
	for i := range wanted {
		g, w := got.want(i), want.want(i)
		if (g == nil) != (w == nil) || g != nil && g.Value != w.Value {
			t.Fatalf("%s of the copy %v = %v, want %v", wanted[i].name, got, g, w)
		}
	}
}

// BenchmarkRemainder is what is left of a slot when a piece of it is taken.
func BenchmarkRemainder(b *testing.B) {
	slot := readPool(b, poolText(b), NewInterner())[0]
	b.ReportAllocs()
	for b.Loop() {
		rest := slot.Clone()
		for _, name := range []string{"Cpus", "Memory", "Disk", "SlotWeight"} {
			rest.SetInt(name, 1)
		}
	}
}

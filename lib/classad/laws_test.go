package classad

import (
	"errors"
	"fairspool/lib/caseless"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// orderedText is an ad's long form with its lines in an order of somebody
// else's choice; ok is false for an ad that has no long form.
func orderedText(entries []entry) (text string, ok bool) {
	var b []byte
	for _, e := range entries {
		if b, ok = appendLongExpr(append(append(b, e.name...), " = "...), e.expr); !ok {
			return "", false
		}
		b = append(b, '\n')
	}
	return string(b), len(entries) > 0
}

// shuffled returns the entries in a random order.
func shuffled(t *rapid.T, entries []entry) []entry {
	return rapid.Permutation(entries).Draw(t, "order")
}

// respelled is a name with other capitals.
func respelled(t *rapid.T, name string) string {
	switch rapid.IntRange(0, 3).Draw(t, "spelling") {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToLower(name)
	}
	return name
}

// remakes are the ways to come by an ad with the same attributes. Each is
// given an ad without a parent; nil says that it does not fit.
var remakes = map[string]func(t *rapid.T, ad *Ad) *Ad{
	"set in another order": func(t *rapid.T, ad *Ad) *Ad {
		out := New()
		for _, e := range shuffled(t, ad.entries()) {
			out.Set(e.name, e.expr)
		}
		return out
	},
	"set twice": func(t *rapid.T, ad *Ad) *Ad {
		out := New()
		for _, e := range shuffled(t, ad.entries()) {
			out.Set(e.name, Literal(String("before")))
		}
		for _, e := range shuffled(t, ad.entries()) {
			out.Set(respelled(t, e.name), e.expr)
		}
		return out
	},
	"cloned": func(_ *rapid.T, ad *Ad) *Ad { return ad.Clone() },
	"cloned and changed behind the back of the copy": func(t *rapid.T, ad *Ad) *Ad {
		first := ad.Clone()
		out := first.Clone()
		first.Set("Newcomer", Literal(Int(1)))
		for _, e := range shuffled(t, ad.entries())[:min(2, ad.Len())] {
			first.Set(e.name, Literal(Error()))
			first.Delete(e.name)
		}
		return out
	},
	"deleted and added again": func(t *rapid.T, ad *Ad) *Ad {
		out := ad.Clone()
		again := shuffled(t, ad.entries())
		again = again[:rapid.IntRange(0, len(again)).Draw(t, "deleted")]
		for _, e := range again {
			out.Delete(respelled(t, e.name))
		}
		for _, e := range shuffled(t, again) {
			out.Set(e.name, e.expr)
		}
		return out
	},
	"flattened": func(t *rapid.T, ad *Ad) *Ad {
		own, inherited := New(), New()
		for _, e := range shuffled(t, ad.entries()) {
			switch rapid.IntRange(0, 2).Draw(t, "whose") {
			case 0:
				own.Set(e.name, e.expr)
			case 1:
				own.Set(e.name, e.expr)
				inherited.Set(respelled(t, e.name), Literal(Error()))
			default:
				inherited.Set(e.name, e.expr)
			}
		}
		return own.Chain(inherited).Flat()
	},
	"chained": func(t *rapid.T, ad *Ad) *Ad {
		own, inherited := New(), New()
		for _, e := range shuffled(t, ad.entries()) {
			if rapid.Bool().Draw(t, "own") {
				own.Set(e.name, e.expr)
			} else {
				inherited.Set(e.name, e.expr)
			}
		}
		return own.Chain(inherited)
	},
	"read": func(t *rapid.T, ad *Ad) *Ad {
		text, ok := orderedText(shuffled(t, ad.entries()))
		if !ok {
			return nil
		}
		return lastOf(t, text)
	},
	"read behind ads that are alike": func(t *rapid.T, ad *Ad) *Ad {
		text, ok := orderedText(shuffled(t, ad.entries()))
		if !ok {
			return nil
		}
		before, _ := orderedText(shuffled(t, ad.entries()))
		return lastOf(t, text+"\n"+text+"\n"+before+"\n"+text)
	},
	"read behind one with more": func(t *rapid.T, ad *Ad) *Ad {
		order := shuffled(t, ad.entries())
		text, ok := orderedText(order)
		if !ok {
			return nil
		}
		at := rapid.IntRange(0, len(order)).Draw(t, "more")
		more, _ := orderedText(slices.Insert(slices.Clone(order), at, entry{"Extra", Literal(Int(5))}))
		return lastOf(t, more+"\n"+more+"\n"+text)
	},
	"read behind one with less": func(t *rapid.T, ad *Ad) *Ad {
		order := shuffled(t, ad.entries())
		text, ok := orderedText(order)
		if !ok || len(order) < 2 {
			return nil
		}
		at := rapid.IntRange(0, len(order)-1).Draw(t, "less")
		less, _ := orderedText(slices.Delete(slices.Clone(order), at, at+1))
		return lastOf(t, less+"\n"+less+"\n"+text)
	},
	"read with names twice": func(t *rapid.T, ad *Ad) *Ad {
		order := shuffled(t, ad.entries())
		text, ok := orderedText(order)
		if !ok {
			return nil
		}
		twice, _ := orderedText(order[:rapid.IntRange(1, len(order)).Draw(t, "twice")])
		return lastOf(t, text+"\n"+strings.ReplaceAll(twice, " = ", " = 1 + ")+text+"\n"+twice+text)
	},
	"read from the new form": func(t *rapid.T, ad *Ad) *Ad {
		var b strings.Builder
		for _, e := range shuffled(t, ad.entries()) {
			fmt.Fprintf(&b, "%s = %s;", e.name, e.expr.Format(StyleSpool))
		}
		again, err := ParseAd("[" + b.String() + "]")
		testenv.OK(t, err)
		return again
	},
}

// lastOf reads a long-form stream and returns its last ad.
func lastOf(t *rapid.T, text string) *Ad {
	r := NewReader(strings.NewReader(text), "f")
	r.SetForm(FormLong)
	var last *Ad
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return last
		}
		last = ad
		var bad *SyntaxError
		if err != nil && !errors.As(err, &bad) { // "1 + [ a = 1 ]" and its like may be none
			t.Fatal(err)
		}
	}
}

func TestEvaluationDoesNotDependOnOrder(t *testing.T) {
	names := slices.Sorted(mapKeysOf(remakes))
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		c := &Context{Now: noon.Now, Seed: 5}
		ad, other, e := g.rich().Flat(), g.rich(), g.parse(g.expr(3))
		if text, ok := orderedText(ad.entries()); ok && g.n(2) == 0 {
			ad = lastOf(t, text+"\n"+text) // with a front, if it is large
		}
		want, wantMatch := e.Eval(c, ad, other), matchPlain(c, ad, other)
		wantTheirs := e.Eval(c, other, ad)
		printed := func(ad *Ad) string { // the spelling of names is not compared
			return strings.ToLower(ad.Format(StyleOld) + ad.Format(StyleNew) + ad.Format(StyleSpool))
		}
		wantPrinted := printed(ad)
		values := func(ad *Ad) (out []Value) {
			for _, name := range ad.Names() {
				out = append(out, ad.Eval(c, name, other))
			}
			return out
		}
		wantValues := values(ad)
		for _, how := range names {
			out := remakes[how](t, ad)
			if out == nil {
				continue
			}
			if got := printed(out); got != wantPrinted {
				t.Fatalf("%s: Format = %s, want %s", how, got, wantPrinted)
			}
			if got := e.Eval(c, out, other); !sameValueFold(got, want) {
				t.Fatalf("%s: %v = %v, want %v\nmy %v\nother %v", how, e, got, want, ad.Format(StyleOld), other.Format(StyleOld))
			}
			if got := e.Eval(c, other, out); !sameValueFold(got, wantTheirs) {
				t.Fatalf("%s: %v as TARGET = %v, want %v\nmy %v\nother %v", how, e, got, wantTheirs, ad.Format(StyleOld), other.Format(StyleOld))
			}
			if got := matchPlain(c, out, other); got != wantMatch {
				t.Fatalf("%s: match = %+v, want %+v\nmy %v\nother %v", how, got, wantMatch, ad.Format(StyleOld), other.Format(StyleOld))
			}
			if got := values(out); !slices.EqualFunc(got, wantValues, sameValueFold) {
				t.Fatalf("%s: the attributes are %v, want %v in %v", how, got, wantValues, ad.Format(StyleOld))
			}
		}
	})
}

// sameValueFold is sameValue, but the spelling of names in ads does not count.
func sameValueFold(a, b Value) bool {
	if a.kind >= KindList && a.kind == b.kind {
		return caseless.Equal(string(appendValue(nil, a, StyleSpool)), string(appendValue(nil, b, StyleSpool)))
	}
	return sameValue(a, b)
}

func mapKeysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestNamesAreFoundAfterEveryChange evaluates the same programs over and over,
// which remember where they found their names, while ads come, change, get
// parents and lose them.
func TestNamesAreFoundAfterEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t}
		var known []*Expr
		for _, text := range []string{"A", "MY.A", "TARGET.A", "B + C", "D ?: A", "TARGET.B ?: MY.B", "x ?: N.x ?: L[0]", "Extra0 ?: Extra1 ?: Extra2"} {
			known = append(known, g.parse(text))
		}
		names := []string{"A", "B", "C", "D", "x", "MY", "Extra0", "Extra1", "Extra2"}
		number := 0
		next := func() *Expr { number++; return Literal(Int(int64(number))) }
		start := New()
		for _, name := range names[:4] {
			start.Set(name, next())
		}
		ads := []*Ad{start, lastOf(t, "A = 1\nB = 2\n\nA = 3\nB = 4\nExtra1 = 5\n")}
		in := NewInterner()
		for range rapid.IntRange(5, 40).Draw(t, "changes") {
			ad, name := ads[g.n(len(ads))], g.of(names...)
			switch g.n(6) {
			case 0, 1:
				ad.Set(name, next())
			case 2:
				ad.Delete(name)
			case 3:
				ads = append(ads, ad.Clone())
			case 4:
				ad.Chain(ads[g.n(len(ads))])
				if g.n(3) == 0 {
					ad.Chain(nil)
				}
			case 5:
				r := NewReader(strings.NewReader(fmt.Sprintf("A = 1\nB = 2\nC = 3\n\nA = %d\nB = 2\nC = 3\n%s = 5\n\nA = 7\nB = 8\nC = 9\n", number, g.of("Extra0", "Extra1", "B", "MY"))), "f")
				r.Intern(in)
				for range 3 {
					ad, err := r.Next()
					testenv.OK(t, err)
					ads = append(ads, ad)
				}
			}
			my, target := ads[g.n(len(ads))], ads[g.n(len(ads))]
			for _, e := range known {
				want := g.parse(e.Format(StyleSpool)).Eval(noon, plainCopy(my), plainCopy(target))
				if got := e.Eval(noon, my, target); !sameValue(got, want) {
					t.Fatalf("%v = %v, want %v\nmy %v\ntarget %v", e, got, want, my.Format(StyleSpool), target.Format(StyleSpool))
				}
			}
		}
	})
}

// plainCopy is an ad with the same attributes, set one by one.
func plainCopy(ad *Ad) *Ad {
	out := New()
	for _, e := range ad.all() {
		out.Set(e.name, e.expr)
	}
	return out
}

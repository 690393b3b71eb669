package classad

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestSharedAdsShareTheirNames(t *testing.T) {
	in := NewInterner()
	parent := mustAd(t, "[ Site = \"x\" ]")
	made := func(memory int64) *Ad {
		ad := New().Chain(parent)
		for i := range 30 {
			ad.SetInt(fmt.Sprintf("A%d", i), int64(i))
		}
		ad.SetInt("Memory", memory)
		return in.Share(ad)
	}
	one, other := made(1), made(2)
	if one.shape != other.shape || one.front == nil {
		t.Error("two ads with the same names do not share them")
	}
	if n, _ := other.EvalInt(nil, "Memory"); n != 2 || other.Parent() != parent {
		t.Errorf("Memory = %d with the parent %v, want 2 and %v", n, other.Parent(), parent)
	}
	one.SetInt("More", 3)
	if other.Has("More") {
		t.Error("an attribute set in one ad shows in the other")
	}
	if ad := in.Share(nil); ad.Len() != 0 {
		t.Errorf("Share(nil) = %v, want an empty ad", ad)
	}
}

// TestSharedAdsAreTheSame holds that sharing changes nothing that can be seen.
func TestSharedAdsAreTheSame(t *testing.T) {
	in := NewInterner()
	var exprs []*Expr
	for _, text := range []string{"MY.A", "Target.b", "C1 ?: Memory", "Rank", "Target"} {
		exprs = append(exprs, mustExpr(t, text))
	}
	rapid.Check(t, func(t *rapid.T) {
		ad := New()
		for range rapid.IntRange(0, 40).Draw(t, "attributes") {
			name := rapid.StringMatching(`[A-Da-d][0-9]?|MY|Target|Rank|Memory`).Draw(t, "name")
			ad.SetInt(name, rapid.Int64Range(0, 9).Draw(t, "value"))
			if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
				ad.Delete(name)
			}
		}
		copied := in.Share(ad)
		if got, want := copied.Format(StyleSpool), ad.Format(StyleSpool); got != want {
			t.Fatalf("Share = %s, want %s", got, want)
		}
		for _, e := range exprs {
			if got, want := e.Eval(nil, copied, nil).String(), e.Eval(nil, ad, nil).String(); got != want {
				t.Errorf("%s of a shared ad = %s, want %s", e, got, want)
			}
		}
	})
}

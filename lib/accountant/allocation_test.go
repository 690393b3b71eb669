package accountant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAllocate(t *testing.T) {
	manual := []Group{accepting(dynamic("chem", 0.3)), dynamic("phys", 0.6), accepting(dynamic("phys.hep", 0.75)), accepting(dynamic("phys.lep", 0.25))}
	thirds := []Group{accepting(static("a", 4)), accepting(static("b", 4)), accepting(static("c", 4))}
	for _, c := range []struct {
		name      string
		pool      float64
		rules     QuotaRules
		whole     bool
		groups    []Group
		requested []float64 // in the order of the list
		want      string    // allocation, and +surplus, in the same order
	}{
		{"the root takes what nobody else accepts", 30, QuotaRules{Oversubscribe: true}, false,
			[]Group{static("phys", 20), static("chem", 10)}, []float64{8, 25, 15}, "5+5 10 15"},
		{"but has no quota to compete by", 30, QuotaRules{Oversubscribe: true}, false,
			[]Group{static("phys", 20), accepting(static("chem", 10))}, []float64{8, 25, 15}, "0 15+5 15"},
		{"unless there is more than they want", 30, QuotaRules{Oversubscribe: true}, false,
			[]Group{static("phys", 20), accepting(static("chem", 10))}, []float64{8, 12, 15}, "3+3 12+2 15"},
		{"the manual's tree", 60, QuotaRules{}, false, manual, []float64{10, 40, 0, 40, 3}, "6 18 0 33+6 3"},
		{"of which HTCondor allocates 93 slots", 60, QuotaRules{Oversubscribe: true, Twice: true}, false, manual, []float64{10, 40, 0, 40, 3}, "10+4 40+22 0 40+13 3"},
		{"and we do not", 60, QuotaRules{Oversubscribe: true}, false, manual, []float64{10, 40, 0, 40, 3}, "6 18 0 33+6 3"},
		{"what a child leaves is its parent's", 10, QuotaRules{}, false, []Group{static("a", 6), static("a.x", 4)}, []float64{9, 9, 1}, "4 5+3 1"},
		{"a group has none from above", 10, QuotaRules{}, false, []Group{static("a", 4), accepting(static("a.x", 2))}, []float64{0, 1, 9}, "0 1 3+1"},
		{"a group without quota has what others leave", 10, QuotaRules{}, false,
			[]Group{accepting(static("a", 4)), accepting(Group{Name: "b"}), accepting(Group{Name: "c"})}, []float64{0, 6, 9, 9}, "0 6+2 2+2 2+2"},
		{"surplus by quota", 12, QuotaRules{}, false, []Group{accepting(static("a", 2)), accepting(static("b", 4)), static("c", 6)}, []float64{0, 9, 9, 3}, "0 3+1 6+2 3"},
		{"and by that of all below", 12, QuotaRules{}, false,
			[]Group{accepting(static("a", 4)), accepting(static("a.x", 2)), accepting(static("b", 2)), static("c", 6)}, []float64{0, 9, 9, 0, 9}, "0 4+2 4+2 0 4+2"},
		{"whole slots are dealt out", 10, QuotaRules{}, true,
			[]Group{accepting(dynamic("a", 0.25)), accepting(dynamic("b", 0.25)), accepting(dynamic("c", 0.5))}, []float64{0, 9, 9, 9}, "0 2 2 6+1"},
		{"what is cut off as well", 10.5, QuotaRules{}, true, thirds, []float64{0, 9, 9, 9}, "0 4+0.5 3 3"},
		{"three slots for three", 3, QuotaRules{}, true, []Group{dynamic("a", 0.5), accepting(dynamic("b", 0.5))}, []float64{1, 9, 9}, "0 1 2+0.5"},
		{"no group", 5, QuotaRules{}, false, nil, []float64{7}, "5"},
		{"no group, whole slots", 5.5, QuotaRules{}, true, nil, []float64{7}, "5"},
		{"no pool", 0, QuotaRules{Oversubscribe: true}, false, thirds, []float64{7, 7, 7, 7}, "0 0 0 0"},
	} {
		g := tree(t, c.groups...)
		var got []string
		quotas := g.Quotas(c.pool, c.rules)
		for i, a := range g.Allocate(quotas, c.requested, c.whole) {
			text := fmt.Sprintf("%.6g", a.Weight)
			if surplus := a.Weight - quotas[i].Own; surplus > 1e-9 {
				text += fmt.Sprintf("+%.6g", surplus)
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, " "); joined != c.want {
			t.Errorf("%s: Allocate = %s, want %s", c.name, joined, c.want)
		}
	}
}

// forest draws a tree of groups, a pool, and what is requested.
func forest(t *rapid.T) (list []Group, pool float64, requested map[string]float64) {
	requested = map[string]float64{RootGroup: number(t)}
	for _, name := range []string{"a", "a.a", "a.a.a", "a.b", "b", "b.a", "b.b", "c"} {
		one := static(name, number(t))
		if rapid.Bool().Draw(t, "dynamic") {
			one = dynamic(name, rapid.SampledFrom([]float64{0, 0.1, 0.25, 0.5, 1}).Draw(t, "fraction"))
		}
		one.AcceptSurplus = rapid.Bool().Draw(t, "accepts")
		list = append(list, one)
		requested[name] = number(t)
	}
	return list, 2 * number(t), requested
}

func number(t *rapid.T) float64 {
	x := rapid.Float64Range(0, 20).Draw(t, "number")
	if rapid.Bool().Draw(t, "whole") {
		return math.Floor(x)
	}
	return x
}

// allocated returns the allocations by name.
func allocated(t *rapid.T, list []Group, pool float64, r QuotaRules, requested map[string]float64, whole bool) (g *Groups, quotas []Quota, given []float64) {
	g, err := NewGroups(list)
	if err != nil {
		t.Fatal(err)
	}
	quotas = g.Quotas(pool, r)
	asked := make([]float64, len(g.List))
	for i, one := range g.List {
		asked[i] = requested[one.Name]
	}
	for i, a := range g.Allocate(quotas, asked, whole) {
		given = append(given, a.Weight)
		if a.Weight < 0 || a.Weight > asked[i]+1e-6 {
			t.Fatalf("%s is allocated %v, want at most the %v requested", g.List[i].Name, a.Weight, asked[i])
		}
		if short := asked[i] - a.Weight; !whole && math.Abs(a.Unmet-short) > 1e-6 {
			t.Fatalf("%s lacks %v, want %v", g.List[i].Name, a.Unmet, short)
		}
		if whole && a.Weight != math.Floor(a.Weight) {
			t.Fatalf("%s is allocated %v, want whole slots", g.List[i].Name, a.Weight)
		}
	}
	return g, quotas, given
}

// TestAllocateLaws holds that no more is allocated than there is, that nobody gets
// past a group that does not accept surplus, and that nothing stays idle that somebody
// may have.
func TestAllocateLaws(t *testing.T) {
	const digits = 1e-6
	rapid.Check(t, func(t *rapid.T) {
		list, pool, requested := forest(t)
		whole := rapid.Bool().Draw(t, "whole slots")
		g, quotas, given := allocated(t, list, pool, QuotaRules{}, requested, whole)
		subtree := slices.Clone(given)
		for i, one := range slices.Backward(g.List) {
			if one.Parent >= 0 {
				subtree[one.Parent] += subtree[i]
			}
			if !one.AcceptSurplus && subtree[i] > quotas[i].Subtree+digits {
				t.Fatalf("%s and those below are allocated %v, want at most %v", one.Name, subtree[i], quotas[i].Subtree)
			}
		}
		if subtree[0] > pool+digits {
			t.Fatalf("%v is allocated in all, want at most the pool's %v", subtree[0], pool)
		}
		least := digits
		if whole {
			least = 1
		}
		for i, one := range g.List {
			if requested[one.Name]-given[i] < least {
				continue
			}
			// Whoever wants more has what is left at each group up to the first that does
			// not accept surplus, that one included.
			for at := i; at >= 0; at = g.List[at].Parent {
				if left := quotas[at].Subtree - subtree[at]; left >= least+digits && !whole {
					t.Fatalf("%s wants %v more, and %v is left at %s, want nothing", one.Name, requested[one.Name]-given[i], left, g.List[at].Name)
				}
				if !g.List[at].AcceptSurplus {
					break
				}
			}
		}
	})
}

// TestAllocateOrder holds that the order of siblings makes no difference.
func TestAllocateOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, pool, requested := forest(t)
		r := QuotaRules{Oversubscribe: rapid.Bool().Draw(t, "oversubscribe")}
		g, _, given := allocated(t, list, pool, r, requested, false)
		// The letters the other way round bring siblings into the opposite order.
		other := strings.NewReplacer("a", "c", "c", "a")
		backward, asked := slices.Clone(list), map[string]float64{RootGroup: requested[RootGroup]}
		for i := range backward {
			backward[i].Name = other.Replace(list[i].Name)
			asked[backward[i].Name] = requested[list[i].Name]
		}
		h, _, turned := allocated(t, backward, pool, r, asked, false)
		for i, one := range g.List {
			name := one.Name
			if i > 0 {
				name = other.Replace(name)
			}
			at, _ := h.Find(name)
			if math.Abs(given[i]-turned[at]) > 1e-6 {
				t.Fatalf("%s is allocated %v, and %v among siblings in another order", one.Name, given[i], turned[at])
			}
		}
	})
}

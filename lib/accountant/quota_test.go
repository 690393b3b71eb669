package accountant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// static and dynamic return a group with a quota.
func static(name string, quota float64) Group { return Group{Name: name, Quota: quota} }

func dynamic(name string, fraction float64) Group {
	return Group{Name: name, Quota: fraction, Dynamic: true}
}

func regrouping(g Group) Group { g.Autoregroup = true; return g }

func accepting(g Group) Group { g.AcceptSurplus = true; return g }

func TestQuotas(t *testing.T) {
	const (
		no   = 0
		over = 1 // oversubscribed
		both = 2 // and inner groups have what their children have
	)
	rules := []QuotaRules{{}, {Oversubscribe: true}, {Oversubscribe: true, Twice: true}}
	for _, c := range []struct {
		name   string
		pool   float64
		rules  int
		groups []Group
		want   string // own/subtree in the order of the list
	}{
		{"two static ones that do not fit are scaled", 15, no, []Group{static("a", 20), static("b", 10)}, "0/15 10/10 5/5"},
		{"or stand, with oversubscription", 15, over, []Group{static("a", 20), static("b", 10)}, "0/15 20/20 10/10"},
		{"what is left is the root's", 30, over, []Group{static("a", 20), static("b", 5)}, "5/30 20/20 5/5"},
		{"a group of a group, HTCondor's way", 13, both, []Group{static("a", 6), static("a.x", 3)}, "7/13 6/6 3/3"},
		{"which has the rest in ours", 13, over, []Group{static("a", 6), static("a.x", 3)}, "7/13 3/6 3/3"},
		{"and without oversubscription", 13, no, []Group{static("a", 6), static("a.x", 3)}, "7/13 3/6 3/3"},
		{"nothing if its children have more", 13, over, []Group{static("a", 6), static("a.x", 8)}, "7/13 0/6 8/8"},
		{"or they are scaled", 13, no, []Group{static("a", 6), static("a.x", 8)}, "7/13 0/6 6/6"},
		{"groups that regroup make no difference", 13, both,
			[]Group{static("a", 6), regrouping(static("a.x", 3)), dynamic("b", 0.25)}, "5.25/13 6/6 1.75/1.75 3/3"},
		{"the manual's tree of fractions", 60, no,
			[]Group{dynamic("chem", 0.3), dynamic("phys", 0.6), dynamic("phys.hep", 0.75), dynamic("phys.lep", 0.25)}, "6/60 18/18 0/36 27/27 9/9"},
		{"fractions above one are scaled", 10, over, []Group{dynamic("a", 1), dynamic("b", 1)}, "0/10 5/5 5/5"},
		{"fractions are of what the static ones leave", 10, over, []Group{static("a", 12), dynamic("b", 0.5)}, "0/10 12/12 0/0"},
		{"a branch without quota has none below", 10, over, []Group{{Name: "a"}, static("a.x", 5)}, "10/10 0/0 0/0"},
		{"no pool", 0, over, []Group{static("a", 12), dynamic("b", 0.5)}, "0/0 0/0 0/0"},
		{"no quota at all", 10, over, []Group{{Name: "a"}, {Name: "b"}}, "10/10 0/0 0/0"},
		{"no group", 10, over, nil, "10/10"},
	} {
		var got []string
		for _, q := range tree(t, c.groups...).Quotas(c.pool, rules[c.rules]) {
			got = append(got, fmt.Sprintf("%.6g/%.6g", q.Own, q.Subtree))
		}
		if joined := strings.Join(got, " "); joined != c.want {
			t.Errorf("%s: Quotas(%v, %+v) = %s, want %s", c.name, c.pool, rules[c.rules], joined, c.want)
		}
	}
}

// TestQuotasAddUp holds that without oversubscription the groups' own quotas are
// the pool, and no group's children have more than the group.
func TestQuotasAddUp(t *testing.T) {
	names := []string{"a", "a.a", "a.b", "a.b.a", "b", "b.a", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var list []Group
		for _, name := range names {
			if rapid.Bool().Draw(t, "dynamic") {
				list = append(list, dynamic(name, rapid.Float64Range(0, 1).Draw(t, "fraction")))
			} else {
				list = append(list, static(name, rapid.Float64Range(0, 100).Draw(t, "quota")))
			}
		}
		g, err := NewGroups(list)
		if err != nil {
			t.Fatal(err)
		}
		pool := rapid.Float64Range(0, 200).Draw(t, "pool")
		quotas, sum := g.Quotas(pool, QuotaRules{}), 0.0
		for i, q := range quotas {
			sum += q.Own
			below := q.Own
			for _, c := range g.List[i].Children {
				below += quotas[c].Subtree
			}
			if q.Own < 0 || math.Abs(below-q.Subtree) > 1e-9*max(1, pool) {
				t.Fatalf("%s: own %v and below it %v, want together %v", g.List[i].Name, q.Own, below-q.Own, q.Subtree)
			}
		}
		if math.Abs(sum-pool) > 1e-9*max(1, pool) {
			t.Fatalf("own quotas add up to %v, want the pool's %v", sum, pool)
		}
	})
}

func TestCaps(t *testing.T) {
	g := tree(t, static("a", 20), accepting(static("b", 3)), dynamic("b.x", 0.5), accepting(dynamic("b.y", 0.5)), Group{Name: "c"})
	inf := math.Inf(1)
	want := []float64{inf, 20, inf, 0, 1, inf} // <none> a b c b.x b.y
	if got := g.Caps(g.Quotas(15, QuotaRules{})); !slices.Equal(got, []float64{inf, 20, inf, 0, got[4], inf}) || math.Abs(got[4]-15.0*3/23/2) > 1e-9 {
		t.Errorf("Caps of scaled quotas = %v, want %v with half of the scaled quota of b for b.x", got, want)
	}
	want[4] = 1.5
	if got := g.Caps(g.Quotas(30, QuotaRules{Oversubscribe: true})); !slices.Equal(got, want) {
		t.Errorf("Caps = %v, want %v", got, want)
	}
	if got := (*Groups)(nil).Caps((*Groups)(nil).Quotas(9, QuotaRules{})); !slices.Equal(got, []float64{inf}) {
		t.Errorf("Caps without groups = %v, want no cap", got)
	}
}

func TestComplaints(t *testing.T) {
	groups := []Group{static("a", 20), static("b", 15), static("a.x", 12), static("a.y", 12.5), dynamic("a.x.p", 0.75), dynamic("a.x.q", 0.5)}
	fractions := []string{"dynamic quotas of the groups in a.x sum to 1.25, want 1 at most: they are scaled down to fit"}
	const late = "the groups served first may leave less than the quota of those served last"
	for _, c := range []struct {
		pool   float64
		over   bool
		groups []Group
		want   []string
	}{
		{30, true, groups, append([]string{"quotas of the groups sum to 35 of a pool of 30: " + late, "quotas of the groups in a sum to 24.5 of its 20: " + late}, fractions...)},
		{35, false, groups, append([]string{"quotas of the groups in a sum to 24.5 of its 20: they are scaled down to fit"}, fractions...)},
		{0, true, groups, nil},
		{30, true, []Group{static("a", 30), dynamic("b", 1), dynamic("a.x", 0.7), dynamic("a.y", 0.2), dynamic("a.z", 0.1)}, nil},
		{30, true, nil, nil},
	} {
		if got := tree(t, c.groups...).Complaints(c.pool, QuotaRules{Oversubscribe: c.over}); !slices.Equal(got, c.want) {
			t.Errorf("Complaints(%v, %v) = %q, want %q", c.pool, c.over, got, c.want)
		}
	}
}

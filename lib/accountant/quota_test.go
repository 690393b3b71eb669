package accountant

import (
	"fmt"
	"math"
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

func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		name   string
		pool   float64
		over   bool
		groups []Group
		want   string // own/subtree in the order of the list
	}{
		{"two static ones that do not fit are scaled", 15, false, []Group{static("a", 20), static("b", 10)}, "0/15 10/10 5/5"},
		{"or stand, with oversubscription", 15, true, []Group{static("a", 20), static("b", 10)}, "0/15 20/20 10/10"},
		{"what is left is the root's", 30, true, []Group{static("a", 20), static("b", 5)}, "5/30 20/20 5/5"},
		{"a group of a group", 13, true, []Group{static("a", 6), static("a.x", 3)}, "7/13 6/6 3/3"},
		{"which has the rest without oversubscription", 13, false, []Group{static("a", 6), static("a.x", 3)}, "7/13 3/6 3/3"},
		{"any that regroups gives the root the pool", 13, true,
			[]Group{static("a", 6), regrouping(static("a.x", 3)), dynamic("b", 0.25)}, "13/13 6/6 1.75/1.75 3/3"},
		{"and none that does leaves it the rest", 13, true,
			[]Group{static("a", 6), static("a.x", 3), dynamic("b", 0.25)}, "5.25/13 6/6 1.75/1.75 3/3"},
		{"the manual's tree of fractions", 60, false,
			[]Group{dynamic("chem", 0.3), dynamic("phys", 0.6), dynamic("phys.hep", 0.75), dynamic("phys.lep", 0.25)}, "6/60 18/18 0/36 27/27 9/9"},
		{"fractions above one are scaled", 10, true, []Group{dynamic("a", 1), dynamic("b", 1)}, "0/10 5/5 5/5"},
		{"fractions are of what the static ones leave", 10, true, []Group{static("a", 12), dynamic("b", 0.5)}, "0/10 12/12 0/0"},
		{"no pool", 0, false, []Group{static("a", 12), dynamic("b", 0.5)}, "0/0 0/0 0/0"},
		{"no quota at all", 10, true, []Group{{Name: "a"}, {Name: "b"}}, "10/10 0/0 0/0"},
		{"no group", 10, true, nil, "10/10"},
	} {
		var got []string
		for _, q := range tree(t, c.groups...).Quotas(c.pool, c.over) {
			got = append(got, fmt.Sprintf("%.6g/%.6g", q.Own, q.Subtree))
		}
		if joined := strings.Join(got, " "); joined != c.want {
			t.Errorf("%s: Quotas(%v, %v) = %s, want %s", c.name, c.pool, c.over, joined, c.want)
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
		quotas, sum := g.Quotas(pool, false), 0.0
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

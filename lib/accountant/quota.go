package accountant

import "slices"

// Quota is what a group is entitled to, in slot weight: of its own, and
// together with the groups below.
type Quota struct{ Own, Subtree float64 }

// Quotas divides the pool's weight among the groups, in the order of List. A
// static quota is what was configured, a dynamic one its fraction of what the
// static ones leave of the parent's. With oversubscription static quotas stand
// as they are even if they exceed the parent's; without it they are scaled down to
// fit. What its children leave is a group's own. (HTCondor's quota assignment:
// with oversubscription an inner group that has children keeps its whole subtree
// quota as its own, except for the root; and the root has the whole pool as soon as
// any group regroups automatically.)
func (g *Groups) Quotas(weight float64, oversubscribe bool) []Quota {
	if g == nil {
		return []Quota{{weight, weight}}
	}
	quotas := make([]Quota, len(g.List))
	quotas[0].Subtree = weight
	for i, one := range g.List { // parents stand before their children
		q := quotas[i].Subtree
		var static, dynamic, given float64
		for _, c := range one.Children {
			if g.List[c].Dynamic {
				dynamic += g.List[c].Quota
			} else {
				static += g.List[c].Quota
			}
		}
		allowed := static
		if !oversubscribe {
			allowed = min(static, q)
		}
		rest := max(0, q-allowed)
		for _, c := range one.Children {
			child := g.List[c]
			switch {
			case child.Dynamic:
				quotas[c].Subtree = child.Quota * rest / max(dynamic, 1)
			case static > 0:
				quotas[c].Subtree = child.Quota * allowed / static
			}
			given += quotas[c].Subtree
		}
		quotas[i].Own = max(0, q-given)
		if oversubscribe && i > 0 {
			quotas[i].Own = q
		}
	}
	if slices.ContainsFunc(g.List, func(one Group) bool { return one.Autoregroup }) {
		quotas[0].Own = weight
	}
	return quotas
}

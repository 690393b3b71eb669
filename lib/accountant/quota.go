package accountant

import (
	"fmt"
	"math"
	"slices"
)

// Quota is what a group is entitled to, in slot weight: of its own, and
// together with the groups below.
type Quota struct{ Own, Subtree float64 }

// QuotaRules say how quotas are worked out.
type QuotaRules struct {
	// Oversubscribe lets static quotas stand as they are though they exceed the
	// parent's; false: they are scaled down to fit
	// (NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION).
	Oversubscribe bool
	// Twice is HTCondor's habit with oversubscription: an inner group, but not the
	// root, has its whole subtree quota for its own, though its children have theirs
	// of it, too; false: its own is what its children leave.
	Twice bool
}

// Quotas divides the pool's weight among the groups, in the order of List. A
// static quota is what was configured, a dynamic one its fraction of what the
// static ones leave of the parent's; fractions that sum to more than 1 are scaled
// down. What its children leave is a group's own, never below 0 (HTCondor's quota
// assignment). Groups that regroup make no difference here: see Regroups.
func (g *Groups) Quotas(weight float64, r QuotaRules) []Quota {
	if g == nil {
		return []Quota{{weight, weight}}
	}
	quotas := make([]Quota, len(g.List))
	quotas[0].Subtree = max(0, weight)
	for i, one := range g.List { // parents stand before their children
		q := quotas[i].Subtree
		static, dynamic := g.below(i)
		allowed := static
		if !r.Oversubscribe {
			allowed = min(static, q)
		}
		rest, given := max(0, q-allowed), 0.0
		for _, c := range one.Children {
			child := g.List[c]
			switch {
			case q <= 0: // an empty pool, or an empty branch of it
			case child.Dynamic:
				quotas[c].Subtree = child.Quota * (rest / max(dynamic, 1))
			case static > 0:
				quotas[c].Subtree = child.Quota * (allowed / static)
			}
			given += quotas[c].Subtree
		}
		// A last digit is no quota, which would go before those that have none. HTCondor has it.
		if quotas[i].Own = max(0, q-given); quotas[i].Own < 1e-9*q && !r.Twice {
			quotas[i].Own = 0
		}
		if r.Oversubscribe && r.Twice && i > 0 {
			quotas[i].Own = q
		}
	}
	return quotas
}

// below returns the sums of the static and of the dynamic quotas configured for a
// group's children.
func (g *Groups) below(i int) (static, dynamic float64) {
	for _, c := range g.List[i].Children {
		if g.List[c].Dynamic {
			dynamic += g.List[c].Quota
		} else {
			static += g.List[c].Quota
		}
	}
	return static, dynamic
}

// Regroups says whether any group regroups automatically. The root's quota is then
// the whole pool.
func (g *Groups) Regroups() bool {
	return g != nil && slices.ContainsFunc(g.List, func(one Group) bool { return one.Autoregroup })
}

// Caps returns, in the order of List, what each group and those below it may use
// together with strict enforcement: a group that does not accept surplus its static
// quota as configured or its dynamic one as worked out, all others as much as there
// is, which is +Inf. What a group may use is also bounded by all above it.
func (g *Groups) Caps(quotas []Quota) []float64 {
	caps := make([]float64, len(quotas))
	for i := range caps {
		switch caps[i] = math.Inf(1); {
		case g == nil || g.List[i].AcceptSurplus:
		case g.List[i].Dynamic:
			caps[i] = quotas[i].Subtree
		default:
			caps[i] = g.List[i].Quota
		}
	}
	return caps
}

// Complaints returns a line for each set of quotas that cannot all be had in a pool
// of this weight, in the order of List: static ones that exceed their parent's or the
// pool, and dynamic ones that sum to more than 1. A pool without weight is none to
// complain about.
func (g *Groups) Complaints(weight float64, r QuotaRules) []string {
	if g == nil || !(weight > 0) {
		return nil
	}
	then := "they are scaled down to fit"
	if r.Oversubscribe {
		then = "they stand as they are, so the groups served first may leave less than the quota of those served last"
	}
	var lines []string
	for i, q := range g.Quotas(weight, r) {
		static, dynamic := g.below(i)
		// Sums of fractions such as 0.1 may be off by a digit.
		if static > q.Subtree*(1+1e-9) {
			lines = append(lines, fmt.Sprintf("quotas of %s sum to %.6g of %s: %s", g.childrenOf(i), static, g.has(i, q.Subtree), then))
		}
		if dynamic > 1+1e-9 {
			lines = append(lines, fmt.Sprintf("dynamic quotas of %s sum to %.6g, want 1 at most: they are scaled down to fit", g.childrenOf(i), dynamic))
		}
	}
	return lines
}

func (g *Groups) childrenOf(i int) string {
	if i == 0 {
		return "the groups"
	}
	return "the groups in " + g.List[i].Name
}

func (g *Groups) has(i int, weight float64) string {
	if i == 0 {
		return fmt.Sprintf("a pool of %.6g", weight)
	}
	return fmt.Sprintf("its %.6g", weight)
}

package accountant

import (
	"cmp"
	"math"
	"slices"
)

// Allocation is the slot weight that the members of a group itself, without the groups
// below it, may use together.
type Allocation struct {
	Weight float64 // beyond the group's own quota it is other groups' surplus
	// Unmet is the part of their requests beyond Weight.
	Unmet float64
}

// Allocate divides the pool by quotas and requests. requested is the weight that the
// members of each group use and want, in the order of List as quotas and the allocations
// are. Every group gets its request up to its own quota. The remainder goes to the
// group's parent, which divides it among itself, by its own quota, and its children that
// accept surplus, by their quotas including all below them. No group gets more than it
// wants, and groups without a quota share the rest equally. A child divides its part in
// the same way below it. The rest goes up one more level. A group that does not accept
// surplus, and all groups below it, get nothing from above it (HTCondor's hierarchical
// group quotas).
//
// whole cuts allocations to whole slots, for pools in which every slot weighs 1: the
// fractions are dealt out again in whole slots by the same rules, in equal parts, to the
// larger quota first.
func (g *Groups) Allocate(quotas []Quota, requested []float64, whole bool) []Allocation {
	a := &allotment{groups: g, quotas: quotas, given: make([]float64, len(quotas)), unmet: make([]float64, len(quotas)), wish: make([]float64, len(quotas))}
	for i, q := range quotas {
		a.given[i] = max(0, min(requested[i], q.Own))
		a.unmet[i] = max(0, requested[i]-a.given[i])
	}
	if g != nil {
		a.collect(a.divide, func(i int) float64 { return a.quotas[i].Own - a.given[i] })
		if whole {
			a.collect(a.deal, a.cut)
		}
	} else if whole {
		a.cut(0)
	}
	list := make([]Allocation, len(quotas))
	for i, x := range a.given {
		list[i] = Allocation{Weight: x, Unmet: max(0, a.unmet[i])}
	}
	return list
}

// allotment is the state of a division of quotas, in the order of the groups.
type allotment struct {
	groups *Groups
	quotas []Quota
	given  []float64 // what each group has of its own
	unmet  []float64 // its request beyond that
	wish   []float64 // the same with those below it that accept surplus
}

// divider divides the surplus of group i among its competitors, and reduces their wishes
// by their gains. It returns the gains and the rest.
type divider func(i int, surplus float64, who []int) (gains []float64, left float64)

// collect brings each group's surplus up the tree, and at each group spreads the
// collected surplus among the group and those below.
func (a *allotment) collect(parts divider, leaves func(i int) float64) {
	left := make([]float64, len(a.given))
	for i := range left {
		left[i] = leaves(i)
	}
	for i, one := range slices.Backward(a.groups.List) { // children stand behind their parents
		a.wish[i] = a.unmet[i]
		for _, c := range one.Children {
			left[i] += left[c]
			if a.groups.List[c].AcceptSurplus {
				a.wish[i] += a.wish[c]
			}
		}
		if len(one.Children) > 0 {
			left[i] = a.spread(i, left[i], parts)
		}
	}
}

// spread divides surplus among a group and those below it that accept some, and returns
// the unwanted rest. Names bound how deep the tree is.
func (a *allotment) spread(i int, surplus float64, parts divider) float64 {
	if surplus <= 0 || a.wish[i] <= 0 {
		return max(0, surplus)
	}
	var who []int
	for _, c := range a.groups.List[i].Children {
		if a.groups.List[c].AcceptSurplus && a.wish[c] > 0 {
			who = append(who, c)
		}
	}
	who = append(who, i)
	gains, left := parts(i, surplus, who)
	for n, c := range who {
		if c == i {
			a.given[i] += gains[n]
			a.unmet[i] -= gains[n]
		} else {
			a.spread(c, gains[n], parts)
		}
	}
	return left
}

// of returns the wish of a competitor for the surplus of group i, and its weight in the
// division: the group itself counts without the groups below it.
func (a *allotment) of(i, who int) (wish, quota float64) {
	if who == i {
		return a.unmet[i], a.quotas[i].Own
	}
	return a.wish[who], a.quotas[who].Subtree
}

// divide divides surplus by quotas, and then equally what those that have one leave. The
// sums are made as HTCondor makes them: limits that are cut to whole numbers may hang on
// their last digit.
func (a *allotment) divide(i int, surplus float64, who []int) (gains []float64, left float64) {
	wishes, byQuota, equally := make([]float64, len(who)), make([]float64, len(who)), make([]float64, len(who))
	for n, c := range who {
		wishes[n], byQuota[n] = a.of(i, c)
		equally[n] = 1
	}
	if surplus >= a.wish[i] {
		left, a.wish[i] = surplus-a.wish[i], 0
		return wishes, left
	}
	gains = make([]float64, len(who))
	for _, weights := range [][]float64{byQuota, equally} {
		for surplus > 0 && hand(&surplus, &a.wish[i], weights, wishes, gains) {
		}
	}
	return gains, surplus
}

// hand hands out surplus once: to each by its weight, up to its wish. All of it is gone
// then, or one more has all that it wants. It returns false if no competitor with a
// weight wants any.
func hand(surplus, wish *float64, weights, wishes, gains []float64) bool {
	sum := 0.0
	for n, w := range weights {
		if wishes[n] > 0 {
			sum += w
		}
	}
	if sum <= 0 {
		return false
	}
	taken, all := 0.0, true
	for n, w := range weights {
		if wishes[n] <= 0 {
			continue
		}
		part := *surplus * (w / sum)
		if part > wishes[n] {
			part, all = wishes[n], false
		}
		gains[n] += part
		wishes[n] -= part
		taken += part
	}
	*surplus -= taken
	*wish -= taken
	if all || *surplus < 0 {
		*surplus = 0
	}
	return true
}

// cut cuts a group's weight to whole slots, and returns the fraction.
func (a *allotment) cut(i int) float64 {
	over := a.given[i] - math.Floor(a.given[i])
	a.given[i] = math.Floor(a.given[i])
	a.unmet[i] = math.Floor(a.unmet[i] + over + 1e-9) // which is whole if the request is
	return over
}

// deal deals out whole slots in equal parts, the larger quota first.
func (a *allotment) deal(i int, surplus float64, who []int) (gains []float64, rest float64) {
	gains = make([]float64, len(who))
	left, quotas, order := make([]float64, len(who)), make([]float64, len(who)), make([]int, len(who))
	for n, c := range who {
		order[n] = n
		left[n], quotas[n] = a.of(i, c)
	}
	slices.SortStableFunc(order, func(m, n int) int {
		return cmp.Or(cmp.Compare(quotas[n], quotas[m]), cmp.Compare(left[n], left[m]))
	})
	for surplus >= 1 {
		want := 0.0
		for _, x := range left {
			if x > 0 {
				want++
			}
		}
		if want == 0 {
			break
		}
		most := max(1, math.Floor(surplus/want))
		for _, n := range order {
			part := min(left[n], most, math.Floor(surplus))
			gains[n] += part
			left[n] -= part
			surplus -= part
			a.wish[i] -= part
		}
	}
	return gains, surplus
}

package userprio

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
)

// numbers returns the groups' numbers: nobody's is 0, the others count from 1
// in the order of their names. It is empty where there is no other group.
func (v view) numbers() map[string]int {
	of := map[string]int{}
	for _, r := range v.rows {
		of[r.in] = 0
	}
	delete(of, accountant.RootGroup)
	for i, name := range slices.Sorted(maps.Keys(of)) {
		of[name] = i + 1
	}
	if len(of) > 0 {
		of[accountant.RootGroup] = 0
	}
	return of
}

// rollUp turns the groups' rows into sums over the group and those below, in
// usage and the times of use. A sum has no priority. As in HTCondor what was
// never counted is nothing then, and not unknown.
func (v *view) rollUp() {
	places := map[string]int{} // of the groups' rows
	var own []row
	for i := range v.rows {
		r := &v.rows[i]
		r.counted = true
		if r.group {
			places[strings.ToLower(r.name)] = i
			own = append(own, *r)
			r.priority, r.effective = 0, 0
		}
	}
	for i := range own {
		for _, above := range above(own[i].name) {
			if k, ok := places[above]; ok {
				v.rows[k].add(&own[i])
			}
		}
	}
	depth := func(r row) int {
		if r.name == accountant.RootGroup {
			return -1
		}
		return strings.Count(r.name, ".")
	}
	slices.SortStableFunc(v.rows, func(a, b row) int {
		switch {
		case a.group && b.group:
			return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a.name, b.name))
		case a.group:
			return -1
		case b.group:
			return 1
		}
		return 0
	})
}

// above returns the names, in lower case, of the groups above one.
func above(name string) (names []string) {
	if name == accountant.RootGroup {
		return nil
	}
	name = strings.ToLower(name)
	for dot := strings.LastIndexByte(name, '.'); dot >= 0; dot = strings.LastIndexByte(name, '.') {
		name = name[:dot]
		names = append(names, name)
	}
	return append(names, accountant.RootGroup)
}

// below reports whether a name is one in a group: the group's, a dot, and more.
func below(name, group string) bool {
	return len(name) > len(group) && name[len(group)] == '.' && strings.EqualFold(name[:len(group)], group)
}

// add adds another row's sums and times of use.
func (r *row) add(other *row) {
	for i := range every {
		if every[i].sum {
			every[i].add(r, other)
		}
	}
	if r.begin.IsZero() || !other.begin.IsZero() && other.begin.Before(r.begin) {
		r.begin = other.begin
	}
	if other.last.After(r.last) {
		r.last = other.last
	}
}

// flatOrder compares two rows of one list: by the first column that has a direction, else by
// name; groups before users, and in their own order.
func (t *table) flatOrder(a, b *row) int {
	by := 0
	if t.orderBy != nil {
		by = t.orderBy.compare(a, b)
	} else {
		by = strings.Compare(a.name, b.name)
	}
	if by != 0 || !a.group && !b.group {
		return by
	}
	if a.group && b.group {
		return cmp.Compare(t.order(a), t.order(b))
	}
	if a.group {
		return -1
	}
	return 1
}

// order returns the place of the row's group in the order of groups' numbers,
// in which nobody's is the last.
func (t *table) order(r *row) float64 {
	if r.in == accountant.RootGroup {
		return negotiator.SortLast
	}
	return float64(t.numbers[r.in])
}

// arrange brings the rows into order: groups each before its users, or one list.
func (t *table) arrange() {
	if t.tree {
		t.inTreeOrder()
		return
	}
	if t.groupsFirst && !t.hierarchical {
		t.groupsBefore()
		return
	}
	if !t.hierarchical {
		slices.SortStableFunc(t.shown, t.flatOrder)
		return
	}
	slices.SortStableFunc(t.shown, func(a, b *row) int {
		if a.in != b.in {
			return cmp.Or(cmp.Compare(t.keys[a.in], t.keys[b.in]), cmp.Compare(t.numbers[a.in], t.numbers[b.in]))
		}
		if a.group != b.group {
			if a.group {
				return -1
			}
			return 1
		}
		return t.flatOrder(a, b)
	})
}

// inTreeOrder puts groups behind the one that they are in, nobody's first.
func (t *table) inTreeOrder() {
	path := func(r *row) string {
		if r.name == accountant.RootGroup {
			return ""
		}
		return strings.ReplaceAll(strings.ToLower(r.name), ".", "\x00") // before whatever else a name may have
	}
	slices.SortStableFunc(t.shown, func(a, b *row) int { return strings.Compare(path(a), path(b)) })
}

// groupsBefore puts the groups first, in the order in which they came.
func (t *table) groupsBefore() {
	slices.SortStableFunc(t.shown, func(a, b *row) int {
		switch {
		case a.group && b.group:
			return 0
		case a.group:
			return -1
		case b.group:
			return 1
		}
		return t.flatOrder(a, b)
	})
}

// groupKeys returns what groups are ordered by: their sort keys where rows go by EUP, their
// usage where they go by that, else their numbers. A group of which the
// last cycle knows nothing, or that has no row, is late.
func (t *table) groupKeys() map[string]float64 {
	keys := map[string]float64{}
	for name, number := range t.numbers {
		switch {
		case t.by(attrEUP):
			keys[name] = negotiator.SortLate
			if name == accountant.RootGroup {
				keys[name] = negotiator.SortLast
			}
		case !t.by(attrUsage):
			keys[name] = float64(number)
		}
	}
	for i := range t.rows {
		r := &t.rows[i]
		switch {
		case !r.group:
		case t.by(attrEUP) && r.part.negotiated:
			keys[r.name] = r.part.sortKey
		case t.by(attrUsage):
			keys[r.name] = r.usage
		}
	}
	return keys
}

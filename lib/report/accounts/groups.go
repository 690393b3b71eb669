package accounts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
)

// numbers returns the groups' numbers: the root group is 0, the others count from 1 in
// the order of their names. It is empty where there is no other group.
func (v View) numbers() map[string]int {
	of := map[string]int{}
	for _, r := range v.Rows {
		of[r.In] = 0
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

// RollUp turns the groups' rows into sums over the group and the groups below, of usage
// and of the times of use. A sum has no priority. As in HTCondor a figure that was never
// counted is then 0, and not unknown.
func (v *View) RollUp() {
	places := map[string]int{} // of the groups' rows
	var own []Row
	for i := range v.Rows {
		r := &v.Rows[i]
		r.Counted = true
		if r.Group {
			places[strings.ToLower(r.Name)] = i
			own = append(own, *r)
			r.Priority, r.Effective = 0, 0
		}
	}
	for i := range own {
		for _, above := range above(own[i].Name) {
			if k, ok := places[above]; ok {
				v.Rows[k].add(&own[i])
			}
		}
	}
	depth := func(r Row) int {
		if r.Name == accountant.RootGroup {
			return -1
		}
		return strings.Count(r.Name, ".")
	}
	slices.SortStableFunc(v.Rows, func(a, b Row) int {
		switch {
		case a.Group && b.Group:
			return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a.Name, b.Name))
		case a.Group:
			return -1
		case b.Group:
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
func (r *Row) add(other *Row) {
	for i := range every {
		if every[i].sum {
			every[i].add(r, other)
		}
	}
	if r.Begin.IsZero() || !other.Begin.IsZero() && other.Begin.Before(r.Begin) {
		r.Begin = other.Begin
	}
	if other.Last.After(r.Last) {
		r.Last = other.Last
	}
}

// flatOrder compares two rows of one list: by the first column that has a direction, else by
// name; groups before users, and in their own order.
func (t *Table) flatOrder(a, b *Row) int {
	by := 0
	if t.orderBy != nil {
		by = t.orderBy.compare(a, b)
	} else {
		by = strings.Compare(a.Name, b.Name)
	}
	if by != 0 || !a.Group && !b.Group {
		return by
	}
	if a.Group && b.Group {
		return cmp.Compare(t.order(a), t.order(b))
	}
	if a.Group {
		return -1
	}
	return 1
}

// order returns the place of the row's group in the order of groups' numbers. The root
// group is the last.
func (t *Table) order(r *Row) float64 {
	if r.In == accountant.RootGroup {
		return negotiator.SortLast
	}
	return float64(t.numbers[r.In])
}

// arrange brings the rows into order: groups each before its users, or one list.
func (t *Table) arrange() {
	if t.tree {
		t.inTreeOrder()
		return
	}
	if t.GroupsFirst && !t.hierarchical {
		t.groupsBefore()
		return
	}
	if !t.hierarchical {
		slices.SortStableFunc(t.shown, t.flatOrder)
		return
	}
	slices.SortStableFunc(t.shown, func(a, b *Row) int {
		if a.In != b.In {
			return cmp.Or(cmp.Compare(t.keys[a.In], t.keys[b.In]), cmp.Compare(t.numbers[a.In], t.numbers[b.In]))
		}
		if a.Group != b.Group {
			if a.Group {
				return -1
			}
			return 1
		}
		return t.flatOrder(a, b)
	})
}

// inTreeOrder puts groups behind their parents, the root group first.
func (t *Table) inTreeOrder() {
	path := func(r *Row) string {
		if r.Name == accountant.RootGroup {
			return ""
		}
		return strings.ReplaceAll(strings.ToLower(r.Name), ".", "\x00") // before whatever else a name may have
	}
	slices.SortStableFunc(t.shown, func(a, b *Row) int { return strings.Compare(path(a), path(b)) })
}

// groupsBefore puts the groups first, in the order in which they came.
func (t *Table) groupsBefore() {
	slices.SortStableFunc(t.shown, func(a, b *Row) int {
		switch {
		case a.Group && b.Group:
			return 0
		case a.Group:
			return -1
		case b.Group:
			return 1
		}
		return t.flatOrder(a, b)
	})
}

// groupKeys returns the keys by which groups are ordered: their sort keys if rows are
// ordered by EUP, their usage if rows are ordered by that, else their numbers. A group that
// the last cycle does not know, or that has no row, comes late.
func (t *Table) groupKeys() map[string]float64 {
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
	for i := range t.Rows {
		r := &t.Rows[i]
		switch {
		case !r.Group:
		case t.by(attrEUP) && r.Part.Negotiated:
			keys[r.Name] = r.Part.SortKey
		case t.by(attrUsage):
			keys[r.Name] = r.Usage
		}
	}
	return keys
}

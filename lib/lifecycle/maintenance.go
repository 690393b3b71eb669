package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Maintenances returns the maintenances of a pool, by number, also those that are over. It leaves out a mark that
// cannot be read.
func Maintenances(v *spool.View) (list []pool.Maintenance) {
	for _, name := range v.Marks(pool.MaintenanceMark) {
		m, err := parseMaintenance(v.Mark(name))
		id, also := strconv.Atoi(strings.TrimPrefix(name, pool.MaintenanceMark))
		if m.ID = id; err == nil && also == nil {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b pool.Maintenance) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// ReserveForMaintenance keeps jobs from slots that could run into a maintenance, from now on. It gives the maintenance the next
// number, and forgets those that are over.
func ReserveForMaintenance(tx *spool.Tx, m pool.Maintenance, now time.Time) pool.Maintenance {
	m.ID = 1
	for _, other := range Maintenances(&tx.View) {
		m.ID = max(m.ID, other.ID+1)
		if other.Over(now) {
			tx.PutMark(pool.MaintenanceMark+strconv.Itoa(other.ID), "")
		}
	}
	tx.Op("reserve", strconv.Itoa(m.ID))
	tx.PutMark(pool.MaintenanceMark+strconv.Itoa(m.ID), formatMaintenance(m))
	return m
}

// CancelMaintenance forgets a maintenance, and reports whether there was one with this number.
func CancelMaintenance(tx *spool.Tx, id int) bool {
	name := pool.MaintenanceMark + strconv.Itoa(id)
	if tx.Mark(name) == "" {
		return false
	}
	tx.Op("reserve", "-cancel", strconv.Itoa(id))
	tx.PutMark(name, "")
	return true
}

// formatMaintenance writes the text of the mark, with the times in seconds since 1970:
//
//	1796112000 1796126400 "root" "new disks" "Machine == \"n1\""
func formatMaintenance(m pool.Maintenance) string {
	return fmt.Sprintf("%d %d %q %q %q", m.Start.Unix(), m.End.Unix(), m.By, m.Reason, m.Constraint)
}

// parseMaintenance is the inverse of formatMaintenance, except for the number.
func parseMaintenance(text string) (m pool.Maintenance, err error) {
	start, rest, _ := strings.Cut(text, " ")
	end, rest, _ := strings.Cut(rest, " ")
	from, err := strconv.ParseInt(start, 10, 64)
	to, also := strconv.ParseInt(end, 10, 64)
	by, rest, ok1 := leadingQuoted(rest)
	reason, rest, ok2 := leadingQuoted(rest)
	constraint, _, ok3 := leadingQuoted(rest + " ")
	if err != nil || also != nil || !ok1 || !ok2 || !ok3 {
		return m, fmt.Errorf("%.80q: want start, end, who, why and a constraint", text)
	}
	return pool.Maintenance{Start: time.Unix(from, 0).UTC(), End: time.Unix(to, 0).UTC(), Constraint: constraint, By: by, Reason: reason}, nil
}

// maintained tells which slots maintenances are for.
type maintained struct {
	list        []pool.Maintenance
	constraints []*classad.Expr
}

func maintainedIn(v *spool.View) (all maintained) {
	for _, m := range Maintenances(v) {
		if e, err := classad.ParseExpr(m.Constraint); err == nil {
			all.list, all.constraints = append(all.list, m), append(all.constraints, e)
		}
	}
	return all
}

// without returns all but those with some numbers.
func (all maintained) without(ids map[int]bool) (rest maintained) {
	for i, m := range all.list {
		if !ids[m.ID] {
			rest.list, rest.constraints = append(rest.list, m), append(rest.constraints, all.constraints[i])
		}
	}
	return rest
}

// of returns the maintenances of a slot, by its ad.
func (all maintained) of(c *classad.Context, ad *classad.Ad) (list []pool.Maintenance) {
	for i, e := range all.constraints {
		if yes, is := e.Eval(c, ad, nil).Bool(); is && yes {
			list = append(list, all.list[i])
		}
	}
	return list
}

// overlay makes slots those that maintenances leave, in their places.
func (all maintained) overlay(c *classad.Context, slots []pool.Slot) {
	if len(all.list) == 0 {
		return
	}
	known := map[string]*classad.Expr{} // Requirements, by their texts before
	for i, s := range slots {
		e, ok := s.Ad.Lookup(pool.AttrRequirements)
		list := all.of(c, s.Ad)
		if !ok || len(list) == 0 {
			continue // without Requirements it takes no jobs anyhow
		}
		text := e.String()
		for _, m := range list {
			text += " " + strconv.Itoa(m.ID)
		}
		if known[text] == nil {
			known[text] = pool.Maintained(e, list)
		}
		slots[i].Ad = s.Ad.Clone()
		slots[i].Ad.Set(pool.AttrRequirements, known[text])
	}
}

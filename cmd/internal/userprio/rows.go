package userprio

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// activeFor is how long ago anything must have been in use for a submitter
// to be shown without being asked for.
const activeFor = 24 * time.Hour

// chosen says which rows and which columns are wanted, and in what order.
type chosen struct {
	since      time.Time // zero: no matter when they were active
	users      []string
	constraint *classad.Expr
	context    *classad.Context
	columns    []*column
	// quotas are shown even where nobody is in a group.
	quotas bool
	// flat is one list, groupsFirst one that begins with the groups, grouped
	// shows users under their groups even where only priorities are shown,
	// rollup shows groups with the sums of those below.
	flat, groupsFirst, grouped, rollup bool
}

func selection(c *cmdline.Call) (chosen, error) {
	if len(c.Args) == 2 {
		if _, err := strconv.ParseFloat(c.Args[1], 64); err == nil {
			return chosen{}, cmdline.Usagef("%s is no submitter: -setfactor %s %s sets a factor, -setprio a priority", c.Args[1], c.Args[0], c.Args[1])
		}
	}
	s := chosen{
		users: c.Args, columns: columnsOf(c), context: &classad.Context{Now: c.Now}, quotas: c.Has("quotas") || c.Has("surplus"),
		rollup: c.Has("grouprollup"), groupsFirst: c.Has("grouporder"), grouped: c.Has("hierarchical"),
	}
	if _, err := c.One("flat", "hierarchical"); err != nil {
		return s, err
	}
	s.flat = c.Has("flat") || s.groupsFirst && !c.Has("hierarchical")
	if c.Has("constraint") {
		e, err := classad.ParseExpr(c.Value("constraint"))
		if err != nil {
			return s, cmdline.Usagef("-constraint: %s: %v", c.Value("constraint"), err)
		}
		s.constraint = e
	}
	if len(c.Args) > 0 || c.Has("allusers") {
		return s, nil
	}
	s.since = c.Now.Add(-activeFor)
	if c.Has("activefrom") {
		day, err := date(c.Values("activefrom"), c.Now.Location())
		if err != nil {
			return s, err
		}
		s.since = day
	}
	return s, nil
}

// date reads month, day and year. A year below 50 is one of 20YY, below 100
// one of 19YY.
func date(mdy []string, zone *time.Location) (time.Time, error) {
	var n [3]int
	for i, text := range mdy {
		x, err := strconv.ParseUint(text, 10, 14)
		if err != nil {
			return time.Time{}, cmdline.Usagef("-activefrom: %q: not a number of a month, day or year", text)
		}
		n[i] = int(x)
	}
	switch {
	case n[2] < 50:
		n[2] += 2000
	case n[2] < 100:
		n[2] += 1900
	}
	t := time.Date(n[2], time.Month(n[0]), n[1], 0, 0, 0, 0, zone)
	if y, m, d := t.Date(); y != n[2] || int(m) != n[0] || d != n[1] {
		return t, cmdline.Usagef("-activefrom: %s: no such day", strings.Join(mdy, " "))
	}
	return t, nil
}

// show is the display: of the spool, or of a file of ads.
func show(c *cmdline.Call) error {
	s, err := selection(c)
	if err != nil {
		return err
	}
	var v view
	if c.Has("inputfile") {
		v, err = fileView(c)
	} else {
		v, err = spoolView(c)
	}
	if err != nil {
		return err
	}
	if err := display(c, s, v); err != nil {
		return err
	}
	if len(s.users) == 0 {
		return nil
	}
	return s.complain(c, v.records())
}

// pick returns the wanted rows in the order of the view.
func (s chosen) pick(v view) []*row {
	var picked []*row
	for i := range v.rows {
		r := &v.rows[i]
		if s.wants(r) && (s.constraint == nil || s.constraint.Eval(s.context, adOf(r, v.at), nil).True()) {
			picked = append(picked, r)
		}
	}
	return picked
}

func (s chosen) wants(r *row) bool {
	if len(s.users) > 0 {
		return slices.ContainsFunc(s.users, func(u string) bool { return edit.Named(r.name, u) })
	}
	if r.group && s.quotas && s.grouped { // a tree of quotas has no gaps
		return true
	}
	if r.last.IsZero() { // nothing was counted yet, perhaps of what is in use
		return s.since.IsZero() || !r.group && (r.slots > 0 || r.inUse > 0)
	}
	return !r.last.Before(s.since)
}

// complain fails when somebody asked for by name is not known.
func (s chosen) complain(c *cmdline.Call, records []accountant.Record) error {
	var failed error
	for _, u := range s.users {
		if !slices.ContainsFunc(records, func(r accountant.Record) bool { return edit.Named(r.Name, u) }) {
			c.Warn("%v", edit.Unknown(u, records))
			failed = cmdline.ErrReported
		}
	}
	return failed
}

// records returns who is there, by name only.
func (v view) records() []accountant.Record {
	records := make([]accountant.Record, len(v.rows))
	for i, r := range v.rows {
		records[i].Name = r.name
	}
	return records
}

package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
)

// activeFor is how long ago anything must have been in use for a submitter
// to be shown without being asked for.
const activeFor = 24 * time.Hour

// row is one submitter as shown: the record as of now, and what follows from
// it.
type row struct {
	accountant.Record
	Factor, Effective float64
}

// chosen says which submitters and which columns are wanted.
type chosen struct {
	now    time.Time
	since  time.Time // zero: no matter when they were active
	users  []string
	groups columns
}

func selection(c *cmdline.Call) (chosen, error) {
	show := chosen{now: c.Now, users: c.Args, groups: columnsOf(c)}
	if len(c.Args) > 0 || c.Has("allusers") {
		return show, nil
	}
	show.since = c.Now.Add(-activeFor)
	if c.Has("activefrom") {
		day, err := date(c.Values("activefrom"), c.Now.Location())
		if err != nil {
			return show, err
		}
		show.since = day
	}
	return show, nil
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

// rows picks the wanted submitters and brings them into order: by EUP where
// that is shown, else by usage; equal ones by name.
func (s chosen) rows(c *cmdline.Call, records []accountant.Record) []row {
	p := operation.Params(c.Config)
	var rows []row
	for _, r := range records {
		r = r.AsOf(s.now, p)
		if s.wants(r) {
			factor, _ := r.FactorIn(s.now, p)
			rows = append(rows, row{Record: r, Factor: factor, Effective: r.Priority * factor})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if s.groups&priority != 0 {
			return cmp.Compare(a.Effective, b.Effective)
		}
		return cmp.Compare(a.Weighted.Seconds(), b.Weighted.Seconds())
	})
	return rows
}

func (s chosen) wants(r accountant.Record) bool {
	if len(s.users) > 0 {
		return slices.ContainsFunc(s.users, func(u string) bool { return named(r.Name, u) })
	}
	return s.since.IsZero() || !r.Last.IsZero() && !r.Last.Before(s.since)
}

// named tells whether a submitter is the one that the user of the command
// calls name: the full name, or what stands before the @.
func named(submitter, name string) bool {
	if strings.Contains(name, "@") {
		return submitter == name
	}
	user, _ := apart(submitter)
	return user == name
}

// complain fails when somebody asked for by name is not known.
func (s chosen) complain(c *cmdline.Call, records []accountant.Record) error {
	var failed error
	for _, u := range s.users {
		if !slices.ContainsFunc(records, func(r accountant.Record) bool { return named(r.Name, u) }) {
			c.Warn("%v", unknown(u, records))
			failed = cmdline.ErrReported
		}
	}
	return failed
}

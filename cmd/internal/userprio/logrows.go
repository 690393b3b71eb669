package userprio

import (
	"fmt"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/spool"
)

// moves are how the clock was set, one time after the other.
type moves []accountant.Jump

func (m moves) event(t time.Time) time.Time {
	for _, j := range m {
		t = j.Event(t)
	}
	return t
}

func (m moves) record(r accountant.Record) accountant.Record {
	for _, j := range m {
		r = r.Jump(j)
	}
	return r
}

func (m moves) tally(y accountant.Tally) accountant.Tally {
	for _, j := range m {
		y = y.Jump(j)
	}
	return y
}

// edits returns what the edit did, record by record.
func (l *logged) edits() ([]accountant.Edit, error) {
	var list []accountant.Edit
	for before, after := range l.pairs(false) {
		e, err := accountant.Edit{At: l.moved.event(l.Policy)}, error(nil)
		if e.Before, err = entryOf(before); err == nil {
			e.After, err = entryOf(after)
		}
		e.Before.Record, e.After.Record = l.moved.record(e.Before.Record), l.moved.record(e.After.Record)
		if err != nil {
			return nil, fmt.Errorf("edit %d: what it says of a record does not read back: %w", l.Seq, err)
		}
		e.Before.Name = max(e.Before.Name, e.After.Name)
		e.After.Name = e.Before.Name
		list = append(list, e)
	}
	return list, nil
}

func entryOf(row string) (accountant.Entry, error) {
	if row == "" {
		return accountant.Entry{}, nil
	}
	r, err := spool.ParseSubmitterRow(row)
	return accountant.Entry{Record: r, There: true}, err
}

// tallies returns what the edit did, tally by tally.
func (l *logged) tallies() ([]accountant.TallyEdit, error) {
	var list []accountant.TallyEdit
	for before, after := range l.pairs(true) {
		e, err := accountant.TallyEdit{At: l.moved.event(l.Policy)}, error(nil)
		if e.Before, err = tallyOf(before); err == nil {
			e.After, err = tallyOf(after)
		}
		e.Before.Tally, e.After.Tally = l.moved.tally(e.Before.Tally), l.moved.tally(e.After.Tally)
		if err != nil {
			return nil, fmt.Errorf("edit %d: what it says of a tally does not read back: %w", l.Seq, err)
		}
		if !e.Before.There {
			e.Before.Key = e.After.Key
		}
		e.After.Key = e.Before.Key
		list = append(list, e)
	}
	return list, nil
}

func tallyOf(row string) (accountant.TallyEntry, error) {
	if row == "" {
		return accountant.TallyEntry{}, nil
	}
	y, err := parseTally(row)
	return accountant.TallyEntry{Tally: y, There: true}, err
}

// pairs goes through the rows before and after: of tallies, or of records.
func (l *logged) pairs(tallies bool) func(yield func(before, after string) bool) {
	return func(yield func(before, after string) bool) {
		for i := 0; i+1 < len(l.rows); i += 2 {
			before, after := l.rows[i], l.rows[i+1]
			if strings.HasPrefix(before+after, "{") == tallies && !yield(before, after) {
				return
			}
		}
	}
}

// touch is an attribute of a record that an edit changed, or a tally.
type touch struct{ name, what string }

// touches returns what the edit itself changed.
func (l *logged) touches(p accountant.Params) ([]touch, error) {
	list, err := l.edits()
	if err != nil {
		return nil, err
	}
	var all []touch
	for _, e := range list {
		what, _, _ := e.Changed(p)
		for _, a := range what {
			all = append(all, touch{e.Before.Name, string(a)})
		}
	}
	tallies, err := l.tallies()
	for _, e := range tallies {
		all = append(all, touch{e.Before.Kind + " " + e.Before.Name, "tally"})
	}
	return all, err
}

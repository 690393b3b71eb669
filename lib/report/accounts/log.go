package accounts

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/accountant/state"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// OpUndo is the name in the spool's log of taking back an edit.
const OpUndo = "undo edit"

// Behind the words that a person reads, a transaction names behind a mark, for
// every record that it changed, the record's row before and after; an empty row
// is no record. Tallies stand there too, as they are exported.
const (
	RowsMark   = "--"
	ReasonMark = "reason: "
)

// Edit is one edit of the log.
type Edit struct {
	spool.Logged
	Words  []string // its arguments without reason and rows
	Reason string
	Rows   []string // of the records before and after, in pairs
	Undoes uint64   // the edit that it takes back, 0 for none
	Undone uint64   // the edit that took it back and is in force, 0 for none
}

// Edits returns all edits, by the operations that are some, the oldest first.
func (in Pool) Edits(is map[string]bool) (list []*Edit, err error) {
	err = in.Spool.Log(func(l spool.Logged) error {
		if d, ok := lifecycle.RenamingOf(l.Transaction); ok {
			for _, before := range list {
				before.rename(d)
			}
		}
		if is[l.Op] {
			list = append(list, EditOf(l))
		}
		return nil
	})
	// From the newest: an undone transaction has no effect on older ones.
	for _, l := range slices.Backward(list) {
		if l.Undoes == 0 || l.Undone != 0 {
			continue
		}
		if of := Find(list, l.Undoes); of != nil {
			of.Undone = l.Seq
		}
	}
	return list, err
}

// rename makes the edit speak of submitters by the names that they got later.
func (l *Edit) rename(d lifecycle.Renaming) {
	if len(l.Words) > 0 {
		l.Words = append([]string{d.Name(l.Words[0])}, l.Words[1:]...)
	}
	rows := make([]string, len(l.Rows))
	for i, row := range l.Rows {
		rows[i] = d.Text(row)
	}
	l.Rows = rows
}

// EditOf returns the edit that a transaction is.
func EditOf(t spool.Logged) *Edit {
	l := &Edit{Logged: t, Words: t.Args}
	if i := slices.Index(t.Args, RowsMark); i >= 0 && (len(t.Args)-i)%2 == 1 {
		l.Words, l.Rows = t.Args[:i], t.Args[i+1:]
		if n := len(l.Words); n > 0 && strings.HasPrefix(l.Words[n-1], ReasonMark) {
			l.Words, l.Reason = l.Words[:n-1], l.Words[n-1][len(ReasonMark):]
		}
	}
	if t.Op == OpUndo && len(l.Words) == 1 {
		l.Undoes, _ = strconv.ParseUint(l.Words[0], 10, 64)
	}
	return l
}

// Find returns the edit with a number; nil without one.
func Find(list []*Edit, number uint64) *Edit {
	i, ok := slices.BinarySearchFunc(list, number, func(l *Edit, n uint64) int {
		return int(min(max(int64(l.Seq-n), -1), 1))
	})
	if !ok {
		return nil
	}
	return list[i]
}

// changed is one attribute of one record that an edit changed.
type changed struct {
	name          string
	attribute     accountant.Attribute
	before, after accountant.Record
}

// changes returns the edit's changes of the wanted records. It also names a record that
// the edit left unchanged.
func (l *Edit) changes(p accountant.Params, wanted func(name string) bool) ([]changed, error) {
	list, err := l.Records()
	if err != nil {
		return nil, err
	}
	if len(l.Rows) == 0 && len(l.Words) > 0 && wanted(l.Words[0]) {
		return []changed{{name: l.Words[0]}}, nil // made before rows were kept
	}
	var all []changed
	for _, e := range list {
		if !wanted(e.Before.Name) {
			continue
		}
		what, before, after := e.Changed(p)
		for _, attribute := range what {
			all = append(all, changed{e.Before.Name, attribute, before, after})
		}
		if len(what) == 0 {
			all = append(all, changed{name: e.Before.Name})
		}
	}
	return all, nil
}

// Records returns the edit's changes, record by record.
func (l *Edit) Records() ([]accountant.Edit, error) {
	var list []accountant.Edit
	for before, after := range l.pairs(false) {
		e, err := accountant.Edit{At: l.Policy}, error(nil)
		if e.Before, err = entryOf(before); err == nil {
			e.After, err = entryOf(after)
		}
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

// Tallies returns the edit's changes, tally by tally.
func (l *Edit) Tallies() ([]accountant.TallyEdit, error) {
	var list []accountant.TallyEdit
	for before, after := range l.pairs(true) {
		e, err := accountant.TallyEdit{At: l.Policy}, error(nil)
		if e.Before, err = tallyOf(before); err == nil {
			e.After, err = tallyOf(after)
		}
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
	y, err := state.ParseTally(row)
	return accountant.TallyEntry{Tally: y, There: true}, err
}

// pairs goes through the rows before and after: of tallies, or of records.
func (l *Edit) pairs(tallies bool) func(yield func(before, after string) bool) {
	return func(yield func(before, after string) bool) {
		for i := 0; i+1 < len(l.Rows); i += 2 {
			before, after := l.Rows[i], l.Rows[i+1]
			if strings.HasPrefix(before+after, "{") == tallies && !yield(before, after) {
				return
			}
		}
	}
}

// Touch is an attribute of a record that an edit changed, or a tally.
type Touch struct{ Name, What string }

// Touches returns the changes of the edit itself.
func (l *Edit) Touches(p accountant.Params) ([]Touch, error) {
	list, err := l.Records()
	if err != nil {
		return nil, err
	}
	var all []Touch
	for _, e := range list {
		what, _, _ := e.Changed(p)
		for _, a := range what {
			all = append(all, Touch{e.Before.Name, string(a)})
		}
	}
	tallies, err := l.Tallies()
	for _, e := range tallies {
		all = append(all, Touch{e.Before.Kind + " " + e.Before.Name, "tally"})
	}
	return all, err
}

// value returns the value of an attribute: a float64, an int64, a time.Time, or
// nil where nothing is set.
func value(a accountant.Attribute, r accountant.Record) any {
	switch a {
	case accountant.AttrPriority:
		return r.Priority
	case accountant.AttrPriorityFactor:
		if r.Factor >= 1 {
			return r.Factor
		}
	case accountant.AttrCeiling:
		if r.Ceiling.Set {
			return r.Ceiling.Slots
		}
	case accountant.AttrFloor:
		if r.Floor > 0 {
			return r.Floor
		}
	case accountant.AttrAccumulatedUsage:
		return r.Slots.Seconds()
	case accountant.AttrWeightedAccumulatedUsage:
		return r.Weighted.Seconds()
	case accountant.AttrBeginUsageTime:
		return timeOrNil(r.Begin)
	case accountant.AttrLastUsageTime:
		return timeOrNil(r.Last)
	}
	return nil
}

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// leaseUntil returns when the lease of an attribute ends; zero without one.
func leaseUntil(a accountant.Attribute, r accountant.Record) time.Time {
	switch a {
	case accountant.AttrPriorityFactor:
		return r.FactorLease.Until
	case accountant.AttrCeiling:
		return r.CeilingLease.Until
	case accountant.AttrFloor:
		return r.FloorLease.Until
	}
	return time.Time{}
}

// unset is how an attribute without a value is worded.
var unset = map[accountant.Attribute]string{
	accountant.AttrPriorityFactor: "computed", accountant.AttrCeiling: "none", accountant.AttrFloor: "none",
	accountant.AttrBeginUsageTime: "never", accountant.AttrLastUsageTime: "never",
}

// words returns the value of an attribute for people. Figures that have decayed are cut
// to a readable length.
func words(a accountant.Attribute, r accountant.Record) string {
	text := ""
	switch v := value(a, r).(type) {
	case nil:
		text = unset[a]
	case float64:
		text = strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
		if math.Abs(v) >= 1e15 {
			text = strconv.FormatFloat(v, 'g', 6, 64)
		}
	case int64:
		text = strconv.FormatInt(v, 10)
	case time.Time:
		text = report.Moment(v)
	}
	if t := leaseUntil(a, r); !t.IsZero() {
		text += " until " + report.Moment(t)
	}
	return text
}

// LogObject is an edit as programs read it. Times are Unix seconds.
type LogObject struct {
	Number            uint64
	Time, MachineTime float64
	User              string
	UID               int `json:"Uid"`
	Program           string
	Operation         string
	Arguments         []string
	Reason            string
	Undoes, UndoneBy  uint64 `json:",omitempty"`
	Changes           []changeJSON
	Tallies           int `json:",omitempty"` // how many it changed
}

// changeJSON is one attribute that changed; null is no value of its own, and no
// lease.
type changeJSON struct {
	Name                         string
	Attribute                    accountant.Attribute `json:",omitempty"`
	Old, New                     any
	OldLeaseUntil, NewLeaseUntil any `json:",omitempty"`
}

// LogObjects returns edits for JSON.
func LogObjects(list []Told) []LogObject {
	all := []LogObject{}
	for _, l := range list {
		e := LogObject{Number: l.Seq, Time: unixSeconds(l.Policy), MachineTime: unixSeconds(l.Machine), User: l.User, UID: l.UID, Program: l.Program,
			Operation: l.Op, Arguments: append([]string{}, l.Words...), Reason: l.Reason, Undoes: l.Undoes, UndoneBy: l.Undone,
			Changes: []changeJSON{}, Tallies: l.tallied}
		for _, x := range l.changes {
			e.Changes = append(e.Changes, changeJSON{x.name, x.attribute,
				plain(value(x.attribute, x.before)), plain(value(x.attribute, x.after)),
				plain(timeOrNil(leaseUntil(x.attribute, x.before))), plain(timeOrNil(leaseUntil(x.attribute, x.after)))})
		}
		all = append(all, e)
	}
	return all
}

// plain returns a value as JSON has it.
func plain(v any) any {
	if t, ok := v.(time.Time); ok {
		return unixSeconds(t)
	}
	return v
}

// Tell returns the edit with its changes of wanted records; ok is false if there are none.
func (l *Edit) Tell(p accountant.Params, wanted func(name string) bool) (t Told, ok bool, err error) {
	changes, err := l.changes(p, wanted)
	if err != nil {
		return t, false, err
	}
	tallied := 0
	for range l.pairs(true) {
		tallied++
	}
	return Told{l, changes, tallied}, len(changes) > 0, nil
}

// Told is an edit with those of its changes that are shown.
type Told struct {
	*Edit
	changes []changed
	tallied int // how many tallies it changed
}

// mostLines is how many changes of one edit a table has, which is not the
// place to read what became of thousands.
const mostLines = 30

// skew is how far policy time may be from the machine's without being told: it
// is taken when a command begins, and a transaction may wait for others.
const skew = 2 * time.Minute

var logColumns = []table.Column{
	{Head: "Edit", Right: true}, {Head: "When"}, {Head: "Who"}, {Head: "Program"}, {Head: "What"}, {Head: "Name"}, {Head: "Attribute"},
	{Head: "Old", Right: true}, {Head: "New", Right: true}, {Head: "Remarks"},
}

// WriteLog writes a line for every attribute that changed.
func WriteLog(w io.Writer, list []Told) error {
	var rows [][]string
	for _, l := range list {
		lines := l.lines()
		lead := []string{strconv.FormatUint(l.Seq, 10), report.Moment(l.Policy), l.who(), l.Program, l.Op}
		for i, line := range lines {
			row, remarks := make([]string, len(lead)), ""
			if i == 0 {
				row, remarks = lead, l.remarks()
			}
			rows = append(rows, append(append(row, line...), remarks))
		}
	}
	return table.Write(w, logColumns, rows)
}

// lines returns name, attribute, old and new value of each change, or in one
// line how many records there are.
func (l Told) lines() [][]string {
	if len(l.changes) > mostLines {
		names := map[string]bool{}
		for _, x := range l.changes {
			names[x.name] = true
		}
		return [][]string{{plural.Count(len(names), "record"), "", "", ""}}
	}
	if len(l.changes) == 0 {
		return [][]string{{"", "", "", ""}}
	}
	var lines [][]string
	for _, x := range l.changes {
		line := []string{x.name, string(x.attribute), "", ""}
		if x.attribute != "" {
			line[2], line[3] = words(x.attribute, x.before), words(x.attribute, x.after)
		}
		lines = append(lines, line)
	}
	return lines
}

func (l Told) who() string {
	if l.User == "" {
		return strconv.Itoa(l.UID)
	}
	return fmt.Sprintf("%s (%d)", l.User, l.UID)
}

func (l Told) remarks() string {
	var notes []string
	if l.Undoes != 0 {
		notes = append(notes, fmt.Sprintf("undoes %d", l.Undoes))
	}
	if l.Undone != 0 {
		notes = append(notes, fmt.Sprintf("undone by %d", l.Undone))
	}
	if len(l.Rows) == 0 && len(l.Words) > 1 {
		notes = append(notes, "to "+l.Words[1])
	}
	if l.tallied > 0 {
		notes = append(notes, fmt.Sprintf("%d tallies too", l.tallied))
	}
	if l.Policy.Sub(l.Machine).Abs() >= skew {
		notes = append(notes, "made at "+report.Moment(l.Machine))
	}
	if l.Reason != "" {
		notes = append(notes, l.Reason)
	}
	return strings.Join(notes, "; ")
}

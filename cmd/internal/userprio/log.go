package userprio

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// logged is one edit of the log.
type logged struct {
	spool.Logged
	words  []string // its arguments without reason and rows
	reason string
	rows   []string // of the records before and after, in pairs
	undoes uint64   // the edit that it takes back, 0 for none
	undone uint64   // the edit that took it back and is in force, 0 for none
}

// operations are the names of all edits.
func operations() map[string]bool {
	all := map[string]bool{opUndo: true, opImport: true}
	for _, op := range edit.Ops() {
		all[op] = true
	}
	return all
}

// readLog returns all edits, the oldest first.
func readLog(s *spool.Spool) (list []*logged, err error) {
	is := operations()
	err = s.Log(func(l spool.Logged) error {
		if d, ok := lifecycle.RenamingOf(l.Transaction); ok {
			for _, before := range list {
				before.rename(d)
			}
		}
		if is[l.Op] {
			list = append(list, loggedOf(l))
		}
		return nil
	})
	// From the newest: what is undone has no effect on what is older.
	for _, l := range slices.Backward(list) {
		if l.undoes == 0 || l.undone != 0 {
			continue
		}
		if of := find(list, l.undoes); of != nil {
			of.undone = l.Seq
		}
	}
	return list, err
}

// rename makes the edit speak of submitters by the names that they got later.
func (l *logged) rename(d lifecycle.Renaming) {
	if len(l.words) > 0 {
		l.words = append([]string{d.Name(l.words[0])}, l.words[1:]...)
	}
	rows := make([]string, len(l.rows))
	for i, row := range l.rows {
		rows[i] = d.Text(row)
	}
	l.rows = rows
}

func loggedOf(t spool.Logged) *logged {
	l := &logged{Logged: t, words: t.Args}
	if i := slices.Index(t.Args, rowsMark); i >= 0 && (len(t.Args)-i)%2 == 1 {
		l.words, l.rows = t.Args[:i], t.Args[i+1:]
		if n := len(l.words); n > 0 && strings.HasPrefix(l.words[n-1], reasonMark) {
			l.words, l.reason = l.words[:n-1], l.words[n-1][len(reasonMark):]
		}
	}
	if t.Op == opUndo && len(l.words) == 1 {
		l.undoes, _ = strconv.ParseUint(l.words[0], 10, 64)
	}
	return l
}

// find returns the edit with a number; nil without one.
func find(list []*logged, number uint64) *logged {
	i, ok := slices.BinarySearchFunc(list, number, func(l *logged, n uint64) int {
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

// changes returns what the edit changed of the records that are wanted. An
// edit that changed nothing of a record names it all the same.
func (l *logged) changes(p accountant.Params, wanted func(name string) bool) ([]changed, error) {
	list, err := l.edits()
	if err != nil {
		return nil, err
	}
	if len(l.rows) == 0 && len(l.words) > 0 && wanted(l.words[0]) {
		return []changed{{name: l.words[0]}}, nil // made before rows were kept
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

// showLog shows the edits of some submitters, or of everybody.
func showLog(c *cmdline.Call) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	list, err := readLog(s)
	if err != nil {
		return err
	}
	wanted := func(name string) bool {
		return len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(u string) bool { return edit.Named(name, u) })
	}
	shown, p := []told{}, c.Config.Params
	for _, l := range list {
		changes, err := l.changes(p, wanted)
		if err != nil {
			return err
		}
		if len(changes) > 0 || len(c.Args) == 0 {
			tallied := 0
			for range l.pairs(true) {
				tallied++
			}
			shown = append(shown, told{l, changes, tallied})
		}
	}
	if c.Has("json") {
		return logJSON(c, shown)
	}
	return logTable(c, shown)
}

// edits returns what the edit did, record by record.
func (l *logged) edits() ([]accountant.Edit, error) {
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

// tallies returns what the edit did, tally by tally.
func (l *logged) tallies() ([]accountant.TallyEdit, error) {
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

// words returns the value of an attribute as people read it. Figures that time
// has passed over are cut to what a person looks at.
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
		text = edit.Shown(v)
	}
	if t := leaseUntil(a, r); !t.IsZero() {
		text += " until " + edit.Shown(t)
	}
	return text
}

// editJSON is an edit as programs read it. Times are Unix seconds.
type editJSON struct {
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

func logJSON(c *cmdline.Call, list []told) error {
	all := []editJSON{}
	for _, l := range list {
		e := editJSON{Number: l.Seq, Time: unixSeconds(l.Policy), MachineTime: unixSeconds(l.Machine), User: l.User, UID: l.UID, Program: l.Program,
			Operation: l.Op, Arguments: append([]string{}, l.words...), Reason: l.reason, Undoes: l.undoes, UndoneBy: l.undone,
			Changes: []changeJSON{}, Tallies: l.tallied}
		for _, x := range l.changes {
			e.Changes = append(e.Changes, changeJSON{x.name, x.attribute,
				plain(value(x.attribute, x.before)), plain(value(x.attribute, x.after)),
				plain(timeOrNil(leaseUntil(x.attribute, x.before))), plain(timeOrNil(leaseUntil(x.attribute, x.after)))})
		}
		all = append(all, e)
	}
	return c.JSON(all)
}

// plain returns a value as JSON has it.
func plain(v any) any {
	if t, ok := v.(time.Time); ok {
		return unixSeconds(t)
	}
	return v
}

// told is an edit with those of its changes that are shown.
type told struct {
	*logged
	changes []changed
	tallied int // how many tallies it changed
}

// mostLines is how many changes of one edit a table has, which is not the
// place to read what became of thousands.
const mostLines = 30

// skew is how far policy time may be from the machine's without being told: it
// is taken when a command begins, and a transaction may wait for others.
const skew = 2 * time.Minute

var logColumns = []cmdline.Column{
	{Head: "Edit", Right: true}, {Head: "When"}, {Head: "Who"}, {Head: "Program"}, {Head: "What"}, {Head: "Name"}, {Head: "Attribute"},
	{Head: "Old", Right: true}, {Head: "New", Right: true}, {Head: "Remarks"},
}

// logTable writes a line for every attribute that changed.
func logTable(c *cmdline.Call, list []told) error {
	var rows [][]string
	for _, l := range list {
		lines := l.lines()
		lead := []string{strconv.FormatUint(l.Seq, 10), edit.Shown(l.Policy), l.who(), l.Program, l.Op}
		for i, line := range lines {
			row, remarks := make([]string, len(lead)), ""
			if i == 0 {
				row, remarks = lead, l.remarks()
			}
			rows = append(rows, append(append(row, line...), remarks))
		}
	}
	return c.Table(logColumns, rows)
}

// lines returns name, attribute, old and new value of each change, or in one
// line how many records there are.
func (l told) lines() [][]string {
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

func (l told) who() string {
	if l.User == "" {
		return strconv.Itoa(l.UID)
	}
	return fmt.Sprintf("%s (%d)", l.User, l.UID)
}

func (l told) remarks() string {
	var notes []string
	if l.undoes != 0 {
		notes = append(notes, fmt.Sprintf("undoes %d", l.undoes))
	}
	if l.undone != 0 {
		notes = append(notes, fmt.Sprintf("undone by %d", l.undone))
	}
	if len(l.rows) == 0 && len(l.words) > 1 {
		notes = append(notes, "to "+l.words[1])
	}
	if l.tallied > 0 {
		notes = append(notes, fmt.Sprintf("%d tallies too", l.tallied))
	}
	if l.Policy.Sub(l.Machine).Abs() >= skew {
		notes = append(notes, "made at "+edit.Shown(l.Machine))
	}
	if l.reason != "" {
		notes = append(notes, l.reason)
	}
	return strings.Join(notes, "; ")
}

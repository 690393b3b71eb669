package userprio

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/plural"
)

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

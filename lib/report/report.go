// Package report is the report of a negotiation cycle as it is kept in cycle.json: what stands in it,
// and its one reader.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
)

// Document is the content of cycle.json, without SchemaVersion, which is the first member, and the checksum, which is
// the last.
type Document struct {
	// Cycles are the last ones, this one first, MostCycles at most. They stand at the beginning: HeadOf reads no further.
	Cycles []Cycle
	negotiator.Report
	Policy *Policy `json:",omitempty"` // what became of jobs by their own policy; nil: nothing
	// Asked are pilots that batch engines were asked for and that have not come, and Missed those that will not.
	Asked  []lifecycle.AskedPilots `json:",omitempty"`
	Missed []lifecycle.MissedPilot `json:",omitempty"`
}

// MostCycles is how many cycles a report tells of.
const MostCycles = 20

// Cycle is a report's record of a cycle.
type Cycle struct {
	Cycle int   // its number
	Time  int64 // policy time in Unix seconds
	// Took is how long the cycle took, in seconds by the machine's clock, without writing the report.
	Took                        float64
	Matched, Preempted, Waiting int // jobs: matched, preempted, left without a slot
}

// CycleOf returns the record of the cycle of a report, which took so long.
func CycleOf(r negotiator.Report, took time.Duration) Cycle {
	c := Cycle{Cycle: r.Cycle, Time: r.Time, Took: math.Round(took.Seconds()*1000) / 1000, Matched: len(r.Matches)}
	for _, m := range r.Matches {
		if m.Preempts != "" {
			c.Preempted++
		}
	}
	for _, x := range r.Rejections {
		c.Waiting += x.Count
	}
	return c
}

// Add puts the report's cycle first into Cycles; before are the Cycles of the report that it
// replaces.
func (d *Document) Add(took time.Duration, before []Cycle) {
	d.Cycles = append([]Cycle{CycleOf(d.Report, took)}, before[:min(len(before), MostCycles-1)]...)
}

// Read decodes a report, a Document or some of its members, and reports whether there is one. Text
// returns the report, nil without one, as spool.Spool.Report does.
func Read(text func() ([]byte, error), to any) (found bool, err error) {
	b, err := text()
	if err != nil || b == nil {
		return false, err
	}
	return true, json.Unmarshal(b, to)
}

// Head is how a cycle's report begins.
type Head struct {
	Cycle    int
	Time     int64
	Warnings []string
	Cycles   []Cycle
}

// HeadOf decodes the beginning of a report, which may have megabytes. It fails if that is no
// JSON; the rest, whose checksum the spool knows, is not looked at.
func HeadOf(report []byte) (h Head, err error) {
	d := json.NewDecoder(bytes.NewReader(report))
	if begin, _ := d.Token(); begin != json.Delim('{') {
		return h, json.Unmarshal(report, &h)
	}
	for d.More() && err == nil {
		var to any = new(json.RawMessage)
		switch key, _ := d.Token(); key {
		case nil:
			return h, json.Unmarshal(report, &h)
		case "Cycles":
			to = &h.Cycles
		case "Cycle":
			to = &h.Cycle
		case "Time":
			to = &h.Time
		case "Warnings":
			to = &h.Warnings
		case "SchemaVersion", "Slots":
		default:
			return h, nil
		}
		err = d.Decode(to)
	}
	if end, _ := d.Token(); err == nil && end != json.Delim('}') {
		err = json.Unmarshal(report, &h)
	}
	return h, err
}

// Policy counts the changes of jobs before the cycle that their own expressions required,
// or that followed since the jobs that they waited for ended or cannot end so.
type Policy struct {
	Held     int `json:",omitempty"`
	Released int `json:",omitempty"`
	Removed  int `json:",omitempty"`
	Vacated  int `json:",omitempty"` // they have to leave their slots, to run again
	Left     int `json:",omitempty"` // they had ended, and left the queue
	Met      int `json:",omitempty"` // they wait for no others any more
	// PutOff are the owners whose jobs' expressions took too many steps, with the jobs that
	// were put off for that.
	PutOff []negotiator.ReportedPutOff `json:",omitempty"`
}

// Add counts jobs.
func (d *Policy) Add(x lifecycle.Due) {
	n := x.Count()
	switch x.What {
	case lifecycle.HoldThem:
		d.Held += n
	case lifecycle.ReleaseThem:
		d.Released += n
	case lifecycle.RemoveThem:
		d.Removed += n
	case lifecycle.VacateThem:
		d.Vacated += n
	case lifecycle.LetThemGo:
		d.Left += n
	case lifecycle.LetThemRun:
		d.Met += n
	}
}

// Merge adds later counts.
func (d *Policy) Merge(more Policy) {
	d.Held += more.Held
	d.Released += more.Released
	d.Removed += more.Removed
	d.Vacated += more.Vacated
	d.Left += more.Left
	d.Met += more.Met
}

// Words returns the counts in words, such as "3 held" and "1 removed".
func (d Policy) Words() (parts []string) {
	for _, x := range [...]struct {
		n    int
		what string
	}{
		{d.Held, "held"}, {d.Released, "released"}, {d.Removed, "removed"}, {d.Vacated, "sent off their slots"},
		{d.Left, "let out of the queue"}, {d.Met, "no longer waiting for others"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return parts
}

// Line returns a sentence with the counts, empty if all are 0.
func (d Policy) Line() string {
	if len(d.Words()) == 0 {
		return ""
	}
	return "Jobs by their own policy: " + strings.Join(d.Words(), ", ") + "."
}

// ToSecond is the layout of times for people.
const ToSecond = "2006-01-02 15:04:05"

// Moment is a time for people, in the local time zone.
func Moment(t time.Time) string { return t.Local().Format(ToSecond) }

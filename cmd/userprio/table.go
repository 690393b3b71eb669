package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
)

// columns is a set of groups of columns.
type columns uint8

const (
	priority columns = 1 << iota // effective priority and factor
	real                         // real priority
	usage                        // in use, total
	times                        // start and last
	since                        // time since last usage
	limits                       // floor and ceiling
)

const most = priority | usage | since | limits

// columnsOf returns the columns that the flags ask for.
func columnsOf(c *cmdline.Call) columns {
	var set columns
	for _, f := range []struct {
		flag string
		adds columns
	}{{"all", most | real | times}, {"most", most}, {"priority", priority | real}, {"usage", usage | times}} {
		if c.Has(f.flag) {
			set |= f.adds
		}
	}
	if set == 0 {
		return most
	}
	return set
}

// column is one column of the table, with HTCondor's widths and headings.
type column struct {
	of           columns
	width        int
	above, below string
	cell         func(s chosen, r row) string
	total        func(s chosen, rows []row) string // nil: blank
	// optional columns vanish when all of their cells are blank.
	optional bool
}

// every is all columns in their fixed order. Floor and ceiling are always
// blank: nobody can have one yet.
var every = []column{
	{of: priority, width: 12, above: "Effective", below: "Priority", cell: func(_ chosen, r row) string { return fixed(r.Effective, 12) }},
	{of: real, width: 8, above: "Real", below: "Priority", cell: func(_ chosen, r row) string { return fixed(r.Priority, 8) }},
	{of: priority, width: 9, above: "Priority", below: "Factor", cell: func(_ chosen, r row) string { return fixed(r.Factor, 9) }},
	{of: usage, width: 6, above: "Wghted", below: "In Use", cell: inUse, total: totalInUse},
	{of: usage, width: 12, above: "Total Usage", below: "(wghted-hrs)", cell: func(_ chosen, r row) string { return fixed(hours(r), 12) }, total: totalUsage},
	{of: times, width: 16, above: "Usage", below: "Start Time", optional: true, cell: func(s chosen, r row) string { return moment(s, r.Begin) }},
	{of: times, width: 16, above: "Last", below: "Usage Time", optional: true, cell: func(s chosen, r row) string { return moment(s, r.Last) },
		total: func(s chosen, _ []row) string { return moment(s, s.since) }},
	{of: since, width: 10, above: "Time Since", below: "Last Usage", optional: true, cell: func(s chosen, r row) string { return ago(s, r.Last) },
		total: func(s chosen, _ []row) string { return ago(s, s.since) }},
	{of: limits, width: 9, above: "Submitter", below: "Floor", cell: blank},
	{of: limits, width: 9, above: "Submitter", below: "Ceiling", cell: blank},
}

func blank(chosen, row) string { return "" }

// print writes the table in HTCondor's layout, trailing blanks included.
func (s chosen) print(w io.Writer, rows []row) error {
	footer := fmt.Sprintf("Number of users: %d", len(rows))
	width := max(10, len(footer))
	for _, r := range rows {
		width = max(width, min(len(r.Name), 99))
	}
	shown := s.columns(rows)
	var b strings.Builder
	fmt.Fprintf(&b, "Last Priority Update: %2d/%-2d %02d:%02d\n", int(s.now.Month()), s.now.Day(), s.now.Hour(), s.now.Minute())
	line := func(name string, cell func(column) string) {
		fmt.Fprintf(&b, "%-*.*s", width, width, name)
		for _, c := range shown {
			fmt.Fprintf(&b, " %*s", c.width, cell(c))
		}
		b.WriteByte('\n')
	}
	rule := func() {
		line(strings.Repeat("-", width), func(c column) string { return strings.Repeat("-", c.width) })
	}
	line("", func(c column) string { return centred(c.above, c.width) })
	line("User Name", func(c column) string { return centred(c.below, c.width) })
	rule()
	for _, r := range rows {
		line(r.Name, func(c column) string { return c.cell(s, r) })
	}
	rule()
	line(footer, func(c column) string {
		if c.total == nil {
			return ""
		}
		return c.total(s, rows)
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns the columns to show for these rows.
func (s chosen) columns(rows []row) []column {
	var shown []column
	for _, c := range every {
		if s.groups&c.of == 0 {
			continue
		}
		empty := c.optional && len(rows) > 0
		for _, r := range rows {
			empty = empty && c.cell(s, r) == ""
		}
		if !empty {
			shown = append(shown, c)
		}
	}
	return shown
}

func hours(r row) float64 { return r.Weighted.Seconds() / 3600 }

func inUse(_ chosen, r row) string {
	if r.InUse == 0 && r.Begin.IsZero() {
		return ""
	}
	return fmt.Sprintf("%.0f", r.InUse.Float())
}

func totalInUse(_ chosen, rows []row) string {
	sum := 0.0
	for _, r := range rows {
		sum += r.InUse.Float()
	}
	return fmt.Sprintf("%.0f", sum)
}

func totalUsage(_ chosen, rows []row) string {
	sum := 0.0
	for _, r := range rows {
		sum += hours(r)
	}
	return fixed(sum, 12)
}

// fixed writes x with two decimals, or shorter where that is too wide.
func fixed(x float64, width int) string {
	text := fmt.Sprintf("%.2f", x)
	if len(text) > width {
		text = fmt.Sprintf("%.*g", width-6, x)
	}
	return text
}

// moment writes a point in time, nothing for the zero one.
func moment(s chosen, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(s.now.Location())
	return fmt.Sprintf("%2d/%02d/%-4d %02d:%02d", int(t.Month()), t.Day(), t.Year(), t.Hour(), t.Minute())
}

// ago writes how long before now t was, as days+hours:minutes.
func ago(s chosen, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	minutes := int64(s.now.Sub(t) / time.Minute)
	if s.now.Unix() <= t.Unix() {
		return "<now>"
	}
	return fmt.Sprintf("%3d+%02d:%02d", minutes/1440, minutes/60%24, minutes%60)
}

func centred(text string, width int) string {
	left := (width - len(text)) / 2
	return fmt.Sprintf("%-*s", width, strings.Repeat(" ", left)+text)
}

package qstat

import (
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
)

const (
	pastRule = 144
	// leastHow is what a terminal has room for of how a job ended, at least.
	leastHow = 16
)

// pastColumns are those before how it ended. On a narrow terminal they are left out in the
// order of leaves, which the others have 0 for. Only names are cut.
var pastColumns = [...]struct {
	head          string
	width, leaves int
	right, cut    bool
	cell          func(l *life) string
}{
	{head: "job-ID", width: 11, cell: func(l *life) string { return l.id.String() }},
	{head: "name", width: 10, leaves: 5, cut: true, cell: func(l *life) string { return clean.Line(l.name) }},
	{head: "user", width: 12, cut: true, cell: func(l *life) string { return clean.Line(l.user) }},
	{head: "submitted", width: 19, leaves: 1, cell: func(l *life) string { return moment(l.submitted) }},
	{head: "started", width: 19, leaves: 3, cell: func(l *life) string { return moment(l.started) }},
	{head: "ended", width: 19, cell: func(l *life) string { return moment(l.ended) }},
	{head: "run time", width: 14, leaves: 4, right: true, cell: func(l *life) string { return dayTime(l.ran) }},
	{head: "waited", width: 13, leaves: 2, right: true, cell: func(l *life) string { return dayTime(l.waited) }},
}

// pastRow is what is shown of a job: the cells of pastColumns, and how it ended.
type pastRow struct {
	cells [len(pastColumns)]string
	how   string
}

func pastRowOf(ctx *classad.Context, ad *classad.Ad) pastRow {
	l := lifeOf(ctx, ad)
	r := pastRow{how: clean.Line(l.how)}
	for i, c := range pastColumns {
		r.cells[i] = c.cell(&l)
	}
	return r
}

// pastTable writes a line for each job, as they come; nothing at all without a job.
// Names are cut, and what has no room where a line has so many places; 0: any. With -w
// nothing is, for which all lines are looked at before the first is written.
func pastTable(c *cmdline.Call, line int, ads iter.Seq[*classad.Ad]) error {
	ctx := &classad.Context{Now: c.Now}
	rows := func(yield func(pastRow) bool) {
		for ad := range ads {
			if !yield(pastRowOf(ctx, ad)) {
				return
			}
		}
	}
	if !c.Has("w") {
		return pastLines(c, line, pastWidths(nil), rows)
	}
	all := slices.Collect(rows)
	return pastLines(c, 0, pastWidths(all), slices.Values(all))
}

// pastWidths returns how wide the columns are: as usual, or as wide as what stands in them.
func pastWidths(rows []pastRow) (widths [len(pastColumns)]int) {
	for i, c := range pastColumns {
		widths[i] = c.width
		for _, r := range rows {
			widths[i] = max(widths[i], breadth(r.cells[i]))
		}
	}
	return widths
}

func pastLines(c *cmdline.Call, line int, widths [len(pastColumns)]int, rows iter.Seq[pastRow]) error {
	shown, room := pastFitted(line)
	var b []byte
	for r := range rows {
		head := b == nil
		if b = b[:0]; head {
			b = appendPastHead(b, shown, widths, line)
		}
		for i, text := range r.cells {
			if shown[i] {
				b = appendPast(b, i, widths[i], text)
			}
		}
		how, _ := within(r.how, room)
		b = append(append(b, how...), '\n')
		if _, err := c.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// pastFitted returns which columns there are on a line, and how many places it leaves for
// how a job ended.
func pastFitted(line int) (shown [len(pastColumns)]bool, room int) {
	room = line
	for i, c := range pastColumns {
		shown[i] = true
		room -= c.width + 1
	}
	if line == 0 {
		return shown, math.MaxInt
	}
	for next := 1; room < leastHow && next <= 5; next++ {
		for i, c := range pastColumns {
			if c.leaves == next {
				shown[i] = false
				room += c.width + 1
			}
		}
	}
	return shown, max(room, leastHow)
}

func appendPastHead(b []byte, shown [len(pastColumns)]bool, widths [len(pastColumns)]int, line int) []byte {
	start, rule := len(b), pastRule
	for i, c := range pastColumns {
		rule += widths[i] - c.width
		if shown[i] {
			b = appendPast(b, i, widths[i], c.head)
		}
	}
	b = append(b, "how\n"...)
	if line > 0 {
		rule = min(max(line, len(b)-start-1), pastRule)
	}
	return append(append(b, strings.Repeat("-", rule)...), '\n')
}

// appendPast appends a cell of a column.
func appendPast(b []byte, i, width int, text string) []byte {
	c := pastColumns[i]
	short, left := within(text, width)
	switch {
	case short != text && !c.cut:
		return append(append(b, text...), ' ')
	case c.right:
		return append(append(pad(b, left), text...), ' ')
	}
	return append(pad(append(b, short...), left), ' ')
}

// moment writes a point in time that may not have come.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t)
}

// dayTime writes a length of time as D+HH:MM:SS.
func dayTime(d time.Duration) string { return elapsed.Days(int64(d / time.Second)) }

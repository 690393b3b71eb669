package queue

import (
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
)

// IDOf returns the id that a job's ad gives.
func IDOf(ad *classad.Ad) pool.JobID {
	number := func(name string) int {
		if n, ok := ad.EvalInt(&classad.Context{}, name); ok {
			return int(n)
		}
		return 0
	}
	return pool.JobID{Cluster: number(pool.AttrClusterID), Proc: number(pool.AttrProcID)}
}

// life is the course of a job that has ended.
type life struct {
	id                        pool.JobID
	name, user, how           string
	submitted, started, ended time.Time     // started: the last attempt; zero: it did not start
	ran                       time.Duration // in all attempts
	waited                    time.Duration // for the first start, or in vain
}

// lifeOf reads it from the job's ad.
func lifeOf(c *classad.Context, ad *classad.Ad) life {
	at := func(name string) time.Time {
		if n, ok := ad.EvalInt(c, name); ok && n > 0 {
			return unix(n)
		}
		return time.Time{}
	}
	owner, _ := ad.EvalString(c, pool.AttrOwner)
	l := life{
		id: IDOf(ad), name: jobName(c, ad), user: owner, how: ending(c, ad), submitted: at(pool.AttrQDate),
		started: at(pool.AttrCurrentStartDate), ended: at(pool.AttrEnteredStatus),
	}
	if wall, ok := ad.EvalNumber(c, pool.AttrWallClock); ok {
		l.ran = seconds(wall)
	}
	served := l.ended
	if first := at(pool.AttrJobStartDate); !first.IsZero() {
		served = first
	}
	if !served.IsZero() && !l.submitted.IsZero() {
		l.waited = max(served.Sub(l.submitted), 0)
	}
	return l
}

// seconds returns a length of time, bounded as the type is.
func seconds(n float64) time.Duration {
	const most = float64(1<<63-1) / float64(time.Second)
	if !(n > 0) {
		return 0
	}
	if n >= most {
		return 1<<63 - 1
	}
	return time.Duration(n * float64(time.Second))
}

// ending says how a job ended.
func ending(c *classad.Context, ad *classad.Ad) string {
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	if pool.Status(status) == pool.Removed {
		if why, ok := ad.EvalString(c, pool.AttrRemoveReason); ok && why != "" {
			return "removed: " + why
		}
		return "removed"
	}
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		n, _ := ad.EvalInt(c, pool.AttrExitSignal)
		return fmt.Sprintf("signal %d", n)
	}
	if n, ok := ad.EvalInt(c, pool.AttrExitCode); ok {
		return fmt.Sprintf("exit %d", n)
	}
	return ""
}

// jobName returns a job's name: what its user called it, else its program.
func jobName(c *classad.Context, ad *classad.Ad) string {
	if name, ok := ad.EvalString(c, pool.AttrJobBatchName); ok && name != "" {
		return name
	}
	cmd, _ := ad.EvalString(c, pool.AttrCmd)
	return filepath.Base(cmd)
}

const (
	pastRule = 144
	// leastHow is the least width on a terminal for how a job ended.
	leastHow = 16
)

// pastColumns are the columns before how it ended. On a narrow terminal columns are left
// out in the order of leaves; 0 means never. Only names are cut.
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

// pastRow is a job's line: the cells of pastColumns, and how it ended.
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

// Left writes a line for each job that has left the queue, in the order of ads; nothing at all
// without a job. It cuts names, and lines at the width. With Wide it cuts nothing, and looks at all
// lines before it writes the first.
func Left(w io.Writer, o Options, now time.Time, ads iter.Seq[*classad.Ad]) error {
	ctx := &classad.Context{Now: now}
	rows := func(yield func(pastRow) bool) {
		for ad := range ads {
			if !yield(pastRowOf(ctx, ad)) {
				return
			}
		}
	}
	if !o.Wide {
		return pastLines(w, o.Width, pastWidths(nil), rows)
	}
	all := slices.Collect(rows)
	return pastLines(w, 0, pastWidths(all), slices.Values(all))
}

// pastWidths returns how wide the columns are: as usual, or as wide as what stands in them.
func pastWidths(rows []pastRow) (widths [len(pastColumns)]int) {
	for i, c := range pastColumns {
		widths[i] = c.width
		for _, r := range rows {
			widths[i] = max(widths[i], table.Width(r.cells[i]))
		}
	}
	return widths
}

func pastLines(w io.Writer, line int, widths [len(pastColumns)]int, rows iter.Seq[pastRow]) error {
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
		how, _ := table.Cut(r.how, room)
		b = append(append(b, how...), '\n')
		if _, err := w.Write(b); err != nil {
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
	short, left := table.Cut(text, width)
	switch {
	case short != text && !c.cut:
		return append(append(b, text...), ' ')
	case c.right:
		return append(append(table.Pad(b, left), text...), ' ')
	}
	return append(table.Pad(append(b, short...), left), ' ')
}

// moment writes a point in time that may not have come.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Clock(t)
}

// dayTime writes a length of time as D+HH:MM:SS.
func dayTime(d time.Duration) string { return elapsed.Days(int64(d / time.Second)) }

package queue

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/report/table"
)

const tasksHead = "ja-task-ID"

// list writes Grid Engine's table; nothing at all without a job.
func (c columns) list(w io.Writer, rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	t := c.writer(w, rows)
	heading := t.heading() + tasksHead + " "
	t.line(heading[:min(len(heading), t.most())])
	rule := len(heading) - 1
	if rules := c.display.Rulers; rules != nil && t.width == 0 && !t.Wide {
		rule = rules.Of(t.Options.Options)
		if t.Master {
			rule++ // which is a place wider than the slots
		}
	}
	t.line(strings.Repeat("-", min(rule, t.most())))
	t.rows(rows)
	return t.flush()
}

// writer writes rows as lines.
type writer struct {
	columns
	width int // of a line that is not to be longer; 0: any
	tasks int // how many places the procs of a row may take there
	w     io.Writer
	b     []byte
	near  []byte // a cell in the making
	err   error
}

// writer returns a writer for rows, which decide how wide columns are where that is not
// fixed.
func (c columns) writer(w io.Writer, rows []*row) *writer {
	t := &writer{columns: c, w: w}
	switch t.width = c.Width; {
	case c.Wide:
		t.width, t.shown = 0, widened(c.shown, rows)
	case t.width > 0:
		t.shown, t.tasks = fitted(c.shown, rows, t.width, leastTasks(rows))
	}
	return t
}

// most returns how long a heading may be.
func (t *writer) most() int {
	if t.width > 0 {
		return t.width
	}
	return math.MaxInt
}

// full is the buffer's size at which it is written.
const full = 64 << 10

func (t *writer) flush() error {
	if t.err == nil && len(t.b) > 0 {
		_, t.err = t.w.Write(t.b)
	}
	t.b = t.b[:0]
	return t.err
}

func (t *writer) line(s string) { t.b = append(append(t.b, s...), '\n') }

// heading returns the headings of the columns, with a blank behind each.
func (t *writer) heading() string {
	var b []byte
	for _, c := range t.shown {
		if c.right {
			b = append(table.Pad(b, c.width-len(c.head)), c.head...)
		} else {
			b = table.Pad(append(b, c.head...), c.width-len(c.head))
		}
		b = append(b, ' ')
	}
	return string(b)
}

// rows writes a line for each row, and below it the job's requests if these are wanted.
func (t *writer) rows(rows []*row) {
	for _, r := range rows {
		for i := range t.shown {
			t.cell(&t.shown[i], r)
		}
		start := len(t.b)
		t.b = appendTasks(t.b, r.ranges)
		if t.width > 0 && len(t.b)-start > t.tasks {
			t.b = append(t.b[:start+max(t.tasks-len(cut), 0)], cut...)
		}
		t.b = append(t.b, '\n')
		if t.Requests {
			t.b = appendRequests(t.b, r)
		}
		if len(t.b) >= full && t.flush() != nil {
			return
		}
	}
}

// cut stands for what there is no room for.
const cut = "..."

// cell appends a cell and a blank.
func (t *writer) cell(c *column, r *row) {
	if c.text != nil {
		text := c.text(r)
		if c.dots && len(text) > c.width {
			text = text[:c.width-len(cut)] + cut
		}
		t.b = append(table.Append(t.b, text, c.width), ' ')
		return
	}
	t.near = c.number(t.near[:0], r)
	if !c.left {
		t.b = table.Pad(t.b, c.width-len(t.near))
		t.b = append(append(t.b, t.near...), ' ')
		return
	}
	t.b = append(table.Pad(append(t.b, t.near...), c.width-len(t.near)), ' ')
}

// tasks writes procs as Grid Engine writes the tasks of an array: "3",
// "0-9:1", "0-4:1,7", "1-9:2".
func tasks(ranges []pool.Procs) string { return string(appendTasks(nil, ranges)) }

func appendTasks(b []byte, ranges []pool.Procs) []byte {
	for i := 0; i < len(ranges); {
		if i > 0 {
			b = append(b, ',')
		}
		first, last, step := ranges[i].First, ranges[i].Last, 1
		n := evenly(ranges[i:])
		if n > 1 {
			last, step = ranges[i+n-1].Last, ranges[i+1].First-first
		}
		i += n
		b = strconv.AppendInt(b, int64(first), 10)
		if first != last {
			b = strconv.AppendInt(append(b, '-'), int64(last), 10)
			b = strconv.AppendInt(append(b, ':'), int64(step), 10)
		}
	}
	return b
}

// evenly returns how many of the first ranges are single procs that are equally far
// apart, 1 if these are not three at least.
func evenly(ranges []pool.Procs) int {
	n := 0
	for n < len(ranges) && ranges[n].First == ranges[n].Last &&
		(n < 2 || ranges[n].First-ranges[n-1].First == ranges[1].First-ranges[0].First) {
		n++
	}
	if n < 3 {
		return 1
	}
	return n
}

// appendRequests appends a job's requests, as Grid Engine's -r does.
func appendRequests(b []byte, r *row) []byte {
	line := func(key, value string) {
		b = append(b, "       "...)
		b = append(table.Pad(append(b, key...), 18-len(key)), value...)
		b = append(b, '\n')
	}
	line("Full jobname:", r.name)
	if r.slot != "" {
		line("Master Queue:", r.slot)
	}
	if pe := r.asked.Environment; pe != "" {
		line("Requested PE:", pe+" "+r.asked.Wanted)
		if r.slot != "" {
			line("Granted PE:", pe+" "+strconv.FormatInt(r.slots, 10))
		}
	}
	line("Hard Resources:", strings.ReplaceAll(r.asked.withAdds(), "\n", "\n"+table.Blanks[:25]))
	line("Soft Resources:", r.asked.soft)
	if r.asked.after != "" {
		b = append(append(append(b, "       Predecessor Jobs (request): "...), r.asked.after...), '\n')
	}
	if r.asked.unmet != "" {
		b = append(append(append(b, "       Predecessor Jobs: "...), r.asked.unmet...), '\n')
	}
	return b
}

// numbers writes clusters as a list.
func numbers(list []int) string {
	var b bytes.Buffer
	for i, n := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// needs returns how wide each column would have to be: as its heading, and every cell.
func needs(list []column, rows []*row) []int {
	widths := make([]int, len(list))
	var near []byte
	for i, c := range list {
		widths[i] = len(c.head)
		for _, r := range rows {
			if c.text != nil {
				widths[i] = max(widths[i], table.Width(c.text(r)))
				continue
			}
			near = c.number(near[:0], r)
			widths[i] = max(widths[i], len(near))
		}
	}
	return widths
}

// widened returns the columns wide enough for every cell, and no narrower than they
// are.
func widened(list []column, rows []*row) []column {
	list = slices.Clone(list)
	for i, n := range needs(list, rows) {
		list[i].width = max(list[i].width, n)
	}
	return list
}

// fitted returns the columns as wide as their cells need, or as a line of so many
// characters allows, and how many of these are left behind them, which are the least that is
// asked for or more. The widest column of texts has to give way first. Where even the least is
// too much, the terminal breaks the lines.
func fitted(list []column, rows []*row, line, least int) (_ []column, behind int) {
	list = slices.Clone(list)
	left := line
	for i, n := range needs(list, rows) {
		if part := list[i].part; part > 0 {
			n = min(n, max(line/part, list[i].least))
		}
		list[i].width = n
		left -= n + 1
	}
	for ; left < least; left++ {
		widest := -1
		for i, c := range list {
			if c.least > 0 && c.width > c.least && (widest < 0 || c.width >= list[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			return list, least
		}
		list[widest].width--
	}
	return list, left
}

// leastTasks returns the least width for the procs of a row: their own, up to the width of
// their heading.
func leastTasks(rows []*row) int {
	least := 0
	var near []byte
	for _, r := range rows {
		near = appendTasks(near[:0], r.ranges)
		if least = max(least, len(near)); least >= len(tasksHead) {
			return len(tasksHead)
		}
	}
	return least
}

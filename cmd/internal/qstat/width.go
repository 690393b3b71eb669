package qstat

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
)

// lineOf returns what tells how many places there are on a line of the terminal that
// the call's standard output is, 0 where it is none; asked anew each time, since
// windows change. What is drawn goes through buffers: it is the call of the command
// line that knows the terminal.
func lineOf(c *cmdline.Call) func() int {
	return func() int {
		if !c.Terminal() {
			return 0
		}
		width, _ := c.Screen()
		return width
	}
}

// needs returns how wide each column would have to be: as its heading, and every cell.
func needs(list []column, rows []*row) []int {
	widths := make([]int, len(list))
	var near []byte
	for i, c := range list {
		widths[i] = len(c.head)
		for _, r := range rows {
			if c.text != nil {
				widths[i] = max(widths[i], breadth(c.text(r)))
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

// leastTasks returns what the procs of a row get of a line at least: what they need, up to
// the width of their heading.
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

package userprio

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// classic is a column of the listings of HTCondor's first manuals: in which of them it stands,
// its width, and its heading on three lines.
type classic struct {
	in    string // options, parted by blanks
	width int
	heads [3]string
}

// classicColumns returns the columns of the listing for those that were asked for.
func (t *table) classicColumns() (list []*column, footer string) {
	listing, footer := "most", "Number of users shown:"
	switch {
	case t.has(attrReal) && t.has(attrUsage):
		listing, footer = "all", "Number of users:"
	case t.has(attrUsage) && !t.has(attrEUP):
		listing, footer = "usage", "Number of users:"
	}
	for i := range every {
		if c := every[i].classic; c != nil && slices.Contains(strings.Fields(c.in), listing) {
			list = append(list, &every[i])
		}
	}
	return list, footer
}

// printClassic writes users only, by EUP, or by usage where priority is not shown.
func (t *table) printClassic(w io.Writer) error {
	t.shown = slices.DeleteFunc(slices.Clone(t.picked), func(r *row) bool { return r.group })
	if !t.by(attrUsage) {
		t.orderBy = columnOf(attrEUP)
	}
	t.groupsFirst, t.hierarchical = false, false
	t.arrange()
	columns, footer := t.classicColumns()
	var b strings.Builder
	line := func(name string, cell func(*column) string) {
		fmt.Fprintf(&b, "%-30s", name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %*s", c.classic.width, cell(c))
		}
		b.WriteByte('\n')
	}
	rule := strings.Repeat("-", 30)
	for i, name := range []string{"", "User Name", rule} {
		line(name, func(c *column) string { return c.classic.heads[i] })
	}
	for _, r := range t.shown {
		line(classicName(r.name), func(c *column) string { return t.classicCell(c, r) })
	}
	line(rule, func(c *column) string { return c.classic.heads[2] })
	line(fmt.Sprintf("%s %-13d", footer, len(t.shown)), func(*column) string { return "" })
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) classicCell(c *column, r *row) string {
	switch p := c.field(r).(type) {
	case *float64:
		return fixed(c.shown(*p))
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *time.Time:
		return t.classicTime(*p)
	}
	return ""
}

// classicName cuts names that are longer than their column.
func classicName(name string) string {
	if len(name) > 30 {
		return name[:29]
	}
	return name
}

func (t *table) classicTime(at time.Time) string {
	if at.IsZero() {
		return "    ???    "
	}
	return string(t.moment(nil, at))
}

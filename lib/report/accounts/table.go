package accounts

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/report/table"
)

// Table is a table in the making.
type Table struct {
	Listing
	View
	orderBy      *Column            // nil: rows go by name
	numbers      map[string]int     // of groups
	keys         map[string]float64 // what groups are ordered by
	Picked       []*Row             // with those that only count
	shown        []*Row             // in order
	hierarchical bool               // users stand under their groups
	usersHidden  bool
	tree         bool // groups stand each below the one that it is in
	scratch      []byte
}

// NewTable computes the shown rows. It leaves out groups if no user and no shown row is
// in one, and if only priorities are shown, which mean little for groups.
func NewTable(s Listing, v View) *Table {
	t := &Table{Listing: s, View: v, numbers: v.numbers(), Picked: s.Pick(v)}
	groups := slices.ContainsFunc(t.Picked, func(r *Row) bool { return r.In != accountant.RootGroup })
	if !groups && !s.Quotas {
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return c.quota })
	}
	all := func(has func(*Column) bool) bool {
		return len(t.Columns) > 0 && !slices.ContainsFunc(t.Columns, func(c *Column) bool { return !has(c) })
	}
	if all(func(c *Column) bool { return slices.Contains(strings.Fields(c.on), "priority") }) && !s.Grouped {
		groups = false
	}
	t.usersHidden = all(func(c *Column) bool { return c.quota })
	// HTCondor shows nothing else with -quotas -hierarchical than without.
	t.tree = t.usersHidden && t.Grouped && t.has("Requested")
	t.hierarchical = groups && !s.Flat
	for _, r := range t.Picked {
		if r.Group && groups || !r.Group && !t.usersHidden {
			t.shown = append(t.shown, r)
		}
	}
	if i := slices.IndexFunc(t.Columns, func(c *Column) bool { return c.direction != 0 }); i >= 0 {
		t.orderBy = t.Columns[i]
	}
	t.keys = t.groupKeys()
	t.arrange()
	return t
}

// by reports whether rows go by an attribute.
func (t *Table) by(attr string) bool { return t.orderBy != nil && t.orderBy.attr == attr }

// has reports whether the column of an attribute was asked for.
func (t *Table) has(attr string) bool {
	return slices.ContainsFunc(t.Columns, func(c *Column) bool { return c.attr == attr })
}

// Print writes the table in HTCondor's layout, trailing blanks included.
func (t *Table) Print(w io.Writer) error {
	users := 0
	for _, r := range t.Picked {
		if !r.Group {
			users++
		}
	}
	width := t.nameWidth()
	shown := t.visible()
	at := t.At
	b := fmt.Appendf(nil, "Last Priority Update: %2d/%-2d %02d:%02d\n", int(at.Month()), at.Day(), at.Hour(), at.Minute())
	above, below := t.headings()
	line := func(name string, cell func(b []byte, c *Column) []byte) {
		b = table.Pad(append(b, name[:min(len(name), width)]...), width-len(name))
		for _, c := range shown {
			b = append(b, ' ')
			t.scratch = cell(t.scratch[:0], c)
			blanks := c.width - len(t.scratch)
			if !c.left {
				b = table.Pad(b, blanks)
			}
			b = append(b, t.scratch...)
			if c.left {
				b = table.Pad(b, blanks)
			}
		}
		b = append(b, '\n')
	}
	rule := func() {
		line(strings.Repeat("-", width), func(b []byte, c *Column) []byte { return append(b, strings.Repeat("-", c.width)...) })
	}
	line(above, func(b []byte, c *Column) []byte { return append(b, centred(c.above, c.width)...) })
	line(below, func(b []byte, c *Column) []byte { return append(b, centred(c.below, c.width)...) })
	rule()
	for _, r := range t.shown {
		line(t.printed(r), func(b []byte, c *Column) []byte { return c.append(t, b, r) })
		if len(b) > 1<<15 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	rule()
	total := Row{Last: t.Since, Counted: true, sampled: users == 0, Part: Part{Negotiated: true, Surplus: t.Policy}}
	line(footer(users), func(b []byte, c *Column) []byte {
		if !c.total {
			return b
		}
		for _, r := range t.Picked {
			if c.sum && !r.Group {
				c.add(&total, r)
			}
		}
		return c.figure(t, b, &total)
	})
	_, err := w.Write(b)
	return err
}

func footer(users int) string { return "Number of users: " + strconv.Itoa(users) }

// maxName is how wide the column of names is at most.
const maxName = 99

// nameWidth returns the width of the names' column. Users that are not shown
// count too. As in HTCondor there is room for a footer that counts groups as well.
func (t *Table) nameWidth() int {
	width := max(10, len(footer(len(t.Picked))))
	for _, r := range t.Picked {
		if !r.Group {
			width = max(width, len(t.printed(r)))
		}
	}
	for _, r := range t.shown {
		width = max(width, len(t.printed(r)))
	}
	width = min(width, maxName)
	if t.hierarchical {
		width += len(Indent)
	}
	return width
}

// Indent stands before users under their group.
const Indent = "  "

// printed returns a row's name as it is shown: under its group without the
// group's.
func (t *Table) printed(r *Row) string {
	if t.tree && r.Group {
		return strings.Repeat(Indent, strings.Count(r.Name, ".")) + r.Name
	}
	if !t.hierarchical || r.Group {
		return r.Name
	}
	if below(r.Name, r.In) {
		return Indent + r.Name[len(r.In)+1:]
	}
	return Indent + r.Name
}

// headings returns the two lines over the names.
func (t *Table) headings() (above, below string) {
	switch {
	case t.usersHidden && t.hierarchical:
		return "Group", "Name"
	case t.usersHidden:
		return "", "Group Name"
	case t.hierarchical:
		return "Group", Indent + "User Name"
	}
	return "", "User Name"
}

// visible returns the columns to show.
func (t *Table) visible() (list []*Column) {
	for i := range every {
		c := &every[i]
		if (c.tree && t.tree || slices.Contains(t.Columns, c)) && !(c.optional && t.blank(c)) {
			list = append(list, c)
		}
	}
	return list
}

// blank reports whether there are rows, and nothing in their cells.
func (t *Table) blank(c *Column) bool {
	return len(t.shown) > 0 && !slices.ContainsFunc(t.shown, func(r *Row) bool {
		t.scratch = c.append(t, t.scratch[:0], r)
		return len(t.scratch) > 0
	})
}

// local returns a point in time as the table shows it.
func (t *Table) local(at time.Time) time.Time { return at.In(t.At.Location()) }

func centred(text string, width int) string {
	left := (width - len(text)) / 2
	return fmt.Sprintf("%-*s", width, strings.Repeat(" ", left)+text)
}

// classic is a column of the listings of HTCondor's first manuals: the listings that have it,
// its width, and its heading on three lines.
type classic struct {
	in    string // options, parted by blanks
	width int
	heads [3]string
}

// classicColumns returns the columns of the listing for those that were asked for.
func (t *Table) classicColumns() (list []*Column, footer string) {
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

// PrintClassic writes users only, by EUP, or by usage where priority is not shown.
func (t *Table) PrintClassic(w io.Writer) error {
	t.shown = slices.DeleteFunc(slices.Clone(t.Picked), func(r *Row) bool { return r.Group })
	if !t.by(attrUsage) {
		t.orderBy = columnOf(attrEUP)
	}
	t.GroupsFirst, t.hierarchical = false, false
	t.arrange()
	columns, footer := t.classicColumns()
	var b strings.Builder
	line := func(name string, cell func(*Column) string) {
		fmt.Fprintf(&b, "%-30s", name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %*s", c.classic.width, cell(c))
		}
		b.WriteByte('\n')
	}
	rule := strings.Repeat("-", 30)
	for i, name := range []string{"", "User Name", rule} {
		line(name, func(c *Column) string { return c.classic.heads[i] })
	}
	for _, r := range t.shown {
		line(classicName(r.Name), func(c *Column) string { return t.classicCell(c, r) })
	}
	line(rule, func(c *Column) string { return c.classic.heads[2] })
	line(fmt.Sprintf("%s %-13d", footer, len(t.shown)), func(*Column) string { return "" })
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) classicCell(c *Column, r *Row) string {
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

func (t *Table) classicTime(at time.Time) string {
	if at.IsZero() {
		return "    ???    "
	}
	return string(t.moment(nil, at))
}

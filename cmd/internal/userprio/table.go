package userprio

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
)

// table is a table in the making.
type table struct {
	chosen
	view
	orderBy      *column            // nil: rows go by name
	numbers      map[string]int     // of groups
	keys         map[string]float64 // what groups are ordered by
	picked       []*row             // with those that only count
	shown        []*row             // in order
	hierarchical bool               // users stand under their groups
	usersHidden  bool
	tree         bool // groups stand each below the one that it is in
	scratch      []byte
}

// newTable works out what the table shows: of the groups nothing where nobody
// and nothing that is shown is in one, and no rows where only priorities are
// shown, which mean little for groups.
func newTable(s chosen, v view) *table {
	t := &table{chosen: s, view: v, numbers: v.numbers(), picked: s.pick(v)}
	groups := slices.ContainsFunc(t.picked, func(r *row) bool { return r.in != accountant.RootGroup })
	if !groups && !s.quotas {
		t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.quota })
	}
	all := func(has func(*column) bool) bool {
		return len(t.columns) > 0 && !slices.ContainsFunc(t.columns, func(c *column) bool { return !has(c) })
	}
	if all(func(c *column) bool { return slices.Contains(strings.Fields(c.on), "priority") }) && !s.grouped {
		groups = false
	}
	t.usersHidden = all(func(c *column) bool { return c.quota })
	// HTCondor shows nothing else with -quotas -hierarchical than without.
	t.tree = t.usersHidden && t.grouped && t.has("Requested")
	t.hierarchical = groups && !s.flat
	for _, r := range t.picked {
		if r.group && groups || !r.group && !t.usersHidden {
			t.shown = append(t.shown, r)
		}
	}
	if i := slices.IndexFunc(t.columns, func(c *column) bool { return c.direction != 0 }); i >= 0 {
		t.orderBy = t.columns[i]
	}
	t.keys = t.groupKeys()
	t.arrange()
	return t
}

// by reports whether rows go by an attribute.
func (t *table) by(attr string) bool { return t.orderBy != nil && t.orderBy.attr == attr }

// has reports whether the column of an attribute was asked for.
func (t *table) has(attr string) bool {
	return slices.ContainsFunc(t.columns, func(c *column) bool { return c.attr == attr })
}

// print writes the table in HTCondor's layout, trailing blanks included.
func (t *table) print(w io.Writer) error {
	users := 0
	for _, r := range t.picked {
		if !r.group {
			users++
		}
	}
	width := t.nameWidth()
	shown := t.visible()
	at := t.at
	b := fmt.Appendf(nil, "Last Priority Update: %2d/%-2d %02d:%02d\n", int(at.Month()), at.Day(), at.Hour(), at.Minute())
	above, below := t.headings()
	line := func(name string, cell func(b []byte, c *column) []byte) {
		b = pad(append(b, name[:min(len(name), width)]...), width-len(name))
		for _, c := range shown {
			b = append(b, ' ')
			t.scratch = cell(t.scratch[:0], c)
			blanks := c.width - len(t.scratch)
			if !c.left {
				b = pad(b, blanks)
			}
			b = append(b, t.scratch...)
			if c.left {
				b = pad(b, blanks)
			}
		}
		b = append(b, '\n')
	}
	rule := func() {
		line(strings.Repeat("-", width), func(b []byte, c *column) []byte { return append(b, strings.Repeat("-", c.width)...) })
	}
	line(above, func(b []byte, c *column) []byte { return append(b, centred(c.above, c.width)...) })
	line(below, func(b []byte, c *column) []byte { return append(b, centred(c.below, c.width)...) })
	rule()
	for _, r := range t.shown {
		line(t.printed(r), func(b []byte, c *column) []byte { return c.append(t, b, r) })
		if len(b) > 1<<15 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	rule()
	total := row{last: t.since, counted: true, sampled: users == 0, part: part{negotiated: true, surplus: t.policy}}
	line(footer(users), func(b []byte, c *column) []byte {
		if !c.total {
			return b
		}
		for _, r := range t.picked {
			if c.sum && !r.group {
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
func (t *table) nameWidth() int {
	width := max(10, len(footer(len(t.picked))))
	for _, r := range t.picked {
		if !r.group {
			width = max(width, len(t.printed(r)))
		}
	}
	for _, r := range t.shown {
		width = max(width, len(t.printed(r)))
	}
	width = min(width, maxName)
	if t.hierarchical {
		width += len(indent)
	}
	return width
}

// indent stands before users under their group.
const indent = "  "

// printed returns a row's name as it is shown: under its group without the
// group's.
func (t *table) printed(r *row) string {
	if t.tree && r.group {
		return strings.Repeat(indent, strings.Count(r.name, ".")) + r.name
	}
	if !t.hierarchical || r.group {
		return r.name
	}
	if below(r.name, r.in) {
		return indent + r.name[len(r.in)+1:]
	}
	return indent + r.name
}

// headings returns the two lines over the names.
func (t *table) headings() (above, below string) {
	switch {
	case t.usersHidden && t.hierarchical:
		return "Group", "Name"
	case t.usersHidden:
		return "", "Group Name"
	case t.hierarchical:
		return "Group", indent + "User Name"
	}
	return "", "User Name"
}

// visible returns the columns to show.
func (t *table) visible() (list []*column) {
	for i := range every {
		c := &every[i]
		if (c.tree && t.tree || slices.Contains(t.columns, c)) && !(c.optional && t.blank(c)) {
			list = append(list, c)
		}
	}
	return list
}

// blank reports whether there are rows, and nothing in their cells.
func (t *table) blank(c *column) bool {
	return len(t.shown) > 0 && !slices.ContainsFunc(t.shown, func(r *row) bool {
		t.scratch = c.append(t, t.scratch[:0], r)
		return len(t.scratch) > 0
	})
}

// local returns a point in time as the table shows it.
func (t *table) local(at time.Time) time.Time { return at.In(t.at.Location()) }

func pad(b []byte, blanks int) []byte {
	for ; blanks > 0; blanks-- {
		b = append(b, ' ')
	}
	return b
}

func centred(text string, width int) string {
	left := (width - len(text)) / 2
	return fmt.Sprintf("%-*s", width, strings.Repeat(" ", left)+text)
}

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

func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

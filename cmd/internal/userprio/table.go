package userprio

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
)

// columns is a set of groups of columns.
type columns uint16

const (
	colGroupID     columns = 1 << iota // the group's number
	colOrder                           // its place in the order
	colSortKey                         // what it is ordered by
	colOwnQuotas                       // effective and subtree quota
	colConfigQuota                     // the quota as configured
	colSurplus                         // whether it uses surplus
	colRequested                       // what it uses and wants
	colPriority                        // effective priority and factor
	colReal                            // real priority
	colUsage                           // in use, total
	colTimes                           // start and last
	colSince                           // time since last usage
	colLimits                          // floor and ceiling
	colGroupUse                        // what groups use of their quotas, and want
)

const (
	// colQuotas are of interest where there are groups.
	colQuotas = colOwnQuotas | colConfigQuota | colSurplus | colRequested
	colMost   = colConfigQuota | colSurplus | colRequested | colPriority | colUsage | colSince | colLimits
)

// columnsOf returns the columns that the flags ask for.
func columnsOf(c *cmdline.Call) columns {
	var set columns
	for _, f := range []struct {
		flag string
		adds columns
	}{
		{"all", colMost | colQuotas | colReal | colTimes}, {"most", colMost}, {"priority", colPriority | colReal}, {"usage", colUsage | colTimes},
		{"quotas", colQuotas}, {"surplus", colSurplus}, {"sortkey", colSortKey}, {"groupid", colGroupID}, {"order", colOrder},
	} {
		if c.Has(f.flag) {
			set |= f.adds
		}
	}
	if set == 0 {
		return colMost
	}
	return set
}

// table is a table in the making.
type table struct {
	chosen
	view
	columns      columns
	numbers      map[string]int     // of groups
	keys         map[string]float64 // what groups are ordered by
	picked       []*row             // with those that only count
	shown        []*row             // in order
	hierarchical bool               // users stand under their groups
	usersHidden  bool
	scratch      []byte
}

// newTable works out what the table shows: of the groups nothing where nobody
// and nothing that is shown is in one, and no rows where only priorities are
// shown, which mean little for groups.
func newTable(s chosen, v view) *table {
	t := &table{chosen: s, view: v, columns: s.columns, numbers: v.numbers(), picked: s.pick(v)}
	groups := slices.ContainsFunc(t.picked, func(r *row) bool { return r.in != accountant.RootGroup })
	if !groups && !s.quotas {
		t.columns &^= colQuotas
	}
	if t.columns == colPriority|colReal && !s.grouped {
		groups = false
	}
	t.usersHidden = t.columns != 0 && t.columns&^colQuotas == 0
	if t.columns == colQuotas && t.grouped {
		// HTCondor shows nothing else with -hierarchical here than without.
		t.columns |= colGroupUse
	}
	t.hierarchical = groups && !s.flat
	for _, r := range t.picked {
		if r.group && groups || !r.group && !t.usersHidden {
			t.shown = append(t.shown, r)
		}
	}
	t.keys = t.groupKeys()
	t.arrange()
	return t
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
		line(t.printed(r), func(b []byte, c *column) []byte { return c.cell(t, b, r) })
		if len(b) > 1<<15 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	rule()
	line(footer(users), func(b []byte, c *column) []byte {
		if c.total == nil {
			return b
		}
		return c.total(t, b)
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
	if t.columns&colGroupUse != 0 && r.group {
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
func (t *table) visible() []*column {
	var shown []*column
	for i := range every {
		c := &every[i]
		if t.columns&c.of == 0 || c.optional && t.blank(c) {
			continue
		}
		shown = append(shown, c)
	}
	return shown
}

// blank tells whether there are rows, and nothing in their cells.
func (t *table) blank(c *column) bool {
	return len(t.shown) > 0 && !slices.ContainsFunc(t.shown, func(r *row) bool {
		t.scratch = c.cell(t, t.scratch[:0], r)
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

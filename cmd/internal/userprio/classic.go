package userprio

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// classic is a listing of HTCondor's first manuals.
type classic struct {
	columns []classicColumn
	footer  string
}

// classicColumn is one column, its heading on three lines.
type classicColumn struct {
	width int
	heads [3]string
	cell  func(t *table, r *row) string
}

var (
	classicEUP  = classicColumn{14, [3]string{"Effective", "Priority ", "---------"}, func(_ *table, r *row) string { return fmt.Sprintf("%14.2f", r.effective) }}
	classicUsed = classicColumn{12, [3]string{"Accumulated ", "Usage (hrs) ", "----------- "}, func(_ *table, r *row) string { return fmt.Sprintf("%12.2f", r.accumulated/3600) }}
	classicFrom = classicColumn{16, [3]string{"Usage     ", "Start Time   ", "----------------"}, func(t *table, r *row) string { return t.classicTime(r.begin) }}
	classicLast = classicColumn{16, [3]string{"Last     ", "Usage Time   ", "----------------"}, func(t *table, r *row) string { return t.classicTime(r.last) }}

	classicDefault = classic{[]classicColumn{classicEUP}, "Number of users shown:"}
	classicUsage   = classic{[]classicColumn{classicUsed, classicFrom, classicLast}, "Number of users:"}
	classicAll     = classic{[]classicColumn{
		classicEUP,
		{8, [3]string{"Real  ", "Priority", "--------"}, func(_ *table, r *row) string { return fmt.Sprintf("%8.2f", r.priority) }},
		{12, [3]string{"Priority  ", "Factor   ", "------------"}, func(_ *table, r *row) string { return fmt.Sprintf("%12.2f", r.factor) }},
		{4, [3]string{"Res ", "Used", "----"}, func(_ *table, r *row) string { return fmt.Sprintf("%4d", r.slots) }},
		classicUsed, classicFrom, classicLast,
	}, "Number of users:"}
)

// classicOf returns the listing for the columns that were asked for.
func classicOf(set columns) classic {
	switch {
	case set&colReal != 0 && set&colUsage != 0:
		return classicAll
	case set&colUsage != 0 && set&colPriority == 0:
		return classicUsage
	}
	return classicDefault
}

// print writes users only, by EUP, or by usage where priority is not shown.
func (l classic) print(w io.Writer, t *table) error {
	t.shown = nil
	for _, r := range t.picked {
		if !r.group {
			t.shown = append(t.shown, r)
		}
	}
	if t.columns&colUsage == 0 {
		t.columns |= colPriority
	}
	t.groupsFirst, t.hierarchical = false, false
	t.arrange()
	var b strings.Builder
	line := func(name string, cell func(classicColumn) string) {
		fmt.Fprintf(&b, "%-30s", name)
		for _, c := range l.columns {
			fmt.Fprintf(&b, " %*s", c.width, cell(c))
		}
		b.WriteByte('\n')
	}
	rule := strings.Repeat("-", 30)
	for i, name := range []string{"", "User Name", rule} {
		line(name, func(c classicColumn) string { return c.heads[i] })
	}
	for _, r := range t.shown {
		line(classicName(r.name), func(c classicColumn) string { return c.cell(t, r) })
	}
	line(rule, func(c classicColumn) string { return c.heads[2] })
	line(fmt.Sprintf("%s %-13d", l.footer, len(t.shown)), func(classicColumn) string { return "" })
	_, err := io.WriteString(w, b.String())
	return err
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

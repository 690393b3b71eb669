package userlog

import (
	"fmt"
	"unicode/utf8"
)

// Resource is a row of the table that stands behind event 005: what the job used of
// something, asked for and had. All are as they are written; empty for what is not known.
type Resource struct {
	Name                      string // such as "Cpus" or "Memory (MB)"
	Usage, Request, Allocated string
	Assigned                  string // which ones, where they have names
}

// ResourceTable returns the rows as lines for Event.More, none for no rows. There is a
// column of names only where a row has some.
func ResourceTable(rows []Resource) (lines []string) {
	if len(rows) == 0 {
		return nil
	}
	head := Resource{"Partitionable Resources", "Usage", "Request", "Allocated", ""}
	w := widths{20, 8, 8, 9}
	for _, r := range rows {
		w.fit(r)
		if r.Assigned != "" {
			head.Assigned = "Assigned"
		}
	}
	lines = append(lines, "\t"+w.line(head, "", head.Assigned != ""))
	for _, r := range rows {
		lines = append(lines, "\t"+w.line(r, "   ", head.Assigned != ""))
	}
	return lines
}

// widths are those of the columns of the table.
type widths struct{ name, usage, request, allocated int }

func (w *widths) fit(r Resource) {
	w.name, w.usage = max(w.name, utf8.RuneCountInString(r.Name)), max(w.usage, utf8.RuneCountInString(r.Usage))
	w.request = max(w.request, utf8.RuneCountInString(r.Request))
	w.allocated = max(w.allocated, utf8.RuneCountInString(r.Allocated))
}

func (w widths) line(r Resource, indent string, assigned bool) string {
	text := fmt.Sprintf("%s%-*s : %*s %*s %*s", indent, len("   ")+w.name-len(indent), r.Name, w.usage, r.Usage, w.request, r.Request, w.allocated, r.Allocated)
	if assigned {
		text += " " + r.Assigned
	}
	return text
}

package main

import (
	"fmt"
	"io"
	"strings"
)

// showRefusals says of each slot why it does not match.
func showRefusals(w io.Writer, not []pairing) error {
	var b strings.Builder
	for _, p := range not {
		b.Reset()
		fmt.Fprintf(&b, "\n%s:\n", visible(p.Name))
		for _, r := range p.Refusals {
			r.show(&b)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// shownNeeds is how many attributes of a clause are shown to people.
const shownNeeds = 12

func (r refusal) show(b *strings.Builder) {
	if r.Clause == "" {
		fmt.Fprintf(b, "  the %s refuses: it has no %s\n", r.By, requirements)
		return
	}
	fmt.Fprintf(b, "  the %s refuses: %s%s is %s\n", r.By, leading(r.Path), short(r.Clause, clauseBytes), short(r.Value, valueBytes))
	for i, n := range r.Needs {
		switch {
		case i == shownNeeds:
			fmt.Fprintf(b, "      and %d more\n", len(r.Needs)-i)
			return
		case n.Missing:
			fmt.Fprintf(b, "      %s %s%s\n", n.without(), n.Name, n.hint)
		default:
			fmt.Fprintf(b, "      %-4s  %s = %s\n", n.Of, n.Name, short(n.Value, valueBytes))
		}
	}
}

// leading names the attribute that a clause stands in, if it is another one
// than Requirements.
func leading(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return path[len(path)-1] + ": "
}

// without says who lacks an attribute.
func (n need) without() string {
	if n.neither {
		return "neither has"
	}
	return fmt.Sprintf("%-4s  has no", n.Of)
}

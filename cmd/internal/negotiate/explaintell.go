package negotiate

import (
	"fmt"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/plural"
)

// show prints the explanation for people.
func (e Explanation) show(c *cmdline.Call) {
	var lines []string
	for _, s := range e.States {
		lines = append(lines, s.words())
	}
	for i, m := range e.Matches {
		by := ""
		if m.Priority != nil {
			by = fmt.Sprintf(", by its priority of %s (higher goes first)", priority(m.Priority))
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s would be matched with %s%s. %s", m.Job, m.Slot, by, e.leaves[i]), " "))
	}
	for _, l := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintln(c.Stdout, l)
	}
	if n := len(lines) - mostLines; n > 0 {
		fmt.Fprintf(c.Stdout, "And so for %d more: see -json.\n", n)
	}
	for _, x := range e.Analyses {
		x.explain(c.Stdout)
	}
	for _, r := range e.Rejections {
		fmt.Fprintf(c.Stdout, "%s would not be matched: %s.\n", procsText(r.Jobs), r.Reason)
		if r.Analysis != nil {
			r.explain(c.Stdout)
		}
	}
	for _, r := range e.Reservations {
		fmt.Fprintln(c.Stdout, r.Line()+".")
	}
	if len(e.Idle) > 0 {
		fmt.Fprintf(c.Stdout, "%s would not be looked at.\n", procsText(e.Idle))
	}
	for _, s := range e.Submitters {
		fmt.Fprintln(c.Stdout, s.words())
	}
}

// words says what jobs are.
func (s State) words() string {
	jobs := procsText(s.Jobs)
	switch s.State {
	case "Matched":
		return fmt.Sprintf("%s is matched with %s since %s, and waits for a starter there.", jobs, s.Slot, moment(time.Unix(s.Since, 0)))
	case "Running":
		return fmt.Sprintf("%s runs on %s since %s.%s", jobs, s.Slot, moment(time.Unix(s.Since, 0)), s.leaves)
	case "Promised":
		return fmt.Sprintf("%s is promised %s since %s, and waits for whoever has it to leave.", jobs, s.Slot, moment(time.Unix(s.Since, 0)))
	case "Vacating":
		return fmt.Sprintf("%s is vacating %s since %s%s.", jobs, s.Slot, moment(time.Unix(s.Since, 0)), s.leaves)
	}
	if s.Reason != "" {
		return fmt.Sprintf("%s: %s: %s", jobs, s.State, s.Reason)
	}
	return fmt.Sprintf("%s: %s.", jobs, s.State)
}

// words says where a submitter stands.
func (s Standing) words() string {
	if s.Policy != "" {
		return fmt.Sprintf("Jobs go by the one queue of the policy %s, whoever has submitted them: %d of %d idle %s of %s matched.",
			s.Policy, s.Matched, s.Idle, plural.Noun(s.Idle, "job"), s.Name)
	}
	ahead := "no submitter is"
	if s.Place > 1 {
		ahead = plural.Pick(s.Place-1, "1 submitter is", "%d submitters are")
	}
	return fmt.Sprintf("Of %d %s, %s ahead of %s, whose EUP is %.2f (lower is better): pie slice %.2f, limit %.2f, %d of %d idle %s matched.",
		s.Of, plural.Noun(s.Of, "submitter"), ahead, s.Name, s.EffectivePriority, s.PieSlice, s.Limit, s.Matched, s.Idle, plural.Noun(s.Idle, "job"))
}

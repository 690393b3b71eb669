package negotiate

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
)

// epoch is the time of reports whose time nobody sees.
var epoch = time.Unix(0, 0)

// tellDifference prints what the changes make different.
func tellDifference(c *cmdline.Call, d dry) error {
	both := Comparison{d.plan.Report(d.number, c.Now), d.after.Report(d.number, c.Now), compare(d.plan, d.after)}
	if c.Has("json") {
		return c.JSON(both)
	}
	fmt.Fprintln(c.Stdout, "What if:")
	for _, ch := range d.changes {
		fmt.Fprintf(c.Stdout, "  %s\n", ch.text)
	}
	now, then := len(d.plan.Matches), len(d.after.Matches)
	leave := ""
	if now, then := preempted(d.plan), preempted(d.after); now+then > 0 {
		leave = fmt.Sprintf(", %s %s preempted", turn(now, then), plural.Noun(then, "job"))
	}
	fmt.Fprintf(c.Stdout, "\nCycle %d: %s %s would be matched%s, %s of %s %s free.\n", d.number,
		turn(now, then), plural.Noun(then, "job"), leave, turn(d.plan.Candidates, d.after.Candidates),
		turn(d.plan.Slots, d.after.Slots), plural.Noun(d.after.Slots, "slot"))
	if both.Difference.none() {
		same := "shares, matches and reasons"
		if d.plan.Policy != "" && d.after.Policy != "" {
			same = "matches, reasons and places of waiting jobs"
		}
		fmt.Fprintf(c.Stdout, "Nothing would be different: %s are the same.\n", same)
		return nil
	}
	return both.Difference.tell(c)
}

func (d Difference) tell(c *cmdline.Call) error {
	columns, cells := columns, Figures.cells
	if d.before != "" && d.after != "" {
		columns, cells = jobColumns, Figures.jobs
		if d.otherEUPs() {
			columns, cells = eupColumns, Figures.withEUP
		}
	}
	if err := tellChanged(c, columns, d.Submitters, func(s ChangedSubmitter) []string {
		return figures(s.Name, s.Now, s.WhatIf, cells)
	}); err != nil {
		return err
	}
	if err := tellChanged(c, quotaColumns, d.Groups, func(g ChangedGroup) []string {
		return figures(g.Name, g.Now, g.WhatIf, Quotas.cells)
	}); err != nil {
		return err
	}
	showLines(c, plural.Noun(len(d.Gained), "job")+" would be matched that would not now", matchLines(d.Gained))
	showLines(c, plural.Noun(len(d.Lost), "job")+" would not be matched that would now", matchLines(d.Lost))
	var moved []string
	for _, m := range d.Moved {
		moved = append(moved, fmt.Sprintf("%s of %s: %s -> %s", m.Job, m.Submitter, m.Now, m.WhatIf))
	}
	showLines(c, plural.Noun(len(moved), "job")+" would be matched with another slot", moved)
	showLines(c, plural.Noun(len(d.Preempted), "job")+" would be preempted that would not now", evictedLines(d.Preempted))
	showLines(c, plural.Noun(len(d.Spared), "job")+" would not be preempted that would now", evictedLines(d.Spared))
	showLines(c, plural.Noun(len(d.Reserved), "slot")+" would be reserved that would not now", reservedLines(d.Reserved))
	showLines(c, plural.Noun(len(d.Released), "slot")+" would not be reserved that would now", reservedLines(d.Released))
	d.tellPlaces(c)
	d.tellReasons(c)
	return nil
}

// jobColumns are the columns where nobody has a share, and eupColumns those where the
// changes make other EUPs, which decide nothing there.
var (
	jobColumns = []cmdline.Column{{Head: "Submitter"}, {Head: "Idle", Right: true}, {Head: "Matched", Right: true}}
	eupColumns = slices.Insert(slices.Clone(jobColumns), 1, cmdline.Column{Head: "EUP (decides nothing)", Right: true})
)

// otherEUPs reports whether the EUP of anybody who takes part before and after is another one.
func (d Difference) otherEUPs() bool {
	return slices.ContainsFunc(d.Submitters, func(s ChangedSubmitter) bool {
		return s.Now != nil && s.WhatIf != nil && s.Now.EffectivePriority != s.WhatIf.EffectivePriority
	})
}

func (f Figures) cells() []string {
	return []string{number(f.EffectivePriority), number(f.PieSlice), number(f.Limit), strconv.Itoa(f.Idle), strconv.Itoa(f.Matched)}
}

func (f Figures) jobs() []string { return []string{strconv.Itoa(f.Idle), strconv.Itoa(f.Matched)} }

func (f Figures) withEUP() []string {
	return append([]string{number(f.EffectivePriority)}, f.jobs()...)
}

func evictedLines(list []Evicted) (lines []string) {
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%s of %s on %s, for %s (%s), work lost: %s", nameOr(x.Job, "a job"), x.Submitter, x.Slot, x.For, x.Reason, work(x.WorkLost)))
	}
	return lines
}

func reservedLines(list []negotiator.ReportedReservation) (lines []string) {
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("%s for %s of %s", r.Slot, r.Job, r.Submitter))
	}
	return lines
}

// tellChanged prints a table of what is different.
func tellChanged[T any](c *cmdline.Call, columns []cmdline.Column, list []T, row func(T) []string) error {
	if len(list) == 0 {
		return nil
	}
	var rows [][]string
	for _, x := range list {
		rows = append(rows, row(x))
	}
	fmt.Fprintln(c.Stdout)
	return c.Table(columns, rows)
}

// figures returns a row with the figures before and after the changes.
func figures[F any](name string, now, then *F, cells func(F) []string) []string {
	row := []string{name}
	none := slices.Repeat([]string{"-"}, len(cells(*new(F))))
	before, after := none, none
	if now != nil {
		before = cells(*now)
	}
	if then != nil {
		after = cells(*then)
	}
	for i := range none {
		row = append(row, turn(before[i], after[i]))
	}
	return row
}

func number(x float64) string { return fmt.Sprintf("%.2f", x) }

// turn returns what something is before and after the changes, once if it is the same.
func turn[T comparable](now, then T) string {
	if now == then {
		return fmt.Sprint(now)
	}
	return fmt.Sprintf("%v -> %v", now, then)
}

func matchLines(list []negotiator.ReportedMatch) []string {
	var lines []string
	for _, m := range list {
		lines = append(lines, fmt.Sprintf("%s of %s with %s", m.Job, m.Submitter, m.Slot))
	}
	return lines
}

// tellReasons prints the reasons that are other ones. Those who are matched after the
// changes are told of already.
func (d Difference) tellReasons(c *cmdline.Call) {
	list := slices.DeleteFunc(slices.Clone(d.Rejections), func(x ChangedReason) bool { return x.WhatIf == "" })
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(c.Stdout, "\nReasons that would be other ones:")
	for _, x := range list[:min(len(list), mostLines)] {
		fmt.Fprintf(c.Stdout, "  %s of %s\n", procsText(x.Jobs), x.Submitter)
		if x.Now != "" {
			fmt.Fprintf(c.Stdout, "    now:     %s\n", x.Now)
		}
		fmt.Fprintf(c.Stdout, "    what if: %s\n", x.WhatIf)
	}
	if n := len(list) - mostLines; n > 0 {
		fmt.Fprintf(c.Stdout, "  and %d more\n", n)
	}
}

package main

import (
	"encoding/json"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
	"fairspool/spool"
)

// tell prints the cycle's report and, unless this is a dry run, leaves it in
// the spool.
func tell(c *cmdline.Call, s *spool.Spool, plan *negotiator.Plan) error {
	number, err := nextCycle(c, s)
	if err != nil {
		return err
	}
	report := plan.Report(number, c.Now)
	if !c.Has("dry-run") {
		b, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := s.SetReport(append(b, '\n')); err != nil {
			return fmt.Errorf("cycle.json: %w", err)
		}
	}
	for _, w := range plan.Warnings {
		c.Warn("%s", w)
	}
	switch {
	case c.Has("json"):
		return c.JSON(report)
	case c.Has("q"):
		return nil
	}
	return show(c, report, plan, c.Has("dry-run"))
}

// nextCycle returns the number that follows the last report's. A report that
// does not read is no reason not to negotiate.
func nextCycle(c *cmdline.Call, s *spool.Spool) (int, error) {
	b, err := s.Report()
	if err != nil || b == nil {
		return 1, err
	}
	var last struct{ Cycle int }
	if err := json.Unmarshal(b, &last); err != nil {
		c.Warn("%s/cycle.json: %v: cycles count from 1 again", s.Dir(), err)
	}
	return last.Cycle + 1, nil
}

var columns = []cmdline.Column{
	{Head: "Submitter"}, {Head: "EUP (lower is better)", Right: true}, {Head: "Pie Slice", Right: true},
	{Head: "Limit", Right: true}, {Head: "Idle", Right: true}, {Head: "Matched", Right: true},
}

// show prints the report for people.
func show(c *cmdline.Call, r negotiator.Report, plan *negotiator.Plan, dry bool) error {
	w := c.Stdout
	verb := "matched"
	if dry {
		verb = "would be matched"
	}
	fmt.Fprintf(w, "Cycle %d: %d %s %s, %d of %d %s free.\n", r.Cycle, len(r.Matches), plural(len(r.Matches), "job"), verb, plan.Candidates, r.Slots, plural(r.Slots, "slot"))
	if len(r.Submitters) > 0 {
		rows := [][]string{}
		for _, s := range r.Submitters {
			rows = append(rows, []string{
				s.Name, fmt.Sprintf("%.2f", s.EffectivePriority), fmt.Sprintf("%.2f", s.PieSlice), fmt.Sprintf("%.2f", s.Limit),
				fmt.Sprint(s.Idle), fmt.Sprint(s.Matched),
			})
		}
		fmt.Fprintln(w)
		if err := c.Table(columns, rows); err != nil {
			return err
		}
	}
	if len(plan.Rejections) > 0 {
		fmt.Fprintln(w)
		for _, x := range plan.Rejections {
			if x.Count == 1 {
				fmt.Fprintf(w, "%v of %s: %s\n", x.Job, x.Submitter, x.Reason)
				continue
			}
			fmt.Fprintf(w, "%v and %d more like it of %s: %s\n", x.Job, x.Count-1, x.Submitter, x.Reason)
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

package negotiate

import (
	"errors"
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// told is a cycle's report with what came before it.
type told struct {
	negotiator.Report
	Policy *Policy `json:",omitempty"` // what became of jobs by their own policy; nil: nothing
}

// tell leaves the cycle's report in the spool, and prints it; did is what was done
// before the cycle.
func tell(c *cmdline.Call, s *spool.Spool, plan *negotiator.Plan, did Policy) error {
	last, err := lastCycle(c, s, "it is kept as cycle.json.damaged, and cycles count from 1 again")
	if err != nil {
		return err
	}
	report := plan.Report(last.Cycle+1, c.Now)
	all := told{Report: report}
	if len(did.words())+len(did.PutOff) > 0 {
		all.Policy = &did
	}
	text, err := cmdline.JSON(all)
	if err != nil {
		return err
	}
	kept, err := s.SetReport(text)
	if err != nil {
		c.Warn("the cycle is done, but its report could not be left in cycle.json: %v", err)
	} else {
		text = kept
	}
	for _, w := range plan.Warnings {
		if !c.Has("q") || !slices.Contains(last.Warnings, w) { // cron need not tell of it every minute
			c.Warn("%s", w)
		}
	}
	switch {
	case c.Has("json"):
		_, err := c.Data().Write(text)
		return err
	case c.Has("q"):
		return nil
	}
	headline(c, report, plan, "")
	if line := did.line(); line != "" {
		fmt.Fprintln(c.Stdout, line)
	}
	tellPutOff(c, report, did)
	if err := showPreempted(c, plan, plural.Pick(preempted(plan), "is", "are")); err != nil {
		return err
	}
	showReserved(c, plan)
	return show(c, report, plan)
}

// lastCycle returns how the last report begins, nothing if there is none. A report that
// does not read is no reason not to negotiate; but says what becomes of it.
func lastCycle(c *cmdline.Call, s *spool.Spool, but string) (last operation.ReportHead, err error) {
	b, err := s.Report()
	var damage *spool.DamageError
	switch {
	case errors.Is(err, spool.ErrOutdated):
		c.Warn("%v: cycles count from 1 again", err)
		return last, nil
	case err != nil && !errors.As(err, &damage) || err == nil && b == nil:
		return last, err
	}
	if err == nil {
		last, err = operation.HeadOf(b)
	}
	if err != nil {
		c.Warn("%v: %s", err, but)
		return operation.ReportHead{}, nil
	}
	return last, nil
}

var columns = []cmdline.Column{
	{Head: "Submitter"}, {Head: "EUP (lower is better)", Right: true}, {Head: "Pie Slice", Right: true},
	{Head: "Limit", Right: true}, {Head: "Idle", Right: true}, {Head: "Matched", Right: true},
}

// queueColumns are those under a policy with one queue of all jobs: where the first job stands
// that is left.
var queueColumns = []cmdline.Column{
	{Head: "Submitter"}, {Head: "First Left", Right: true}, {Head: "Place in Queue", Right: true}, {Head: "Priority (higher goes first)", Right: true},
	{Head: "Idle", Right: true}, {Head: "Matched", Right: true},
}

// headline sums up the cycle in a line, or says why there is nothing to sum up; would is
// empty, or "would be ".
func headline(c *cmdline.Call, r negotiator.Report, plan *negotiator.Plan, would string) {
	leave := ""
	if n := preempted(plan); n > 0 {
		leave = fmt.Sprintf(", %s %spreempted", plural.Count(n, "job"), would)
	}
	fmt.Fprintf(c.Stdout, "Cycle %d: %d %s %smatched%s, %d of %d %s free.\n",
		r.Cycle, len(r.Matches), plural.Noun(len(r.Matches), "job"), would, leave, plan.Candidates, r.Slots, plural.Noun(r.Slots, "slot"))
	if len(r.Submitters) == 0 {
		fmt.Fprintln(c.Stdout, "No job is waiting, and no slot is in use.")
	}
	switch {
	case r.Slots > 0:
	case leftOut(r):
		fmt.Fprintln(c.Stdout, "NEGOTIATOR_SLOT_CONSTRAINT leaves out all slots of the pool.")
	default:
		fmt.Fprintln(c.Stdout, "The pool has no slots: advertise some with slots advertise or slots detect.")
	}
}

// leftOut tells whether NEGOTIATOR_SLOT_CONSTRAINT leaves out slots, as far as jobs wait for
// some.
func leftOut(r negotiator.Report) bool {
	return slices.ContainsFunc(r.Autoclusters, func(a negotiator.Analysis) bool {
		return slices.ContainsFunc(a.Steps, func(s negotiator.Step) bool { return s.Cause == negotiator.CauseSlotConstraint })
	})
}

// show prints the shares, quotas and rejections for people.
func show(c *cmdline.Call, r negotiator.Report, plan *negotiator.Plan) error {
	table := showShares
	if r.Policy != "" {
		table = showQueue
	}
	if err := table(c, r); err != nil {
		return err
	}
	if err := showGroups(c, r.Groups); err != nil {
		return err
	}
	told := slices.DeleteFunc(slices.Clone(r.Rejections), func(x negotiator.ReportedRejection) bool {
		return x.Cause == negotiator.CauseSteps // tellPutOff has said so of all
	})
	if len(told) > 0 {
		fmt.Fprintln(c.Stdout)
	}
	for _, x := range told {
		standing := ""
		switch {
		case x.Place > 0:
			standing = fmt.Sprintf(" (place %d, priority %s)", x.Place, priority(x.Priority))
		case x.Priority != nil:
			standing = fmt.Sprintf(" (priority %s)", priority(x.Priority))
		}
		if x.Count == 1 {
			fmt.Fprintf(c.Stdout, "%s of %s%s: %s\n", x.Job, x.Submitter, standing, x.Reason)
			continue
		}
		fmt.Fprintf(c.Stdout, "%s and %d more like it of %s%s: %s\n", x.Job, x.Count-1, x.Submitter, standing, x.Reason)
	}
	return nil
}

// showShares prints a line for each submitter, if there are any.
func showShares(c *cmdline.Call, r negotiator.Report) error {
	shares := r.Submitters
	if len(shares) == 0 {
		return nil
	}
	rows := make([][]string, len(shares))
	for i, s := range shares {
		rows[i] = []string{
			s.Name, fmt.Sprintf("%.2f", s.EffectivePriority), fmt.Sprintf("%.2f", s.PieSlice), fmt.Sprintf("%.2f", s.Limit),
			fmt.Sprint(s.Idle), fmt.Sprint(s.Matched),
		}
	}
	fmt.Fprintln(c.Stdout)
	return c.Table(columns, rows)
}

// showQueue prints the same line under a policy with one queue, the submitter whose job is the
// first there first.
func showQueue(c *cmdline.Call, r negotiator.Report) error {
	if len(r.Submitters) == 0 {
		return nil
	}
	var rows [][]string
	shown := map[string]bool{}
	row := func(name string, cells ...string) {
		at := slices.IndexFunc(r.Submitters, func(s negotiator.Share) bool { return s.Name == name })
		if at < 0 || shown[name] {
			return
		}
		shown[name] = true
		s := r.Submitters[at]
		rows = append(rows, slices.Concat([]string{name}, cells, []string{fmt.Sprint(s.Idle), fmt.Sprint(s.Matched)}))
	}
	for _, x := range r.Rejections {
		if x.Place > 0 {
			row(x.Submitter, x.Job, fmt.Sprint(x.Place), priority(x.Priority))
		}
	}
	for _, s := range r.Submitters {
		row(s.Name, "-", "-", "-")
	}
	fmt.Fprintln(c.Stdout)
	return c.Table(queueColumns, rows)
}

// priority words a priority in the queue.
func priority(x *float64) string {
	if x == nil {
		return "-"
	}
	return negotiator.PriorityText(*x)
}

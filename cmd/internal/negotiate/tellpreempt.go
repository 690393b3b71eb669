package negotiate

import (
	"fmt"
	"math"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/elapsed"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
)

var preemptColumns = []cmdline.Column{
	{Head: "Job", Right: true}, {Head: "Submitter"}, {Head: "Slot"}, {Head: "Preempts", Right: true}, {Head: "Of"}, {Head: "By"}, {Head: "Work Lost", Right: true},
}

// showPreempted prints who has to go for whom, and what work that costs.
func showPreempted(c *cmdline.Call, plan *negotiator.Plan, verb string) error {
	eups := eupsOf(plan)
	var rows [][]string
	all, lost := 0, 0.0
	for _, m := range plan.Matches {
		if m.Preempts == nil {
			continue
		}
		all++
		lost += m.Preempts.Lost()
		if all <= mostRows {
			rows = append(rows, []string{m.Job.String(), m.Submitter, m.Slot, nameOr(m.Preempts.Name(), "-"), m.Preempts.Submitter, rule(m, eups), work(m.Preempts.Lost())})
		}
	}
	if all == 0 {
		return nil
	}
	fmt.Fprintln(c.Stdout)
	if err := c.Table(preemptColumns, rows); err != nil {
		return err
	}
	if n := all - len(rows); n > 0 {
		fmt.Fprintf(c.Stdout, "and %d more: -json has them all\n", n)
	}
	fmt.Fprintf(c.Stdout, "%s %s preempted; work lost, in slot weight times the time they ran: %s.\n", plural.Count(all, "job"), verb, work(lost))
	return nil
}

// preempted counts the jobs that have to go.
func preempted(plan *negotiator.Plan) (n int) {
	for _, m := range plan.Matches {
		if m.Preempts != nil {
			n++
		}
	}
	return n
}

// eupsOf returns the EUPs of all who want or use something.
func eupsOf(plan *negotiator.Plan) map[string]float64 {
	eups := make(map[string]float64, len(plan.Submitters))
	for _, s := range plan.Submitters {
		eups[s.Name] = s.EffectivePriority
	}
	return eups
}

// rule says by what a job has to go for another.
func rule(m negotiator.Match, eups map[string]float64) string {
	if m.Reason != negotiator.PriorityPreemption {
		return "Rank"
	}
	new, old := unlike(eups[m.Submitter], eups[m.Preempts.Submitter])
	return fmt.Sprintf("EUP %s before %s", new, old)
}

// sentence says whose job a match makes go, and why.
func sentence(m negotiator.Match, eups map[string]float64) string {
	return fmt.Sprintf("%s of %s has to go for it: %s", nameOr(m.Preempts.Name(), "The job"), m.Preempts.Submitter, because(m, eups))
}

// because says why a job has to go for the one that is matched, and at what cost.
func because(m negotiator.Match, eups map[string]float64) string {
	why := fmt.Sprintf("the Rank of %s prefers %v", m.Slot, m.Job)
	if m.Reason == negotiator.PriorityPreemption {
		new, old := unlike(eups[m.Submitter], eups[m.Preempts.Submitter])
		why = fmt.Sprintf("the EUP of %s is %s, that of %s %s (lower is better)", m.Submitter, new, m.Preempts.Submitter, old)
	}
	return fmt.Sprintf("%s. Work lost: %s.", why, work(m.Preempts.Lost()))
}

// unlike words two EUPs with as many digits as tell them apart, if nine do.
func unlike(a, b float64) (x, y string) {
	for digits := 2; digits <= 9; digits++ {
		if x, y = fmt.Sprintf("%.*f", digits, a), fmt.Sprintf("%.*f", digits, b); x != y {
			return x, y
		}
	}
	return number(a), number(b)
}

func nameOr(name, none string) string {
	if name == "" {
		return none
	}
	return name
}

// work words seconds, or slot weight times seconds, as D+HH:MM:SS.
func work(seconds float64) string {
	return elapsed.Days(int64(math.Max(math.Min(math.Round(seconds), 1e15), 0)))
}

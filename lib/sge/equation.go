package sge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Equation writes what the numbers of a proc that waits come from, for people: a line for each
// formula of Seed with the numbers put in, and what they are, as far as the formula does not
// say that. Where a formula gives nothing the line says why. Whole numbers are exact, others
// rounded to five places. Job and task are as for Course.
func (r *Ranking) Equation(job, task int) []string { return r.Course(job, task).Equation() }

// RunningEquation is Equation for a job that runs.
func (r *Ranking) RunningEquation(job int) []string { return r.RunningCourse(job).Equation() }

// Equation writes what it has for people; see Ranking.Equation.
func (c *Course) Equation() []string {
	lines := []string{
		fmt.Sprintf("prio = weight_priority * npprior + weight_urgency * nurg + weight_ticket * ntckts = %s * %s + %s * %s + %s * %s = %s",
			weight(c.WeightPriority), normal(c.NPPrior), weight(c.WeightUrgency), normal(c.NUrg), weight(c.WeightTicket), normal(c.NTckts), normal(c.Prio)),
		c.posix(),
	}
	lines = append(lines, c.urgency()...)
	return append(lines, c.tickets()...)
}

// posix says where npprior comes from.
func (c *Course) posix() string {
	if c.NoNPPrior {
		return "npprior = 0.50000: weight_priority is 0, and report_pjob_tickets is false"
	}
	return fmt.Sprintf("npprior = (ppri + 1024) / 2048 = (%s + 1024) / 2048 = %s", amount(float64(c.POSIX)), normal(c.NPPrior))
}

// urgency says where nurg comes from.
func (c *Course) urgency() []string {
	u := &c.Urgency
	if u.NoUrgency {
		return []string{"nurg = 0.50000: weight_urgency is 0, and report_pjob_tickets is false"}
	}
	line := fmt.Sprintf("nurg = %s: all jobs are equally urgent", normal(c.NUrg))
	if !u.Equal {
		least, greatest := u.Least, u.Greatest
		line = fmt.Sprintf("nurg = (urg - least) / (greatest - least) = (%s - %s) / (%s - %s) = %s",
			amount(c.Urg), behind(least), amount(greatest), behind(least), normal(c.NUrg))
	}
	return []string{
		line,
		fmt.Sprintf("urg = rrcontr + wtcontr + dlcontr = %s + %s + %s = %s", amount(c.RRContr), behind(c.WTContr), behind(c.DLContr), amount(c.Urg)),
		c.resources(),
		c.waiting(),
		c.deadline(),
	}
}

// resources says where rrcontr comes from.
func (c *Course) resources() string {
	terms := make([]string, 0, len(c.Urgency.Requests))
	for _, r := range c.Urgency.Requests {
		term := r.Name + " " + weight(r.Urgency)
		switch {
		case r.Fixed:
		case r.Amount != 1:
			term += fmt.Sprintf(" * %d * %s", r.Slots, behind(r.Amount))
		default:
			term += fmt.Sprintf(" * %d", r.Slots)
		}
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		return "rrcontr = 0: it asks for nothing that has an urgency"
	}
	return "rrcontr = " + strings.Join(terms, " + ") + " = " + amount(c.RRContr)
}

// waiting says where wtcontr comes from.
func (c *Course) waiting() string {
	u := &c.Urgency
	if u.WeightWaitingTime == 0 {
		return "wtcontr = 0: weight_waiting_time is 0"
	}
	return fmt.Sprintf("wtcontr = weight_waiting_time * waiting time = %s * %s s = %s", weight(u.WeightWaitingTime), amount(u.Waited), amount(c.WTContr))
}

// deadline says where dlcontr comes from.
func (c *Course) deadline() string {
	u := &c.Urgency
	switch {
	case u.Deadline == 0:
		return "dlcontr = 0: no deadline"
	case u.Passed:
		return fmt.Sprintf("dlcontr = weight_deadline = %s: the deadline has passed", amount(c.DLContr))
	}
	return fmt.Sprintf("dlcontr = weight_deadline / free time = %s / %s s = %s", weight(u.WeightDeadline), amount(u.FreeTime), amount(c.DLContr))
}

// normal writes a normalised number, or a sum of such, as qstat does.
func normal(x float64) string { return strconv.FormatFloat(x, 'f', 5, 64) }

// weight writes a weight as it is configured.
func weight(x float64) string {
	if m := math.Abs(x); m >= 1e15 || m < 1e-5 {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// behind is amount for a number behind an operator.
func behind(x float64) string {
	if x < 0 {
		return "(" + amount(x) + ")"
	}
	return amount(x)
}

// amount writes an urgency, shares or tickets: whole numbers exactly, others rounded to five
// places, or three digits if they are small. What is just below a whole number has as many
// places as tell it from that: as tickets it is one less.
func amount(x float64) string {
	m := math.Abs(x)
	switch {
	case m >= 1e15:
		return strconv.FormatFloat(x, 'g', 10, 64)
	case x == math.Trunc(x):
		return strconv.FormatFloat(x+0, 'f', 0, 64)
	case m < 1e-4:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	for places := 5; ; places++ {
		text := strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', places, 64), "0"), ".")
		if shown, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(shown) < math.Ceil(m) {
			return text
		}
	}
}

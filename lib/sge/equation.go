package sge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"fairspool/lib/plural"
)

// Equation writes the source of the numbers of a waiting proc, for people: a line for each
// formula of Seed with the numbers put in, and their meanings, as far as the formula does not
// show them. If a formula gives nothing the line says why. Whole numbers are exact, others
// rounded to five places. Job and task are as for Course.
func (r *Ranking) Equation(job, task int) []string { return r.Course(job, task).Equation() }

// RunningEquation is Equation for a job that runs.
func (r *Ranking) RunningEquation(job int) []string { return r.RunningCourse(job).Equation() }

// Equation writes the course for people; see Ranking.Equation.
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
// places, or three digits if they are small. A number just below a whole one has enough
// places to differ from it: as tickets it is one less.
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

// tickets says where ntckts comes from.
func (c *Course) tickets() []string {
	if c.Uncounted {
		procs := plural.Pick(c.Counted.Procs, "1 proc of the cluster comes", "%d procs of the cluster come")
		return []string{fmt.Sprintf("ntckts = %s: no tickets in this run: %s before (%s)", normal(c.NTckts), procs, c.Counted.why())}
	}
	line := fmt.Sprintf("ntckts = %s: no job has tickets", normal(c.NTckts))
	if !c.NoTickets {
		line = fmt.Sprintf("ntckts = tckts / the most of all jobs = %s / %s = %s", amount(c.Tckts), amount(c.MaxTickets), normal(c.NTckts))
	}
	lines := []string{line}
	if c.WeightTicket == 0 {
		lines = append(lines, "tickets do not count: weight_ticket is 0")
	}
	lines = append(lines,
		fmt.Sprintf("tckts = otckt + ftckt + stckt = %s + %s + %s = %s", amount(c.OTckt), amount(c.FTckt), amount(c.STckt), amount(c.Tckts)),
		c.override(), c.functional(), c.tree())
	return append(lines, c.ShareTree.table()...)
}

// why says what bounds the procs of a cluster that get tickets.
func (n *CountedCourse) why() string {
	if int64(n.MaxPending) <= n.FreeSlots {
		return fmt.Sprintf("max_pending_tasks_per_job %d", n.MaxPending)
	}
	return fmt.Sprintf("one more than the free slots, %d", n.FreeSlots)
}

// override says where otckt comes from.
func (c *Course) override() string {
	o := &c.Override
	if o.Why != "" {
		return "otckt = 0: " + o.Why
	}
	var terms []string
	for _, t := range o.Terms {
		terms = append(terms, whose(t.Kind, t.Name)+amount(t.OTicket)+over(t.Jobs))
	}
	return "otckt = " + strings.Join(terms, " + ") + " = " + amount(c.OTckt) + o.Turn.words()
}

// functional says where ftckt comes from.
func (c *Course) functional() string {
	f := &c.Functional
	if f.Why != "" {
		return "ftckt = 0: " + f.Why
	}
	var terms []string
	for _, t := range f.Terms {
		terms = append(terms, fmt.Sprintf("%s * %s%s%s / %s", fraction(t.Weight), whose(t.Kind, t.Name), amount(t.FShare), over(t.Jobs), amount(t.Sum)))
	}
	note := f.Turn.words()
	if f.Trial {
		note = fmt.Sprintf(" (left over: max_functional_jobs_to_schedule, %d, others were served first; the first of its kind would have got this)", f.Turn.Of)
	}
	return fmt.Sprintf("ftckt = tickets * sum of (weight * share / jobs / shares of all) = %s * (%s) = %s%s",
		amount(f.Pool), strings.Join(terms, " + "), amount(c.FTckt), note)
}

// tree says where stckt comes from.
func (c *Course) tree() string {
	s := &c.ShareTree
	if s.Why != "" {
		return "stckt = 0: " + s.Why
	}
	what, by := "place there", " / "+amount(s.Divisor)
	switch {
	case s.JobShares > 0:
		what = "shares of the jobs there * its own, whole"
		by = fmt.Sprintf(" / %s * %s", amount(s.JobShares), amount(s.JobShare))
	case c.Running:
		what = "jobs that run there"
	}
	return fmt.Sprintf("stckt = tickets * short-term target of %s / %s = %s * %s%s = %s", ending(s.Branch), what, amount(s.Pool), fraction(s.Target), by, amount(c.STckt))
}

// table has the nodes on the way to a job's node with what makes their targets: long-term is
// shares / of, x is shares^2 / usage, and short-term is x / of. The totals are the products from
// the top on.
func (s *TreeCourse) table() []string {
	if len(s.Levels) == 0 {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  node\tshares\tof\tlong-term\ttotal\tusage\tx\tof\tshort-term\ttotal\n")
	for _, l := range s.Levels {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s%s\t%s\t%s\t%s\n", ending(l.Path), amount(l.Shares), amount(l.AllShares), normal(l.LongTarget), normal(l.TotalLong),
			amount(l.Usage), weighed(l.Weight), l.cut(), weighed(l.AllWeights), normal(l.ShortTarget), normal(l.TotalShort))
	}
	w.Flush()
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// longestPath is how much of a node's path a table shows, in bytes: each level of a tree has a
// longer one, and all are as wide as the longest.
const longestPath = 120

// ending returns a path, without its beginning if it is long.
func ending(path string) string {
	if len(path) <= longestPath {
		return path
	}
	return "..." + strings.ToValidUTF8(path[len(path)-longestPath:], "")
}

// weighed writes x, or a sum of it: six digits, as it may be of any size.
func weighed(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// cut says how the compensation factor divided x.
func (l *TreeLevel) cut() string {
	if l.Cut == 1 {
		return ""
	}
	return ", cut by " + amount(l.Cut)
}

// words says when a job was served.
func (t Turn) words() string {
	if t.Place == 0 {
		return ""
	}
	return fmt.Sprintf(" (number %d of %d to be served)", t.Place, t.Of)
}

// whose names the object of a number, to stand before it.
func whose(kind, name string) string {
	if name == "" {
		return kind + " "
	}
	return kind + " " + name + " "
}

// over divides by the jobs that share something.
func over(jobs int) string {
	if jobs == 1 {
		return ""
	}
	return " / " + strconv.Itoa(jobs)
}

// fraction writes a part of all tickets, so exactly that their number comes out.
func fraction(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

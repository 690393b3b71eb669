// Package cycle words for people the decisions of a negotiation cycle: its tables and reasons,
// differences from another cycle, all about one job, and mail about the ends of jobs.
package cycle

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/elapsed"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// How much of a list is printed. -json has all of it.
const (
	mostRows  = 50 // of a table of matches
	mostLines = 10 // of other lists
	mostNames = 2  // in a cell
)

// Outcome is the decision of a cycle, made or foreseen.
type Outcome struct {
	Plan    *negotiator.Plan
	Pool    negotiator.Pool // that it was computed on
	View    *spool.View     // of the spool then
	Now     time.Time
	Reserve time.Duration // RESERVE_MAX_TIME
	Steps   int           // MAX_STEPS_PER_OWNER
}

// Done writes the results of the cycle from its report.
func (d Outcome) Done(w io.Writer, all report.Document) error {
	r := all.Report
	var did report.Policy
	if all.Policy != nil {
		did = *all.Policy
	}
	headline(w, r, d.Plan, "")
	if line := did.Line(); line != "" {
		fmt.Fprintln(w, line)
	}
	d.tellPutOff(w, did)
	if err := showPreempted(w, d.Plan, plural.Pick(preempted(d.Plan), "is", "are")); err != nil {
		return err
	}
	showReserved(w, d.Plan)
	if err := show(w, r); err != nil || len(r.Rejections) == 0 {
		return err
	}
	for _, a := range all.Asked {
		fmt.Fprintln(w, a)
	}
	for _, m := range all.Missed {
		fmt.Fprintln(w, m)
	}
	return nil
}

// Foreseen writes what the cycle would do; r is its report.
func (d Outcome) Foreseen(w io.Writer, r negotiator.Report) error {
	headline(w, r, d.Plan, "would be ")
	if err := d.showMatches(w); err != nil {
		return err
	}
	if err := showPreempted(w, d.Plan, "would be"); err != nil {
		return err
	}
	given := givenUp(d.Plan)
	showLines(w, plural.Noun(len(given), "claim")+" would be given up, as no starter came in time", given)
	d.showReservations(w)
	return show(w, r)
}

var columns = []table.Column{
	{Head: "Submitter"}, {Head: "EUP (lower is better)", Right: true}, {Head: "Pie Slice", Right: true},
	{Head: "Limit", Right: true}, {Head: "Idle", Right: true}, {Head: "Matched", Right: true},
}

// queueColumns are the columns under a policy with one queue of all jobs, with the place of
// the first remaining job.
var queueColumns = []table.Column{
	{Head: "Submitter"}, {Head: "First Left", Right: true}, {Head: "Place in Queue", Right: true}, {Head: "Priority (higher goes first)", Right: true},
	{Head: "Idle", Right: true}, {Head: "Matched", Right: true},
}

// headline sums up the cycle in a line, or says why there is nothing to sum up; would is
// empty, or "would be ".
func headline(w io.Writer, r negotiator.Report, plan *negotiator.Plan, would string) {
	leave := ""
	if n := preempted(plan); n > 0 {
		leave = fmt.Sprintf(", %s %spreempted", plural.Count(n, "job"), would)
	}
	fmt.Fprintf(w, "Cycle %d: %d %s %smatched%s, %d of %d %s free.\n",
		r.Cycle, len(r.Matches), plural.Noun(len(r.Matches), "job"), would, leave, plan.Candidates, r.Slots, plural.Noun(r.Slots, "slot"))
	if len(r.Submitters) == 0 {
		fmt.Fprintln(w, "No job is waiting, and no slot is in use.")
	}
	switch {
	case r.Slots > 0:
	case leftOut(r):
		fmt.Fprintln(w, "NEGOTIATOR_SLOT_CONSTRAINT leaves out all slots of the pool.")
	default:
		fmt.Fprintln(w, "The pool has no slots: advertise some with slots advertise or slots detect.")
	}
}

// leftOut reports whether NEGOTIATOR_SLOT_CONSTRAINT leaves out slots, as far as jobs wait for
// some.
func leftOut(r negotiator.Report) bool {
	return slices.ContainsFunc(r.Autoclusters, func(a negotiator.Analysis) bool {
		return slices.ContainsFunc(a.Steps, func(s negotiator.Step) bool { return s.Cause == negotiator.CauseSlotConstraint })
	})
}

// show prints the shares, quotas and rejections for people.
func show(w io.Writer, r negotiator.Report) error {
	shares := showShares
	if r.Policy != "" {
		shares = showQueue
	}
	if err := shares(w, r); err != nil {
		return err
	}
	if err := showGroups(w, r.Groups); err != nil {
		return err
	}
	told := slices.DeleteFunc(slices.Clone(r.Rejections), func(x negotiator.ReportedRejection) bool {
		return x.Cause == negotiator.CauseSteps // tellPutOff has said so of all
	})
	if len(told) > 0 {
		fmt.Fprintln(w)
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
			fmt.Fprintf(w, "%s of %s%s: %s\n", x.Job, x.Submitter, standing, x.Reason)
			continue
		}
		fmt.Fprintf(w, "%s and %d more like it of %s%s: %s\n", x.Job, x.Count-1, x.Submitter, standing, x.Reason)
	}
	return nil
}

// showShares prints a line for each submitter, if there are any.
func showShares(w io.Writer, r negotiator.Report) error {
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
	fmt.Fprintln(w)
	return table.Write(w, columns, rows)
}

// showQueue prints the same line under a policy with one queue. The submitter of the first job
// comes first.
func showQueue(w io.Writer, r negotiator.Report) error {
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
	fmt.Fprintln(w)
	return table.Write(w, queueColumns, rows)
}

// priority words a priority in the queue.
func priority(x *float64) string {
	if x == nil {
		return "-"
	}
	return negotiator.PriorityText(*x)
}

var quotaColumns = []table.Column{
	{Head: "Group"}, {Head: "Config Quota", Right: true}, {Head: "Effective Quota", Right: true}, {Head: "Subtree Quota", Right: true},
	{Head: "Use", Right: true}, {Head: "Surplus", Right: true}, {Head: "Demand", Right: true},
}

// showGroups prints what groups may use, use and want, if any of them has a quota: each
// group behind the one that it is in, and further to the right.
func showGroups(w io.Writer, groups []negotiator.Group) error {
	if !bounded(groups) {
		return nil
	}
	var rows [][]string
	for _, p := range inTreeOrder(groups) {
		g := groups[p.at]
		rows = append(rows, append([]string{strings.Repeat("  ", p.depth) + g.Name}, quotasOf(g).cells()...))
	}
	fmt.Fprintln(w)
	return table.Write(w, quotaColumns, rows)
}

// bounded reports whether any group has a quota.
func bounded(groups []negotiator.Group) bool {
	return slices.ContainsFunc(groups, func(g negotiator.Group) bool { return g.ConfigQuota > 0 })
}

// placed is the index of a group, and how deep in the tree it is.
type placed struct{ at, depth int }

// inTreeOrder returns groups in the order of their tree, each before the groups in it.
func inTreeOrder(groups []negotiator.Group) []placed {
	at, in := map[string]int{}, make([][]int, len(groups))
	var tops []int
	for i, g := range groups {
		name := strings.ToLower(g.Name)
		at[name] = i
		parent := -1
		for dot := strings.LastIndexByte(name, '.'); dot >= 0 && parent < 0; dot = strings.LastIndexByte(name, '.') {
			name = name[:dot]
			if p, known := at[name]; known {
				parent = p
			}
		}
		if parent < 0 {
			tops = append(tops, i)
		} else {
			in[parent] = append(in[parent], i)
		}
	}
	var line []placed
	var next []placed // the last one first
	push := func(list []int, depth int) {
		for _, i := range slices.Backward(list) {
			next = append(next, placed{i, depth})
		}
	}
	push(tops, 0)
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		line = append(line, p)
		push(in[p.at], p.depth+1)
	}
	return line
}

// procsText lists the first of some procs, and how many jobs there are besides.
func procsText(list []pool.Procs) string {
	var words []string
	rest := 0
	for i, p := range list {
		if i < mostNames {
			words = append(words, p.String())
			continue
		}
		rest += p.Count()
	}
	return strings.Join(words, ", ") + andMore(rest)
}

// namesText lists the first of some names, and how many there are besides.
func namesText(list []string) string {
	shown := list[:min(len(list), mostNames)]
	return strings.Join(shown, ", ") + andMore(len(list)-len(shown))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

var preemptColumns = []table.Column{
	{Head: "Job", Right: true}, {Head: "Submitter"}, {Head: "Slot"}, {Head: "Preempts", Right: true}, {Head: "Of"}, {Head: "By"}, {Head: "Work Lost", Right: true},
}

// showPreempted prints which job has to leave for which other one, and the lost work.
func showPreempted(w io.Writer, plan *negotiator.Plan, verb string) error {
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
	fmt.Fprintln(w)
	if err := table.Write(w, preemptColumns, rows); err != nil {
		return err
	}
	if n := all - len(rows); n > 0 {
		fmt.Fprintf(w, "and %d more: -json has them all\n", n)
	}
	fmt.Fprintf(w, "%s %s preempted; work lost, in slot weight times the time they ran: %s.\n", plural.Count(all, "job"), verb, work(lost))
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

// eupsOf returns the EUPs of all submitters that want or use something.
func eupsOf(plan *negotiator.Plan) map[string]float64 {
	eups := make(map[string]float64, len(plan.Submitters))
	for _, s := range plan.Submitters {
		eups[s.Name] = s.EffectivePriority
	}
	return eups
}

// rule names the rule by which a job has to leave for another.
func rule(m negotiator.Match, eups map[string]float64) string {
	if m.Reason != negotiator.PriorityPreemption {
		return "Rank"
	}
	new, old := unlike(eups[m.Submitter], eups[m.Preempts.Submitter])
	return fmt.Sprintf("EUP %s before %s", new, old)
}

// sentence says which job a match preempts, and why.
func sentence(m negotiator.Match, eups map[string]float64) string {
	return fmt.Sprintf("%s of %s has to leave for it: %s", nameOr(m.Preempts.Name(), "The job"), m.Preempts.Submitter, because(m, eups))
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

// showReserved prints the reservations that a cycle leaves.
func showReserved(w io.Writer, plan *negotiator.Plan) {
	var held, over []string
	for _, r := range plan.Reservations {
		if r.GivenUp {
			over = append(over, keptFor(r.Reservation))
		} else {
			held = append(held, kept(r))
		}
	}
	showLines(w, plural.Noun(len(held), "slot")+plural.Pick(len(held), " is", " are")+" reserved", held)
	showGivenUp(w, over)
}

// showGivenUp prints the reservations that lasted too long.
func showGivenUp(w io.Writer, over []string) {
	showLines(w, plural.Noun(len(over), "reservation")+plural.Pick(len(over), " is", " are")+" given up, after RESERVE_MAX_TIME", over)
}

// showReservations prints how a dry run changes the reservations.
func (d Outcome) showReservations(w io.Writer) {
	begin, end, over := reservations(d.Pool.Reservations, d.Plan.Reservations, func(r pool.Reservation) bool { return d.Now.Sub(time.Unix(r.Since, 0)) >= d.Reserve })
	showLines(w, plural.Noun(len(begin), "slot")+" would be reserved", begin)
	showLines(w, plural.Noun(len(end), "slot")+" would be reserved no longer", end)
	showGivenUp(w, over)
}

// reservations words the reservations that begin, that end, and that are given up. An old
// one of before may have been given up earlier, and does not end then.
func reservations(before []pool.Reservation, after []negotiator.Reserved, old func(pool.Reservation) bool) (begin, end, over []string) {
	type key struct {
		slot string
		job  pool.JobID
	}
	had, has := map[key]bool{}, map[key]bool{}
	for _, r := range before {
		had[key{r.Slot, r.Job}] = true
	}
	for _, r := range after {
		has[key{r.Slot, r.Job}] = true
		switch {
		case r.GivenUp:
			over = append(over, keptFor(r.Reservation))
		case !had[key{r.Slot, r.Job}]:
			begin = append(begin, kept(r))
		}
	}
	for _, r := range slices.SortedFunc(slices.Values(before), pool.Reservation.Compare) {
		if !has[key{r.Slot, r.Job}] && !old(r) {
			end = append(end, keptFor(r))
		}
	}
	return begin, end, over
}

// kept words a reservation that is in force.
func kept(r negotiator.Reserved) string {
	return keptFor(r.Reservation) + ": it has " + r.Lacks + " requested"
}

func keptFor(r pool.Reservation) string {
	return fmt.Sprintf("%s for %v of %s", r.Slot, r.Job, r.Submitter)
}

// tellPutOff prints, for each owner whose expressions took too many steps, with which of its
// jobs the next cycle begins.
func (d Outcome) tellPutOff(w io.Writer, did report.Policy) {
	for _, x := range []struct {
		list []negotiator.ReportedPutOff
		what string
	}{{did.PutOff, "the policies of %s"}, {d.Plan.Report(0, epoch).PutOff, "%s"}} {
		for _, p := range x.list {
			fmt.Fprintf(w, "Put off to the next cycle: "+x.what+", from %s on: the expressions of %s's jobs took all of their steps (MAX_STEPS_PER_OWNER = %d).\n",
				plural.Count(p.Jobs, "job"), p.First, p.Owner, d.Steps)
		}
	}
}

package negotiate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/machine"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// dry is what a cycle would do, and what it would do after changes.
type dry struct {
	number  int    // that the cycle would have
	world   *world // after the changes
	plan    *negotiator.Plan
	changes []change
	after   *negotiator.Plan // nil without changes
	asked   []pool.Procs     // that -explain asks about
}

// look computes the cycle as of now, and again after the changes of -what-if, and
// tells of it. It writes nothing.
func look(c *cmdline.Call) error {
	changes, err := readChanges(c)
	if err != nil {
		return err
	}
	job, err := askedFor(c)
	if err != nil {
		return err
	}
	if c.OwnJobsOnly() && (job == nil || len(changes) > 0) {
		return errors.New("shows what becomes of all users' jobs, and QUEUE_VISIBLE = \"own\": see your own with negotiate -explain JOB or qstat -start, or ask an administrator")
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	last, err := lastCycle(c, s, "cycles count from 1 again")
	if err != nil {
		return err
	}
	d := dry{number: last.Cycle + 1, changes: changes}
	if job != nil {
		d.asked = job.procs()
	}
	domain := s.Domain()
	return s.View(func(v *spool.View) error {
		if job != nil && c.OwnJobsOnly() && !job.listed(v.Listed()) {
			return fmt.Errorf("%s: not in the queue", job.written)
		}
		if err := d.compute(c, v, domain); err != nil {
			return err
		}
		policyFirst(c, v, c.Now)
		notYetMade(c, v)
		if err := machine.ForeseeServing(c, s, v); err != nil {
			return err
		}
		switch {
		case job != nil:
			return job.tell(c, d)
		case len(changes) > 0:
			return tellDifference(c, d)
		}
		return tellDry(c, d)
	})
}

// compute runs the cycles, and gives their warnings, each once.
func (d *dry) compute(c *cmdline.Call, v *spool.View, domain string) error {
	beside := registry.Of(c.Config).Beside(c.Config)
	if len(d.changes) > 0 {
		beside = policy.Beside{Running: true, Held: true} // a change may make them count
	}
	seen := see(c, v, domain, c.Config.Params, beside)
	now := newWorld(c, v, seen, domain)
	d.world = now
	if len(d.changes) > 0 {
		d.world = newWorld(c, v, seen, domain)
		now.compared, d.world.compared = true, true
	}
	now.asked, d.world.asked = d.asked, d.asked
	for _, ch := range d.changes {
		if err := ch.apply(d.world); err != nil {
			return ofChange(ch.text, err)
		}
	}
	var err error
	if d.plan, err = now.cycle(); err != nil {
		return err
	}
	warnOfConfig(c)
	for _, w := range d.plan.Warnings {
		c.Warn("%s", w)
	}
	if len(d.changes) == 0 {
		return nil
	}
	if d.after, err = d.world.cycle(); err != nil {
		return err
	}
	known := slices.Concat(now.Config.Warnings, d.plan.Warnings)
	for _, w := range slices.Concat(d.world.Config.Warnings, d.after.Warnings) {
		if !slices.Contains(known, w) {
			c.Warn("after the changes: %s", w)
		}
	}
	return nil
}

// How much of a list is printed. -json has all of it.
const (
	mostRows  = 50 // of a table of matches
	mostLines = 10 // of other lists
	mostNames = 2  // in a cell
)

// tellDry prints what the cycle would do.
func tellDry(c *cmdline.Call, d dry) error {
	report := d.plan.Report(d.number, c.Now)
	switch {
	case c.Has("json"):
		return c.JSON(report)
	case c.Has("q"):
		return nil
	}
	headline(c, report, d.plan, "would be ")
	if err := showMatches(c, d.plan, d.world); err != nil {
		return err
	}
	if err := showPreempted(c, d.plan, "would be"); err != nil {
		return err
	}
	given := givenUp(d.plan)
	showLines(c, plural.Noun(len(given), "claim")+" would be given up, as no starter came in time", given)
	showReservations(c, d.world.Pool.Reservations, d.plan, c.Config.Cycle.Reserve.Time)
	return show(c, report, d.plan)
}

// showLines prints a list, as far as it is short, under a heading that begins with
// how many there are.
func showLines(c *cmdline.Call, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(c.Stdout, "\n%d %s:\n", len(lines), heading)
	for _, l := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintf(c.Stdout, "  %s\n", l)
	}
	if n := len(lines) - mostLines; n > 0 {
		fmt.Fprintf(c.Stdout, "  and %d more\n", n)
	}
}

// givenUp words the matches that nobody took up.
func givenUp(plan *negotiator.Plan) []string {
	var lines []string
	for _, cl := range plan.GiveUp {
		lines = append(lines, fmt.Sprintf("%v of %s on %s, matched at %s", cl.Job, cl.Submitter, cl.Slot, moment(cl.MatchedAt)))
	}
	return lines
}

// matched is a line of the table of matches: those of one submitter that take the
// same.
type matched struct {
	submitter, takes string
	weight           accountant.Weight
	jobs             []pool.Procs
	slots            []string
}

var matchColumns = []cmdline.Column{
	{Head: "Submitter"}, {Head: "Jobs", Right: true}, {Head: "Weight", Right: true}, {Head: "Each Takes"}, {Head: "Which Jobs"}, {Head: "Which Slots"},
}

// showMatches prints the matches, those of a submitter that take the same in a line.
func showMatches(c *cmdline.Call, plan *negotiator.Plan, w *world) error {
	lines := groupMatches(plan, w)
	if len(lines) == 0 {
		return nil
	}
	var rows [][]string
	for _, m := range lines[:min(len(lines), mostRows)] {
		rows = append(rows, []string{
			m.submitter, strconv.Itoa(len(m.slots)), fmt.Sprintf("%.2f", m.weight.Float()), m.takes, procsText(m.jobs), namesText(m.slots),
		})
	}
	fmt.Fprintln(c.Stdout)
	if err := c.Table(matchColumns, rows); err != nil {
		return err
	}
	if n := len(lines) - mostRows; n > 0 {
		rest := 0
		for _, m := range lines[mostRows:] {
			rest += len(m.slots)
		}
		fmt.Fprintf(c.Stdout, "and %d more lines like these, of %s: -json has them all\n", n, plural.Count(rest, "job"))
	}
	return nil
}

// groupMatches returns the lines, by submitter in the order of negotiation, then by
// number.
func groupMatches(plan *negotiator.Plan, w *world) []*matched {
	takes := w.takes(plan.Matches)
	type key struct{ submitter, takes string }
	by := map[key]*matched{}
	var lines []*matched
	for _, m := range plan.Matches {
		k := key{m.Submitter, takes(m)}
		if by[k] == nil {
			by[k] = &matched{submitter: k.submitter, takes: k.takes}
			lines = append(lines, by[k])
		}
		line := by[k]
		line.weight += m.Weight
		line.slots = append(line.slots, m.Slot)
		line.jobs = append(line.jobs, pool.Only(m.Job))
	}
	order := map[string]int{}
	for i, s := range plan.Submitters {
		order[s.Name] = i
	}
	for _, line := range lines {
		slices.SortFunc(line.slots, pool.CompareNames)
		line.jobs = pool.JoinProcs(line.jobs)
	}
	slices.SortStableFunc(lines, func(a, b *matched) int {
		return cmp.Or(cmp.Compare(order[a.submitter], order[b.submitter]), cmp.Compare(len(b.slots), len(a.slots)), strings.Compare(a.takes, b.takes))
	})
	return lines
}

// takes returns a function that words what a match takes: the piece, or what a
// whole slot has.
func (w *world) takes(matches []negotiator.Match) func(negotiator.Match) string {
	whole := map[string]string{}
	for _, m := range matches {
		if m.Piece.Of == "" {
			whole[m.Slot] = ""
		}
	}
	for _, s := range w.Pool.Slots {
		if _, ok := whole[s.Name]; !ok {
			continue
		}
		var amounts []pool.Amount
		for _, name := range []string{pool.AttrCpus, pool.AttrMemory} {
			if x, ok := s.Ad.EvalNumber(&classad.Context{Now: w.Now}, name); ok {
				amounts = append(amounts, pool.Amount{Name: name, Of: x})
			}
		}
		whole[s.Name] = string(pool.ResourcesOf(amounts))
	}
	return func(m negotiator.Match) string {
		if m.Piece.Of != "" {
			return string(m.Piece.Takes)
		}
		return whole[m.Slot]
	}
}

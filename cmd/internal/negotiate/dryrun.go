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
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// inquiry is what a look is asked for.
type inquiry struct {
	*cmdline.Call
	domain  string
	number  int        // that the cycle would have
	job     *explained // that -explain asks about; nil: none
	changes []change
}

// dry is what a cycle would do.
type dry struct {
	*cmdline.Call // with the configuration that it goes by
	view          *spool.View
	pool          negotiator.Pool
	plan          *negotiator.Plan
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
	q := inquiry{c, s.Domain(), last.Cycle + 1, job, changes}
	return s.View(func(v *spool.View) error {
		if job != nil && c.OwnJobsOnly() && !job.listed(v.Listed()) {
			return fmt.Errorf("%s: not in the queue", job.written)
		}
		seen := see(c, v, q.domain)
		warnOf(c, seen)
		if !seen.Misspelt(c.Config.Groups) {
			return q.answer(v, seen)
		}
		fork := v.Fork()
		if err := respell(c, fork, c.Config.Params); err != nil {
			return err
		}
		return fork.View(func(v *spool.View) error { return q.answer(v, see(c, v, q.domain)) })
	})
}

// answer makes the changes, computes the cycles, and tells of them.
func (q inquiry) answer(v *spool.View, seen lifecycle.Snapshot) error {
	if len(q.changes) == 0 {
		d, err := q.cycle(q.Call, v, seen)
		if err != nil {
			return err
		}
		return q.tell(d, d)
	}
	w := newWorld(q.Call, v)
	for _, ch := range q.changes {
		if err := w.make(ch); err != nil {
			return ofChange(ch.text, err)
		}
	}
	now, err := q.cycle(q.Call, v, seen)
	if err != nil {
		return err
	}
	return w.fork.View(func(v *spool.View) error {
		after, err := q.cycle(w.Call, v, see(w.Call, v, q.domain))
		if err != nil {
			return err
		}
		return q.tell(now, after)
	})
}

// cycle computes a cycle on a snapshot of a view, under the call's configuration.
func (q inquiry) cycle(c *cmdline.Call, v *spool.View, seen lifecycle.Snapshot) (dry, error) {
	cfg, err := lifecycle.CycleConfig(c.Config)
	if err != nil {
		return dry{}, err
	}
	if cfg.Standings = len(q.changes) > 0; q.job != nil {
		cfg.Explain = q.job.procs()
	}
	return dry{c, v, seen.Pool, compute(c, v, seen, cfg)}, nil
}

// tell tells of the cycle as of now and the one after the changes, which is the same without any. The
// warnings of both are given once.
func (q inquiry) tell(now, after dry) error {
	warnOfConfig(now.Call)
	for _, w := range now.plan.Warnings {
		q.Warn("%s", w)
	}
	known := slices.Concat(now.Config.Warnings, now.plan.Warnings)
	for _, w := range slices.Concat(after.Config.Warnings, after.plan.Warnings) {
		if !slices.Contains(known, w) {
			q.Warn("after the changes: %s", w)
		}
	}
	policyFirst(q.Call, now.view, q.Now)
	notYetMade(q.Call, now.view)
	s, err := q.Spool()
	if err == nil {
		err = machine.ForeseeServing(q.Call, s, now.view)
	}
	switch {
	case err != nil:
		return err
	case q.job != nil:
		return q.job.tell(now, after)
	case len(q.changes) > 0:
		return q.tellDifference(now.plan, after.plan)
	}
	return q.tellDry(now)
}

// How much of a list is printed. -json has all of it.
const (
	mostRows  = 50 // of a table of matches
	mostLines = 10 // of other lists
	mostNames = 2  // in a cell
)

// tellDry prints what the cycle would do.
func (q inquiry) tellDry(d dry) error {
	c, report := q.Call, d.plan.Report(q.number, q.Now)
	switch {
	case c.Has("json"):
		return c.JSON(report)
	case c.Has("q"):
		return nil
	}
	headline(c, report, d.plan, "would be ")
	if err := d.showMatches(); err != nil {
		return err
	}
	if err := showPreempted(c, d.plan, "would be"); err != nil {
		return err
	}
	given := givenUp(d.plan)
	showLines(c, plural.Noun(len(given), "claim")+" would be given up, as no starter came in time", given)
	showReservations(c, d.pool.Reservations, d.plan, c.Config.Cycle.Reserve.Time)
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
func (d dry) showMatches() error {
	c, lines := d.Call, d.groupMatches()
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
func (d dry) groupMatches() []*matched {
	plan, takes := d.plan, d.takes()
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
func (d dry) takes() func(negotiator.Match) string {
	whole := map[string]string{}
	for _, m := range d.plan.Matches {
		if m.Piece.Of == "" {
			whole[m.Slot] = ""
		}
	}
	for _, s := range d.pool.Slots {
		if _, ok := whole[s.Name]; !ok {
			continue
		}
		var amounts []pool.Amount
		for _, name := range []string{pool.AttrCpus, pool.AttrMemory} {
			if x, ok := s.Ad.EvalNumber(&classad.Context{Now: d.Now}, name); ok {
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

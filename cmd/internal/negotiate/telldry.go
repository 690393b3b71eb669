package negotiate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

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

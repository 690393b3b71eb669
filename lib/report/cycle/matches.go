package cycle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
)

// showLines prints a list, as far as it is short, under a heading that begins with
// how many there are.
func showLines(w io.Writer, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%d %s:\n", len(lines), heading)
	for _, l := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintf(w, "  %s\n", l)
	}
	if n := len(lines) - mostLines; n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
}

// givenUp words the matches that no starter took up.
func givenUp(plan *negotiator.Plan) []string {
	var lines []string
	for _, cl := range plan.GiveUp {
		lines = append(lines, fmt.Sprintf("%v of %s on %s, matched at %s", cl.Job, cl.Submitter, cl.Slot, report.Moment(cl.MatchedAt)))
	}
	return lines
}

// matched is a line of the table of matches: one submitter's matches with equal
// resources.
type matched struct {
	submitter, takes string
	weight           accountant.Weight
	jobs             []pool.Procs
	slots            []string
}

var matchColumns = []table.Column{
	{Head: "Submitter"}, {Head: "Jobs", Right: true}, {Head: "Weight", Right: true}, {Head: "Each Takes"}, {Head: "Which Jobs"}, {Head: "Which Slots"},
}

// showMatches prints the matches. Those of a submitter with equal resources share a line.
func (d Outcome) showMatches(w io.Writer) error {
	lines := d.groupMatches()
	if len(lines) == 0 {
		return nil
	}
	var rows [][]string
	for _, m := range lines[:min(len(lines), mostRows)] {
		rows = append(rows, []string{
			m.submitter, strconv.Itoa(len(m.slots)), fmt.Sprintf("%.2f", m.weight.Float()), m.takes, procsText(m.jobs), namesText(m.slots),
		})
	}
	fmt.Fprintln(w)
	if err := table.Write(w, matchColumns, rows); err != nil {
		return err
	}
	if n := len(lines) - mostRows; n > 0 {
		rest := 0
		for _, m := range lines[mostRows:] {
			rest += len(m.slots)
		}
		fmt.Fprintf(w, "and %d more lines like these, of %s: -json has them all\n", n, plural.Count(rest, "job"))
	}
	return nil
}

// groupMatches returns the lines, by submitter in the order of negotiation, then by
// number.
func (d Outcome) groupMatches() []*matched {
	plan, takes := d.Plan, d.takes()
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

// takes returns a function that words the resources of a match: the piece, or the whole
// slot.
func (d Outcome) takes() func(negotiator.Match) string {
	whole := map[string]string{}
	for _, m := range d.Plan.Matches {
		if m.Piece.Of == "" {
			whole[m.Slot] = ""
		}
	}
	for _, s := range d.Pool.Slots {
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

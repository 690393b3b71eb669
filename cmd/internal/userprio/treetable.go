package userprio

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/sge"
)

var treeColumns = []cmdline.Column{
	{Head: "Node"}, {Head: "Shares", Right: true}, {Head: "Long %", Right: true}, {Head: "of all", Right: true},
	{Head: "Usage", Right: true}, {Head: "Actual %", Right: true}, {Head: "Short %", Right: true}, {Head: "of all", Right: true},
	{Head: "Running", Right: true}, {Head: "Waiting", Right: true}, {Head: "Remark"},
}

// print writes the nodes as a table below a line that says of when and of what it is.
func (v treeView) print(c *cmdline.Call) error {
	if v.Inert != "" {
		if _, err := fmt.Fprintf(c.Stdout, "the share tree decides nothing: %s\n", v.Inert); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "share tree as of %s; weight_tickets_share %s, compensation_factor %s, halftime %s h\n", c.Now.Format(edit.ToSecond),
		exact(v.TicketsShare), exact(v.CompensationFactor), exact(v.HalfTime))
	if err != nil {
		return err
	}
	cells := make([][]string, len(v.Nodes))
	for i, n := range v.Nodes {
		cells[i] = treeCells(n)
	}
	return c.Table(treeColumns, cells)
}

// exact writes a number of the configuration.
func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// deepest is how many levels names are moved to the right for. A hostile tree may have
// thousands, and all lines are as wide as the widest.
const deepest = 30

func treeCells(n sge.TreeNode) []string {
	name := n.Name
	if n.Level == 0 {
		name = n.Path
	}
	return []string{
		strings.Repeat("  ", min(n.Level, deepest)) + name, exact(n.Shares), target(n, n.LongTarget), target(n, n.TotalLong),
		amount(n.Usage), percentage(n.Actual), target(n, n.ShortTarget), target(n, n.TotalShort),
		strconv.Itoa(n.Running), strconv.Itoa(n.Pending), remark(n),
	}
}

// target writes a target; without jobs there is none.
func target(n sge.TreeNode, part float64) string {
	if n.Pending+n.Running == 0 {
		return "-"
	}
	return percentage(part)
}

func percentage(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) }

// remark says what kind of node it is, and what was done to its target.
func remark(n sge.TreeNode) string {
	var list []string
	if n.Project {
		list = append(list, "project")
	}
	if n.Temporary {
		list = append(list, "by default")
	}
	if n.Compensated {
		list = append(list, "compensated")
	}
	return strings.Join(list, ", ")
}

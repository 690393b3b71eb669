package accounts

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	gridengine "fairspool/lib/policy/sge"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// NamesOn returns the names on the path of a node: naming one of them names all below it.
func NamesOn(n sge.TreeNode) []string {
	if n.Level == 0 {
		return []string{n.Name}
	}
	return strings.Split(n.Path[1:], "/")
}

// TreeNodes returns the nodes of the share tree as the jobs of a view have it. Usage is looked up
// though the tree may give no tickets.
func TreeNodes(c *config.Config, now time.Time, v *spool.View, domain string, barring lifecycle.Barring) []sge.TreeNode {
	from := lifecycle.SourcesOf(v, now)
	w := gridengine.World(c, from)
	w.Used = sge.UsedOf(from.Tallies(), c.Decay, from.Now)
	q := sge.NewQueue(gridengine.Settings(c), w)
	seen := lifecycle.TakeSnapshot(v, domain, c.Groups, policy.Beside{Running: true})
	return q.Listing(waitingOf(&classad.Context{Now: now}, seen.Pool, q.Attributes(), barring)).Ranking().Tree()
}

// waitingOf returns the jobs of a pool as the policy sees them: idle jobs without a claim,
// and jobs with one. If a deciding attribute is an expression that differs between procs,
// each proc stands alone. Barred jobs are left out.
func waitingOf(c *classad.Context, p negotiator.Pool, attributes []string, barring lifecycle.Barring) jobprio.Waiting {
	w := jobprio.Waiting{Running: p.Running}
	claimed := map[int][]int{} // procs by cluster
	for _, claim := range p.Claims {
		claimed[claim.Job.Cluster] = append(claimed[claim.Job.Cluster], claim.Job.Proc)
	}
	names := make([]*classad.Name, len(attributes))
	for i, name := range attributes {
		names[i] = classad.NewName(name)
	}
	for _, procs := range claimed {
		slices.Sort(procs)
	}
	for _, j := range p.Jobs {
		w.Idle = appendUnclaimed(w.Idle, j, claimed[j.Cluster], func(run spool.Run) bool {
			return barring.TellsApart(run) || slices.ContainsFunc(names, func(n *classad.Name) bool { return tellsApart(run, n) })
		})
	}
	w.Idle = slices.DeleteFunc(w.Idle, func(r jobprio.Run) bool {
		return barring.Bars(c, spool.Run{Procs: r.Procs, Ad: r.Ad}, r.First)
	})
	return w
}

// appendUnclaimed appends the procs of a job but those that are claimed, which are ascending:
// each alone where something tells them apart.
func appendUnclaimed(list []jobprio.Run, j jobprio.Run, claimed []int, apart func(spool.Run) bool) []jobprio.Run {
	at := j.First
	end := at + j.Count()
	alone := apart(spool.Run{Procs: pool.Procs{Cluster: j.Cluster, First: at, Last: end - 1}, Ad: j.Ad})
	from, _ := slices.BinarySearch(claimed, at)
	for _, proc := range claimed[from:] {
		if proc >= end {
			break
		}
		list = appendRun(list, j, at, proc, alone)
		at = proc + 1
	}
	return appendRun(list, j, at, end, alone)
}

// tellsApart reports whether an attribute of a run is an expression that procs have different
// values of.
func tellsApart(run spool.Run, n *classad.Name) bool {
	_, e, ok := run.Ad.Get(n)
	return ok && e != nil && run.TellsApart(e)
}

// appendRun appends the procs of a job from one to before another, if there are any: as one
// run, or each alone.
func appendRun(list []jobprio.Run, j jobprio.Run, from, end int, alone bool) []jobprio.Run {
	step := end - from
	if alone {
		step = 1
	}
	for ; from < end; from += step {
		ad := spool.Run{Ad: j.Ad}.Proc(from)
		list = append(list, jobprio.Run{Procs: pool.Procs{Cluster: j.Cluster, First: from, Last: from + step - 1}, Submitter: j.Submitter, Ad: ad})
	}
	return list
}

// Tree is what -tree shows, as its JSON has it.
type Tree struct {
	AsOf               int64   // Unix seconds
	Inert              string  `json:",omitempty"` // why the tree decides nothing
	TicketsShare       float64 `json:"weight_tickets_share"`
	CompensationFactor float64 `json:"compensation_factor"`
	HalfTime           float64 `json:"halftime"` // hours
	Nodes              []sge.TreeNode

	at time.Time
}

// TreeOf returns the tree of nodes as of now.
func TreeOf(c *config.Config, now time.Time, nodes []sge.TreeNode) Tree {
	return Tree{
		AsOf: now.Unix(), at: now, Inert: gridengine.Inert(c),
		TicketsShare: gridengine.Settings(c).TicketsShare, CompensationFactor: gridengine.Settings(c).Compensation, HalfTime: c.Decay.HalfTime.Hours(),
		Nodes: append([]sge.TreeNode{}, nodes...),
	}
}

var treeColumns = []table.Column{
	{Head: "Node"}, {Head: "Shares", Right: true}, {Head: "Long %", Right: true}, {Head: "of all", Right: true},
	{Head: "Usage", Right: true}, {Head: "Actual %", Right: true}, {Head: "Short %", Right: true}, {Head: "of all", Right: true},
	{Head: "Running", Right: true}, {Head: "Waiting", Right: true}, {Head: "Remark"},
}

// Write writes the nodes as a table below a line with its time and subject.
func (v Tree) Write(w io.Writer) error {
	if v.Inert != "" {
		if _, err := fmt.Fprintf(w, "the share tree has no effect: %s\n", v.Inert); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "share tree as of %s; weight_tickets_share %s, compensation_factor %s, halftime %s h\n", v.at.Format(report.ToSecond),
		exact(v.TicketsShare), exact(v.CompensationFactor), exact(v.HalfTime))
	if err != nil {
		return err
	}
	cells := make([][]string, len(v.Nodes))
	for i, n := range v.Nodes {
		cells[i] = treeCells(n)
	}
	return table.Write(w, treeColumns, cells)
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

// target writes a target; a node without jobs has none.
func target(n sge.TreeNode, part float64) string {
	if n.Pending+n.Running == 0 {
		return "-"
	}
	return percentage(part)
}

func percentage(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) }

// remark says of what kind a node is, and what changed its target.
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

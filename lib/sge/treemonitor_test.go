package sge

import (
	"math"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// goldenMonitor is what sge_share_mon printed of a node.
type goldenMonitor struct {
	Node   string  `json:"node"`
	Shares float64 `json:"shares"`
	Actual float64 `json:"actual_share"`
	Usage  float64 `json:"usage"`
}

// monitored returns the nodes as they are some seconds after the run of a case. sge_share_mon
// shows all users that a default takes in, and not only those with jobs.
func (g *goldenCase) monitored(t *testing.T, later time.Duration) map[string]TreeNode {
	decay, now := g.decay(t), time.Unix(g.Now, 0)
	var jobs []Job
	for _, user := range g.Users {
		for _, project := range append([]goldenObject{{}}, g.Projects...) {
			jobs = append(jobs, Job{ID: pool.JobID{Cluster: len(jobs) + 1}, Count: 1, User: user.Name, Project: project.Name})
		}
	}
	nodes := map[string]TreeNode{}
	for _, n := range Rank(g.config(t), World{Used: UsedOf(g.tallies(decay, now), decay, now.Add(later))}, jobs, nil).Tree() {
		nodes[n.Path] = n
	}
	return nodes
}

// The nodes, their shares, usage and part of it are as sge_share_mon printed them, with six digits.
// It printed up to two minutes after the run, for which all usage has decayed.
func TestGoldenTree(t *testing.T) {
	nodes := 0
	eachGolden(t, func(t *testing.T, file string, g *goldenCase) {
		monitor := g.Monitor
		if len(monitor) == 0 || g.Tree == nil {
			return
		}
		y := &tally{t: t}
		near := func(n TreeNode, want goldenMonitor) bool {
			return math.Abs(n.Usage-want.Usage) <= 1e-6*max(1, want.Usage)
		}
		later := time.Duration(0) // when it printed
		tree := g.monitored(t, later)
		for ; later < 2*time.Minute && !near(tree["/"], monitor[0]); tree = g.monitored(t, later) {
			later += time.Second
		}
		for _, want := range monitor {
			n, known := tree[want.Node]
			y.check(known, "no node %s", want.Node)
			if !known {
				continue
			}
			y.check(n.Shares == want.Shares, "%s: %v shares, want %v", n.Path, n.Shares, want.Shares)
			y.check(math.Abs(n.Actual-want.Actual) <= 1e-5, "%s: actual share %.7f, want %.6f", n.Path, n.Actual, want.Actual)
			y.check(near(n, want), "%s: usage %.7f %v after the run, want %.6f", n.Path, n.Usage, later, want.Usage)
			delete(tree, n.Path)
		}
		y.check(len(tree) == 0, "nodes %v were not printed", tree)
		t.Logf("golden sge/%s: share_tree_monitor: %d of %d agree", file, y.agree, y.seen)
		nodes += len(monitor)
	})
	if nodes == 0 {
		t.Error("no case has a share_tree_monitor")
	}
}

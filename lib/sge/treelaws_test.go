package sge

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// near reports whether two numbers are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// sums adds up the targets of a branch's children, and tells whether any with jobs has shares.
func (f *forest) sums(i int32) (long, short float64, shared bool) {
	for child := range f.children(i) {
		b := &f.branches[child]
		long += b.long
		short += b.short
		shared = shared || b.jobs() > 0 && b.shares > 0
	}
	return long, short, shared
}

// The targets of siblings with jobs sum to one on every level, and those that nobody uses are
// entitled to their shares now as in the long run.
func TestTargetsSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyTreeConfig(t)
		jobs, running := anyForestJobs(t)
		f := forestOf(c, anyUsed(t), jobs, running)
		unused := forestOf(c, Used{}, jobs, running)
		for i := range f.branches {
			b := &f.branches[i]
			if b.jobs() == 0 && b.totalLong+b.totalShort != 0 {
				t.Errorf("%s without jobs: targets %v and %v", b.name, b.totalLong, b.totalShort)
			}
			if long, short, shared := f.sums(int32(i)); shared && b.totalLong > 0 && (!near(long, 1) || !near(short, 1)) {
				t.Errorf("targets below %s sum to %v and %v", b.name, long, short)
			}
			if n := &unused.branches[i]; c.Compensation == 0 || c.Compensation > 1 {
				if n.totalLong > 0 && !near(n.long, n.short) || !near(n.totalLong, n.totalShort) {
					t.Errorf("%s without usage: %v and %v", n.name, n.long, n.short)
				}
			}
		}
	})
}

// More usage of a user never raises what the user's node is entitled to: of its level without
// compensation, and of the whole tree in any case. With compensation the target of the level
// may rise: what is above it falls, and so does its limit.
func TestMoreUsage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, used := anyTreeConfig(t), anyUsed(t)
		jobs, running := anyForestJobs(t)
		before := forestOf(c, used, jobs, running)
		used.Own["alice"] += rapid.Float64Range(0, 1e4).Draw(t, "more")
		after := forestOf(c, used, jobs, running)
		if !before.once("alice") {
			return // others' nodes have more, too
		}
		for i := range before.branches {
			b, a := &before.branches[i], &after.branches[i]
			if b.name != "alice" || b.project != none || b.first != none {
				continue
			}
			if c.Compensation == 0 && a.short > b.short && !near(a.short, b.short) {
				t.Errorf("more usage raises %v to %v", b.short, a.short)
			}
			if a.totalShort > b.totalShort && !near(a.totalShort, b.totalShort) {
				t.Errorf("more usage raises %v of the tree to %v", b.totalShort, a.totalShort)
			}
		}
	})
}

// once reports whether one branch at most has a name outside projects.
func (f *forest) once(name string) bool {
	n := 0
	for i := range f.branches {
		if b := &f.branches[i]; b.name == name && b.project == none {
			n++
		}
	}
	return n <= 1
}

// Jobs that run share all tickets, if any of them has a node with shares, and none one with
// others' jobs below it. Shares that are all greater by one factor give the same.
func TestRunningTicketsSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, used := anyTreeConfig(t), anyUsed(t)
		jobs, running := anyForestJobs(t)
		for i := range jobs {
			jobs[i].JobShare = 0 // it makes them whole
		}
		eachNode(c.Tree, func(n *Node) { n.Shares = max(n.Shares, 1) })
		f := forestOf(c, used, jobs, running).onlyRunning(c)
		sum, want := 0.0, 0.0
		for _, x := range f.runningTickets(1e6) {
			sum += x
		}
		apart := true
		for i := range f.branches {
			if b := &f.branches[i]; b.own > 0 {
				want = 1e6
				apart = apart && b.own == b.jobs()
			}
		}
		if apart && !near(sum, want) {
			t.Errorf("%v tickets are given, want %v", sum, want)
		}
		by := float64(rapid.IntRange(1, 1000).Draw(t, "factor"))
		eachNode(c.Tree, func(n *Node) { n.Shares *= by })
		g := forestOf(c, used, jobs, running).onlyRunning(c)
		for i := range f.branches {
			a, b := &f.branches[i], &g.branches[i]
			if !near(a.short, b.short) || !near(a.totalLong, b.totalLong) {
				t.Errorf("shares times %v make %v of %v", by, b.short, a.short)
			}
		}
	})
}

// eachNode does something to all nodes.
func eachNode(n *Node, do func(*Node)) {
	do(n)
	for _, child := range n.Children {
		eachNode(child, do)
	}
}

// Nodes are shown once each, each behind what it is below, and the root has all jobs.
func TestNodesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, running := anyForestJobs(t)
		f := forestOf(anyTreeConfig(t), anyUsed(t), jobs, running)
		nodes := f.nodes()
		if len(nodes) != len(f.branches) {
			t.Fatalf("%d nodes of %d", len(nodes), len(f.branches))
		}
		placed := 0
		for _, i := range f.at {
			if i != none {
				placed++
			}
		}
		if n := nodes[0]; n.Pending+n.Running != placed || n.Level != 0 || n.Path != "/" {
			t.Errorf("the root is %+v, with %d jobs", n, placed)
		}
		for i, n := range nodes[1:] {
			if n.Level < 1 || n.Level > nodes[i].Level+1 || n.Path[len(n.Path)-len(n.Name)-1:] != "/"+n.Name {
				t.Errorf("%+v stands behind %+v", n, nodes[i])
			}
		}
	})
}

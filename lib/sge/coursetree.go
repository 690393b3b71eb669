package sge

import (
	"fmt"
	"slices"
	"strings"
)

// TreeCourse is what STckt comes from. For a job that waits it is Pool * Target / Divisor; so it
// is for one that runs, or, if JobShares is above 0, Pool * Target * JobShare / JobShares
// without the fraction.
type TreeCourse struct {
	Why  string `json:",omitempty"` // it gives nothing: why
	Pool float64
	Node string `json:",omitempty"` // where the job belongs, such as /eng/alice
	// Branch is the node of which Target is the short-term target. For a job that waits it is
	// the one on the way to Node where the ways of the jobs have parted, and Target a part of
	// its parent's; for one that runs it is Node itself, and Target a part of the whole.
	Branch string `json:",omitempty"`
	Target float64
	// Divisor is the place of a job that waits among all of Branch, where one that asks for
	// several slots takes as many places; for one that runs, how many run on Node.
	Divisor             float64
	JobShare, JobShares float64 // of a job that runs, and of all that run on Node
	// Levels are the nodes from below the root to Node. Those of a job that runs are as without
	// the jobs that wait.
	Levels []TreeLevel
}

// TreeLevel is a node of the share tree among the children of its parent that have jobs:
// LongTarget is Shares / AllShares, and ShortTarget Weight / AllWeights. Weight is Shares^2 /
// max(Usage, TotalLong) / Cut. TotalLong and TotalShort are the products of the targets of
// all levels from the root on.
type TreeLevel struct {
	Path                    string // as in TreeNode
	Shares, AllShares       float64
	Usage                   float64 // decayed and weighted
	Weight, AllWeights      float64
	Cut                     float64 // by the compensation factor; 1 if it is not cut
	LongTarget, TotalLong   float64
	ShortTarget, TotalShort float64
}

// pendingTree has what the share tree tickets of a member come from that waits.
func (t *trace) pendingTree(at int) TreeCourse {
	c, waiting := t.treeCourse(at, t.pass.forest), at-t.pass.running
	if branch := t.branch[waiting]; c.Why == "" && branch != none {
		c.Branch, c.Target = t.pass.forest.path(branch), t.pass.forest.branches[branch].short
		c.Divisor = t.divisor[waiting]
	}
	return c
}

// runningTree has what the share tree tickets of a member come from that runs.
func (t *trace) runningTree(at int) TreeCourse {
	f := t.alone
	c := t.treeCourse(at, f)
	if c.Why != "" {
		return c
	}
	b := &f.branches[f.at[at]]
	c.Branch, c.Target, c.Divisor = c.Node, b.totalShort, float64(b.own)
	for m, branch := range f.at {
		if branch == f.at[at] {
			c.JobShares += entitlement(f.members[m].job.JobShare)
		}
	}
	if c.JobShares > 0 {
		c.JobShare = entitlement(f.members[at].job.JobShare)
	}
	return c
}

// treeCourse has where a member belongs in the share tree, and what the nodes on the way to
// there are entitled to.
func (t *trace) treeCourse(at int, f *forest) TreeCourse {
	c := TreeCourse{Pool: t.pass.config.pool(ShareTree)}
	switch {
	case c.Pool <= 0:
		c.Why = "weight_tickets_share is 0"
	case f == nil:
		c.Why = "there is no share tree"
	case f.at[at] == none:
		c.Why = f.homeless(f.members[at].job)
	default:
		c.Node = f.path(f.at[at])
		path := c.Node
		for i := f.at[at]; f.branches[i].parent != none; i = f.branches[i].parent {
			c.Levels = append(c.Levels, f.treeLevel(i, path))
			path = path[:len(path)-len(f.step(i))]
		}
		slices.Reverse(c.Levels)
	}
	return c
}

// homeless says why a job belongs to no node.
func (f *forest) homeless(j *Job) string {
	if j.Project == "" {
		return fmt.Sprintf("no node for user %s outside of projects, and no default", j.User)
	}
	in := f.index()
	if project, known := in.projects[j.Project]; known {
		return fmt.Sprintf("no node for user %s below %s, and no default", j.User, f.path(project))
	}
	return fmt.Sprintf("project %s has no node", j.Project)
}

// path returns the way from the root to a branch.
func (f *forest) path(i int32) string {
	var steps []string
	for ; f.branches[i].parent != none; i = f.branches[i].parent {
		steps = append(steps, f.step(i))
	}
	if len(steps) == 0 {
		return "/"
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// step returns what a branch adds to the path of its parent. A temporary one is shown below the
// default in whose place it is.
func (f *forest) step(i int32) string {
	b := &f.branches[i]
	if b.temporary {
		return "/" + DefaultNode + "/" + b.name
	}
	return "/" + b.name
}

// treeLevel returns a branch among its siblings.
func (f *forest) treeLevel(i int32, path string) TreeLevel {
	b := &f.branches[i]
	l := TreeLevel{Path: path, Shares: b.shares, Usage: b.usage, Weight: b.weight, Cut: 1,
		LongTarget: b.long, TotalLong: b.totalLong, ShortTarget: b.short, TotalShort: b.totalShort}
	if b.compensated && b.weight > 0 {
		l.Cut = cut(b.shares * (b.shares / max(b.usage, b.totalLong)) / b.weight)
	}
	for sibling := range f.children(b.parent) {
		if s := &f.branches[sibling]; s.jobs() > 0 {
			l.AllShares += s.shares
			l.AllWeights += s.weight
		}
	}
	return l
}

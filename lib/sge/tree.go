package sge

import (
	"slices"
	"strings"
)

// TreeNode is a node of the share tree as one run sees it (Ranking.Tree).
//
// The children of a node that have jobs have targets: their parts, 0 to 1, of their parent's
// entitlement, which add up to one. Without shares they are 0, and the short-term ones below a
// node without shares, too. A temporary node stands below the default that it was made for, and
// competes with the children of the default's parent: its targets are parts of that. The
// default's own usage, jobs and targets include those of its temporary nodes.
type TreeNode struct {
	Path      string // such as /eng/alice; / for the root
	Name      string
	Level     int // 0: the root
	Shares    float64
	Temporary bool    // of a user without a node, while the user has jobs
	Project   bool    // a node of a project
	Usage     float64 // decayed and weighted; of a leaf its user's or project's, of others the sum, of projects their own
	// Actual is Usage as a part of the whole tree's, 0 if there is none. It is 0 to 1, and more
	// only below a project whose users have used more than it.
	Actual  float64
	Pending int // procs of it or below that count
	Running int
	// LongTarget is the target by shares, and ShortTarget by shares and past usage. TotalLong and
	// TotalShort are the same as parts of the whole tree.
	LongTarget, ShortTarget, TotalLong, TotalShort float64
	Compensated                                    bool // its share was cut by the compensation factor
}

// Tree returns the nodes of the share tree, depth first, as the jobs that wait and run together
// have it; nil without a tree. It does not matter whether the policy gives any tickets.
func (r *Ranking) Tree() []TreeNode {
	f := r.tickets.forest
	if f == nil {
		f = newForest(r.config, &r.world.Used, r.tickets.members, len(r.running))
	}
	return f.nodes()
}

// shown is a branch and where it is shown.
type shown struct {
	branch int32
	path   string // of the node above it
	level  int
}

// nodes returns the branches as nodes, depth first, in their order; temporary ones by name.
func (f *forest) nodes() []TreeNode {
	if len(f.branches) == 0 {
		return nil
	}
	list := make([]TreeNode, 0, len(f.branches))
	stack := []shown{{branch: 0}}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := f.treeNode(s)
		list = append(list, n)
		for _, i := range slices.Backward(f.below(s.branch)) {
			stack = append(stack, shown{i, n.Path, n.Level + 1})
		}
	}
	return list
}

// below returns the branches that are shown below one.
func (f *forest) below(i int32) (list []int32) {
	for child := range f.children(i) {
		if !f.branches[child].temporary {
			list = append(list, child)
		}
	}
	if f.fallback(i) {
		list = append(list, f.guests(i)...)
	}
	return list
}

// guests returns the temporary branches that were made for a default, by name.
func (f *forest) guests(i int32) (list []int32) {
	for sibling := range f.children(f.branches[i].parent) {
		if f.branches[sibling].temporary {
			list = append(list, sibling)
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return strings.Compare(f.branches[a].name, f.branches[b].name) })
	return list
}

// treeNode returns the TreeNode of a branch.
func (f *forest) treeNode(s shown) TreeNode {
	b := &f.branches[s.branch]
	n := TreeNode{Path: strings.TrimSuffix(s.path, "/") + "/" + b.name, Name: b.name, Level: s.level, Shares: b.shares,
		Temporary: b.temporary, Project: b.project == s.branch}
	if b.parent == none {
		n.Path = "/"
	}
	n.add(b)
	if f.fallback(s.branch) {
		for _, guest := range f.guests(s.branch) {
			n.add(&f.branches[guest])
		}
	}
	if whole := f.branches[0].usage; whole > 0 {
		n.Actual = bounded(n.Usage / whole)
	}
	return n
}

func (n *TreeNode) add(b *branch) {
	n.Compensated = n.Compensated || b.compensated
	n.Usage = bounded(n.Usage + b.usage)
	n.Pending += b.waiting
	n.Running += b.running
	n.LongTarget += b.long
	n.ShortTarget += b.short
	n.TotalLong += b.totalLong
	n.TotalShort += b.totalShort
}

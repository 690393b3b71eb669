package sge

import (
	"iter"
	"slices"
)

// branch is a node of the share tree in one run. Those of a forest stand in the order of a
// search from the root, depth first, and behind them the temporary ones: each behind its
// parent.
type branch struct {
	name                      string
	shares                    float64
	parent, first, last, next int32 // the parent, the first and last child, the next sibling, or none
	// project is the project node that it is below, or itself if it is one, or none.
	project   int32
	temporary bool
	usage     float64
	own       int // jobs that hang on it
	// waiting and running count the jobs on it and below.
	waiting, running int
	// long and short are the targets within the parent's, and the others in the whole tree.
	long, short, totalLong, totalShort float64
	weight                             float64 // what short is in proportion to
	compensated                        bool
}

// none is the index of no branch.
const none = -1

// jobs tells how many jobs are on the branch and below.
func (b *branch) jobs() int { return b.waiting + b.running }

// fallback tells whether the branch is a node for those who have none of their own.
func (f *forest) fallback(i int32) bool {
	b := &f.branches[i]
	return b.name == DefaultNode && !b.temporary && b.project != i && b.parent != none
}

// grow makes the branches of the configured tree. It does not call itself: a tree may be as
// deep as it has nodes.
func (f *forest) grow(root *Node, projects map[string]Object) {
	type visit struct {
		node   *Node
		parent int32
	}
	stack := []visit{{root, none}}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if v.node == nil {
			continue
		}
		i := f.add(branch{name: v.node.Name, shares: entitlement(v.node.Shares), parent: v.parent})
		if _, known := projects[v.node.Name]; known && v.parent != none && f.branches[i].project == none {
			f.branches[i].project = i
		}
		for _, child := range slices.Backward(v.node.Children) {
			stack = append(stack, visit{child, i})
		}
	}
}

// add puts a branch behind all others and its siblings, and returns its index.
func (f *forest) add(b branch) int32 {
	i := int32(len(f.branches))
	b.first, b.last, b.next, b.project = none, none, none, none
	if b.parent != none {
		parent := &f.branches[b.parent]
		b.project = parent.project
		if parent.first == none {
			parent.first = i
		} else {
			f.branches[parent.last].next = i
		}
		parent.last = i
	}
	f.branches = append(f.branches, b)
	return i
}

// children are the indices of a branch's children, in their order, temporary ones last.
func (f *forest) children(i int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for child := f.branches[i].first; child != none && yield(child); child = f.branches[child].next {
		}
	}
}

// named is a name below a project node, or outside all of them: none.
type named struct {
	project int32
	name    string
}

// index is where names are found first, from the root, depth first.
type index struct {
	projects map[string]int32 // project nodes
	others   map[named]int32
}

// index returns where names are. The root's own counts for nothing, and neither do project
// nodes below others.
func (f *forest) index() index {
	found := index{map[string]int32{}, make(map[named]int32, len(f.branches))}
	for at := range f.branches {
		i, b := int32(at), &f.branches[at]
		switch b.project {
		case i:
			if _, known := found.projects[b.name]; !known {
				found.projects[b.name] = i
			}
		default:
			n := named{b.project, b.name}
			if _, known := found.others[n]; !known && b.parent != none {
				found.others[n] = i
			}
		}
	}
	return found
}

// node returns the branch that jobs of a user and a project, or none, belong to: one of the
// user's name, else the default, both below the project's node if there is a project. Whose
// project has a node without children belongs to it. Without any of these it is none.
func (f *forest) node(in *index, user, project string) int32 {
	below := int32(none)
	if project != "" {
		p, known := in.projects[project]
		if !known {
			return none
		}
		if f.branches[p].first == none {
			return p
		}
		below = p
	}
	if i, known := in.others[named{below, user}]; known {
		return i
	}
	if i, known := in.others[named{below, DefaultNode}]; known {
		return i
	}
	return none
}

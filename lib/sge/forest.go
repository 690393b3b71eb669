package sge

import (
	"iter"
	"slices"
)

// forest is the share tree of one pass: its nodes with usage and entitlements, and the members
// on each. Without a tree no job belongs to a node.
type forest struct {
	members  []member
	running  int
	branches []branch // the root is the first
	at       []int32  // by member, the branch or none
	trace    *trace   // nil: nothing is noted
}

// newForest puts members, of which the first ones run, on the tree of a configuration.
func newForest(c *Config, used *Used, members []member, running int) *forest {
	f := &forest{members: members, running: running}
	if c.Tree != nil {
		f.grow(c.Tree, c.Projects)
	}
	f.hang()
	f.use(used)
	f.entitle(c.Compensation)
	return f
}

// onlyRunning returns the same tree with the running members only. Usage is as before:
// users without running jobs keep their temporary nodes.
func (f *forest) onlyRunning(c *Config) *forest {
	only := &forest{members: f.members[:f.running], running: f.running, branches: append([]branch(nil), f.branches...), at: f.at[:f.running]}
	only.entitle(c.Compensation)
	return only
}

// hang finds where each member belongs. Neighbours mostly belong to one place.
func (f *forest) hang() {
	type owner struct{ user, project string }
	var last owner
	at := int32(none)
	places := map[owner]int32{}
	in := f.index()
	f.at = make([]int32, len(f.members))
	for m := range f.members {
		job := f.members[m].job
		if o := (owner{job.User, job.Project}); m == 0 || o != last {
			last = o
			known := false
			if at, known = places[o]; !known {
				at = f.place(&in, o.user, o.project)
				places[o] = at
			}
		}
		f.at[m] = at
	}
}

// place returns the branch of the jobs of a user and a project. A user on a default gets
// a temporary branch beside it, with as many shares (share_tree(5), the user default).
func (f *forest) place(in *index, user, project string) int32 {
	i := f.node(in, user, project)
	if i == none || !f.fallback(i) {
		return i
	}
	b := f.branches[i]
	return f.add(branch{name: user, shares: b.shares, parent: b.parent, temporary: true})
}

// entitle counts the jobs and reckons the targets.
func (f *forest) entitle(compensation float64) {
	for i := range f.branches {
		b := &f.branches[i]
		b.own, b.waiting, b.running = 0, 0, 0
	}
	for m, i := range f.at {
		if i == none {
			continue
		}
		b := &f.branches[i]
		b.own++
		if m < f.running {
			b.running++
		} else {
			b.waiting++
		}
	}
	for i := len(f.branches) - 1; i > 0; i-- {
		b := &f.branches[i]
		parent := &f.branches[b.parent]
		parent.running += b.running
		parent.waiting += b.waiting
	}
	f.target(compensation)
}

// branch is a node of the share tree in one run. The branches of a forest are in
// depth-first order from the root, followed by the temporary ones: each behind its parent.
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

// fallback reports whether the branch is a node for users without one.
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

// node returns the branch of the jobs of a user and a project, which may be empty: the node
// of the user's name, else the default, both below the project's node if there is a
// project. If the project has a node without children, it is that node. Without any of
// these it is none.
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

// mostUsed bounds usage and numbers computed from it: sums over all nodes are still finite.
const mostUsed = 1e280

// bounded returns a number that is 0 or more, and finite: x, if it is one.
func bounded(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, mostUsed)
}

// use finds the usage of all branches, whether or not they have jobs: a leaf has its user's
// or project's, a project its own, and any other node the sum of its children's.
func (f *forest) use(used *Used) {
	if used == nil {
		used = &Used{}
	}
	defaults := f.defaults()
	for at := len(f.branches) - 1; at >= 0; at-- {
		i, b := int32(at), &f.branches[at]
		below := b.usage // so far of the children
		switch {
		case b.project == i:
			b.usage = bounded(used.Project[b.name])
		case b.first == none && !f.fallback(i):
			b.usage = f.usedBy(used, b)
		}
		if over := b.usage - below; b.project == i && over > 1 {
			f.credit(i, defaults, over)
		}
		if b.parent != none {
			parent := &f.branches[b.parent]
			parent.usage = bounded(parent.usage + b.usage)
		}
	}
}

// usedBy returns the usage of a branch's user: within the project that the branch is below,
// if there is one.
func (f *forest) usedBy(used *Used, b *branch) float64 {
	if b.project == none {
		return bounded(used.Own[b.name])
	}
	return bounded(used.Within[[2]string{b.name, f.branches[b.project].name}])
}

// defaults returns the first default below each project node that has one.
func (f *forest) defaults() map[int32]int32 {
	found := map[int32]int32{}
	for at := range f.branches {
		i, b := int32(at), &f.branches[at]
		if b.project != none && f.fallback(i) {
			if _, known := found[b.project]; !known {
				found[b.project] = i
			}
		}
	}
	return found
}

// credit adds usage of a project that none of its users' nodes have, such as the usage of
// users without jobs now, to its default, and to the nodes between.
func (f *forest) credit(project int32, defaults map[int32]int32, usage float64) {
	i, known := defaults[project]
	if !known {
		return
	}
	for ; i != project; i = f.branches[i].parent {
		b := &f.branches[i]
		b.usage = bounded(b.usage + usage)
	}
}

// target reckons the targets of all branches, level by level: a parent stands before its
// children. Those without jobs have none, and count for nothing.
func (f *forest) target(compensation float64) {
	for i := range f.branches {
		b := &f.branches[i]
		b.long, b.short, b.totalLong, b.totalShort, b.weight, b.compensated = 0, 0, 0, 0, 0, false
	}
	for i := range f.branches {
		b := &f.branches[i]
		if b.jobs() == 0 {
			continue
		}
		if b.parent == none {
			b.long, b.short, b.totalLong, b.totalShort = 1, 1, 1, 1
		}
		f.level(int32(i), compensation)
	}
}

// level reckons the targets of a branch's children (share_tree(5); the numbers are observed). In
// the long run each is entitled to as much as it has shares,
//
//	long = shares / sum of shares
//
// and now to the more the less it has used for its shares,
//
//	weight = shares * shares / max(usage, long of the whole tree)
//	short  = weight / sum of weights
//
// Usage below the long-term target counts as that, so that without usage both are the same.
func (f *forest) level(p int32, compensation float64) {
	parent := &f.branches[p]
	sum := 0.0
	for i := range f.children(p) {
		if b := &f.branches[i]; b.jobs() > 0 {
			sum += b.shares
		}
	}
	for i := range f.children(p) {
		b := &f.branches[i]
		if b.jobs() == 0 || b.shares == 0 {
			continue
		}
		b.long = b.shares / sum
		b.totalLong = parent.totalLong * b.long
		b.weigh(1)
	}
	f.divide(p)
	if compensation > 0 && f.compensate(p, compensation) {
		f.divide(p)
	}
}

// weigh sets the weight of a branch, cut by a factor. It is reckoned in Grid Engine's order, so
// that siblings that are equal there are equal here.
func (b *branch) weigh(cut float64) {
	if b.totalLong > 0 {
		b.weight = min(b.shares*b.shares/(max(b.usage, b.totalLong)*cut), mostUsed)
	}
}

// divide makes the short-term targets of a branch's children from their weights.
func (f *forest) divide(p int32) {
	parent := &f.branches[p]
	sum := 0.0
	for i := range f.children(p) {
		sum += f.branches[i].weight
	}
	for i := range f.children(p) {
		b := &f.branches[i]
		if b.weight > 0 {
			b.short = b.weight / sum
		} else {
			b.short = 0
		}
		b.totalShort = parent.totalShort * b.short
	}
}

// compensate cuts the weights of a branch's children that are entitled to more than
// compensation times their long-term target, and reports whether there are any. It is done once:
// what comes out may be more than that again.
func (f *forest) compensate(p int32, compensation float64) bool {
	any := false
	for i := range f.children(p) {
		b := &f.branches[i]
		if limit := compensation * b.totalLong; b.totalShort > limit {
			b.weigh(b.totalShort / limit)
			b.compensated = true
			any = true
		}
	}
	return any
}

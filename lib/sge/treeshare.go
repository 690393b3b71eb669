package sge

// mostUsed bounds usage and what is reckoned from it: sums of as many as there are nodes are
// still numbers.
const mostUsed = 1e280

// bounded returns a number that is 0 or more, and finite: x, if it is one.
func bounded(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, mostUsed)
}

// use finds the usage of all branches, whether or not they have jobs: that of a leaf is its
// user's or project's, others have the sum of their children's, but projects their own.
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

// usedBy returns what the user of a branch has used: within the project that it is below, if
// it is below one.
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

// credit adds usage of a project that none of its users' nodes have, such as that of users who
// have no jobs now, to its default, and to what lies between.
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
// compensation times their long-term target, and tells whether there are any. It is done once:
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

package sge

// forest is the share tree of one pass: its nodes with what was used and what they are entitled
// to, and which member hangs on which of them. Without a tree nobody hangs on anything.
type forest struct {
	members  []member
	running  int
	branches []branch // the root is the first
	at       []int32  // by member, the branch or none
	trace    *trace   // nil: nobody looks
}

// newForest hangs members, of which the first ones run, on the tree of a configuration.
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

// onlyRunning returns the same tree with the members that run. What was used is as before:
// users whose jobs all wait keep their temporary nodes.
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

// place returns the branch of the jobs of a user and a project. Who has to take a default gets
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

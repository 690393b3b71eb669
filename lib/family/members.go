package family

import (
	"cmp"
	"os"
	"slices"
)

// members returns the processes of the family that are alive, parents before their
// children.
func (f *Family) members() []process {
	list := map[int]process{}
	for _, p := range f.descendants() {
		list[p.pid] = p
	}
	if f.cell != nil {
		for _, pid := range f.cell.pids() {
			if p, ok := readProcess(pid); ok {
				list[pid] = p
			}
		}
	}
	if !f.adopts {
		for _, p := range marked(f.options) {
			list[p.pid] = p
		}
	}
	return living(list)
}

// living returns the processes that are alive, but for ourselves, in the order in which they
// were started.
func living(list map[int]process) (all []process) {
	for pid, p := range list {
		if p.alive() && pid != os.Getpid() {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	return all
}

// descendants returns the processes that descend from us, without those of our own
// session and theirs.
func (f *Family) descendants() (list []process) {
	var todo []int
	for _, pid := range children("self") {
		if f.adopted(pid) {
			todo = append(todo, pid)
		}
	}
	if len(todo) == 0 && !childrenReadable() {
		return f.descendantsOfAll()
	}
	for len(todo) > 0 && len(list) < mostProcesses {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
			todo = append(todo, childrenOf(p)...)
		}
	}
	return list
}

// descendantsOfAll is descendants for a kernel that does not list children.
func (f *Family) descendantsOfAll() []process {
	all := allProcesses()
	first := map[int]bool{}
	for pid, p := range all {
		if p.parent == os.Getpid() && f.adopted(pid) {
			first[pid] = true
		}
	}
	return withDescendants(all, first)
}

// withDescendants returns the first of all processes, and what descends from them.
func withDescendants(all map[int]process, first map[int]bool) (list []process) {
	byParent := map[int][]int{}
	for pid, p := range all {
		byParent[p.parent] = append(byParent[p.parent], pid)
	}
	var todo []int
	for pid := range first {
		todo = append(todo, pid)
	}
	seen := map[int]bool{}
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p, ok := all[pid]; ok && !seen[pid] {
			seen[pid] = true
			list = append(list, p)
			todo = append(todo, byParent[pid]...)
		}
	}
	return list
}

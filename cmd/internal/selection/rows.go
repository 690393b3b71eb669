package selection

import (
	"cmp"
	"slices"
)

// procs are some of one cluster: each step-th from first to last.
type procs struct {
	first, last, step int
	word              string
}

// clip returns those from first to last, of which there may be none.
func (p procs) clip(first, last int) procs {
	if behind := first - p.first; behind > 0 {
		p.first += (behind + p.step - 1) / p.step * p.step
	}
	p.last = min(p.last, last)
	return p
}

func (p procs) empty() bool { return p.first > p.last }

// rows are what is named of a cluster's procs. Scripts name them by the ten
// thousand, so those that meet a span are found without a look at all.
type rows struct {
	list []procs // by their first, once arranged
	// most is a tree over the list: of any stretch of it that is halved again and
	// again, the last proc of all its rows stands where its middle is.
	most []int
}

func (r *rows) add(p procs) { r.list = append(r.list, p) }

// all returns the rows, of which there may be none.
func (r *rows) all() []procs {
	if r == nil {
		return nil
	}
	return r.list
}

// arrange makes them ready to be met.
func (r *rows) arrange() {
	slices.SortStableFunc(r.list, func(a, b procs) int { return cmp.Compare(a.first, b.first) })
	r.most = make([]int, len(r.list))
	r.grow(0, len(r.list))
}

// grow makes the tree of list[lo:hi], and returns its last proc; -1 of none.
func (r *rows) grow(lo, hi int) (last int) {
	if lo == hi {
		return -1
	}
	mid := (lo + hi) / 2
	r.most[mid] = max(r.list[mid].last, r.grow(lo, mid), r.grow(mid+1, hi))
	return r.most[mid]
}

// meet hands on the rows that have a proc from first to last.
func (r *rows) meet(first, last int, each func(procs)) {
	if r != nil {
		r.meetIn(0, len(r.list), first, last, each)
	}
}

func (r *rows) meetIn(lo, hi, first, last int, each func(procs)) {
	mid := (lo + hi) / 2
	if lo == hi || r.most[mid] < first {
		return
	}
	r.meetIn(lo, mid, first, last, each)
	if p := r.list[mid]; p.first <= last {
		if !p.clip(first, last).empty() {
			each(p)
		}
		r.meetIn(mid+1, hi, first, last, each)
	}
}

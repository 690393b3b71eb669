package selection

import (
	"fairspool/lib/pool"
	"slices"
)

// row is procs that a word names: each step-th of them.
type row struct {
	pool.Procs
	step int
	word string
}

// clip returns the row's procs that are among others of its cluster; empty reports that
// there are none.
func (p row) clip(q pool.Procs) row {
	if behind := q.First - p.First; behind > 0 {
		p.First += (behind + p.step - 1) / p.step * p.step
	}
	p.Last = min(p.Last, q.Last)
	return p
}

func (p row) empty() bool { return p.First > p.Last }

// rows are what is named of a cluster's procs. Scripts name them by the ten
// thousand, so those that meet some procs are found without a look at all.
type rows struct {
	list []row // by their first, once arranged
	// most is a tree over the list: of any part of it that is halved again and
	// again, the last proc of all its rows stands where its middle is.
	most []int
}

func (r *rows) add(p row) { r.list = append(r.list, p) }

// all returns the rows, of which there may be none.
func (r *rows) all() []row {
	if r == nil {
		return nil
	}
	return r.list
}

// arrange makes them ready to be met.
func (r *rows) arrange() {
	slices.SortStableFunc(r.list, func(a, b row) int { return a.Compare(b.Procs) })
	r.most = make([]int, len(r.list))
	r.grow(0, len(r.list))
}

// grow makes the tree of list[lo:hi], and returns its last proc; -1 of none.
func (r *rows) grow(lo, hi int) (last int) {
	if lo == hi {
		return -1
	}
	mid := (lo + hi) / 2
	r.most[mid] = max(r.list[mid].Last, r.grow(lo, mid), r.grow(mid+1, hi))
	return r.most[mid]
}

// meet hands on the rows that have one of some procs of their cluster.
func (r *rows) meet(q pool.Procs, each func(row)) {
	if r != nil {
		r.meetIn(0, len(r.list), q, each)
	}
}

func (r *rows) meetIn(lo, hi int, q pool.Procs, each func(row)) {
	mid := (lo + hi) / 2
	if lo == hi || r.most[mid] < q.First {
		return
	}
	r.meetIn(lo, mid, q, each)
	if p := r.list[mid]; p.First <= q.Last {
		if !p.clip(q).empty() {
			each(p)
		}
		r.meetIn(mid+1, hi, q, each)
	}
}

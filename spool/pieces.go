package spool

import (
	"cmp"
	"slices"
)

// Pieces is the queue cut in pieces, for those who go through all of it and keep
// nothing: the clusters of a piece are made when it is read, and the view does not
// remember them.
type Pieces struct {
	view *View
	jobs *blocks[int, Cluster]
	list []queuePiece
}

// queuePiece is the clusters of a segment, or some between segments.
type queuePiece struct {
	share[int]       // fresh: what the journal speaks of
	made       []int // clusters that the view has already
}

// Pieces cuts the queue in pieces, by ascending id. Each holds what one segment does, a
// few megabytes of text, or a cluster that is larger.
func (v *View) Pieces() *Pieces {
	b := v.state().jobs
	within, before := make([]queuePiece, len(b.base)), make([]queuePiece, len(b.base)+1)
	for i := range within {
		within[i].segment = i
	}
	at := func(k int) *queuePiece {
		if i := b.segmentOf(k); i >= 0 {
			return &within[i]
		}
		i, _ := slices.BinarySearchFunc(b.base, k, func(f segmentFile[int], k int) int { return cmp.Compare(f.last, k) })
		return &before[i]
	}
	for k := range b.pending {
		at(k).fresh = append(at(k).fresh, k)
	}
	for k := range b.made {
		at(k).made = append(at(k).made, k)
	}
	p := &Pieces{view: v, jobs: b}
	for i := range before {
		p.list = append(p.list, before[i].cut()...)
		if i < len(within) {
			p.list = append(p.list, within[i])
		}
	}
	return p
}

// cut cuts clusters that stand in no segment.
func (p *queuePiece) cut() (list []queuePiece) {
	slices.Sort(p.fresh)
	slices.Sort(p.made)
	for len(p.fresh) > 0 {
		some := p.fresh[:min(len(p.fresh), freshShare)]
		p.fresh = p.fresh[len(some):]
		n := 0
		for n < len(p.made) && p.made[n] < some[len(some)-1] {
			n++
		}
		list = append(list, queuePiece{share[int]{-1, some}, p.made[:n]})
		p.made = p.made[n:]
	}
	if len(p.made) > 0 {
		list = append(list, queuePiece{share[int]{segment: -1}, p.made})
	}
	return list
}

// Len returns how many pieces there are.
func (p *Pieces) Len() int { return len(p.list) }

// PieceReader reads pieces, for one goroutine. Its clusters share what they have in
// common.
type PieceReader struct {
	pieces *Pieces
	worker *worker
}

// Reader returns a reader. Each piece may be read once, and different ones at the same
// time by several readers.
func (p *Pieces) Reader() *PieceReader { return &PieceReader{p, newWorker()} }

// Range returns the lowest and the highest id that a piece may have.
func (p *Pieces) Range(i int) (first, last int) {
	q := p.list[i]
	if q.segment >= 0 {
		return p.jobs.base[q.segment].first, p.jobs.base[q.segment].last
	}
	keys := slices.Concat(q.fresh, q.made)
	return slices.Min(keys), slices.Max(keys)
}

// Read returns those clusters of a piece that are wanted, and perhaps others, by
// ascending id. They are as those of the view, which has to last as long. The error is a
// *DamageError for what does not check; the function that was given the view should
// return it.
func (r *PieceReader) Read(i int, wanted func(cluster int) bool) ([]*Cluster, error) {
	b, p := r.pieces.jobs, r.pieces.list[i]
	var h harvest[int, Cluster]
	err := b.makeShare(r.worker, share[int]{p.segment, slices.Clone(p.fresh)}, func(e *entry[int]) bool { return wanted(e.key) }, &h)
	if err != nil {
		return nil, err
	}
	for _, k := range p.made {
		h.add(k, b.made[k], nil)
	}
	slices.SortFunc(h.values, func(a, b *Cluster) int { return cmp.Compare(a.ID, b.ID) })
	return r.pieces.view.shownOf(h.values), nil
}

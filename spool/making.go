package spool

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
)

// worker is what one goroutine needs to make things from lines: ads share
// what they have in common with others of the same worker.
type worker struct {
	expressions *classad.Interner
	ads, runs   *classad.Builder
	buffer      []byte
	head        []byte // of the last line about a slot: its name and a blank
}

func newWorker() *worker {
	w := &worker{expressions: classad.NewInterner()}
	w.ads, w.runs = classad.NewBuilder(w.expressions), classad.NewBuilder(w.expressions)
	return w
}

// harvest is what a worker has made.
type harvest[K cmp.Ordered, V any] struct {
	keys   []K
	values []*V
	err    error
}

func (h *harvest[K, V]) add(k K, v *V, err error) error {
	if v != nil {
		h.keys, h.values = append(h.keys, k), append(h.values, v)
	}
	return err
}

// share is a piece of the work: the range of a segment, or some keys that
// stand in no segment's range.
type share[K cmp.Ordered] struct {
	segment int // -1: none
	fresh   []K // keys of the journal that may have no block
}

// freshShare is how many keys without a segment are one piece.
const freshShare = 256

// makeAll makes everything wanted that is not made yet, on all processors.
func (b *blocks[K, V]) makeAll(hire func() *worker, wanted func(*entry[K]) bool) error {
	shares := b.shares()
	got := make([]harvest[K, V], len(shares))
	workers := make([]*worker, parallel.Workers(len(shares)))
	for i := range workers {
		workers[i] = hire()
	}
	parallel.Each(len(shares), func(worker, i int) {
		got[i].err = b.makeShare(workers[worker], shares[i], wanted, &got[i])
	})
	for _, h := range got {
		if h.err != nil {
			return h.err
		}
		for i, k := range h.keys {
			b.made[k] = h.values[i]
			delete(b.pending, k)
		}
	}
	return nil
}

// shares cuts the work in pieces.
func (b *blocks[K, V]) shares() []share[K] {
	fresh := make([][]K, len(b.base)+1) // by segment; those of none at the end
	for k := range b.pending {
		i := b.segmentOf(k)
		if i < 0 {
			i = len(b.base)
		}
		fresh[i] = append(fresh[i], k)
	}
	var list []share[K]
	for i, keys := range fresh {
		slices.Sort(keys)
		if i < len(b.base) {
			list = append(list, share[K]{i, keys})
			continue
		}
		for some := range slices.Chunk(keys, freshShare) {
			list = append(list, share[K]{-1, some})
		}
	}
	return list
}

// makeShare makes what is wanted of a piece.
func (b *blocks[K, V]) makeShare(w *worker, s share[K], wanted func(*entry[K]) bool, h *harvest[K, V]) error {
	if s.segment >= 0 {
		g, err := b.index(s.segment) // each segment is one worker's
		if err == nil {
			err = b.makeSegment(w, g, wanted, h)
		}
		if err != nil {
			return err
		}
		s.fresh = slices.DeleteFunc(s.fresh, func(k K) bool { _, old := g.find(k); return old })
	}
	for _, k := range s.fresh {
		v, err := b.assemble(w, k, nil, nil, nil)
		if err := h.add(k, v, err); err != nil {
			return err
		}
	}
	return nil
}

// makeSegment makes what is wanted of a segment's blocks.
func (b *blocks[K, V]) makeSegment(w *worker, g *segment[K], wanted func(*entry[K]) bool, h *harvest[K, V]) error {
	var list []*entry[K]
	size := int64(0)
	for n := range g.entries {
		e := &g.entries[n]
		_, touched := b.pending[e.key]
		if _, ok := b.made[e.key]; ok || !touched && !wanted(e) {
			continue
		}
		list = append(list, e)
		size += e.size
	}
	if len(list) == 0 {
		return nil
	}
	from, err := g.reader(b.files, size, &w.buffer)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, e := range list {
		text, err := from.block(e)
		if err != nil {
			return err
		}
		v, err := b.assemble(w, e.key, g, e, text)
		if err := h.add(e.key, v, err); err != nil {
			return err
		}
	}
	return nil
}

package spool

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// blockWalk goes through blocks in the order of their keys, segment by segment:
// those of which the journal says nothing as they stand, with their checksums
// checked, the others made anew, as far as what they make is still there.
type blockWalk[K cmp.Ordered, V any] struct {
	from  *blocks[K, V]
	line  func(*V) entry[K]            // of the index
	block func([]byte, *V) []byte      // appends the lines that make a thing
	do    func(entry[K], []byte) error // is handed each block, to look at until it returns

	touched []K // by the journal, in order, and not done yet
	worker  *worker
	made    int
	text    []byte
	buffer  []byte
}

func newBlockWalk[K cmp.Ordered, V any](b *blocks[K, V], line func(*V) entry[K], block func([]byte, *V) []byte, do func(entry[K], []byte) error) *blockWalk[K, V] {
	return &blockWalk[K, V]{from: b, line: line, block: block, do: do, touched: slices.Sorted(maps.Keys(b.pending))}
}

// eachBlock hands over all blocks.
func eachBlock[K cmp.Ordered, V any](b *blocks[K, V], line func(*V) entry[K], block func([]byte, *V) []byte, do func(k K, text []byte) error) error {
	w := newBlockWalk(b, line, block, func(e entry[K], text []byte) error { return do(e.key, text) })
	for i := range b.base {
		if err := w.segment(i); err != nil {
			return err
		}
	}
	return w.rest()
}

// due tells whether the journal speaks of a key up to k that is not done yet.
func (w *blockWalk[K, V]) due(k K) bool { return len(w.touched) > 0 && w.touched[0] <= k }

// segment goes through a segment, and through what is due before its end.
func (w *blockWalk[K, V]) segment(i int) error {
	g, err := w.from.index(i)
	if err != nil {
		return err
	}
	defer func() { w.from.open[i] = nil }() // nobody asks for it again
	from, err := g.reader(w.from.files, g.bytes, &w.buffer)
	if err != nil {
		return err
	}
	defer from.Close()
	for n := range g.entries {
		e := &g.entries[n]
		anew := false
		for w.due(e.key) {
			anew = w.touched[0] == e.key
			if err := w.remake(); err != nil {
				return err
			}
		}
		if anew {
			continue
		}
		text, err := from.block(e)
		if err != nil {
			return err
		}
		err = w.do(*e, text)
		if errors.As(err, new(*unwritten)) {
			return err
		}
		if err != nil {
			return g.damage(w.from.files, e.at, 0, "%v", err)
		}
	}
	return nil
}

// rest goes through what the journal has behind the last segment.
func (w *blockWalk[K, V]) rest() error {
	for len(w.touched) > 0 {
		if err := w.remake(); err != nil {
			return err
		}
	}
	return nil
}

// remake hands over the next thing that the journal speaks of.
func (w *blockWalk[K, V]) remake() error {
	k := w.touched[0]
	w.touched = w.touched[1:]
	if w.made%workerThings == 0 {
		w.worker = newWorker()
	}
	w.made++
	v, err := w.from.make(w.worker, k)
	if err != nil || v == nil {
		return err
	}
	w.text = w.block(w.text[:0], v)
	return w.do(w.line(v), w.text)
}

// workerThings is how many things one worker makes, which keeps what they have
// in common.
const workerThings = 1000

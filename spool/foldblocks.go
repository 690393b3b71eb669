package spool

import "cmp"

// foldBlocks writes the segments anew that the journal speaks of, and keeps the
// others. Neighbours that have become small are written together.
func foldBlocks[K cmp.Ordered, V any](b *blocks[K, V], to *segmentWriter[K], line func(*V) entry[K], block func([]byte, *V) []byte, progress func(int)) error {
	walk := newBlockWalk(b, line, block, func(e entry[K], text []byte) error {
		if err := to.add(e, text); err != nil {
			return &unwritten{err}
		}
		return nil
	})
	for i, f := range b.base {
		err := error(nil)
		switch {
		case walk.due(f.last), f.bytes < segmentSize/4 && (len(to.index) > 0 || i == len(b.base)-1 && len(walk.touched) > 0):
			err = walk.segment(i)
		default:
			err = to.keep(f)
		}
		if err != nil {
			return err
		}
		progress(i)
	}
	if err := walk.rest(); err != nil {
		return err
	}
	return to.flush()
}

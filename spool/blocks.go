package spool

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
)

// chunk is lines that follow each other in one transaction, or in a segment,
// and speak of one key.
type chunk struct {
	text []byte
	seq  uint64 // the transaction; 0 in a segment, whose lines say it themselves
	file string
	line int // where in the file the first line stands; 0: not counted yet
}

// lines goes through the lines of a chunk, without their newlines.
func (c chunk) lines() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		text := c.text
		for n := 0; len(text) > 0; n++ {
			line := text
			if end := bytes.IndexByte(text, '\n'); end >= 0 {
				line, text = text[:end], text[end+1:]
			} else {
				text = nil
			}
			if !yield(n, line) {
				return
			}
		}
	}
}

// damaged says that line n of the chunk cannot be.
func (c chunk) damaged(n int, err error) error {
	return &DamageError{c.file, c.line + n, err.Error()}
}

// blocks is what is kept in segments: things with a key, made from lines when
// somebody asks for them. What stands in the generation's segments and what
// the journal says of a key since are put together then.
type blocks[K cmp.Ordered, V any] struct {
	files files
	dir   string
	keys  keys[K]
	base  []segmentFile[K]
	open  []*segment[K] // those of base that were looked into
	build func(w *worker, k K, parts []chunk) (*V, error)

	pending map[K][]chunk // of the journal, not looked at yet
	made    map[K]*V      // what was asked for or changed; nil: gone
	list    []*V          // all there are, in order
	listed  bool          // list is right
}

// get returns the thing with a key, nil when there is none.
func (b *blocks[K, V]) get(w *worker, k K) (*V, error) {
	if v, ok := b.made[k]; ok {
		return v, nil
	}
	v, err := b.make(w, k)
	if _, spoken := b.pending[k]; err == nil && (v != nil || spoken) {
		b.made[k] = v
		delete(b.pending, k)
	}
	return v, err
}

// make makes the thing with a key anew.
func (b *blocks[K, V]) make(w *worker, k K) (*V, error) {
	g, e, err := b.entry(k)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return b.assemble(w, k, nil, nil, nil)
	}
	from, err := g.reader(b.files, e.size, &w.buffer)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	text, err := from.block(e)
	if err != nil {
		return nil, err
	}
	return b.assemble(w, k, g, e, text)
}

// assemble makes the thing with a key from its block and what the journal says.
func (b *blocks[K, V]) assemble(w *worker, k K, g *segment[K], e *entry[K], text []byte) (*V, error) {
	parts := b.pending[k]
	if e != nil {
		parts = append([]chunk{{text: text, file: g.path}}, parts...)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	v, err := b.build(w, k, parts)
	var d *DamageError
	if e != nil && errors.As(err, &d) && d.File == g.path {
		return nil, g.damage(b.files, e.at, d.Line, "%s", d.Why)
	}
	return v, err
}

// segmentOf returns which segment has the range that a key lies in, or -1.
func (b *blocks[K, V]) segmentOf(k K) int {
	i, _ := slices.BinarySearchFunc(b.base, k, func(f segmentFile[K], k K) int { return cmp.Compare(f.last, k) })
	if i == len(b.base) || k < b.base[i].first {
		return -1
	}
	return i
}

// entry returns where a key's block stands, nil when there is none.
func (b *blocks[K, V]) entry(k K) (*segment[K], *entry[K], error) {
	i := b.segmentOf(k)
	if i < 0 {
		return nil, nil, nil
	}
	g, err := b.index(i)
	if err != nil {
		return nil, nil, err
	}
	e, _ := g.find(k)
	return g, e, nil
}

// index returns a segment with its index read.
func (b *blocks[K, V]) index(i int) (g *segment[K], err error) {
	if b.open[i] == nil {
		b.open[i], err = readIndex(b.files, b.dir, b.base[i], b.keys)
	}
	return b.open[i], err
}

// put makes v the thing with that key; nil takes it away.
func (b *blocks[K, V]) put(k K, v *V) {
	b.made[k] = v
	delete(b.pending, k)
	b.listed = false
}

// all returns all there are, in the order of their keys.
func (b *blocks[K, V]) all(hire func() *worker) ([]*V, error) {
	if b.listed {
		return b.list, nil
	}
	if err := b.makeAll(hire, func(*entry[K]) bool { return true }); err != nil {
		return nil, err
	}
	b.list, b.listed = b.present(), true
	return b.list, nil
}

// some returns those that are wanted by what the index says of them, and
// others besides: all of which the journal speaks, and what was made already.
func (b *blocks[K, V]) some(hire func() *worker, wanted func(*entry[K]) bool) ([]*V, error) {
	if b.listed {
		return b.list, nil
	}
	if err := b.makeAll(hire, wanted); err != nil {
		return nil, err
	}
	return b.present(), nil
}

// count adds up what segments, blocks and things count for. Only what the journal
// speaks of is made for it.
func (b *blocks[K, V]) count(w *worker, ofSegment func(segmentFile[K]) int, ofBlock func(*entry[K]) int, of func(*V) int) (n int, err error) {
	for _, f := range b.base {
		n += ofSegment(f)
	}
	for _, k := range slices.Collect(maps.Keys(b.pending)) {
		if _, err := b.get(w, k); err != nil {
			return 0, err
		}
	}
	for k, v := range b.made {
		_, e, err := b.entry(k)
		if err != nil {
			return 0, err
		}
		if e != nil {
			n -= ofBlock(e)
		}
		if v != nil {
			n += of(v)
		}
	}
	return n, nil
}

// countAll returns how many things there are.
func (b *blocks[K, V]) countAll(w *worker) (int, error) {
	return b.count(w, func(f segmentFile[K]) int { return f.blocks }, func(*entry[K]) int { return 1 }, func(*V) int { return 1 })
}

// names returns the keys of all things, in any order, and makes none. Of a thing of which the
// journal speaks, gone reports whether its last line takes it away.
func (b *blocks[K, V]) names(gone func(line []byte) bool) (list []K, err error) {
	for i := range b.base {
		g, err := b.index(i)
		if err != nil {
			return nil, err
		}
		for _, e := range g.entries {
			_, spoken := b.pending[e.key]
			if _, made := b.made[e.key]; !spoken && !made {
				list = append(list, e.key)
			}
		}
	}
	for k, parts := range b.pending {
		if text := parts[len(parts)-1].text; !gone(text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:]) {
			list = append(list, k)
		}
	}
	for k, v := range b.made {
		if v != nil {
			list = append(list, k)
		}
	}
	return list, nil
}

// present returns what was made and is there, in order.
func (b *blocks[K, V]) present() []*V {
	list := make([]*V, 0, len(b.made))
	for _, k := range slices.Sorted(maps.Keys(b.made)) {
		if v := b.made[k]; v != nil {
			list = append(list, v)
		}
	}
	return list
}

func newBlocks[K cmp.Ordered, V any](s *Spool, dir string, k keys[K], base []segmentFile[K], build func(*worker, K, []chunk) (*V, error)) *blocks[K, V] {
	return &blocks[K, V]{
		files: s.files, dir: s.path(dir), keys: k, base: base, open: make([]*segment[K], len(base)), build: build,
		pending: map[K][]chunk{}, made: map[K]*V{},
	}
}

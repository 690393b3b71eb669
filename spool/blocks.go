package spool

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/files"
)

// chunk is lines that follow each other in one transaction, or in a segment, and speak of one key.
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
func (c chunk) damaged(n int, err error) error { return &DamageError{c.file, c.line + n, err.Error()} }

// blocks is what is kept in segments: things with a key, made from lines on demand. What stands in the generation's segments and what the
// journal says of a key since are put together then.
type blocks[K cmp.Ordered, V any] struct {
	files files.Layer
	dir   string
	keys  keys[K]
	base  []segmentFile[K]
	open  []*segment[K] // those of base that were looked into
	build func(w *worker, k K, parts []chunk) (*V, error)
	// extracted makes what is wanted of a segment without reading it, if it can, but for some and for those of which the journal speaks;
	// nil: it never can.
	extracted func(w *worker, segment int, h *harvest[K, V]) (but []K, ok bool)

	pending map[K][]chunk // of the journal, not looked at yet
	made    map[K]*V      // what was asked for or changed; nil: gone
	under   *blocks[K, V] // that these are a fork of; then base and pending are empty
	list    []*V          // all there are, in order
	order   []K           // their keys
	listed  bool          // list is right
	lent    bool          // a caller has list
	changes int           // of list since it was made

	watched bool // changes are asked for
	log     []K  // whose things have changed, in this order, behind so many others
	before  int
}

// mostLogged bounds the changes that are remembered.
const mostLogged = 100_000

// touch notes that a thing changes, or is there no longer.
func (b *blocks[K, V]) touch(k K) {
	if !b.watched {
		return
	}
	if len(b.log) == mostLogged {
		b.log, b.before = b.log[:0], b.before+len(b.log)
	}
	b.log = append(b.log, k)
}

// fork returns blocks that begin as these, and whose changes do not show here.
func (b *blocks[K, V]) fork() *blocks[K, V] {
	return &blocks[K, V]{keys: b.keys, under: b, made: map[K]*V{}}
}

// get returns the thing with a key, nil when there is none.
func (b *blocks[K, V]) get(w *worker, k K) (*V, error) {
	if v, ok := b.made[k]; ok {
		return v, nil
	}
	if b.under != nil {
		return b.under.get(w, k)
	}
	v, err := b.make(w, k)
	if _, spoken := b.pending[k]; err == nil && (v != nil || spoken) {
		b.made[k] = v
		delete(b.pending, k)
	}
	return v, err
}

// change returns the thing with a key, to be changed: a copy in a fork, and nil if there is none.
func (b *blocks[K, V]) change(w *worker, k K, fork func(*V) *V) (*V, error) {
	v, err := b.get(w, k)
	if err == nil && v != nil && b.under != nil && b.made[k] == nil {
		v = fork(v)
		b.put(k, v)
	}
	return v, err
}

// make makes the thing with a key anew.
func (b *blocks[K, V]) make(w *worker, k K) (*V, error) {
	var from *blockReader[K]
	defer func() { from.Close() }()
	return b.makeFrom(&from, w, k)
}

// makeFrom makes the thing with a key anew. It reads the segment that is open, or opens another one in its place.
func (b *blocks[K, V]) makeFrom(from **blockReader[K], w *worker, k K) (*V, error) {
	g, e, err := b.entry(k)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return b.assemble(w, k, nil, nil, nil)
	}
	if *from == nil || (*from).segment != g {
		(*from).Close()
		if *from, err = g.reader(b.files, e.size, &w.buffer); err != nil {
			return nil, err
		}
	}
	text, err := (*from).block(e)
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

// untouched reports whether a thing is surely there as it stands in a segment, if those are old.
func (b *blocks[K, V]) untouched(k K, old bool) bool {
	if b.under != nil || !old {
		return false
	}
	_, made := b.made[k]
	_, spoken := b.pending[k]
	if made || spoken {
		return false
	}
	_, e, err := b.entry(k)
	return err == nil && e != nil
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
	if b.open[i] == nil {
		g, err := openSegment(b.files, b.dir, b.base[i], b.keys, new([]byte))
		if err != nil {
			return nil, nil, err
		}
		b.open[i] = g
	}
	g := b.open[i]
	e, err := g.find(k)
	if err != nil {
		err = g.damage(b.files, g.at, 0, "%v", err)
	}
	return g, e, err
}

// index returns a segment with all entries of its index.
func (b *blocks[K, V]) index(i int) (g *segment[K], err error) {
	if b.open[i] != nil {
		return b.open[i], b.open[i].parse(b.files)
	}
	b.open[i], err = readIndex(b.files, b.dir, b.base[i], b.keys)
	return b.open[i], err
}

// put makes v the thing with that key; nil takes it away.
func (b *blocks[K, V]) put(k K, v *V) {
	b.touch(k)
	if b.made[k] = v; v == nil && b.under == nil && b.segmentOf(k) < 0 {
		delete(b.made, k) // nothing else says that it was there
	}
	delete(b.pending, k)
	b.relist(k, v)
}

// mostRelisted bounds the changes of a list that cost less than making it anew.
const mostRelisted = 1000

// relist makes v the thing with that key in the list, which a caller who has it keeps as it was.
func (b *blocks[K, V]) relist(k K, v *V) {
	if b.changes++; b.changes > mostRelisted {
		b.listed = false
	}
	if !b.listed {
		return
	}
	if b.lent {
		b.list, b.lent = append(make([]*V, 0, len(b.list)+1), b.list...), false
	}
	i, there := slices.BinarySearchFunc(b.order, k, b.keys.compare)
	switch {
	case v == nil && there:
		b.list, b.order = slices.Delete(b.list, i, i+1), slices.Delete(b.order, i, i+1)
	case v != nil && there:
		b.list[i] = v
	case v != nil:
		b.list, b.order = slices.Insert(b.list, i, v), slices.Insert(b.order, i, k)
	}
}

// all returns all there are, in the order of their keys.
func (b *blocks[K, V]) all(hire func() *worker) ([]*V, error) {
	if !b.listed {
		first := b.under == nil && len(b.made) == 0
		got, err := b.makeAll(hire, nil)
		if err != nil {
			return nil, err
		}
		b.list, b.order = nil, nil
		if first {
			b.list, b.order = gathered(got, b.keys.compare)
		}
		if b.list == nil {
			b.list, b.order = b.present()
		}
		b.listed, b.changes = true, 0
	}
	b.lent = true
	return b.list, nil
}

// some returns those that are wanted by what the index says of them, and others besides: all of which the journal speaks, and what was made
// already.
func (b *blocks[K, V]) some(hire func() *worker, wanted func(*entry[K]) bool) ([]*V, error) {
	if b.listed {
		return b.all(hire)
	}
	if _, err := b.makeAll(hire, wanted); err != nil {
		return nil, err
	}
	list, _ := b.present()
	return list, nil
}

// count adds up what segments, blocks and things count for. Only what the journal speaks of is made for it.
func (b *blocks[K, V]) count(w *worker, ofSegment func(segmentFile[K]) int, ofBlock func(*entry[K]) int, of func(*V) int) (n int, err error) {
	if b.under != nil {
		list, err := b.all(newWorker)
		for _, v := range list {
			n += of(v)
		}
		return n, err
	}
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

// names returns the keys of all things, in any order, and makes none. Of a thing of which the journal speaks, gone reports whether its last
// line takes it away.
func (b *blocks[K, V]) names(gone func(line []byte) bool) (list []K, err error) {
	if b.under != nil {
		if _, err := b.all(newWorker); err != nil {
			return nil, err
		}
	}
	found, bad := make([][]K, len(b.base)), make([]error, len(b.base))
	buffers := make([][]byte, parallel.Workers(len(b.base)))
	parallel.Each(len(b.base), func(worker, i int) {
		bad[i] = b.scanSegment(i, &buffers[worker], func(k K, _ string) {
			if _, spoken := b.pending[k]; !spoken && !b.has(k) {
				found[i] = append(found[i], k)
			}
		})
	})
	if err := cmp.Or(bad...); err != nil {
		return nil, err
	}
	list = slices.Concat(found...)
	for k, parts := range b.pending {
		if text := parts[len(parts)-1].text; !gone(text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:]) {
			list = append(list, k)
		}
	}
	for k, v := range b.known() {
		if v != nil {
			list = append(list, k)
		}
	}
	return list, nil
}

// present returns what was made and is there, in order, with the keys.
func (b *blocks[K, V]) present() (list []*V, order []K) {
	all := b.known()
	list, order = make([]*V, 0, len(all)), make([]K, 0, len(all))
	for k, v := range all {
		if v != nil {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, b.keys.compare)
	for _, k := range order {
		list = append(list, all[k])
	}
	return list, order
}

// known returns what was made, by key, in a fork with what was made before; nil: gone.
func (b *blocks[K, V]) known() map[K]*V {
	if b.under == nil {
		return b.made
	}
	all := maps.Clone(b.under.known())
	maps.Copy(all, b.made)
	return all
}

func newBlocks[K cmp.Ordered, V any](s *Spool, dir string, k keys[K], base []segmentFile[K], build func(*worker, K, []chunk) (*V, error)) *blocks[K, V] {
	return &blocks[K, V]{
		files: s.files, dir: s.path(dir), keys: k, base: base, open: make([]*segment[K], len(base)), build: build,
		pending: map[K][]chunk{}, made: map[K]*V{},
	}
}

// worker is what one goroutine needs to make things from lines: ads share what they have in common with others of it.
type worker struct {
	expressions *classad.Interner
	ads, runs   *classad.Builder
	buffer      []byte
	head        []byte // of the last line about a slot: its name and a blank
	kinds       kinds
	jobs        extracttext.Jobs
	slots       extracttext.Kinds[*classad.Ad]
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

// share is a piece of the work: the range of a segment, or some keys that stand in no segment's range.
type share[K cmp.Ordered] struct {
	segment int // -1: none
	fresh   []K // keys of the journal that may have no block
}

// freshShare is how many keys without a segment are one piece.
const freshShare = 256

// has reports whether a key was asked for or changed before: its thing is made, or known to be gone.
func (b *blocks[K, V]) has(k K) bool { _, made := b.made[k]; return made }

// sort puts what was made in the order of segments.
func (h *harvest[K, V]) sort() {
	made := make(map[K]*V, len(h.keys))
	for i, k := range h.keys {
		made[k] = h.values[i]
	}
	slices.Sort(h.keys)
	for i, k := range h.keys {
		h.values[i] = made[k]
	}
}

// gathered returns what workers have made, with the keys, nil if it is not in order.
func gathered[K cmp.Ordered, V any](got []harvest[K, V], compare func(a, b K) int) (list []*V, order []K) {
	n := 0
	for _, h := range got {
		n += len(h.keys)
	}
	list, order = make([]*V, 0, n), make([]K, 0, n)
	for _, h := range got {
		list, order = append(list, h.values...), append(order, h.keys...)
	}
	if !slices.IsSortedFunc(order, compare) {
		return nil, nil
	}
	return list, order
}

// makeAll makes everything wanted that is not made yet, nil for all, on all processors, and returns it.
func (b *blocks[K, V]) makeAll(hire func() *worker, wanted func(*entry[K]) bool) ([]harvest[K, V], error) {
	switch {
	case b.listed:
		return nil, nil
	case b.under != nil:
		return b.under.makeAll(hire, wanted)
	}
	return b.makeShares(hire, wanted, b.shares())
}

// makeShares does as makeAll for some pieces of the work.
func (b *blocks[K, V]) makeShares(hire func() *worker, wanted func(*entry[K]) bool, shares []share[K]) ([]harvest[K, V], error) {
	got := make([]harvest[K, V], len(shares))
	workers := make([]*worker, parallel.Workers(len(shares)))
	for i := range workers {
		workers[i] = hire()
	}
	parallel.Each(len(shares), func(worker, i int) {
		got[i].err = b.makeShare(workers[worker], shares[i], wanted, &got[i])
	})
	if len(b.made) == 0 {
		n := 0
		for _, h := range got {
			n += len(h.keys)
		}
		b.made = make(map[K]*V, n)
	}
	for _, h := range got {
		if h.err != nil {
			return nil, h.err
		}
		for i, k := range h.keys {
			b.made[k] = h.values[i]
			delete(b.pending, k)
		}
	}
	return got, nil
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
	if s.segment >= 0 && wanted == nil && b.extracted != nil {
		if but, ok := b.extracted(w, s.segment, h); ok {
			n := len(h.keys)
			but = append(but, s.fresh...)
			slices.Sort(but) // some may be both
			if err := b.makeThese(w, slices.Compact(but), h); err != nil || len(h.keys) == n {
				return err
			}
			h.sort()
			return nil
		}
	}
	if s.segment >= 0 {
		g, err := b.index(s.segment) // each segment is one worker's
		if err == nil {
			err = b.makeSegment(w, g, wanted, h)
		}
		if err != nil {
			return err
		}
		s.fresh = slices.DeleteFunc(s.fresh, func(k K) bool { old, _ := g.find(k); return old != nil })
	}
	for _, k := range s.fresh {
		v, err := b.assemble(w, k, nil, nil, nil)
		if err := h.add(k, v, err); err != nil {
			return err
		}
	}
	return nil
}

// makeThese makes those of a list of keys, which ascend, that are not made yet.
func (b *blocks[K, V]) makeThese(w *worker, list []K, h *harvest[K, V]) error {
	var from *blockReader[K]
	defer func() { from.Close() }()
	var index []byte // the room for the index of one segment after the other; ascending keys need no earlier one
	for _, k := range list {
		if b.has(k) {
			continue
		}
		if i := b.segmentOf(k); i >= 0 && b.open[i] == nil {
			g, err := openSegment(b.files, b.dir, b.base[i], b.keys, &index)
			if err != nil {
				return err
			}
			b.open[i] = g
			defer func() { b.open[i] = nil }()
		}
		v, err := b.makeFrom(&from, w, k)
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
		if _, ok := b.made[e.key]; ok || !touched && wanted != nil && !wanted(e) {
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

package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// scanSegments finds the segments that were written up to a generation, the newest first.
func scanSegments[K cmp.Ordered](s *Spool, dir string, number int) (list []segmentFile[K]) {
	entries, _ := os.ReadDir(s.path(dir))
	of := func(name string) int {
		n, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	for _, e := range entries {
		b, err := files.Contents(s.files, s.path(dir+"/"+e.Name()))
		if err != nil || of(e.Name()) > number {
			continue
		}
		f := segmentFile[K]{name: e.Name(), bytes: int64(len(b))}
		last := bytes.Fields(b[bytes.LastIndexByte(b[:max(len(b)-1, 0)], '\n')+1:])
		if len(last) == 4 { // it is checked when the index is read
			f.blocks, _ = strconv.Atoi(string(last[2]))
			crc, _ := strconv.ParseUint(string(last[3]), 16, 32)
			f.crc = uint32(crc)
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b segmentFile[K]) int { return cmp.Compare(of(b.name), of(a.name)) })
	return list
}

// found is a block that some index speaks of.
type found[K cmp.Ordered] struct {
	entry[K]
	path string
}

// wreck is what is left of the things of one kind.
type wreck[K cmp.Ordered, V any] struct {
	*salvage
	from  *blocks[K, V]
	what  string // cluster or slot
	kinds string // the records of a block; the first one begins it
	begin string // the records that make one anew
	mend  func(w *worker, k K, parts []chunk, tell func(chunk, int, error)) *V
	add   func(*V) error

	found map[K]found[K]
	lost  map[K]bool // told already
}

func (v *salvage) clusters() error {
	w := wreck[int, Cluster]{salvage: v, from: v.state.jobs, what: "cluster", kinds: "CNAY", begin: "CN", mend: mendCluster}
	w.add = func(c *Cluster) error {
		for _, id := range v.claimed[c.ID] {
			_, v.present[id] = c.run(id.Proc)
		}
		v.last[c.ID] = c.Runs[len(c.Runs)-1].Last
		return v.to.cluster(c)
	}
	return w.save()
}

func (v *salvage) slots() error {
	w := wreck[string, pool.Slot]{salvage: v, from: v.state.slots, what: "slot", kinds: "SG", begin: "Ss", mend: mendSlot, add: v.to.slot}
	return w.save()
}

func (w *wreck[K, V]) name(k K) string { return w.what + " " + string(w.from.keys.append(nil, k)) }

func (w *wreck[K, V]) losingOne(file string, line int, k K, format string, args ...any) {
	w.lost[k] = true
	w.losing(file, line, "%s is lost: %s", w.name(k), fmt.Sprintf(format, args...))
}

// save adds everything that is whole to the new spool, with what the journal says of it.
func (w *wreck[K, V]) save() error {
	w.found, w.lost = map[K]found[K]{}, map[K]bool{}
	for _, f := range w.from.base {
		w.segment(f)
	}
	all := map[K]bool{}
	for k := range w.found {
		all[k] = true
	}
	for k := range w.from.pending {
		all[k] = true
	}
	var hired *worker
	for n, k := range slices.Sorted(maps.Keys(all)) {
		if n%workerThings == 0 {
			hired = newWorker()
		}
		if thing := w.make(hired, k); thing != nil {
			if err := w.add(thing); err != nil {
				return err
			}
		}
	}
	return nil
}

// segment finds what blocks a segment has.
func (w *wreck[K, V]) segment(f segmentFile[K]) {
	path := filepath.Join(w.from.dir, f.name)
	g, err := readIndex(w.from.files, w.from.dir, f, w.from.keys)
	if err == nil {
		for _, e := range g.entries {
			w.note(found[K]{e, path})
		}
		w.telling(path, "%d %ss", len(g.entries), w.what)
		return
	}
	b, err2 := files.Contents(w.from.files, path)
	if err2 != nil {
		so := fmt.Sprintf("%d %ss from %s to %s are lost", f.blocks, w.what, w.from.keys.append(nil, f.first), w.from.keys.append(nil, f.last))
		w.failed(path, err2, so)
		return
	}
	w.failed(path, err, "its blocks are checked one by one")
	w.pieces(path, b)
}

// note takes a block, unless a newer one of the same key was found before.
func (w *wreck[K, V]) note(f found[K]) {
	if _, ok := w.found[f.key]; !ok {
		w.found[f.key] = f
	}
}

// make makes a thing as far as that can be; nil if it is lost, or has left.
func (w *wreck[K, V]) make(hired *worker, k K) *V {
	parts := w.from.pending[k]
	f, ok := w.found[k]
	if ok {
		text, err := w.block(f)
		if err != nil {
			var d *DamageError
			errors.As(err, &d)
			w.losingOne(f.path, d.Line, k, "%s", d.Why)
			ok = false
		} else {
			parts = append([]chunk{{text: text, file: f.path}}, parts...)
		}
	}
	if !ok {
		parts = w.anew(k, parts)
	}
	if len(parts) == 0 {
		return nil
	}
	thing, err := w.from.build(hired, k, parts)
	if err == nil {
		return thing
	}
	return w.mend(hired, k, parts, func(c chunk, n int, err error) {
		line := c.line + n
		if c.line == 0 { // in a block
			line = 0
		}
		w.losing(c.file, line, "%s: this cannot be done any more: %v", w.name(k), err)
	})
}

// anew drops what the journal says of something whose block is lost, up to where it is made anew.
func (w *wreck[K, V]) anew(k K, parts []chunk) []chunk {
	for i, c := range parts {
		if strings.IndexByte(w.begin, c.text[0]) >= 0 {
			return parts[i:]
		}
	}
	if len(parts) > 0 && !w.lost[k] {
		w.losingOne(parts[0].file, parts[0].line, k, "what made it is lost")
	}
	return nil
}

// block reads a block whose checksum is right; the error is a *DamageError.
func (w *wreck[K, V]) block(f found[K]) ([]byte, error) {
	g := &segment[K]{path: f.path}
	in, err := w.from.files.Open(f.path, files.ReadOnly, 0)
	if err != nil {
		return nil, &DamageError{f.path, 1, reason(err).Error()}
	}
	defer in.Close()
	text := make([]byte, f.size)
	if _, err := in.ReadAt(text, f.at); err != nil {
		return nil, g.damage(w.from.files, f.at, 0, "%v", reason(err))
	}
	if sum := checksum(text); sum != f.crc {
		return nil, g.damage(w.from.files, f.at, 0, "the checksum of its block is %08x, recorded is %08x", sum, f.crc)
	}
	return text, nil
}

// mendCluster makes a cluster of those lines that can be applied.
func mendCluster(w *worker, id int, parts []chunk, tell func(chunk, int, error)) *Cluster {
	c := newCluster(id)
	for _, part := range parts {
		for n, line := range part.lines() {
			r, err := parseRecord(line, w.expressions)
			if err == nil {
				err = c.apply(r, part.seq, w.expressions)
			}
			if err == nil && r.Kind == 'L' && len(c.Runs) == 0 {
				c = newCluster(id) // what follows makes it once more
			}
			if err != nil {
				tell(part, n, err)
			}
		}
	}
	if len(c.Runs) == 0 {
		return nil
	}
	return c
}

// mendSlot does the same for a slot.
func mendSlot(w *worker, name string, parts []chunk, tell func(chunk, int, error)) *pool.Slot {
	var s *pool.Slot
	for _, part := range parts {
		for n, line := range part.lines() {
			if err := makeSlot(w, &s, name, line, part.seq, nil); err != nil {
				tell(part, n, err)
			}
		}
	}
	if s != nil && s.Ad == nil {
		s.Ad = w.ads.Finish()
	}
	return s
}

// piece is lines of a segment that follow each other and speak of one key.
type piece[K cmp.Ordered] struct {
	key      K
	at, size int
	line     int  // on which it begins
	doubtful bool // a line in it, before it or behind it is no line of a block
}

// pieces looks through a segment whose index does not check. A line of it proves a block all the same if it has the right checksum and key.
// Of the others those are taken that can be read from beginning to end.
func (w *wreck[K, V]) pieces(path string, b []byte) {
	list, proven := w.cut(path, b)
	times := map[K]int{}
	for _, p := range list {
		times[p.key]++
	}
	var hired *worker
	for i, p := range list {
		if proven[p.key] {
			continue
		}
		if i%workerThings == 0 || hired == nil {
			hired = newWorker()
		}
		switch {
		case w.lost[p.key]: // told
		case times[p.key] > 1, i > 0 && list[i-1].key > p.key, i+1 < len(list) && list[i+1].key < p.key:
			w.losingOne(path, p.line, p.key, "its block is not in its place or is not in one piece, and no line of the index proves it; a part begins on this line")
		case p.doubtful || !w.reads(hired, p, b):
			w.losingOne(path, p.line, p.key, "its block is incomplete, and no line of the index verifies it; the rest of it begins on this line")
		default:
			w.losing(path, p.line, "%s is taken as it reads, unverified: check it", w.name(p.key))
			text := b[p.at : p.at+p.size]
			w.note(found[K]{entry[K]{key: p.key, at: int64(p.at), size: int64(p.size), crc: checksum(text)}, path})
		}
	}
}

// cut cuts the blocks of a segment into pieces, and notes those that a line of the index proves. The last one is doubtful unless the index
// begins behind it: the segment may have been cut off in the middle of it.
func (w *wreck[K, V]) cut(path string, b []byte) (list []piece[K], proven map[K]bool) {
	proven = map[K]bool{}
	at, indexed, odd := 0, false, false
	for n, line := range (chunk{text: b}).lines() {
		from := at
		at = min(at+len(line)+1, len(b))
		if bytes.HasPrefix(line, []byte("I ")) {
			e, err := parseEntry(line, w.from.keys)
			indexed = indexed || err == nil || at == len(b) // which cut it off
			if err == nil && w.proves(e, b) {
				proven[e.key] = true
				w.note(found[K]{e, path})
			}
		}
		if indexed {
			continue
		}
		k, ok := w.keyOf(line)
		last := len(list) - 1
		switch {
		case !ok && bytes.HasPrefix(line, []byte(`S "`)) && b[len(b)-1] != '\n' && at == len(b):
			indexed = true // cut off in the line that begins a slot: the one before it is whole
		case !ok:
			odd = true
			if last >= 0 {
				list[last].doubtful = true
			}
		case last < 0 || list[last].key != k:
			list = append(list, piece[K]{key: k, at: from, size: at - from, line: n + 1, doubtful: odd})
			odd = false
		default:
			list[last].size, odd = at-list[last].at, false
		}
	}
	if last := len(list) - 1; last >= 0 && !indexed {
		list[last].doubtful = true
	}
	return list, proven
}

// keyOf returns the key of a line of a block.
func (w *wreck[K, V]) keyOf(line []byte) (k K, ok bool) {
	if len(line) < 3 || line[1] != ' ' || bytes.IndexByte([]byte(w.kinds), line[0]) < 0 {
		return k, false
	}
	k, _, err := w.from.keys.parse(line[2:])
	return k, err == nil
}

// reads reports whether a piece can be read as the block of its key.
func (w *wreck[K, V]) reads(hired *worker, p piece[K], b []byte) bool {
	if b[p.at] != w.kinds[0] || b[p.at+p.size-1] != '\n' {
		return false
	}
	thing, err := w.from.build(hired, p.key, []chunk{{text: b[p.at : p.at+p.size]}})
	return err == nil && thing != nil
}

// proves reports whether a line of an index is right about a block of b.
func (w *wreck[K, V]) proves(e entry[K], b []byte) bool {
	if e.at < 0 || e.size < 3 || e.at > int64(len(b)) || e.size > int64(len(b))-e.at {
		return false
	}
	text := b[e.at : e.at+e.size]
	k, _, err := w.from.keys.parse(text[2:max(2, lineEnd(text))])
	return checksum(text) == e.crc && err == nil && k == e.key
}

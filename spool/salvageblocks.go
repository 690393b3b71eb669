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
)

// scanSegments finds the segments that were written up to a generation, the
// newest first.
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
		b, err := contents(s.files, s.path(dir+"/"+e.Name()))
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

// save adds everything that is whole to the new spool, with what the journal
// says of it.
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
	b, err2 := contents(w.from.files, path)
	if err2 != nil {
		so := fmt.Sprintf("%d %ss from %s to %s are lost", f.blocks, w.what, w.from.keys.append(nil, f.first), w.from.keys.append(nil, f.last))
		w.failed(path, err2, so)
		return
	}
	w.failed(path, err, "its blocks are looked at one by one")
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

// anew drops what the journal says of something whose block is lost, up to
// where it is made anew.
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
	in, err := w.from.files.Open(f.path, readOnly, 0)
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
				err = c.apply(r, part.seq)
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
			if err := makeSlot(w, &s, name, line, part.seq); err != nil {
				tell(part, n, err)
			}
		}
	}
	if s != nil && s.Ad == nil {
		s.Ad = w.ads.Finish()
	}
	return s
}

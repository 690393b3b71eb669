package spool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

func (d *dumping) clusters() error {
	return eachBlock(d.state.jobs, clusterBlock, d.cluster)
}

// cluster writes a cluster whose lines are those of a segment.
func (d *dumping) cluster(id int, text []byte) error {
	d.n.Clusters++
	d.begin("Cluster")
	d.number("Cluster", int64(id))
	d.lines = d.lines[:0]
	run := record{}
	for _, line := range (chunk{text: text}).lines() {
		r := record{}
		rest, err := r.job(line)
		switch {
		case err != nil:
			return err
		case r.Cluster != id || r.Kind == 'C' && run.Kind != 0 || r.Kind == 'A' && (r.First != run.First || r.Last != run.Last):
			return fmt.Errorf("%.80q: not expected here", line)
		case r.Kind == 'N':
			if err := d.attributes(d.lines); err != nil {
				return err
			}
			run, d.lines = r, d.lines[:0]
			d.procs(r)
			continue
		}
		d.lines = append(d.lines, rest)
	}
	return d.attributes(d.lines)
}

func (d *dumping) procs(r record) {
	d.n.Jobs += r.Last - r.First + 1
	d.begin("Procs")
	d.number("Cluster", int64(r.Cluster))
	d.number("First", int64(r.First))
	d.number("Last", int64(r.Last))
	d.number("Seq", int64(r.Seq))
}

// job reads a line of a cluster's block, an attribute's without looking at it:
// that is the rest.
func (r *record) job(line []byte) (rest []byte, err error) {
	if len(line) < 3 {
		return nil, errors.New("not a record")
	}
	switch r.Kind = line[0]; r.Kind {
	case 'C':
		r.Cluster, rest, err = number(line[2:], ' ')
	case 'A':
		rest, err = r.procs(line[2:])
	case 'N':
		if rest, err = r.procs(line[2:]); err == nil {
			r.Seq, err = sequence(rest, 0)
		}
	default:
		err = fmt.Errorf("%.80q: not expected here", line)
	}
	return rest, err
}

func (d *dumping) slots() error {
	return eachBlock(d.state.slots, slotBlock, d.slot)
}

// slot writes a slot whose lines are those of a segment.
func (d *dumping) slot(name string, text []byte) error {
	d.n.Slots++
	d.begin("Slot")
	d.text("Name", name)
	d.lines = d.lines[:0]
	for n, line := range (chunk{text: text}).lines() {
		if len(line) < 3 {
			return errors.New("not a record")
		}
		r := record{Kind: line[0]}
		rest, err := r.slot(line[2:])
		switch {
		case err != nil:
			return err
		case r.Slot != name || (r.Kind == 'S') != (n == 0) || n > 0 && r.Kind != 'G':
			return fmt.Errorf("%.80q: not expected here", line)
		case n > 0:
			d.lines = append(d.lines, rest)
			continue
		}
		if r.Seq, err = sequence(rest, 0); err != nil {
			return err
		}
		d.number("Seq", int64(r.Seq))
	}
	return d.attributes(d.lines)
}

// eachBlock hands over all blocks in the order of their keys, with the lines
// that a fold would write.
func eachBlock[K cmp.Ordered, V any](b *blocks[K, V], block func([]byte, *V) []byte, do func(k K, text []byte) error) error {
	e := blockEacher[K, V]{from: b, block: block, do: do, touched: slices.Sorted(maps.Keys(b.pending))}
	for i := range b.base {
		if err := e.segment(i); err != nil {
			return err
		}
	}
	for len(e.touched) > 0 {
		if err := e.remake(); err != nil {
			return err
		}
	}
	return nil
}

// blockEacher goes through the segments and what the journal speaks of.
type blockEacher[K cmp.Ordered, V any] struct {
	from    *blocks[K, V]
	block   func([]byte, *V) []byte
	do      func(K, []byte) error
	touched []K // by the journal, in order, and not done yet
	worker  *worker
	made    int
	text    []byte
	buffer  []byte
}

func (e *blockEacher[K, V]) segment(i int) error {
	g, err := e.from.index(i)
	if err != nil {
		return err
	}
	defer func() { e.from.open[i] = nil }() // nobody asks for it again
	from, err := g.reader(e.from.files, g.bytes, &e.buffer)
	if err != nil {
		return err
	}
	defer from.Close()
	for n := range g.entries {
		entry := &g.entries[n]
		for len(e.touched) > 0 && e.touched[0] < entry.key {
			if err := e.remake(); err != nil {
				return err
			}
		}
		if len(e.touched) > 0 && e.touched[0] == entry.key {
			if err := e.remake(); err != nil {
				return err
			}
			continue
		}
		text, err := from.block(entry)
		if err != nil {
			return err
		}
		if err := e.do(entry.key, text); err != nil {
			return g.damage(e.from.files, entry.at, 0, "%v", err)
		}
	}
	return nil
}

// remake hands over the next thing that the journal speaks of, if it is
// still there.
func (e *blockEacher[K, V]) remake() error {
	k := e.touched[0]
	e.touched = e.touched[1:]
	if e.made%workerThings == 0 {
		e.worker = newWorker()
	}
	e.made++
	v, err := e.from.make(e.worker, k)
	if err != nil || v == nil {
		return err
	}
	e.text = e.block(e.text[:0], v)
	return e.do(k, e.text)
}

// workerThings is how many things one worker makes, which keeps what they have
// in common.
const workerThings = 1000

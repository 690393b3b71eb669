package spool

import (
	"errors"
	"fmt"
)

func (d *dumping) clusters() error {
	return eachBlock(d.state.jobs, clusterEntry, clusterBlock, d.cluster)
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
		case r.Cluster != id || (r.Kind == 'C' || r.Kind == 'Y') && run.Kind != 0 || r.Kind == 'A' && r.Procs != run.Procs:
			return fmt.Errorf("%.80q: not expected here", line)
		case r.Kind == 'Y':
			d.text("Owner", r.Name)
			d.number("Bytes", r.End)
			continue
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
	d.n.Jobs += r.Count()
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
	case 'Y':
		err = r.parseCharge(line[2:])
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
	return eachBlock(d.state.slots, slotEntry, slotBlock, d.slot)
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
